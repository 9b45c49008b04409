package target

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// partState is the store behind one Reflector: the pods that the API server
// gives for one part, of which the Watch shows some.
type partState struct {
	part
	watch *Watch
	// first gets the outcome of the first list, once.
	first chan error

	// The rest is guarded by watch.mu.
	pods     map[cache.ObjectName]*corev1.Pod
	synced   bool
	listErr  error
	watchErr error
	// meshedOnly is decided by the first list and stays: a namespace in which the
	// only meshed pod restarts must not turn into one where all pods are probed.
	meshedOnly bool
	// endedBefore are the pods that had finished at the first list.
	endedBefore map[types.UID]bool
}

func (p *partState) narrow(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector = p.labelSelector
	options.FieldSelector = p.fieldSelector
	return options
}

// listed and watched note the outcome of a call to the API server. They are
// kept apart, since a user without the verb watch can still list.
func (p *partState) listed(err error) { p.note(&p.listErr, err) }

func (p *partState) watched(err error) { p.note(&p.watchErr, err) }

func (p *partState) note(slot *error, err error) {
	p.watch.mu.Lock()
	changed := (*slot == nil) != (err == nil)
	*slot = err
	p.watch.mu.Unlock()
	if err != nil {
		p.answerFirst(err)
	}
	if changed {
		p.watch.signal()
	}
}

func (p *partState) answerFirst(err error) {
	select {
	case p.first <- err:
	default: // answered already
	}
}

// Add, Update, Delete, Replace and Resync make it a cache.ReflectorStore.

func (p *partState) Add(obj any) error { return p.Update(obj) }

func (p *partState) Update(obj any) error {
	if pod, ok := obj.(*corev1.Pod); ok {
		strip(pod)
		p.watch.mu.Lock()
		p.pods[cache.MetaObjectToName(pod)] = pod
		p.watch.settle(cache.MetaObjectToName(pod), pod)
		p.watch.mu.Unlock()
		p.watch.signal()
	}
	return nil
}

func (p *partState) Delete(obj any) error {
	if pod, ok := obj.(*corev1.Pod); ok {
		strip(pod)
		p.watch.mu.Lock()
		delete(p.pods, cache.MetaObjectToName(pod))
		p.watch.settle(cache.MetaObjectToName(pod), pod)
		p.watch.mu.Unlock()
		p.watch.signal()
	}
	return nil
}

func (p *partState) Replace(objects []any, _ string) error {
	p.watch.mu.Lock()
	before := p.pods
	p.pods = make(map[cache.ObjectName]*corev1.Pod, len(objects))
	for _, obj := range objects {
		if pod, ok := obj.(*corev1.Pod); ok {
			p.pods[cache.MetaObjectToName(pod)] = pod
		}
	}
	if !p.synced {
		p.synced = true
		p.decide()
	}
	for name := range before {
		if _, still := p.pods[name]; !still {
			p.watch.settle(name, nil)
		}
	}
	for name, pod := range p.pods {
		p.watch.settle(name, pod)
	}
	p.watch.mu.Unlock()
	p.answerFirst(nil)
	p.watch.signal()
	return nil
}

func (p *partState) Resync() error { return nil }

// decide takes from the first list what holds for the whole watch.
func (p *partState) decide() {
	p.endedBefore = map[types.UID]bool{}
	for _, pod := range p.pods {
		switch {
		case p.accept != nil && !p.accept(pod):
		case finished(pod):
			p.endedBefore[pod.UID] = true
		case p.meshed != nil && p.meshed(pod):
			p.meshedOnly = true
		}
	}
}

// standing is what a part says of one of its pods.
type standing int

const (
	shown standing = iota
	ended
	unmeshed
	foreign // matched by the selectors, not meant
)

func (p *partState) standing(pod *corev1.Pod) standing {
	switch {
	case p.accept != nil && !p.accept(pod):
		return foreign
	case finished(pod) && !(p.named && p.endedBefore[pod.UID]):
		return ended
	case p.meshedOnly && !p.meshed(pod):
		return unmeshed
	}
	return shown
}

// count gives the number of pods shown, finished, and left out as unmeshed.
func (p *partState) count() (nShown, nEnded, nUnmeshed int) {
	for _, pod := range p.pods {
		switch p.standing(pod) {
		case shown:
			nShown++
		case ended:
			nEnded++
		case unmeshed:
			nUnmeshed++
		case foreign:
		}
	}
	return nShown, nEnded, nUnmeshed
}

// settle works out anew whether the pod of this name is shown, after some part
// changed it. last is the newest state known of it, if any; it is kept when the
// pod is shown no more. mu is held.
func (w *Watch) settle(name cache.ObjectName, last *corev1.Pod) {
	before := w.shown[name]
	now := w.visible(name)
	if now == nil {
		delete(w.shown, name)
	} else {
		w.shown[name] = now
	}
	if before == nil || now != nil && now.UID == before.UID {
		return
	}
	if last == nil || last.UID != before.UID {
		last = before
	}
	w.gone = append(w.gone, last)
	if extra := len(w.gone) - maxGone; extra > 0 {
		w.gone = append(w.gone[:0:0], w.gone[extra:]...)
	}
}

// visible is the pod of this name as the first part has it that shows it.
func (w *Watch) visible(name cache.ObjectName) *corev1.Pod {
	for _, p := range w.parts {
		if pod, ok := p.pods[name]; ok && p.standing(pod) == shown {
			return pod
		}
	}
	return nil
}

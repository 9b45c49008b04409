package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// manifestKept is how long an answer holds: a change shows within so much.
	manifestKept = 30 * time.Second
	// refusalKept is the same for a refusal: rights do not change by the minute, and
	// whoever lacks them would otherwise be refused again and again.
	refusalKept = 10 * time.Minute
	// manifestStands is how old an answer may grow while the API server is away.
	manifestStands = 5 * time.Minute
	// manifestsPerSecond bounds what the API server is asked; the first few go at
	// once. Probes come first.
	manifestsPerSecond = 20
	manifestsAtOnce    = 40
	// maxAnnotations bounds the bytes that are kept of one object's annotations. A
	// list of which a part is missing must not pass for the whole, so that more
	// makes them unknown.
	maxAnnotations = 64 << 10
	// maxManifests bounds the answers that are kept.
	maxManifests = 4000
)

// ManifestsOptions say what is read.
type ManifestsOptions struct {
	Client kubernetes.Interface
	// Prefixes of the annotations that are kept: an annotation may hold what is
	// nobody's business.
	Prefixes []string
	// Now is time.Now when nil.
	Now func() time.Time
}

// Manifests reads what pods were made from: their workload's pod template and
// their namespace, one request for each of them whatever the number of pods.
// Nothing but get is asked for, and whoever may not gets an unknown.
type Manifests struct {
	client   kubernetes.Interface
	prefixes []string
	now      func() time.Time
	limit    flowcontrol.RateLimiter

	mu    sync.Mutex
	known map[object]*answer
}

// object is something that is asked for.
type object struct{ kind, namespace, name string }

// answer is what came of it; done is closed when it is there, and nothing else is
// read before.
type answer struct {
	done  chan struct{}
	at    time.Time // when it was read
	until time.Time // from when on it is asked for again
	read  workload
	err   error
}

// NewManifests asks for nothing yet.
func NewManifests(o ManifestsOptions) *Manifests {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Manifests{
		client: o.Client, prefixes: slices.Clone(o.Prefixes), now: o.Now,
		limit: flowcontrol.NewTokenBucketRateLimiter(manifestsPerSecond, manifestsAtOnce),
		known: map[object]*answer{},
	}
}

// Of is what the pod was made from, as it is now. It waits for the API server
// where nobody asked within half a minute.
func (m *Manifests) Of(ctx context.Context, pod *corev1.Pod) model.Manifest {
	var namespace workload
	var err error
	var both sync.WaitGroup
	both.Go(func() { namespace, err = m.get(ctx, object{"Namespace", "", pod.Namespace}) })
	found := m.ofWorkload(ctx, pod)
	both.Wait()
	if err != nil {
		found.Namespace = model.Unknown[map[string]string](why(err))
		return found
	}
	found.Namespace = namespace.template
	return found
}

func (m *Manifests) ofWorkload(ctx context.Context, pod *corev1.Pod) model.Manifest {
	owner := Workload(pod)
	switch {
	case owner.Kind == "":
		return model.UnknownManifest("no workload owns the pod")
	case !readable(owner.Kind):
		return model.UnknownManifest("the template of a " + owner.Kind + " is not read")
	}
	w, err := m.get(ctx, object{owner.Kind, pod.Namespace, owner.Name})
	if err != nil {
		return model.UnknownManifest(why(err))
	}
	return model.Manifest{
		Template: w.template, Strategy: w.strategy, Replicas: w.replicas, Selector: w.selector,
		Manager: w.manager, Paused: w.paused, Outdated: m.outdated(ctx, pod, w),
	}
}

// outdated compares the revision that the pod was made of with the workload's.
func (m *Manifests) outdated(ctx context.Context, pod *corev1.Pod, w workload) model.Value[bool] {
	own := ""
	switch w.kind {
	case "Deployment":
		// Its revisions are its ReplicaSets. Which one the pod is of matters only
		// where pod and template do not say the same.
		if template, ok := w.template.Get(); ok && m.same(pod, template) {
			return model.Unknown[bool]("not asked for: the annotations are those of the template")
		}
		set := metav1.GetControllerOfNoCopy(pod)
		if set == nil || set.Kind != "ReplicaSet" {
			return model.Unknown[bool]("the pod has no ReplicaSet")
		}
		rs, err := m.get(ctx, object{"ReplicaSet", pod.Namespace, set.Name})
		if err != nil {
			return model.Unknown[bool](why(err))
		}
		own = rs.revision
	case "StatefulSet":
		own = pod.Labels["controller-revision-hash"]
	case "DaemonSet":
		own = pod.Labels["pod-template-generation"]
	}
	if own == "" || w.revision == "" {
		return model.Unknown[bool]("a " + w.kind + " does not tell which template its pods were made of")
	}
	return model.Known(own != w.revision)
}

// same says whether the pod carries the template's annotations and no others.
func (m *Manifests) same(pod *corev1.Pod, template map[string]string) bool {
	n := 0
	for name, value := range pod.Annotations {
		if !m.wanted(name) {
			continue
		}
		if theirs, ok := template[name]; !ok || theirs != value {
			return false
		}
		n++
	}
	return n == len(template)
}

// get gives an answer that is young enough, or asks. Several that want the same
// wait for one request.
func (m *Manifests) get(ctx context.Context, o object) (workload, error) {
	for {
		m.mu.Lock()
		a := m.known[o]
		if a == nil || a.over(m.now()) {
			m.forget()
			next := &answer{done: make(chan struct{})}
			m.known[o] = next
			m.mu.Unlock()
			m.ask(ctx, o, next, a)
			a = next
		} else {
			m.mu.Unlock()
		}
		select {
		case <-a.done:
			// Whoever asked may have gone before the answer came: ask again then.
			if ctx.Err() == nil && errors.Is(a.err, context.Canceled) {
				continue
			}
			return a.read, a.err
		case <-ctx.Done():
			return workload{}, ctx.Err()
		}
	}
}

// over says whether an answer is too old; one that is not there yet is not.
func (a *answer) over(now time.Time) bool {
	select {
	case <-a.done:
		return !now.Before(a.until)
	default:
		return false
	}
}

// ask fills an answer that others may wait for already. Where the API server
// cannot be asked, the answer before it stands for a while: a manifest changes
// seldom, and an outage is no news of it.
func (m *Manifests) ask(ctx context.Context, o object, a, before *answer) {
	defer close(a.done)
	read, err := m.limited(ctx, o)
	now := m.now()
	a.at, a.until = now, now.Add(manifestKept)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		a.until, err = now, context.Canceled
	case apierrors.IsForbidden(err):
		a.until = now.Add(refusalKept)
	case apierrors.IsNotFound(err):
	case before != nil && before.err == nil && now.Sub(before.at) < manifestStands:
		read, err, a.at = before.read, nil, before.at
	}
	a.read, a.err = read, Explain(err)
}

func (m *Manifests) limited(ctx context.Context, o object) (workload, error) {
	if err := m.limit.Wait(ctx); err != nil {
		return workload{}, fmt.Errorf("waiting to ask for %s %s: %w", strings.ToLower(o.kind), o.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	return m.fetch(ctx, o)
}

// forget drops answers that are over when there are many. mu is held.
func (m *Manifests) forget() {
	if len(m.known) < maxManifests {
		return
	}
	now := m.now()
	for o, a := range m.known {
		if a.over(now) {
			delete(m.known, o)
		}
	}
}

// why is an error in words for an unknown.
func why(err error) string { return Explain(err).Error() }

func (m *Manifests) wanted(annotation string) bool {
	return slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(annotation, p) })
}

// annotations keeps those that an adapter asked for.
func (m *Manifests) annotations(all map[string]string) model.Value[map[string]string] {
	kept, size := map[string]string{}, 0
	for name, value := range all {
		if m.wanted(name) {
			kept[name] = value
			size += len(name) + len(value)
		}
	}
	if size > maxAnnotations {
		return model.Unknown[map[string]string](fmt.Sprintf("the annotations hold more than %d KiB", maxAnnotations>>10))
	}
	return model.Known(kept)
}

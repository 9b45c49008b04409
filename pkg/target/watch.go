package target

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// maxGone bounds Gone: a namespace that starts and ends pods all day must not
// fill the memory of a screen that stays open.
const maxGone = 200

// Watch is a Selection's pods, kept current until its context ends. Its methods
// may be called from any goroutine. The pods are shared and stripped of what
// the program does not read: neither change them nor write them back.
type Watch struct {
	static  []error
	changed chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	parts []*partState
	shown map[cache.ObjectName]*corev1.Pod
	gone  []*corev1.Pod // oldest first
}

// Start lists the pods and keeps them current until ctx ends or Stop is called.
// The first list is done when it returns; if that fails nothing is left
// running. A selection of no pods is a *NoPodsError, unless the query allowed
// it.
func (s *Selection) Start(ctx context.Context, client kubernetes.Interface) (*Watch, error) {
	// client-go logs to stderr when a watch breaks; the screen is there, and Err
	// says the same.
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, silent()))
	w := &Watch{
		static:  s.problems,
		changed: make(chan struct{}, 1),
		cancel:  cancel,
		shown:   map[cache.ObjectName]*corev1.Pod{},
	}
	for _, p := range s.parts {
		w.parts = append(w.parts, &partState{part: p, watch: w, first: make(chan error, 1)})
	}
	for _, p := range w.parts {
		reflector := newReflector(client, p)
		w.running.Go(func() { reflector.RunWithContext(ctx) })
	}
	if err := w.firstLists(ctx); err != nil {
		w.Stop()
		return nil, err
	}
	if len(w.Pods()) == 0 && !s.allowEmpty {
		err := join(w.Problems())
		w.Stop()
		return nil, err
	}
	return w, nil
}

func newReflector(client kubernetes.Interface, p *partState) *cache.Reflector {
	logger := silent()
	return cache.NewReflectorWithOptions(listWatch{client: client, part: p}, &corev1.Pod{}, p, cache.ReflectorOptions{
		Name:   "pods",
		Logger: &logger,
		// client-go's own default waits up to a minute between tries, which suits a
		// controller; whoever looks at a screen waits for the answer. Four steps
		// lead from half a second to the cap.
		Backoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 4, Cap: 5 * time.Second},
	})
}

func (w *Watch) firstLists(ctx context.Context) error {
	for _, p := range w.parts {
		select {
		case err := <-p.first:
			if err != nil {
				return p.explain(err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// explain adds the field selector to the refusal of an unknown field, which the
// API server does not always name.
func (p *partState) explain(err error) error {
	const unknown = "field label not supported"
	if _, fault, ok := strings.Cut(err.Error(), unknown); ok && p.fieldSelector != "" {
		return &explained{text: oneLine(fmt.Sprintf("field selector %q: %s%s", p.fieldSelector, unknown, fault)), cause: err}
	}
	return Explain(err)
}

// Stop ends the watch and returns when all of it has ended.
func (w *Watch) Stop() {
	w.cancel()
	w.running.Wait()
}

// Pods are the pods selected now, ordered by namespace and name. Pods that have
// finished are not among them, except one asked for by its name that had
// finished before the start.
func (w *Watch) Pods() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := make([]*corev1.Pod, 0, len(w.shown))
	for _, pod := range w.shown {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return pods
}

// Gone are the last known states of pods that Pods once held and no longer
// does, oldest first: deleted, finished, or no longer matched. A pod that comes
// back under the same name is another one (its UID differs). The 200 newest are
// kept.
func (w *Watch) Gone() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.gone)
}

// Changed gives a value after Pods, Gone, Problems or Err may have changed; any
// number of changes since the last receive give one.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Err is why the pods may be out of date (the API server is gone, a permission
// was taken away), in one line; nil when they are current again.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		if err := cmp.Or(p.listErr, p.watchErr); err != nil {
			return Explain(err)
		}
	}
	return nil
}

// Problems are the things asked for that are not there: names that did not
// exist, and, as *NoPodsError, what selects no pod at the moment.
func (w *Watch) Problems() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	problems := slices.Clone(w.static)
	for _, p := range w.parts {
		if shown, ended, _ := p.count(); shown == 0 {
			problems = append(problems, p.none(ended))
		}
	}
	return problems
}

// Unmeshed is the number of pods left out because nothing was named and other
// pods of the namespace are meshed; 0 when all pods are shown.
func (w *Watch) Unmeshed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for _, p := range w.parts {
		_, _, unmeshed := p.count()
		total += unmeshed
	}
	return total
}

// signal announces a change; it never blocks.
func (w *Watch) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// silent is a logger that discards: the caller is told by an error instead.
func silent() klog.Logger { return klog.New(nil) }

// listWatch lists and watches the pods of one part and notes how that went: a
// Reflector retries by itself and tells nobody.
type listWatch struct {
	client kubernetes.Interface
	part   *partState
}

func (l listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersion == "0" {
		// "0" lets the API server answer from a cache that may be behind, which
		// would hide a pod made a moment ago. kubectl asks for the newest as well.
		options.ResourceVersion = ""
	}
	list, err := l.client.CoreV1().Pods(l.part.namespace).List(ctx, l.part.narrow(options))
	if ctx.Err() == nil {
		l.part.listed(err)
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		strip(&list.Items[i]) // page by page, so that the whole list is never held
	}
	return list, nil
}

func (l listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := l.client.CoreV1().Pods(l.part.namespace).Watch(ctx, l.part.narrow(options))
	if ctx.Err() == nil {
		l.part.watched(err)
	}
	return events, err
}

// List and Watch make listWatch a cache.ListerWatcher; a Reflector calls the
// methods with a context.
func (l listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

func (l listWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported asks the Reflector for a list and then a
// watch. A watch that streams the list as well needs the verb watch, and while
// the API server is down it retries for ever before the first answer.
func (l listWatch) IsWatchListSemanticsUnSupported() bool { return true }

package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// Execer samples from inside a pod's own containers, by exec: nothing is added
// to the pod, but its processes run in a container of the application, and many
// clusters raise an alarm at that. It also ends probes (see Stop).
type Execer struct {
	// Config is how the API server is reached.
	Config *rest.Config
	Client kubernetes.Interface
	// Interval is the time between two frames; a second when 0.
	Interval time.Duration
	// Target gives the container whose threads are shown, where they are visible
	// from the one that is entered; nil, or an empty name: none.
	Target func(pod *corev1.Pod) string
	// Now tells when a frame arrived; time.Now when nil.
	Now func() time.Time
	// Chosen is told which container is sampled by which program (sh, or cat where
	// there is no shell), by the goroutine that follows; nobody when nil.
	Chosen func(namespace, pod, container, program string)
	// Retrying is told why a pod is entered anew; nobody when nil.
	Retrying func(namespace, pod string, why error)
}

// Follow samples the pod from the first of the containers that has a shell and
// ss, else from the first that has a shell, else from the first that has cat,
// and hands every frame to sink, in order, numbered from 1. Without names it
// tries all containers of the pod. It goes on when the stream breaks or the
// container restarts.
//
// Nothing stays in the pod: what runs there reads a line for each frame, and
// ends when there are no more.
//
// It returns the context's error, a *GoneError when the pod is gone, a
// *ForbiddenError or *RefusedError when exec is not allowed, and a
// *NotPossibleError when no container can be sampled.
func (e *Execer) Follow(ctx context.Context, pod *corev1.Pod, containers []string, sink func(parse.Frame, time.Time)) error {
	f := execFollower{execer: e, pod: pod, containers: containers, sink: sink}
	if len(containers) == 0 {
		f.containers = allContainers(pod)
	}
	wait, refusals := minRedial, 0
	for {
		delivered := f.frames
		err := f.round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			return err
		}
		if gone := f.look(ctx); gone != nil {
			return gone
		}
		switch {
		case f.frames > delivered:
			wait, refusals = minRedial, 0
		case !passing(err):
			// A container that restarts refuses for a while; one that does so again
			// and again does not have what is needed any more.
			if refusals++; refusals == maxRefusals {
				if f.way == (way{}) {
					return &NotPossibleError{Reason: fmt.Sprintf("entering pod %s by exec: %s", f.name(), answer(err, ""))}
				}
				f.way, refusals = way{}, 0
			}
		}
		if e.Retrying != nil {
			e.Retrying(pod.Namespace, pod.Name, err)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, maxRedial)
	}
}

// maxRefusals is how often in a row an answer that nobody can read may come
// before it counts as final.
const maxRefusals = 4

// final says whether an error is the last word on a pod.
func final(err error) bool {
	var forbidden *ForbiddenError
	var refused *RefusedError
	var impossible *NotPossibleError
	return errors.As(err, &forbidden) || errors.As(err, &refused) || errors.As(err, &impossible)
}

// way is how a pod is sampled.
type way struct{ container, program string }

// execFollower is the state of one Follow.
type execFollower struct {
	execer     *Execer
	pod        *corev1.Pod // as last seen
	containers []string
	sink       func(parse.Frame, time.Time)

	way    way // that gave frames; zero: none yet
	frames uint64
}

func (f *execFollower) name() string { return f.pod.Namespace + "/" + f.pod.Name }

var (
	errNoFrame   = errors.New("no frame came")
	errWithoutSS = errors.New("there is no ss")
)

// round samples until the way that is known breaks, or looks for one.
func (f *execFollower) round(ctx context.Context) error {
	if f.way != (way{}) {
		return f.follow(ctx, f.way, false)
	}
	var shell string // the first container that has one
	tried, waiting := map[string][]string{}, false
	var open []string
	for _, c := range f.containers {
		if why := f.notRunning(c); why != "" {
			tried[c], waiting = append(tried[c], why), true
			continue
		}
		open = append(open, c)
	}
	for _, program := range []string{"sh", "cat"} {
		for i, c := range open {
			// Another one may have ss, which alone tells limits and drops.
			pickier := program == "sh" && (shell != "" || i < len(open)-1)
			err := f.follow(ctx, way{c, program}, pickier)
			switch {
			case errors.Is(err, errWithoutSS):
				if shell == "" {
					shell = c
				}
			case errors.Is(err, errNoFrame) && f.way == (way{}):
				tried[c], waiting = append(tried[c], program+" printed nothing"), true
			case ctx.Err() != nil, f.way != (way{}), !answered(err):
				return err
			default:
				tried[c] = append(tried[c], fmt.Sprintf("%s: %q", program, answer(err, "")))
			}
		}
		if shell != "" {
			return f.follow(ctx, way{shell, "sh"}, false)
		}
	}
	var all []string
	for _, c := range f.containers {
		all = append(all, c+" ("+strings.Join(tried[c], ", ")+")")
	}
	text := fmt.Sprintf("no container of pod %s can be sampled by exec: %s", f.name(), strings.Join(all, "; "))
	if waiting {
		return errors.New(text) // it may run later
	}
	return &NotPossibleError{Reason: text}
}

// follow samples one way until that breaks. pickier leaves a shell without ss
// again, with errWithoutSS.
func (f *execFollower) follow(ctx context.Context, w way, pickier bool) error {
	if w.program == "cat" {
		return f.followCat(ctx, w)
	}
	return f.followShell(ctx, w, pickier)
}

// deliver hands a frame on. Numbers go on where another process has begun at 1.
func (f *execFollower) deliver(w way, frame parse.Frame) {
	if f.way != w {
		f.way = w
		if f.execer.Chosen != nil {
			f.execer.Chosen(f.pod.Namespace, f.pod.Name, w.container, w.program)
		}
	}
	f.frames++
	frame.Seq = f.frames
	f.sink(frame, f.execer.now())
}

// look gets the pod anew after a way has broken: nil means go on.
func (f *execFollower) look(ctx context.Context) error {
	pod, err := podNow(ctx, f.execer.Client, f.pod)
	var gone *GoneError
	switch {
	case errors.As(err, &gone):
		return err
	case err != nil:
		if typed := asForbidden(err, "get", "pods", f.pod.Namespace); typed != nil {
			return typed
		}
		return ctx.Err() // an API server that does not answer now may do so later
	}
	if why := finished(pod); why != "" {
		return &GoneError{Pod: f.name(), Why: why}
	}
	f.pod = pod
	return nil
}

// notRunning says why a container cannot be entered now; empty when it can, as
// far as the pod tells.
func (f *execFollower) notRunning(container string) string {
	status := ContainerStatus(f.pod, container)
	if status == nil {
		return ""
	}
	switch s := &status.State; {
	case s.Running != nil:
		return ""
	case s.Waiting != nil && s.Waiting.Reason != "":
		return "does not run: " + s.Waiting.Reason
	case s.Terminated != nil && s.Terminated.Reason != "":
		return "does not run: " + s.Terminated.Reason
	}
	return "does not run"
}

// allContainers are the pod's containers, and those init containers that run
// beside them.
func allContainers(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.InitContainers {
		if p := pod.Spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			names = append(names, pod.Spec.InitContainers[i].Name)
		}
	}
	return names
}

func (e *Execer) interval() time.Duration {
	if e.Interval > 0 {
		return e.Interval
	}
	return time.Second
}

func (e *Execer) now() time.Time {
	if e.Now != nil {
		return e.Now()
	}
	return time.Now()
}

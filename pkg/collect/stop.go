package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// stopWait is how long a probe may take to end: its trap runs when the current
	// child does, at most a second later, and the kubelet tells of it another
	// second later.
	stopWait = 10 * time.Second
	stopPoll = 300 * time.Millisecond
)

// stopScript ends the sampler of the container that it runs in. A probe with a
// target sees the target's processes, and process 1 is the target itself; what
// is ended must be in this very container, by its cgroup, and be a sampler, by
// its command. $1 is not empty when process 1 is somebody else's for sure.
const stopScript = `# kubectl-backlog ends the probe of this container
mine=$(cat /proc/self/cgroup)
[ -n "$mine" ] || { echo 'the container does not show its cgroup'; exit 3; }
found=
for dir in /proc/[0-9]*; do
	pid=${dir##*/}
	if [ "$pid" = "$$" ]; then continue; fi
	if [ "$pid" = 1 ] && [ -n "$1" ]; then continue; fi
	[ "$(cat "$dir/cgroup" 2>/dev/null)" = "$mine" ] || continue
	case $(cat "$dir/cmdline" 2>/dev/null) in
	sh-c*backlog-probe) ;;
	*) continue ;;
	esac
	kill -TERM "$pid" && found=$pid
done
[ -n "$found" ] || { echo 'the container has no process of a sampler'; exit 4; }`

// Stop ends a probe that runs, by exec in its own container, and returns when
// the kubelet says that it has ended. What shares the probe's process namespace
// is not touched.
//
// It returns a *ForbiddenError or *RefusedError when exec is not allowed and a
// *GoneError when the pod is gone.
func (e *Execer) Stop(ctx context.Context, pod *corev1.Pod, probe string) error {
	name := pod.Namespace + "/" + pod.Name
	target := ""
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == probe {
			target = c.TargetContainerName
		}
	}
	if s := pod.Spec.ShareProcessNamespace; target == "" && s != nil && *s {
		target = "the pod's own first process"
	}
	// Without a target the sampler is the container's first process, and the exec
	// is killed together with it: only the container's state tells how it went.
	said, refused := e.signal(ctx, pod, probe, target)
	for end := time.Now().Add(stopWait); ; {
		done, err := e.ended(ctx, pod, probe)
		switch {
		case done || err != nil:
			return err
		case final(refused):
			return refused
		case answered(refused) || refused != nil && time.Now().After(end):
			return fmt.Errorf("ending %s of pod %s: %w", probe, name, &saidError{err: refused, said: said})
		case time.Now().After(end):
			return fmt.Errorf("ending %s of pod %s: it was told to end, and runs on after %s", probe, name, stopWait)
		}
		if err := pause(ctx, stopPoll); err != nil {
			return err
		}
		if passing(refused) {
			said, refused = e.signal(ctx, pod, probe, target) // the kubelet was away, or busy
		}
	}
}

// signal tells the sampler to end, and gives what the container said to it.
func (e *Execer) signal(ctx context.Context, pod *corev1.Pod, probe, target string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	said := &words{}
	err := e.run(ctx, command{
		namespace: pod.Namespace, pod: pod.Name, container: probe,
		words:  []string{"sh", "-c", stopScript, "backlog-stop", target},
		stdout: said, stderr: said,
	})
	return said.line(), err
}

// ended says whether a probe has ended. An API server that does not answer does
// not tell; that the pod is gone is an error.
func (e *Execer) ended(ctx context.Context, pod *corev1.Pod, probe string) (bool, error) {
	fresh, err := podNow(ctx, e.Client, pod)
	var gone *GoneError
	switch {
	case errors.As(err, &gone):
		return false, err
	case err != nil:
		return false, ctx.Err()
	}
	switch stage, _ := ProbeState(fresh, probe); stage {
	case model.StageEnded, model.StageFailed:
		return true, nil
	case model.StageGone:
		return false, &GoneError{Pod: pod.Namespace + "/" + pod.Name, Why: finished(fresh)}
	}
	return false, nil
}

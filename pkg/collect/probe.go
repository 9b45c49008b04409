package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// maxProbes of ours in one pod: an ephemeral container can never be removed, so
// a pod must not fill up with entries of probes that ended or failed.
const maxProbes = 3

// patchTries bounds how often a PATCH is repeated when others change the pod at
// the same time.
const patchTries = 6

// Prober adds probes to pods and reads their logs.
type Prober struct {
	Client kubernetes.Interface
	// Now tells when a frame arrived; time.Now when nil.
	Now func() time.Time
	// Silence is how long a followed log may say nothing before it is asked for
	// anew; 5 s when 0.
	Silence time.Duration
	// DryRun makes Ensure ask the API server everything (authorization, Pod
	// Security, webhooks) and change nothing.
	DryRun bool
	// Retrying is told why a followed log is asked for anew, by the goroutine that
	// follows it; nobody when nil. io.EOF is a stream that ended in good order.
	Retrying func(namespace, pod string, why error)

	starting atomic.Int32 // probes whose first frame is waited for
}

// Probe is an ephemeral container that prints frames, or is about to.
type Probe struct {
	Name string
	// New says that it was added now; otherwise it was there already.
	New bool
	// Started is when it began to run; zero when it has not, as far as is known.
	Started time.Time
	// Container is the probe as it stands in the pod, which for a reused one may
	// have another image, target or TTL than was asked for.
	Container corev1.EphemeralContainer
}

// Possible says whether a probe can work in this pod at all; nil when it can.
// It asks nobody.
func Possible(pod *corev1.Pod) error {
	name := pod.Namespace + "/" + pod.Name
	if why := finished(pod); why != "" {
		return &GoneError{Pod: name, Why: why}
	}
	no := func(format string, args ...any) error { return &NotPossibleError{Reason: fmt.Sprintf(format, args...)} }
	switch {
	case pod.DeletionTimestamp != nil:
		return &GoneError{Pod: name, Why: "is being deleted"}
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return no("pod %s is a static pod: the kubelet never starts an ephemeral container in it", name)
	case pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows,
		pod.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows):
		return no("pod %s runs on Windows, which has no accept queues of this kind to read", name)
	case pod.Spec.NodeName == "":
		return no("pod %s is not on a node yet (%s)", name, pod.Status.Phase)
	}
	return nil
}

// Ensure gives a probe of the pod: one that lives already, or else a new one.
// It never adds one without need, and never more than three to a pod. Whether one
// lives is read from the pod as given, which should be fresh; an outdated one
// never leads to a second probe of the same name, but perhaps to one that ended
// a moment ago.
func (p *Prober) Ensure(ctx context.Context, pod *corev1.Pod, spec ProbeSpec) (Probe, error) {
	for try := range patchTries {
		probe, err := Plan(pod, spec)
		if err != nil || !probe.New {
			return probe, err
		}
		refused := p.add(ctx, pod, probe.Container)
		if refused == nil {
			return probe, nil
		}
		if !apierrors.IsConflict(refused) && !apierrors.IsInvalid(refused) {
			return Probe{}, p.explain(refused, pod)
		}
		if err := pause(ctx, time.Duration(try)*100*time.Millisecond); err != nil {
			return Probe{}, err
		}
		fresh, err := podNow(ctx, p.Client, pod)
		switch {
		case err != nil:
			return Probe{}, p.explain(err, pod)
		case apierrors.IsInvalid(refused) && !hasProbe(fresh, probe.Name):
			// Nobody else took the name: the container itself is not accepted.
			return Probe{}, &RefusedError{Message: refused.Error()}
		}
		pod = fresh
	}
	return Probe{}, fmt.Errorf("adding a probe to pod %s/%s: others change it all the time, try again", pod.Namespace, pod.Name)
}

// Plan is what Ensure would do, without asking anybody: the probe that it would
// take again, or the one that it would add.
func Plan(pod *corev1.Pod, spec ProbeSpec) (Probe, error) {
	if err := Possible(pod); err != nil {
		return Probe{}, err
	}
	if probe, ok := reusable(pod, spec); ok {
		return probe, nil
	}
	index, err := nextIndex(pod)
	if err != nil {
		return Probe{}, err
	}
	c := Container(pod, index, spec)
	return Probe{Name: c.Name, New: true, Container: c}, nil
}

// add PATCHes one container into the pod. The UID in the patch makes it fail
// with a conflict when a pod of the same name has taken the place of this one.
func (p *Prober) add(ctx context.Context, pod *corev1.Pod, c corev1.EphemeralContainer) error {
	patch := map[string]any{"spec": map[string]any{"ephemeralContainers": []corev1.EphemeralContainer{c}}}
	if pod.UID != "" {
		patch["metadata"] = map[string]any{"uid": pod.UID}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the probe: %w", err)
	}
	options := metav1.PatchOptions{FieldManager: "kubectl-backlog"}
	if p.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = p.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body,
		options, "ephemeralcontainers")
	return err
}

func (p *Prober) explain(err error, pod *corev1.Pod) error {
	var gone *GoneError
	if errors.As(err, &gone) {
		return gone
	}
	name := pod.Namespace + "/" + pod.Name
	if apierrors.IsNotFound(err) {
		var s apierrors.APIStatus
		if errors.As(err, &s) && (s.Status().Details == nil || s.Status().Details.Name == "") {
			return &NotPossibleError{Reason: "this cluster has no ephemeral containers (they need Kubernetes 1.23)"}
		}
		return &GoneError{Pod: name, Why: "was deleted"}
	}
	if typed := asForbidden(err, "patch", "pods/ephemeralcontainers", pod.Namespace); typed != nil {
		return typed
	}
	return fmt.Errorf("adding a probe to pod %s: %w", name, err)
}

// reusable finds the newest of our probes that lives, or may still come to
// life, and serves what was asked: with the target that was asked for if there
// is one, and where that is a preference only with any other.
func reusable(pod *corev1.Pod, spec ProbeSpec) (Probe, bool) {
	var best Probe
	wanted := func(c *corev1.EphemeralContainer) bool {
		return spec.Target == "" || c.TargetContainerName == spec.Target
	}
	for _, c := range pod.Spec.EphemeralContainers {
		n := probeIndex(c.Name)
		switch {
		case n == 0 || c.Name == spec.Ended:
			continue
		case !wanted(&c) && !spec.Loose:
			continue
		case best.Name == "" || wanted(&c) && !wanted(&best.Container):
		case n < probeIndex(best.Name) || !wanted(&c) && wanted(&best.Container):
			continue
		}
		if !lives(pod, c, spec) {
			continue
		}
		best = Probe{Name: c.Name, Container: c}
		if s := probeStatus(pod, c.Name); s != nil && s.State.Running != nil {
			best.Started = s.State.Running.StartedAt.Time
		}
	}
	return best, best.Name != ""
}

// lives says that a probe runs or may still do so. One that waits in vain, for
// an image say, is taken again only by somebody who asks for that very image:
// another entry would wait just as long, and could never be removed.
func lives(pod *corev1.Pod, c corev1.EphemeralContainer, spec ProbeSpec) bool {
	switch stage, _ := ProbeState(pod, c.Name); stage {
	case model.StageStarting, model.StagePulling, model.StageWaiting:
		return true
	case model.StageFailed:
		s := probeStatus(pod, c.Name)
		return s != nil && s.State.Waiting != nil && c.Image == spec.Image
	}
	return false
}

// nextIndex is the number after the highest in use.
func nextIndex(pod *corev1.Pod) (int, error) {
	highest, ours := 0, 0
	for _, c := range pod.Spec.EphemeralContainers {
		if n := probeIndex(c.Name); n > 0 {
			ours++
			highest = max(highest, n)
		}
	}
	if ours >= maxProbes {
		return 0, &NotPossibleError{Reason: fmt.Sprintf(
			"pod %s/%s has had %d probes already, and an ephemeral container can never be removed: restart the pod to probe it again",
			pod.Namespace, pod.Name, ours)}
	}
	return highest + 1, nil
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

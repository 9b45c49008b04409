package collect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func stateRunning() *corev1.ContainerState {
	return &corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1000, 0)}}
}

func stateExited() *corev1.ContainerState {
	return &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
}

func statePulling() *corev1.ContainerState {
	return &corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
}

// patches are the PATCHes that a client sent.
func patches(c *fake.Clientset) (found []clienttesting.PatchAction) {
	for _, a := range c.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			found = append(found, p)
		}
	}
	return found
}

// probesOf are the names of the pod's probes as the API server has them.
func probesOf(t *testing.T, c *fake.Clientset) (names []string) {
	t.Helper()
	pod, err := c.CoreV1().Pods("shop").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range pod.Spec.EphemeralContainers {
		names = append(names, e.Name)
	}
	return names
}

func TestEnsureAddsOne(t *testing.T) {
	pod := podWith(nil, nil)
	client := fake.NewClientset(pod)
	probe, err := (&Prober{Client: client}).Ensure(t.Context(), pod, ProbeSpec{Image: "tools:1", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if probe.Name != "backlog-probe-1" || !probe.New || !probe.Started.IsZero() {
		t.Errorf("probe %+v", probe)
	}
	if got := probesOf(t, client); !slices.Equal(got, []string{"backlog-probe-1"}) {
		t.Errorf("the pod has %v", got)
	}
	p := patches(client)
	if len(p) != 1 || p[0].GetSubresource() != "ephemeralcontainers" {
		t.Fatalf("patches %+v", p)
	}
	// Another pod of the same name must not get it.
	if !strings.Contains(string(p[0].GetPatch()), `"metadata":{"uid":"uid-1"}`) {
		t.Errorf("patch %s", p[0].GetPatch())
	}
}

func TestEnsureReuses(t *testing.T) {
	tests := map[string]struct {
		pod  func(*corev1.Pod)
		spec ProbeSpec
		name string
		new  bool
	}{
		"one that runs": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning()) },
			name: "backlog-probe-1",
		},
		"one that was just added": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, nil) },
			name: "backlog-probe-1",
		},
		"one of another image": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Image: "theirs"}, stateRunning()) },
			spec: ProbeSpec{Image: "ours"},
			name: "backlog-probe-1",
		},
		"one with a target where none was asked for": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Target: "app"}, stateRunning()) },
			name: "backlog-probe-1",
		},
		"not one with another target": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Target: "sidecar"}, stateRunning()) },
			spec: ProbeSpec{Target: "app"},
			name: "backlog-probe-2", new: true,
		},
		"one with another target where the target is a preference": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Target: "sidecar"}, stateRunning()) },
			spec: ProbeSpec{Target: "app", Loose: true},
			name: "backlog-probe-1",
		},
		"an older one with the preferred target": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{Target: "app"}, stateRunning())
				addProbe(p, "backlog-probe-2", ProbeSpec{}, stateRunning())
			},
			spec: ProbeSpec{Target: "app", Loose: true},
			name: "backlog-probe-1",
		},
		"a newer one with the preferred target": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning())
				addProbe(p, "backlog-probe-2", ProbeSpec{Target: "app"}, stateRunning())
			},
			spec: ProbeSpec{Target: "app", Loose: true},
			name: "backlog-probe-2",
		},
		"one without a target when the preferred one ended": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning())
				addProbe(p, "backlog-probe-2", ProbeSpec{Target: "app"}, stateExited())
			},
			spec: ProbeSpec{Target: "app", Loose: true},
			name: "backlog-probe-1",
		},
		"not one that is known to have ended, whatever the pod still says": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning()) },
			spec: ProbeSpec{Ended: "backlog-probe-1"},
			name: "backlog-probe-2", new: true,
		},
		"not one that ended": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateExited()) },
			name: "backlog-probe-2", new: true,
		},
		"the newest": {
			pod: func(p *corev1.Pod) {
				addProbe(p, "backlog-probe-1", ProbeSpec{}, stateExited())
				addProbe(p, "backlog-probe-3", ProbeSpec{}, stateRunning())
				addProbe(p, "backlog-probe-2", ProbeSpec{}, stateRunning())
			},
			name: "backlog-probe-3",
		},
		"not somebody's debug container": {
			pod:  func(p *corev1.Pod) { addProbe(p, "debugger-x", ProbeSpec{}, stateRunning()) },
			name: "backlog-probe-1", new: true,
		},
		"not one whose image cannot be pulled, with another image": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Image: "nope"}, statePulling()) },
			spec: ProbeSpec{Image: "tools:1"},
			name: "backlog-probe-2", new: true,
		},
		"one whose image cannot be pulled, with that image: another would wait as long": {
			pod:  func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{Image: "nope"}, statePulling()) },
			spec: ProbeSpec{Image: "nope"},
			name: "backlog-probe-1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podWith(nil, nil)
			tt.pod(pod)
			if Living(pod, tt.spec) == tt.new {
				t.Errorf("Living says %v", !tt.new)
			}
			client := fake.NewClientset(pod)
			probe, err := (&Prober{Client: client}).Ensure(t.Context(), pod, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if probe.Name != tt.name || probe.New != tt.new {
				t.Errorf("%s, new %v; want %s, new %v", probe.Name, probe.New, tt.name, tt.new)
			}
			if n := len(patches(client)); (n > 0) != tt.new {
				t.Errorf("%d patches", n)
			}
			if s := probeStatus(pod, probe.Name); s != nil && s.State.Running != nil && !probe.Started.Equal(time.Unix(1000, 0)) {
				t.Errorf("started %v", probe.Started)
			}
		})
	}
}

// Names that the pod's copy here does not know of yet.
func TestEnsureWhenOthersAreFaster(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	conflict := apierrors.NewConflict(pods, "a", errors.New("the object has been modified"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)
	tests := map[string]struct {
		theirs func(*corev1.Pod) // done by somebody else before our first PATCH
		first  error             // the answer to it
		name   string
		new    bool
	}{
		"conflict, then it works": {first: conflict, name: "backlog-probe-1", new: true},
		"theirs runs":             {first: invalid, theirs: func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateRunning()) }, name: "backlog-probe-1"},
		"theirs has just begun":   {first: invalid, theirs: func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, nil) }, name: "backlog-probe-1"},
		"theirs is over already":  {first: invalid, theirs: func(p *corev1.Pod) { addProbe(p, "backlog-probe-1", ProbeSpec{}, stateExited()) }, name: "backlog-probe-2", new: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stale := podWith(nil, nil)
			now := stale.DeepCopy()
			if tt.theirs != nil {
				tt.theirs(now)
			}
			client := fake.NewClientset(now)
			answered := false
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if answered {
					return false, nil, nil
				}
				answered = true
				return true, nil, tt.first
			})
			probe, err := (&Prober{Client: client}).Ensure(t.Context(), stale, ProbeSpec{Image: "tools:1"})
			if err != nil {
				t.Fatal(err)
			}
			if probe.Name != tt.name || probe.New != tt.new {
				t.Errorf("%s, new %v; want %s, new %v", probe.Name, probe.New, tt.name, tt.new)
			}
		})
	}
}

func TestEnsureRefusals(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(message string) error {
		return apierrors.NewForbidden(pods, "a", errors.New(message))
	}
	tests := map[string]struct {
		pod    func(*corev1.Pod)
		answer error
		want   string
		is     func(error) bool
	}{
		"a static pod": {
			pod:  func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
			want: "pod shop/a is a static pod: the kubelet never starts an ephemeral container in it",
			is:   isA[*NotPossibleError],
		},
		"Windows by its own word": {
			pod:  func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} },
			want: "pod shop/a runs on Windows, which has no accept queues of this kind to read",
			is:   isA[*NotPossibleError],
		},
		"Windows by its node": {
			pod:  func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"} },
			want: "pod shop/a runs on Windows, which has no accept queues of this kind to read",
			is:   isA[*NotPossibleError],
		},
		"without a node": {
			pod:  func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending },
			want: "pod shop/a is not on a node yet (Pending)",
			is:   isA[*NotPossibleError],
		},
		"finished": {
			pod:  func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
			want: "pod shop/a has finished (Succeeded)",
			is:   isA[*GoneError],
		},
		"being deleted": {
			pod: func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{}
				p.Finalizers = []string{"x/y"}
			},
			want: "pod shop/a is being deleted",
			is:   isA[*GoneError],
		},
		"three are enough": {
			pod: func(p *corev1.Pod) {
				for _, n := range []string{"backlog-probe-1", "backlog-probe-2", "backlog-probe-3"} {
					addProbe(p, n, ProbeSpec{}, stateExited())
				}
			},
			want: "pod shop/a has had 3 probes already, and an ephemeral container can never be removed: restart the pod to probe it again",
			is:   isA[*NotPossibleError],
		},
		"no right to": {
			answer: forbidden(`User "jo" cannot patch resource "pods/ephemeralcontainers" in API group "" in the namespace "shop"`),
			want:   `not allowed to patch pods/ephemeralcontainers in namespace shop: pods "a" is forbidden: User "jo" cannot patch resource "pods/ephemeralcontainers" in API group "" in the namespace "shop"`,
			is:     isA[*ForbiddenError],
		},
		"Pod Security": {
			answer: forbidden(`violates PodSecurity "restricted:latest": unrestricted capabilities`),
			want:   `refused by the cluster: pods "a" is forbidden: violates PodSecurity "restricted:latest": unrestricted capabilities`,
			is:     isA[*RefusedError],
		},
		"a webhook with a code of its own": {
			answer: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadRequest, Message: `admission webhook "no-debug.example.com" denied the request: not in production`}},
			want:   `refused by the cluster: admission webhook "no-debug.example.com" denied the request: not in production`,
			is:     isA[*RefusedError],
		},
		"a container that is not valid": {
			answer: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil),
			want:   `refused by the cluster: Pod "a" is invalid`,
			is:     isA[*RefusedError],
		},
		"deleted": {
			answer: apierrors.NewNotFound(pods, "a"),
			want:   "pod shop/a was deleted",
			is:     isA[*GoneError],
		},
		"an old cluster": {
			answer: apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", schema.GroupResource{}, "", "", 0, true),
			want:   "this cluster has no ephemeral containers (they need Kubernetes 1.23)",
			is:     isA[*NotPossibleError],
		},
		"anything else": {
			answer: errors.New("connection refused"),
			want:   "adding a probe to pod shop/a: connection refused",
			is:     func(error) bool { return true },
		},
		"others change it all the time": {
			answer: apierrors.NewConflict(pods, "a", errors.New("modified")),
			want:   "adding a probe to pod shop/a: others change it all the time, try again",
			is:     func(error) bool { return true },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podWith(nil, nil)
			if tt.pod != nil {
				tt.pod(pod)
			}
			client := fake.NewClientset(pod)
			if tt.answer != nil {
				client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, tt.answer
				})
			}
			_, err := (&Prober{Client: client}).Ensure(t.Context(), pod, ProbeSpec{Image: "tools:1"})
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tt.want {
				t.Errorf("%q\nwant %q", err, tt.want)
			}
			if !tt.is(err) {
				t.Errorf("it is a %T", err)
			}
			if tt.answer == nil && len(patches(client)) > 0 {
				t.Error("the API server was asked")
			}
		})
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// A StatefulSet's pod that was replaced has the same name and another UID.
func TestEnsureKnowsAReplacedPod(t *testing.T) {
	stale, now := podWith(nil, nil), podWith(nil, nil)
	now.UID = "uid-2"
	client := fake.NewClientset(now)
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", errors.New("Precondition failed: UID in precondition"))
	})
	_, err := (&Prober{Client: client}).Ensure(t.Context(), stale, ProbeSpec{})
	if want := "pod shop/a was replaced by another of the same name"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestEnsureStopsWithItsContext(t *testing.T) {
	pod := podWith(nil, nil)
	client := fake.NewClientset(pod)
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", errors.New("modified"))
	})
	if _, err := (&Prober{Client: client}).Ensure(ctx, pod, ProbeSpec{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
)

func runningPod(i int) *corev1.Pod {
	name := fmt.Sprintf("server-%d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: fmt.Sprintf("n%d", i%2)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func probed(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{collect.Container(pod, 1, collect.ProbeSpec{Image: "img:1"})}
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
		Name: "backlog-probe-1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return pod
}

func servers(n int) []*corev1.Pod {
	list := make([]*corev1.Pod, n)
	for i := range list {
		list[i] = runningPod(i)
	}
	return list
}

// newConsent decides about the pods; answers are what somebody types, and "" is
// nobody at a terminal.
func newConsent(t *testing.T, all []*corev1.Pod, answers string, change ...func(*selection)) (*consent, *bytes.Buffer) {
	t.Helper()
	s := newSelection(genericclioptions.NewConfigFlags(true))
	s.context, s.namespace, s.image = "prod-eu1", "shop", "img:1"
	s.now = func() time.Time { return time.Date(2026, 3, 4, 14, 31, 7, 0, time.UTC) }
	for _, f := range change {
		f(&s)
	}
	var said bytes.Buffer
	return &consent{
		selection: &s, IOStreams: genericiooptions.IOStreams{In: strings.NewReader(answers), ErrOut: &said},
		client: fake.NewClientset(), pods: func() []*corev1.Pod { return all },
		spec:   func(*corev1.Pod) collect.ProbeSpec { return collect.ProbeSpec{Image: "img:1"} },
		asking: answers != "",
		worst: func(_ context.Context, pods []*corev1.Pod) ([]*corev1.Pod, error) {
			return []*corev1.Pod{pods[2], pods[0], pods[1]}, nil
		},
	}, &said
}

// allowed are the numbers of the pods that may get a probe.
func allowed(t *testing.T, a *admission, all []*corev1.Pod) string {
	t.Helper()
	var yes []string
	for i, pod := range all {
		if a.allow(t.Context(), pod) == nil {
			yes = append(yes, fmt.Sprint(i))
		}
	}
	return strings.Join(yes, " ")
}

func TestConsent(t *testing.T) {
	permit := func(s *selection) { s.yes = true }
	few := func(s *selection) { s.maxPods = 2 }
	everywhere := func(s *selection) { s.allNamespaces = true }
	for name, c := range map[string]struct {
		pods    int
		answers string
		change  []func(*selection)
		want    string // pods that may get one
		says    string
	}{
		"Enter is yes":             {2, "\n", nil, "0 1", "Add them? [Y/n]"},
		"no":                       {2, "no\n", nil, "", "Add them?"},
		"asked again":              {2, "what\ny\n", nil, "0 1", "[Y/n] Add them? [Y/n]"},
		"Enter is no with -A":      {2, "\n", []func(*selection){everywhere}, "", "[y/N]"},
		"yes with -A":              {2, "y\n", []func(*selection){everywhere}, "0 1", "all namespaces"},
		"--yes":                    {2, "no\n", []func(*selection){permit}, "0 1", "adding a probe to 2 of 2 pods"},
		"nobody there":             {2, "", nil, "0 1", "ends by itself after 1h"},
		"--read-only":              {2, "y\n", []func(*selection){func(s *selection) { s.readOnly = true }}, "", ""},
		"too many, all":            {3, "a\n", []func(*selection){few}, "0 1 2", "more than --max-pods=2"},
		"too many, Enter is none":  {3, "\n", []func(*selection){few}, "", "Which? [n]"},
		"too many, one a node":     {3, "1\n", []func(*selection){few}, "0 1", "one on each node (2)"},
		"too many, the worst":      {3, "w\n", []func(*selection){few}, "0 2", "the 2 that are worst"},
		"--yes is no answer to it": {3, "n\n", []func(*selection){few, permit}, "", "Which?"},
	} {
		t.Run(name, func(t *testing.T) {
			all := servers(c.pods)
			ask, said := newConsent(t, all, c.answers, c.change...)
			a, err := ask.decide(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := allowed(t, a, all); got != c.want {
				t.Errorf("allowed %q, want %q", got, c.want)
			}
			if !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
				t.Errorf("it says %q, want %q in it", said.String(), c.says)
			}
		})
	}
}

// The question says all that somebody has to know who will answer for it.
func TestTheQuestion(t *testing.T) {
	all := append(servers(3), probed(runningPod(7)))
	ask, said := newConsent(t, all, "\n", func(s *selection) { s.image = "evil\x1b[2J:1" })
	if _, err := ask.decide(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"added to 3 pods", "prod-eu1", "shop", "3 of 4 that are looked at", `evil\x1b[2J:1`, probeCost,
		"at 15:31:07Z (after 1h)", `"backlog-probe-N" in the pod's list of containers, until the pod goes`,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
}

// Nothing is asked or said where nothing would be added.
func TestNoQuestionWithoutNeed(t *testing.T) {
	host := runningPod(1)
	host.Spec.HostNetwork = true
	ask, said := newConsent(t, []*corev1.Pod{probed(runningPod(0)), host}, "no\n")
	if _, err := ask.decide(t.Context()); err != nil || said.Len() > 0 {
		t.Errorf("it says %q, %v", said, err)
	}
}

// Without a terminal too many is an error that names the flag, never a cut.
func TestTooManyWithoutATerminal(t *testing.T) {
	ask, _ := newConsent(t, servers(3), "", func(s *selection) { s.maxPods = 2 })
	_, err := ask.decide(t.Context())
	var usage usageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "--max-pods=3") {
		t.Errorf("error %v", err)
	}
}

// Who may not add a probe is not asked whether to; the rows say what is missing.
func TestNoQuestionWithoutTheRight(t *testing.T) {
	all := servers(2)
	ask, said := newConsent(t, all, "y\n")
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		if a := review.Spec.ResourceAttributes; a.Verb != "patch" || a.Subresource != "ephemeralcontainers" || a.Name != "server-0" {
			t.Errorf("asked about %+v", a)
		}
		return true, review, nil
	})
	ask.client = client
	a, err := ask.decide(t.Context())
	if err != nil || said.Len() > 0 {
		t.Fatalf("it says %q, %v", said, err)
	}
	var forbidden *collect.ForbiddenError
	if err := a.allow(t.Context(), all[0]); !errors.As(err, &forbidden) || forbidden.Resource != "pods/ephemeralcontainers" {
		t.Errorf("refused with %v", err)
	}
}

// Pods that a rollout brings count against the limit while they are there.
func TestLaterPodsCountAgainstTheLimit(t *testing.T) {
	present := servers(2)
	ask, _ := newConsent(t, nil, "", func(s *selection) { s.maxPods = 2 })
	ask.pods = func() []*corev1.Pod { return present }
	a, err := ask.decide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := allowed(t, a, present); got != "0 1" {
		t.Fatalf("allowed %q", got)
	}
	newer := runningPod(2)
	present = append(present, newer)
	if err := a.allow(t.Context(), newer); err == nil || !strings.Contains(err.Error(), "--max-pods") {
		t.Errorf("a third at the same time: %v", err)
	}
	present = present[1:]
	if err := a.allow(t.Context(), newer); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
}

// Ctrl-c during the question ends it, and what was typed ahead stays for the
// screen.
func TestReadLine(t *testing.T) {
	in := strings.NewReader("yes\nq")
	if line, err := readLine(t.Context(), in); line != "yes" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "q" {
		t.Errorf("left for the screen: %q", rest)
	}
	if _, err := readLine(t.Context(), strings.NewReader("")); !errors.Is(err, io.EOF) {
		t.Errorf("end of input: %v", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readLine(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestDryRun(t *testing.T) {
	client := fake.NewClientset()
	host := runningPod(2)
	host.Spec.HostNetwork = true
	s := newSelection(genericclioptions.NewConfigFlags(true))
	s.dryRun = "client"
	var out bytes.Buffer
	spec := func(*corev1.Pod) collect.ProbeSpec { return collect.ProbeSpec{Image: "img:1"} }
	err := s.tellDryRun(t.Context(), &out, &collect.Prober{Client: client}, []*corev1.Pod{runningPod(0), probed(runningPod(1))}, spec)
	if !errors.Is(err, errDryRun) || len(client.Actions()) > 0 {
		t.Errorf("%v, asked the API server: %v", err, client.Actions())
	}
	want := "pod/server-0: ephemeral container backlog-probe-1 of img:1 would be added (client dry run)\n" +
		"pod/server-1: backlog-probe-1 is there already, nothing would be added\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if err := s.tellDryRun(t.Context(), io.Discard, &collect.Prober{Client: client}, []*corev1.Pod{host}, spec); !errors.Is(err, errReported) {
		t.Errorf("a pod that can have none: %v", err)
	}
}

// With `server` the PATCH is sent as a dry run.
func TestDryRunOfTheServer(t *testing.T) {
	pod := runningPod(0)
	client := fake.NewClientset(pod)
	var sent []string
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent = append(sent, action.GetSubresource()+fmt.Sprint(action.(clienttesting.PatchActionImpl).PatchOptions.DryRun))
		return true, pod, nil
	})
	s := newSelection(genericclioptions.NewConfigFlags(true))
	s.dryRun = "server"
	err := s.tellDryRun(t.Context(), io.Discard, &collect.Prober{Client: client}, []*corev1.Pod{pod},
		func(*corev1.Pod) collect.ProbeSpec { return collect.ProbeSpec{Image: "img:1"} })
	if !errors.Is(err, errDryRun) || fmt.Sprint(sent) != "[ephemeralcontainers[All]]" {
		t.Errorf("%v, sent %v", err, sent)
	}
}

package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
)

// noon is the clock of these tests.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// watchedBy is pod server-I with a probe that somebody added some minutes ago.
func watchedBy(i int, by, reason string) *corev1.Pod {
	pod := runningPod(i)
	pod.Labels = map[string]string{"app": "server"}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{
		collect.Container(pod, 1, collect.ProbeSpec{Image: "img:1", TTL: time.Hour, By: by, Reason: reason}),
	}
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "backlog-probe-1", State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-time.Duration(i) * time.Minute))},
	}}}
	return pod
}

// aCluster has the pods, and knows its user as "me".
func aCluster(pods ...*corev1.Pod) *fake.Clientset {
	objects := make([]runtime.Object, len(pods))
	for i := range pods {
		objects[i] = pods[i]
	}
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{
			Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "me"}},
		}, nil
	})
	return client
}

// probesIn gives the options of probes on a cluster, in namespace shop.
func probesIn(client kubernetes.Interface, in string) (o *probesOptions, out, errOut *bytes.Buffer) {
	out, errOut = new(bytes.Buffer), new(bytes.Buffer)
	o = newProbesOptions(genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{In: strings.NewReader(in), Out: out, ErrOut: errOut})
	o.namespace, o.now = "shop", func() time.Time { return noon }
	o.dial = func() (*rest.Config, kubernetes.Interface, error) { return nil, client, nil }
	return o, out, errOut
}

func TestProbesListsThem(t *testing.T) {
	other := watchedBy(7, "eve", "")
	other.Namespace = "store"
	client := aCluster(watchedBy(1, "ann", "refused connections"), watchedBy(2, "", ""), runningPod(3), other)
	for _, c := range []struct {
		name      string
		change    func(*probesOptions)
		out, errs string
		requests  int
	}{
		{
			"a namespace", func(*probesOptions) {},
			"POD        PROBE             STATE     BY    SINCE       UNTIL       REASON\n" +
				"server-2   backlog-probe-1   running   ?     11:58:00Z   12:58:00Z   -\n" +
				"server-1   backlog-probe-1   running   ann   11:59:00Z   12:59:00Z   refused connections\n", "", 1,
		},
		{
			"all", func(o *probesOptions) { o.allNamespaces, o.format.noHeaders = true, true },
			"store   server-7   backlog-probe-1   running   eve   11:53:00Z   12:53:00Z   -\n" +
				"shop    server-2   backlog-probe-1   running   ?     11:58:00Z   12:58:00Z   -\n" +
				"shop    server-1   backlog-probe-1   running   ann   11:59:00Z   12:59:00Z   refused connections\n", "", 1,
		},
		{"names", func(o *probesOptions) { *o.format.flags.OutputFormat = "name" }, "pod/server-2\npod/server-1\n", "", 1},
		{"none", func(o *probesOptions) { o.namespace = "empty" }, "", "No probes found in empty namespace.\n", 1},
		{"none at all", func(o *probesOptions) { o.allNamespaces, o.labels = true, "app=x" }, "", "No probes found\n", 1},
		{
			"none as JSON", func(o *probesOptions) { o.namespace, *o.format.flags.OutputFormat = "empty", "json" },
			"{\n    \"apiVersion\": \"kubectl-backlog.github.io/v1alpha1\",\n    \"items\": [],\n    \"kind\": \"ProbeList\",\n    \"metadata\": {}\n}\n", "", 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			client.ClearActions()
			o, out, errOut := probesIn(client, "")
			c.change(o)
			if err := o.validate(); err != nil {
				t.Fatal(err)
			}
			if err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.out || errOut.String() != c.errs {
				t.Errorf("printed\n%s%s", out, errOut)
			}
			if n := len(client.Actions()); n != c.requests {
				t.Errorf("%d requests: %v", n, client.Actions())
			}
		})
	}
}

// A cluster of many pods is asked for in pages, and all of them are read.
func TestProbesReadsAllPages(t *testing.T) {
	client := aCluster()
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		opts := a.(clienttesting.ListActionImpl).GetListOptions()
		if opts.Limit != 500 {
			t.Errorf("asked for %d", opts.Limit)
		}
		if opts.Continue == "" {
			return true, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Pod{*watchedBy(2, "ann", "")}}, nil
		}
		return true, &corev1.PodList{Items: []corev1.Pod{*watchedBy(1, "ann", "")}}, nil
	})
	o, out, _ := probesIn(client, "")
	*o.format.flags.OutputFormat = "name"
	if err := o.run(t.Context()); err != nil || out.String() != "pod/server-2\npod/server-1\n" {
		t.Errorf("%v, printed %s", err, out)
	}
}

// stopping runs probes stop; what was ended is told by pod.
func stopping(t *testing.T, client kubernetes.Interface, typed string, stop func(pod string) error, change func(*stopOptions)) (ended []string, out, errOut string, err error) {
	t.Helper()
	base, outB, errB := probesIn(client, typed)
	var mu sync.Mutex
	o := &stopOptions{
		probesOptions: base,
		asking:        func() bool { return typed != "" },
		stop: func(_ context.Context, _ *rest.Config, _ kubernetes.Interface, pod *corev1.Pod, probe string) error {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, pod.Name+" "+probe)
			if stop == nil {
				return nil
			}
			return stop(pod.Name)
		},
	}
	change(o)
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	err = o.run(t.Context())
	slices.Sort(ended)
	return ended, outB.String(), errB.String(), err
}

func all(o *stopOptions) { o.all = true }

// One's own probes are ended without a question; each is told of, in order.
func TestStopEndsOnesOwn(t *testing.T) {
	ended := watchedBy(5, "me", "")
	ended.Status.EphemeralContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	client := aCluster(watchedBy(1, "me", ""), watchedBy(2, "me", ""), runningPod(3), ended)
	got, out, errOut, err := stopping(t, client, "", nil, all)
	if err != nil || errOut != "" {
		t.Fatalf("%v, %s", err, errOut)
	}
	if want := []string{"server-1 backlog-probe-1", "server-2 backlog-probe-1"}; !slices.Equal(got, want) {
		t.Errorf("ended %q", got)
	}
	if want := "pod shop/server-1: backlog-probe-1 stopped\npod shop/server-2: backlog-probe-1 stopped\n"; out != want {
		t.Errorf("printed %s", out)
	}
}

// Those of others are ended only when somebody says so, at a terminal or by
// --yes. Who added none is nobody's own.
func TestStopAsksBeforeOthers(t *testing.T) {
	const own, of, unknown = "server-1 backlog-probe-1", "server-2 backlog-probe-1", "server-3 backlog-probe-1"
	for _, c := range []struct {
		name, typed string
		yes         bool
		want        []string
		fails       string
	}{
		{"nobody to ask", "", false, nil, "2 of 3 running probes were added by others (ann, unknown): nothing was stopped; give --yes to end them as well"},
		{"--yes", "", true, []string{own, of, unknown}, ""},
		{"yes", "y\n", false, []string{own, of, unknown}, ""},
		{"no", "n\n", false, []string{own}, ""},
		{"Enter is no", "\n", false, []string{own}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := aCluster(watchedBy(1, "me", ""), watchedBy(2, "ann", "checkout"), watchedBy(3, "", ""))
			got, _, errOut, err := stopping(t, client, c.typed, nil, func(o *stopOptions) { o.all, o.yes = true, c.yes })
			if (err == nil) != (c.fails == "") || err != nil && err.Error() != c.fails {
				t.Errorf("got %v", err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("ended %q", got)
			}
			if c.typed != "" && !strings.Contains(errOut, "pod shop/server-2: backlog-probe-1, by ann, until 12:58:00Z: checkout\n") {
				t.Errorf("asked\n%s", errOut)
			}
		})
	}
}

// What could not be ended is told with the right that is missing and the time at
// which it ends by itself, and makes the code 1.
func TestStopTellsWhatStillRuns(t *testing.T) {
	client := aCluster(watchedBy(1, "me", ""), watchedBy(2, "me", ""), watchedBy(3, "me", ""))
	_, out, errOut, err := stopping(t, client, "", func(pod string) error {
		switch pod {
		case "server-1":
			return &collect.ForbiddenError{Verb: "get and create", Resource: "pods/exec", Namespace: "shop", Message: "\x1b[2J"}
		case "server-2":
			return &collect.GoneError{Pod: "shop/server-2", Why: "was deleted"}
		}
		return nil
	}, all)
	if !errors.Is(err, errReported) {
		t.Errorf("got %v", err)
	}
	if want := "pod shop/server-2: backlog-probe-1 went with its pod, which was deleted\npod shop/server-3: backlog-probe-1 stopped\n"; out != want {
		t.Errorf("printed %s", out)
	}
	for _, want := range []string{
		`pod shop/server-1: backlog-probe-1 not stopped: not allowed to get and create pods/exec in namespace shop: \x1b[2J; it ends by itself at 12:59:00Z`,
		"# missing in namespace shop: get pods/exec, create pods/exec",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%q is not in\n%s", want, errOut)
		}
	}
}

// One that has not begun cannot be ended; that nothing runs is no error.
func TestStopWithoutRunningProbes(t *testing.T) {
	_, _, errOut, err := stopping(t, aCluster(runningPod(1)), "", nil, all)
	if err != nil || errOut != "No running probes found in shop namespace.\n" {
		t.Errorf("%v: %s", err, errOut)
	}
	starting := watchedBy(1, "me", "")
	starting.Status.EphemeralContainerStatuses = nil
	got, _, errOut, err := stopping(t, aCluster(starting), "", nil, all)
	if !errors.Is(err, errReported) || len(got) > 0 || !strings.Contains(errOut, "it has not started yet") {
		t.Errorf("%v, ended %q: %s", err, got, errOut)
	}
}

// No more than a few are ended at a time, and an interrupt stops the rest.
func TestStopIsBounded(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 30 {
		pods = append(pods, watchedBy(i, "me", ""))
	}
	base, _, _ := probesIn(aCluster(pods...), "")
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	calls := 0
	o := &stopOptions{probesOptions: base, all: true, asking: func() bool { return false }}
	o.stop = func(ctx context.Context, _ *rest.Config, _ kubernetes.Interface, _ *corev1.Pod, _ string) error {
		mu.Lock()
		if calls++; calls == stopAtOnce {
			cancel()
		}
		mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	if err := o.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if calls != stopAtOnce {
		t.Errorf("%d at once, want %d", calls, stopAtOnce)
	}
}

// Nothing is ended because nothing was said.
func TestStopWantsToKnowWhose(t *testing.T) {
	for i, c := range []struct {
		change func(*stopOptions)
		ok     bool
	}{
		{func(*stopOptions) {}, false},
		{func(o *stopOptions) { o.yes = true }, false},
		{func(o *stopOptions) { o.args = []string{"a"} }, true},
		{func(o *stopOptions) { o.labels = "a=b" }, true},
		{func(o *stopOptions) { o.allNamespaces = true }, true},
		{func(o *stopOptions) { o.all = true }, true},
		{func(o *stopOptions) { o.all, o.args = true, []string{"a"} }, false},
	} {
		base, _, _ := probesIn(aCluster(), "")
		o := &stopOptions{probesOptions: base}
		c.change(o)
		var usage usageError
		if err := o.validate(); (err == nil) != c.ok || err != nil && !errors.As(err, &usage) {
			t.Errorf("%d: %v", i, fmt.Sprint(err))
		}
	}
}

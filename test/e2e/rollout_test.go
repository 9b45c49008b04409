package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/cmd"
)

const replicas = 40

// Forty pods are replaced by forty others under the eyes of top: the old ones stay
// as rows that are gone, the new ones appear, and what the program holds is then
// what it held before. It runs in this process, so that goroutines can be counted.
func TestRollingUpdate(t *testing.T) {
	e := newEnv(t, nil)
	started := time.Now()
	step := func(what string) { t.Helper(); t.Logf("%s after %s", what, time.Since(started).Round(time.Second)) }
	e.deploy("server")
	e.rolledOut("server")
	step("running")

	start := holds(t)
	top := e.inside("top", "-l", "app=server", "--interval", "1s")
	rows := func(fresh, gone int) {
		t.Helper()
		e.eventually(fmt.Sprintf("%d pods with figures and %d gone", fresh, gone), func() error {
			text := top.lastTable()
			ok, ended := len(rowOK.FindAllString(text, -1)), len(rowGone.FindAllString(text, -1))
			if ok != fresh || ended != gone {
				return errorf("%d and %d in\n%s", ok, ended, text)
			}
			return nil
		})
	}
	rows(replicas, 0)
	step("all with figures")
	time.Sleep(3 * time.Second) // until connections that lost a race are let go
	before := holds(t)

	e.update("server")
	e.rolledOut("server")
	step("replaced")
	rows(replicas, replicas)
	step("seen")

	after := e.settles("as before the update", before)
	// A row that is gone keeps its last figures.
	if after.memory > before.memory*3/2 {
		t.Errorf("%d KiB in use, before %d KiB", after.memory>>10, before.memory>>10)
	}
	top.stop()
	e.settles("as before the start", start)
	for _, p := range e.podsOf("server") {
		if n := len(p.Spec.EphemeralContainers); n != 1 {
			t.Errorf("pod %s has %d ephemeral containers", p.Name, n)
		}
	}
	t.Logf("held before the start %+v, before the update %+v, after it %+v", start, before, after)
}

var (
	rowOK   = regexp.MustCompile(`(?m)^server-\S+ +in:4143 +0/128 .* ok +\S+$`)
	rowGone = regexp.MustCompile(`(?m)^server-.* gone +-$`)
)

// deploy makes a Deployment of proxies alone.
func (e *env) deploy(name string) {
	e.Helper()
	labels := map[string]string{"app": name, "linkerd.io/control-plane-ns": "linkerd"}
	quarter := intstr.FromString("25%")
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr(int64(1)),
					Containers:                    []corev1.Container{proxyContainer(nil)},
				},
			},
		},
	}
	if _, err := cluster.client.AppsV1().Deployments(e.ns).Create(e.Context(), d, metav1.CreateOptions{}); err != nil {
		e.Fatalf("creating deployment %s: %v", name, err)
	}
}

// update begins a rolling update.
func (e *env) update(name string) {
	e.Helper()
	patch := `{"spec":{"template":{"metadata":{"annotations":{"version":"2"}}}}}`
	_, err := cluster.client.AppsV1().Deployments(e.ns).Patch(e.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		e.Fatalf("updating deployment %s: %v", name, err)
	}
}

// rolledOut waits until a Deployment has what it asks for, and nothing else: some
// eighty containers and more are started meanwhile, on whatever CPU is left.
func (e *env) rolledOut(name string) {
	e.Helper()
	var last appsv1.DeploymentStatus
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		d, err := cluster.client.AppsV1().Deployments(e.ns).Get(e.Context(), name, metav1.GetOptions{})
		if err != nil {
			e.Fatalf("getting deployment %s: %v", name, err)
		}
		last = d.Status
		if last.ObservedGeneration == d.Generation && last.UpdatedReplicas == replicas && last.AvailableReplicas == replicas &&
			last.Replicas == replicas && len(e.podsOf(name)) == replicas {
			return
		}
	}
	e.Fatalf("deployment %s is not rolled out: %+v", name, last)
}

func (e *env) podsOf(name string) []corev1.Pod {
	e.Helper()
	pods, err := cluster.client.CoreV1().Pods(e.ns).List(e.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		e.Fatalf("listing pods: %v", err)
	}
	return pods.Items
}

// holding is what this process holds; memory is what is in use, in bytes.
type holding struct {
	goroutines, sockets int
	memory              uint64
}

func holds(t *testing.T) holding {
	t.Helper()
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools held goes with the second
	runtime.ReadMemStats(&m)
	return holding{goroutines: runtime.NumGoroutine(), sockets: socketsOf(t, os.Getpid()), memory: m.HeapAlloc}
}

// settles waits until goroutines and sockets are about as they were.
func (e *env) settles(what string, before holding) (now holding) {
	e.Helper()
	e.eventually("goroutines and sockets "+what, func() error {
		now = holds(e.T)
		if now.goroutines > before.goroutines+10 || now.sockets > before.sockets+3 {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			return errorf("%+v, they were %+v\n%.6000s", now, before, stacks.String())
		}
		return nil
	})
	return now
}

// insider is the program in the test's own process.
type insider struct {
	*env
	out, err buffer
	cancel   context.CancelFunc
	done     chan struct{}
	code     int // once done
}

func (e *env) inside(args ...string) *insider {
	e.Helper()
	e.Setenv("KUBECTL_BACKLOG_IMAGE", toolsImage)
	ctx, cancel := context.WithCancel(context.Background())
	i := &insider{env: e, cancel: cancel, done: make(chan struct{})}
	args = append(args, "--kubeconfig", cluster.kubeconfig, "-n", e.ns)
	go func() {
		defer close(i.done)
		i.code = cmd.Main(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &i.out, ErrOut: &i.err}, "test")
	}()
	e.Cleanup(i.stop)
	return i
}

// stop ends it as ctrl-c does and waits.
func (i *insider) stop() {
	i.Helper()
	i.cancel()
	select {
	case <-i.done:
		if i.code != 130 {
			i.Errorf("code %d\n%s", i.code, i.err.String())
		}
	case <-time.After(20 * time.Second):
		i.Errorf("it does not end:\n%s", i.err.String())
	}
}

func (i *insider) lastTable() string {
	tables := strings.Split(i.out.String(), "\n\n")
	return tables[max(0, len(tables)-2)]
}

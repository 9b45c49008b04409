package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// env is one test's namespace, and the ways to act in it.
type env struct {
	*testing.T
	ns string
	// kubeconfig is another user's than the administrator's; empty is his.
	kubeconfig string
}

// newEnv makes a namespace with the given labels, which goes with the test.
func newEnv(t *testing.T, labels map[string]string) *env {
	t.Helper()
	ns, err := cluster.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: labels},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		zero := int64(0)
		if err := cluster.client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Logf("deleting namespace %s: %v", ns.Name, err)
		}
	})
	e := &env{T: t, ns: ns.Name}
	e.eventually("the default service account", func() error {
		_, err := cluster.client.CoreV1().ServiceAccounts(e.ns).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return e
}

// create makes a pod and returns it as the API server has it.
func (e *env) create(pod *corev1.Pod) *corev1.Pod {
	e.Helper()
	made, err := cluster.client.CoreV1().Pods(e.ns).Create(e.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		e.Fatalf("creating pod %s: %v", pod.Name, err)
	}
	return made
}

func (e *env) get(name string) *corev1.Pod {
	e.Helper()
	pod, err := cluster.client.CoreV1().Pods(e.ns).Get(e.Context(), name, metav1.GetOptions{})
	if err != nil {
		e.Fatalf("getting pod %s: %v", name, err)
	}
	return pod
}

// running waits until all containers of the pods run.
func (e *env) running(names ...string) {
	e.Helper()
	for _, name := range names {
		e.eventually("pod "+name+" to run", func() error {
			pod := e.get(name)
			for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				if s.State.Running == nil && s.State.Terminated == nil {
					return fmt.Errorf("container %s: %+v", s.Name, s.State)
				}
			}
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("phase %s", pod.Status.Phase)
			}
			return nil
		})
	}
}

// eventually tries until f succeeds, for at most two minutes.
func (e *env) eventually(what string, f func() error) {
	e.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
		if e.Context().Err() != nil {
			break
		}
	}
	e.Fatalf("waiting for %s: %v", what, err)
}

// exec runs a command in a container and gives what it printed.
func (e *env) exec(pod, container string, command ...string) string {
	e.Helper()
	out, err := e.tryExec(e.Context(), pod, container, command...)
	if err != nil {
		e.Fatalf("running %q in %s/%s: %v\n%s", strings.Join(command, " "), pod, container, err, out)
	}
	return out
}

func (e *env) tryExec(ctx context.Context, pod, container string, command ...string) (string, error) {
	req := cluster.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(e.ns).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(cluster.config, "GET", req.URL().String())
	if err != nil {
		return "", err
	}
	var out buffer // both streams write to it, at the same time
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &out})
	return out.String(), err
}

// background runs a command in a container until it ends or the test does. The
// function it returns waits for the end and gives what was printed.
func (e *env) background(pod, container string, command ...string) (wait func() string) {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan string, 1)
	go func() {
		out, err := e.tryExec(ctx, pod, container, command...)
		if err != nil && ctx.Err() == nil {
			out += "\n" + err.Error()
		}
		done <- out
	}()
	var out string
	var have bool
	wait = func() string {
		if !have {
			out, have = <-done, true
		}
		return out
	}
	e.Cleanup(func() { cancel(); wait() })
	return wait
}

// result is what the program did.
type result struct {
	stdout, stderr string
	code           int
}

// backlog runs kubectl-backlog in the test's namespace, with the tools image
// for its probes, for at most three minutes.
func (e *env) backlog(args ...string) result {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), 3*time.Minute)
	defer cancel()
	c := e.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		e.Fatalf("running kubectl-backlog %q: %v", args, err)
	}
	r := result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
	e.Logf("kubectl backlog %s -> %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	return r
}

// command is the program, not yet started.
func (e *env) command(ctx context.Context, args ...string) *exec.Cmd {
	kubeconfig := cmp.Or(e.kubeconfig, cluster.kubeconfig)
	c := exec.CommandContext(ctx, cluster.binary, append(args, "--kubeconfig", kubeconfig, "-n", e.ns)...)
	c.Env = append(os.Environ(), "KUBECTL_BACKLOG_IMAGE="+toolsImage)
	return c
}

// list is the object that get -o json prints.
type list struct {
	Items []item `json:"items"`
}

// item is a pod of it.
type item struct {
	model.Pod
	Unknown []model.Missing `json:"unknown"`
}

// getJSON runs get -o json, which must succeed, and reads its pods by name.
func (e *env) getJSON(args ...string) map[string]item {
	e.Helper()
	r := e.backlog(append([]string{"get", "-o", "json"}, args...)...)
	if r.code != 0 {
		e.Fatalf("get %v: exit code %d\n%s", args, r.code, r.stderr)
	}
	return e.parse(r.stdout)
}

func (e *env) parse(stdout string) map[string]item {
	e.Helper()
	var l list
	if err := json.Unmarshal([]byte(stdout), &l); err != nil {
		e.Fatalf("reading get's JSON: %v\n%.2000s", err, stdout)
	}
	pods := map[string]item{}
	for _, i := range l.Items {
		pods[i.Meta.Name] = i
	}
	if len(l.Items) == 0 { // a single pod that was named is no list
		var one item
		if err := json.Unmarshal([]byte(stdout), &one); err == nil && one.Meta.Name != "" {
			pods[one.Meta.Name] = one
		}
	}
	return pods
}

// listener finds the listener of a port.
func (e *env) listener(p item, port uint16) model.Listener {
	e.Helper()
	for _, l := range p.Listeners {
		if l.Port == port {
			return l
		}
	}
	e.Fatalf("pod %s has no listener on %d: %+v", p.Meta.Name, port, p.Listeners)
	return model.Listener{}
}

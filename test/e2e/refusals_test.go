package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What cannot be done is one clear line and exit code 1.
func TestRefusals(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("well", nil))
	pending := proxyPod("pending", nil)
	pending.Spec.NodeSelector = map[string]string{"disk": "none-like-this"}
	e.create(pending)
	finished := serverPod("finished", nil)
	finished.Spec.RestartPolicy = corev1.RestartPolicyNever
	finished.Spec.Containers = []corev1.Container{{Name: "a", Image: toolsImage, ImagePullPolicy: corev1.PullNever, Command: []string{"true"}}}
	e.create(finished)
	e.running("well")
	e.eventually("the pod to finish", func() error {
		if p := e.get("finished").Status.Phase; p != corev1.PodSucceeded {
			return errorf("phase %s", p)
		}
		return nil
	})

	for _, c := range []struct {
		name string
		args []string
		want []string // all in the last line of stderr
	}{
		{"unknown kind", []string{"get", "gizmo/x"}, []string{`the server doesn't have a resource type "gizmo"`}},
		{"no such pod", []string{"get", "nosuch"}, []string{`pods "nosuch" not found`}},
		{"no such deployment", []string{"get", "deploy/nosuch"}, []string{`deployments.apps "nosuch" not found`}},
		{"a kind without pods", []string{"get", "configmap/kube-root-ca.crt"}, []string{"configmap", "kube-root-ca.crt"}},
		{"Pending", []string{"get", "pending"}, []string{e.ns + "/pending", "not running yet", "node(s) didn't match"}},
		{"finished", []string{"get", "finished"}, []string{"finished", "has finished"}},
		{"image that cannot be pulled", []string{"get", "well", "--via", "probe", "--image", "docker.io/local/nosuch:1", "--timeout", "60s"}, []string{e.ns + "/well", "docker.io/local/nosuch:1"}},
		{"unknown output", []string{"get", "well", "-o", "gizmo"}, []string{`"gizmo"`}},
		{"unreachable API server", []string{"get", "well", "--server", "https://127.0.0.1:1"}, []string{"127.0.0.1:1", "connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sub := &env{T: t, ns: e.ns}
			r := sub.backlog(c.args...)
			lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
			for _, want := range c.want {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, r.stderr)
				}
			}
			if r.code != 1 {
				t.Errorf("exit code %d, want 1", r.code)
			}
			// Before it there may be signs of life, and after it a hint at --help.
			told := 0
			for _, line := range lines {
				if strings.HasPrefix(line, "error: ") || strings.HasPrefix(line, "pod ") {
					told++
				}
			}
			if told != 1 {
				t.Errorf("it is told %d times, want one clear line:\n%s", told, r.stderr)
			}
		})
	}
}

// A namespace without pods is kubectl's own answer; a selector or a workload that
// matches no pod is an error, since somebody expected one.
func TestNothingFound(t *testing.T) {
	e := newEnv(t, nil)
	want := "No resources found in " + e.ns + " namespace."
	for code, lists := range map[int][][]string{
		0: {{"get"}, {"top", "--count", "1"}},
		1: {{"get", "-l", "app=nosuch"}, {"get", "--field-selector", "spec.nodeName=nosuch"}, {"top", "--count", "1", "-l", "app=nosuch"}},
	} {
		for _, args := range lists {
			r := e.backlog(args...)
			if !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" || r.code != code {
				t.Errorf("%v: code %d, want %d; stdout %q, stderr %q", args, r.code, code, r.stdout, r.stderr)
			}
		}
	}
}

// When some pods fail and some do not, the rows are shown, the failures are
// notes, and the code is 1.
func TestSomeFailSomeDoNot(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("well", nil))
	pending := proxyPod("pending", nil)
	pending.Spec.NodeSelector = map[string]string{"disk": "none-like-this"}
	e.create(pending)
	e.running("well")
	r := e.backlog("get", "well", "pending", "nosuch")
	if r.code != 1 || !strings.Contains(r.stdout, "well") || !strings.Contains(r.stdout, "0/128") {
		t.Errorf("code %d, stdout:\n%s", r.code, r.stdout)
	}
	for _, want := range []string{"pending", "nosuch"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("stderr does not tell of %s:\n%s", want, r.stderr)
		}
	}
}

// A webhook's or Pod Security's refusal is shown word for word, and the proxy's
// own metrics remain.
func TestProbeRefusedByPodSecurity(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("well", nil))
	e.running("well")
	// The probe itself satisfies "restricted"; the pod does not, but pods are
	// judged when they change: a patch of ephemeral containers judges the whole.
	_, err := cluster.client.CoreV1().Namespaces().Patch(t.Context(), e.ns, "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for via, code := range map[string]int{"auto": 0, "probe": 1} {
		r := e.backlog("get", "well", "--via", via, "-o", "json")
		if !strings.Contains(r.stderr, "violates PodSecurity") || r.code != code {
			t.Errorf("--via %s: code %d, want %d, stderr %q", via, r.code, code, r.stderr)
		}
		if p := e.parse(r.stdout)["well"]; via == "auto" && (p.Collection.Via != model.ViaMetrics || p.Runtime.Workers != model.Known[int64](1)) {
			t.Errorf("the proxy's own figures are missing: %+v, workers %+v", p.Collection, p.Runtime.Workers)
		}
	}
}

// Every kind of workload leads to its pods.
func TestKindsOfTargets(t *testing.T) {
	e := newEnv(t, nil)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "work"}},
			Spec:       serverPod("x", []string{"-listen", "127.0.0.1:8080/16"}).Spec,
		}},
	}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := cluster.client.BatchV1().Jobs(e.ns).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.create(proxyPod("server", nil))
	if _, err := cluster.client.CoreV1().Services(e.ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.running("server")
	var worker string
	e.eventually("the job's pod", func() error {
		pods, err := cluster.client.CoreV1().Pods(e.ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=work"})
		if err != nil || len(pods.Items) != 1 {
			return errorf("%d pods, %v", len(pods.Items), err)
		}
		worker = pods.Items[0].Name
		return nil
	})
	e.running(worker)
	for want, args := range map[string][]string{
		"server": {"get", "svc/web", "-o", "name"},
		worker:   {"get", "job/work", "-o", "name"},
	} {
		if r := e.backlog(args...); r.code != 0 || !strings.Contains(r.stdout, "/"+want) {
			t.Errorf("%v: code %d, %q", args, r.code, r.stdout)
		}
	}
	// Nothing named: the meshed pod alone, and a note about the other.
	if r := e.backlog("get", "-o", "jsonpath={.items[*].metadata.name}"); r.stdout != "server" || !strings.Contains(r.stderr, "1 pod") {
		t.Errorf("without a target: %q, %q", r.stdout, r.stderr)
	}
	if r := e.backlog("get", "-l", "app in (work,server)", "-o", "go-template={{len .items}}"); r.stdout != "2" {
		t.Errorf("by label: %q", r.stdout)
	}
}

// The plugin through the real kubectl, found on PATH as kubectl finds plugins.
func TestThroughKubectl(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	path := filepath.Dir(cluster.binary) + string(os.PathListSeparator) + os.Getenv("PATH")
	kubectl := func(args ...string) (stdout, stderr string, err error) {
		c := command(t.Context(), "kubectl", args...)
		c.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+cluster.kubeconfig, "KUBECTL_BACKLOG_IMAGE="+toolsImage)
		var out, errOut bytes.Buffer
		c.Stdout, c.Stderr = &out, &errOut
		err = c.Run()
		return out.String(), errOut.String(), err
	}
	if out, _, err := kubectl("backlog", "version"); err != nil || !strings.HasPrefix(out, "kubectl-backlog ") {
		t.Errorf("version: %q, %v", out, err)
	}
	if out, _, err := kubectl("backlog", "get", "-n", e.ns, "server", "-o", "jsonpath={.listeners[?(@.port==4143)].sockets[0].limit}"); err != nil || out != "128" {
		t.Errorf("get: %q, %v", out, err)
	}
	if out, told, err := kubectl("backlog", "get", "-n", e.ns, "nosuch"); err == nil || out != "" || !strings.Contains(told, "not found") {
		t.Errorf("an error through kubectl: %q, %q, %v", out, told, err)
	}
}

// No port of this machine is ever opened by the program.
func TestNoLocalPort(t *testing.T) {
	before := listening(t)
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	c := e.command(t.Context(), "top", "server", "--count", "8", "--interval", "500ms")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	defer func() { _ = c.Wait() }()
	e.eventually("sockets of the program", func() error {
		if n := socketsOf(t, pid); n == 0 {
			return errorf("none yet")
		}
		return nil
	})
	for inode := range listening(t) {
		if !before[inode] && ownsSocket(pid, inode) {
			t.Errorf("the program listens on a port (inode %s)", inode)
		}
	}
}

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/test/refuser"
)

// What stands between a probe and its pod: webhooks, images, and pods that can
// never have one. Each is told in the words of whoever refuses, and the proxy's
// own figures are shown where there are any.

// refusing puts a webhook in the way of probes in the namespace. It runs in this
// process, so that the API server must run on this machine.
func (e *env) refusing(o refuser.Options) *refuser.Refuser {
	e.Helper()
	if os.Getenv("E2E_OWN_CLUSTER") == "" {
		e.Skip("left out: only an API server that runs on this machine reaches a webhook here (E2E_OWN_CLUSTER)")
	}
	r, err := refuser.Start(o)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(r.Close)
	hooks := cluster.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(e.Context(), r.Configuration(e.ns), metav1.CreateOptions{}); err != nil {
		e.Fatalf("registering the webhook: %v", err)
	}
	e.Cleanup(func() {
		if err := hooks.Delete(context.Background(), e.ns, metav1.DeleteOptions{}); err != nil {
			e.Errorf("removing the webhook: %v", err)
		}
	})
	e.annotateNamespace(nil, map[string]string{refuser.Label: e.ns})
	// A configuration reaches the API server's admission a moment after it was
	// made. A dry run leaves nothing behind.
	e.eventually("the webhook to be asked", func() error {
		e.tryProbe("webhook-check")
		if r.Reviews() == 0 {
			return errorf("no review yet")
		}
		return nil
	})
	return r
}

// tryProbe asks for an ephemeral container in some pod, as a dry run.
func (e *env) tryProbe(name string) {
	e.Helper()
	pods, err := cluster.client.CoreV1().Pods(e.ns).List(e.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(pods.Items) == 0 {
		e.Fatalf("listing pods: %d, %v", len(pods.Items), err)
	}
	patch := `{"spec":{"ephemeralContainers":[{"name":"` + name + `","image":"` + toolsImage + `"}]}}`
	_, _ = cluster.client.CoreV1().Pods(e.ns).Patch(e.Context(), pods.Items[0].Name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "ephemeralcontainers")
}

// A webhook's refusal is shown word for word with its name, the proxy's own
// figures remain, and --via probe does not fall to them.
func TestWebhookRefuses(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("meshed", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.create(serverPod("bare", []string{"-listen", "127.0.0.1:8080/16"}))
	e.running("meshed", "bare")
	const words = `debugging is frozen until Monday: ask #platform (policy "no-ephemeral", 100% of namespaces)`
	e.refusing(refuser.Options{Message: words})
	want := `admission webhook "refuser.backlog.test" denied the request: ` + words

	r := e.backlog("get", "meshed", "-o", "json", "--window", "0")
	p := e.parse(r.stdout)["meshed"]
	if r.code != 0 || !strings.Contains(r.stderr, want) || printedRole(t, r.stderr) != nil {
		t.Errorf("code %d, stderr lacks %q, or has a Role that would not help:\n%s", r.code, want, r.stderr)
	}
	if p.Collection.Via != model.ViaMetrics || p.Runtime.Workers != model.Known[int64](2) || len(p.Listeners) != 0 || !strings.Contains(p.Collection.Message, want) {
		t.Errorf("%+v, workers %+v, listeners %+v", p.Collection, p.Runtime.Workers, p.Listeners)
	}
	for _, args := range [][]string{{"meshed", "--via", "probe"}, {"bare"}} {
		r := e.backlog(append([]string{"get", "--window", "0"}, args...)...)
		if r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: code %d, want 1 and %q:\n%s", args, r.code, want, r.stderr)
		}
	}
	// A dry run by the server asks the webhook, too.
	if r := e.backlog("get", "bare", "--dry-run", "server"); r.code != 1 || !strings.Contains(r.stdout+r.stderr, want) {
		t.Errorf("dry run: code %d, want 1 and %q:\n%s%s", r.code, want, r.stdout, r.stderr)
	}
	for _, name := range []string{"meshed", "bare"} {
		if n := len(e.get(name).Spec.EphemeralContainers); n != 0 {
			t.Errorf("%d ephemeral containers in %s", n, name)
		}
	}
}

// A webhook that never answers costs its own two seconds and no more, and is
// named.
func TestWebhookSaysNothing(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("meshed", nil))
	e.running("meshed")
	silent := e.refusing(refuser.Options{Silent: true})
	before := silent.Reviews()
	begun := time.Now()
	r := e.backlog("get", "meshed", "-o", "json", "--window", "0")
	took := time.Since(begun)
	p := e.parse(r.stdout)["meshed"]
	if r.code != 0 || !strings.Contains(r.stderr, "refuser.backlog.test") || !strings.Contains(r.stderr, "adding a probe to pod "+e.ns+"/meshed") {
		t.Errorf("code %d, stderr:\n%s", r.code, r.stderr)
	}
	if p.Collection.Via != model.ViaMetrics || p.Runtime.Workers != model.Known[int64](1) {
		t.Errorf("%+v, workers %+v", p.Collection, p.Runtime.Workers)
	}
	// The API server may ask a webhook again by itself; the program does not.
	if n := silent.Reviews() - before; n == 0 || n > 3 {
		t.Errorf("%d reviews in %s", n, took)
	}
}

// An image that cannot be pulled takes one entry of the pod's list and no more,
// however often it is asked for; when the image comes after all, the entry is
// used.
func TestImagePullFails(t *testing.T) {
	const image = "docker.io/local/late:1"
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.running("a")
	for range 2 {
		r := e.backlog("get", "a", "-o", "json", "--window", "0", "--image", image)
		p := e.parse(r.stdout)["a"]
		if p.Collection.Via != model.ViaMetrics || p.Runtime.Workers != model.Known[int64](2) || p.Collection.Probe != "backlog-probe-1" {
			t.Errorf("%+v, workers %+v", p.Collection, p.Runtime.Workers)
		}
		if !strings.Contains(r.stderr, image) || !strings.Contains(r.stderr, "ImagePull") {
			t.Errorf("the image and the kubelet's reason are not told:\n%s", r.stderr)
		}
		if probes := e.get("a").Spec.EphemeralContainers; len(probes) != 1 || probes[0].Image != image {
			t.Errorf("the pod's ephemeral containers: %+v, want one of %s", probes, image)
		}
	}
	w := e.start("get", "a", "-w", "-o", "json", "--window", "1s", "--image", image)
	w.shows("that there is no image", func(p item) bool { return p.Collection.Stage == model.StageFailed })

	// The image comes: the kubelet tries again by itself, and the program sees it.
	e.tagImage(toolsImage, image)
	w.shows("figures through the same entry", func(p item) bool {
		return p.Collection.Stage == model.StageOK && p.Collection.Probe == "backlog-probe-1"
	})
	w.interrupt()
	p := e.getJSON("a", "--image", image)["a"]
	if e.listener(p, 4143).Worst().Limit != model.Known[int64](128) || len(e.get("a").Spec.EphemeralContainers) != 1 {
		t.Errorf("%+v, %d ephemeral containers", p.Collection, len(e.get("a").Spec.EphemeralContainers))
	}
}

// tagImage gives an image on the node another name, which goes with the test.
func (e *env) tagImage(from, to string) {
	e.Helper()
	socket := filepath.Join(filepath.Dir(cluster.kubeconfig), "run", "containerd.sock")
	ctr, err := exec.LookPath("ctr")
	if _, found := os.Stat(socket); err != nil || found != nil {
		e.Skipf("left out: the node's containerd cannot be reached from here (%v, %v)", err, found)
	}
	run := func(ctx context.Context, args ...string) {
		out, err := command(ctx, ctr, append([]string{"--address", socket, "--namespace", "k8s.io", "images"}, args...)...).CombinedOutput()
		if err != nil {
			e.Errorf("ctr images %v: %v\n%s", args, err, out)
		}
	}
	run(e.Context(), "tag", "--force", from, to)
	e.Cleanup(func() { run(context.Background(), "rm", to) })
}

// Pods that can never have a probe say why, and get none: static pods, and those
// of Windows nodes. No kubelet runs on the node, so that they are as they are
// written here; only the API server's side is real.
func TestPodsThatCannotBeProbed(t *testing.T) {
	e := newEnv(t, nil)
	node := e.ghostNode(map[string]string{corev1.LabelOSStable: string(corev1.Windows)})
	e.ghostPod(node, "static", func(p *corev1.Pod) {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "0123456789abcdef"}
		p.Spec.AutomountServiceAccountToken, p.Spec.ServiceAccountName = ptr(false), ""
	})
	e.ghostPod(node, "by-selector", func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: string(corev1.Windows)}
	})
	e.ghostPod(node, "by-os", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} })
	for name, want := range map[string]string{
		"static":      "is a static pod: the kubelet never starts an ephemeral container in it",
		"by-selector": "runs on Windows, which has no accept queues of this kind to read",
		"by-os":       "runs on Windows, which has no accept queues of this kind to read",
	} {
		r := e.backlog("get", name, "--window", "0")
		if r.code != 1 || !strings.Contains(r.stderr, "pod "+e.ns+"/"+name+" "+want) || !strings.Contains(r.stdout, name) {
			t.Errorf("%s: code %d, want 1, the row, and %q:\n%s%s", name, r.code, want, r.stdout, r.stderr)
		}
		if strings.Contains(r.stderr, "adding a probe") {
			t.Errorf("%s: a probe is announced: %s", name, r.stderr)
		}
		if n := len(e.get(name).Spec.EphemeralContainers); n != 0 {
			t.Errorf("%s has %d ephemeral containers", name, n)
		}
	}
}

// ghostNode is a node without a kubelet.
func (e *env) ghostNode(labels map[string]string) string {
	e.Helper()
	name := e.ns + "-ghost"
	nodes := cluster.client.CoreV1().Nodes()
	if _, err := nodes.Create(e.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{}); err != nil {
		e.Fatalf("creating a node: %v", err)
	}
	e.Cleanup(func() {
		if err := nodes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			e.Errorf("removing the node: %v", err)
		}
	})
	return name
}

// ghostPod is a pod on such a node that says that it runs.
func (e *env) ghostPod(node, name string, change func(*corev1.Pod)) {
	e.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: ptr(int64(0)),
			Containers: []corev1.Container{{Name: "app", Image: toolsImage}},
		},
	}
	change(pod)
	made := e.create(pod)
	made.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "192.0.2.250", PodIP: "192.0.2.251", PodIPs: []corev1.PodIP{{IP: "192.0.2.251"}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", Ready: true, Image: toolsImage, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}},
	}
	pods := cluster.client.CoreV1().Pods(e.ns)
	if _, err := pods.UpdateStatus(e.Context(), made, metav1.UpdateOptions{}); err != nil {
		e.Fatalf("writing the status of %s: %v", name, err)
	}
	e.Cleanup(func() {
		if err := pods.Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(0))}); err != nil {
			e.Errorf("removing %s: %v", name, err)
		}
	})
}

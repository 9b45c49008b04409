package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func node(name, cpus string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}},
	}
}

// meshedPod is server-I of a Deployment, with a proxy that got these variables.
func meshedPod(i int, env map[string]string, annotations map[string]string) *corev1.Pod {
	pod := runningPod(i)
	yes := true
	pod.Labels = map[string]string{"app": "server", "pod-template-hash": "abc"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "server-abc", Controller: &yes}}
	pod.Annotations = annotations
	c := corev1.Container{Name: "linkerd-proxy", Image: "cr.l5d.io/linkerd/proxy:edge-26.8.3"}
	for k, v := range env {
		c.Env = append(c.Env, corev1.EnvVar{Name: k, Value: v})
	}
	pod.Spec.Containers = []corev1.Container{{Name: "app"}, c}
	return pod
}

func deployment(annotations map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "server"},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}},
	}
}

func namespace(annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: annotations}}
}

// auditIn gives the options of audit on a cluster, in namespace shop.
func auditIn(client kubernetes.Interface) (o *auditOptions, out, errOut *bytes.Buffer) {
	out, errOut = new(bytes.Buffer), new(bytes.Buffer)
	o = newAuditOptions(genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut})
	o.namespace = "shop"
	o.dial = func() (kubernetes.Interface, error) { return client, nil }
	return o, out, errOut
}

const (
	inboundVariable = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	additionalEnv   = "config.linkerd.io/proxy-additional-env"
)

func TestAuditFindings(t *testing.T) {
	one := map[string]string{"LINKERD2_PROXY_CORES": "1", "LINKERD2_PROXY_CORES_MIN": "1", inboundVariable: "1024"}
	with := func(name, value string) map[string]string {
		env := map[string]string{"LINKERD2_PROXY_CORES": "1", "LINKERD2_PROXY_CORES_MIN": "1", inboundVariable: "1024"}
		env[name] = value
		return env
	}
	list := `[{"name":"` + inboundVariable + `","value":"512"}]`
	plain := runningPod(0)
	host := runningPod(0)
	host.Spec.HostNetwork = true
	old := map[string]string{"linkerd.io/proxy-version": "stable-2.14.1"}
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		finding string // in the wide table; empty: nothing is found
	}{
		{"more than one worker would have room", []runtime.Object{node("n0", "8"), namespace(nil), deployment(nil), meshedPod(0, one, nil)}, "one worker on 8 CPUs"},
		{"no room", []runtime.Object{node("n0", "2"), namespace(nil), deployment(nil), meshedPod(0, one, nil)}, ""},
		{"nobody chose the backlog", []runtime.Object{node("n0", "2"), meshedPod(0, map[string]string{"LINKERD2_PROXY_CORES_MIN": "1"}, nil)}, "default 128"},
		{"the template was changed since", []runtime.Object{node("n0", "2"), namespace(nil), deployment(map[string]string{additionalEnv: list}), meshedPod(0, one, nil)}, "inbound backlog 1024, 512 after a restart"},
		{
			"what it was made with stands", []runtime.Object{
				node("n0", "2"), namespace(nil), deployment(map[string]string{additionalEnv: list}), meshedPod(0, with(inboundVariable, "512"), map[string]string{additionalEnv: list}),
			}, "",
		},
		{"the namespace was changed since", []runtime.Object{node("n0", "2"), namespace(map[string]string{"config.linkerd.io/proxy-cpu-limit": "2"}), deployment(nil), meshedPod(0, one, nil)}, "workers 1, 2 after a restart"},
		{"a ratio of the namespace does nothing", []runtime.Object{node("n0", "2"), namespace(map[string]string{"config.linkerd.io/proxy-cpu-ratio-limit": "0.5"}), deployment(nil), meshedPod(0, one, nil)}, "ignored: workers"},
		{"no number of workers", []runtime.Object{node("n0", "2"), namespace(nil), deployment(nil), meshedPod(0, with("LINKERD2_PROXY_CORES_MAX", "1500m"), nil)}, "ignored: workers"},
		{"a proxy that ends", []runtime.Object{node("n0", "2"), namespace(nil), deployment(nil), meshedPod(0, with(inboundVariable, "4k"), nil)}, "fatal: inbound backlog"},
		{"a release that knows no backlog", []runtime.Object{node("n0", "2"), namespace(nil), deployment(nil), meshedPod(0, one, old)}, "Linkerd stable-2.14.1 does not know " + inboundVariable},
		{"not injected", []runtime.Object{node("n0", "2"), namespace(map[string]string{"linkerd.io/inject": "enabled"}), plain}, "no sidecar"},
		{"never injected", []runtime.Object{node("n0", "2"), namespace(map[string]string{"linkerd.io/inject": "enabled"}), host}, "no sidecar: hostNetwork"},
		{"a pod without a mesh", []runtime.Object{node("n0", "8"), namespace(nil), plain}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, out, errOut := auditIn(fake.NewClientset(tt.objects...))
			*o.format.flags.OutputFormat = "wide"
			if err := o.validate(); err != nil {
				t.Fatal(err)
			}
			if err := o.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tt.finding == "" && (out.Len() > 0 || !strings.HasPrefix(errOut.String(), "Nothing found in 1 pod")) {
				t.Errorf("printed\n%s%s, want nothing to be found", out, errOut)
			}
			if !strings.Contains(out.String(), tt.finding) {
				t.Errorf("printed\n%s, want %q", out, tt.finding)
			}
		})
	}
}

// However many pods there are, each kind is listed once, a page at a time, and
// nothing else is asked for.
func TestAuditAsksOnce(t *testing.T) {
	objects := []runtime.Object{node("n0", "8"), node("n1", "8"), namespace(nil), deployment(nil)}
	for i := range 600 {
		objects = append(objects, meshedPod(i, nil, nil))
	}
	client := fake.NewClientset(objects...)
	o, out, _ := auditIn(client)
	o.allNamespaces = true
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "shop        deployment/server   600    linkerd edge-26.8.3   1         128       one worker on 8 CPUs; default 128"; !strings.Contains(out.String(), want) {
		t.Errorf("printed\n%s", out)
	}
	var asked []string
	for _, a := range client.Actions() {
		asked = append(asked, a.GetVerb()+" "+a.GetResource().Resource)
		if l, ok := a.(clienttesting.ListActionImpl); ok && l.ListOptions.Limit != pageSize {
			t.Errorf("%s: limit %d", a.GetResource().Resource, l.ListOptions.Limit)
		}
	}
	if want := "[list nodes list namespaces list deployments list statefulsets list daemonsets list pods]"; fmt.Sprint(asked) != want {
		t.Errorf("asked for %v, want %s", asked, want)
	}
}

// What may not be read is said, and the rest is found all the same.
func TestAuditWithoutRights(t *testing.T) {
	client := fake.NewClientset(meshedPod(0, nil, nil))
	for _, resource := range []string{"nodes", "namespaces", "deployments"} {
		for _, verb := range []string{"get", "list"} {
			client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
			})
		}
	}
	o, out, errOut := auditIn(client)
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "default 128") || strings.Contains(out.String(), "one worker") {
		t.Errorf("printed\n%s", out)
	}
	for _, want := range []string{"nodes cannot be listed", "namespaces cannot be listed", "deployments cannot be listed"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("not told that %s:\n%s", want, errOut)
		}
	}
}

func TestAuditFailsOn(t *testing.T) {
	objects := []runtime.Object{node("n0", "2"), meshedPod(0, nil, nil)} // info alone
	warning := append(slices.Clone(objects), node("n1", "8"), meshedPod(1, nil, nil))
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		failOn  failOn
		stands  bool
	}{
		{"not asked", warning, "", false},
		{"info is no warning", objects, "warning", false},
		{"a warning", warning, "warning", true},
		{"a warning is not critical", warning, "critical", false},
	} {
		o, _, _ := auditIn(fake.NewClientset(tt.objects...))
		o.failOn = tt.failOn
		if err := o.run(t.Context()); errors.Is(err, errStands) != tt.stands || err != nil && !tt.stands {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

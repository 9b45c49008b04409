package linkerd

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// pairs is a short form of names and values: "NAME", "value", "NAME", "value".
type pairs []string

func (p pairs) each(f func(name, value string)) {
	for i := 0; i+1 < len(p); i += 2 {
		f(p[i], p[i+1])
	}
}

// injected is what the injector makes of a pod without annotations.
var injected = pairs{
	"LINKERD2_PROXY_CORES", "1",
	"LINKERD2_PROXY_CORES_MIN", "1",
	"LINKERD2_PROXY_CONTROL_LISTEN_ADDR", "0.0.0.0:4190",
	"LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "0.0.0.0:4191",
	"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:4140",
	"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", "127.0.0.1:4140",
	"LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "0.0.0.0:4143",
}

// pod makes a meshed pod: env is appended to what is always injected, so that a
// second value of a name counts, as it does in a real pod.
func pod(annotations, env pairs) *corev1.Pod {
	return podWith(annotations, append(injected[:len(injected):len(injected)], env...))
}

// podWith makes a pod whose proxy has no other environment than env.
func podWith(annotations, env pairs) *corev1.Pod {
	p := &corev1.Pod{}
	p.Annotations = map[string]string{}
	annotations.each(func(name, value string) { p.Annotations[name] = value })
	c := corev1.Container{Name: "linkerd-proxy"}
	env.each(func(name, value string) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value}) })
	p.Spec.Containers = []corev1.Container{{Name: "app"}, c}
	return p
}

// limited sets the proxy's own CPU limit.
func limited(p *corev1.Pod, cpu string) *corev1.Pod {
	p.Spec.Containers[1].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

// hide makes a variable come from a field of the pod, which the spec does not show.
func hide(p *corev1.Pod, name string) *corev1.Pod {
	c := &p.Spec.Containers[1]
	c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"},
	}})
	return p
}

// running is what a pod shows whose proxy has so many workers and states a version.
func running(version string, workers int64) model.Pod {
	var live model.Pod
	live.Proxy.Version = model.Known(version)
	if version == "" {
		live.Proxy.Version = model.Unknown[string]("not asked")
	}
	live.Runtime.Workers = model.Known(workers)
	return live
}

func knob(t *testing.T, knobs []model.Knob, name string) model.Knob {
	t.Helper()
	for _, k := range knobs {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no knob %q among %d", name, len(knobs))
	return model.Knob{}
}

func readPage(t *testing.T, name string) *parse.Metrics {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := parse.ReadMetrics(f)
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return page
}

package linkerd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestMatch(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	never := corev1.ContainerRestartPolicy("Never")
	proxy := corev1.Container{Name: "linkerd-proxy"}
	sidecar := corev1.Container{Name: "linkerd-proxy", RestartPolicy: &always}
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		want bool
	}{
		{"no pod", nil, false},
		{"container", specPod(nil, corev1.Container{Name: "app"}, proxy), true},
		{"native sidecar", specPod([]corev1.Container{{Name: "linkerd-init"}, sidecar}, corev1.Container{Name: "app"}), true},
		{"init container that ends", specPod([]corev1.Container{proxy}, corev1.Container{Name: "app"}), false},
		{"init container with another policy", specPod([]corev1.Container{{Name: "linkerd-proxy", RestartPolicy: &never}}), false},
		{"another sidecar", specPod([]corev1.Container{{Name: "logs", RestartPolicy: &always}}, corev1.Container{Name: "app"}), false},
		{"similar name", specPod(nil, corev1.Container{Name: "linkerd-proxy-2"}), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			container, ok := New().Match(tt.pod)
			if ok != tt.want || (ok && container != "linkerd-proxy") {
				t.Errorf("Match = %q, %v; want %v", container, ok, tt.want)
			}
			if tt.want {
				return
			}
			if r := New().Roles(tt.pod); len(r) > 0 {
				t.Errorf("roles of a pod without proxy: %v", r)
			}
			if e := New().Admin(tt.pod); e != (model.Endpoint{}) {
				t.Errorf("admin endpoint of a pod without proxy: %v", e)
			}
			if k := New().Knobs(tt.pod, model.Known[int64](2), model.Pod{}); len(k) > 0 {
				t.Errorf("knobs of a pod without proxy: %v", k)
			}
		})
	}
}

// An annotation alone is a wish: such a pod was not injected yet, or never will be.
func TestAnnotationAloneDoesNotMatch(t *testing.T) {
	p := specPod(nil, corev1.Container{Name: "app"})
	p.Annotations = map[string]string{"linkerd.io/inject": "enabled"}
	if _, ok := New().Match(p); ok {
		t.Error("a pod without the proxy's container matches")
	}
}

func specPod(init []corev1.Container, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{InitContainers: init, Containers: containers}}
}

// A native sidecar's environment counts as a container's does.
func TestNativeSidecarKnobs(t *testing.T) {
	p := pod(nil, pairs{"LINKERD2_PROXY_CORES_MAX", "3", "LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "0.0.0.0:9191"})
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.Containers[1].RestartPolicy = &always
	p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers[1:], p.Spec.Containers[:1]
	if k := knob(t, New().Knobs(p, model.Known[int64](4), running("2.366.0", 3)), "workers"); k.Asked.Or(0) != 3 {
		t.Errorf("workers asked of a native sidecar: %d, want 3", k.Asked.Or(0))
	}
	if e := New().Admin(p); e.Port != 9191 {
		t.Errorf("admin port of a native sidecar: %d, want 9191", e.Port)
	}
}

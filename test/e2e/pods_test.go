package e2e

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// proxyPod is a pod as Linkerd makes them: the proxy, and beside it a container
// from which the test makes load on the pod's loopback and reads ss and nstat
// for itself. The containers share their processes, so that the test can stop
// and go on with the proxy.
func proxyPod(name string, env map[string]string, change ...func(*corev1.Pod)) *corev1.Pod {
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name, "linkerd.io/control-plane-ns": "linkerd"}},
		Spec: corev1.PodSpec{
			ShareProcessNamespace:         &yes,
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Containers: []corev1.Container{
				proxyContainer(env),
				sleeper("load", loadImage),
				sleeper("tools", toolsImage),
			},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func proxyContainer(env map[string]string) corev1.Container {
	c := corev1.Container{
		Name: "linkerd-proxy", Image: proxyImage, ImagePullPolicy: corev1.PullNever,
		SecurityContext: &corev1.SecurityContext{RunAsUser: ptr(int64(2102)), RunAsGroup: ptr(int64(2102))},
	}
	for k, v := range env {
		c.Env = append(c.Env, corev1.EnvVar{Name: k, Value: v})
	}
	return c
}

// burstyEnv makes a proxy that a burst of 300 connections overflows on any
// machine: the runtime accepts some 128 in one go, then burns a quarter of a
// second for them, and only 17 fit into the queue meanwhile.
func burstyEnv() map[string]string {
	return map[string]string{"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "16", "TOKIOPROXY_BURN_US": "2000"}
}

// sleeper is a container with a shell that does nothing by itself, and ends at
// once when it is told to.
func sleeper(name, image string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullNever,
		Command: []string{"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"},
	}
}

// serverPod is a pod without a proxy: badserver with the given arguments.
func serverPod(name string, args []string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Containers: []corev1.Container{
				{Name: "server", Image: loadImage, ImagePullPolicy: corev1.PullNever, Command: append([]string{"badserver"}, args...)},
				sleeper("load", loadImage),
				sleeper("tools", toolsImage),
			},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func ptr[T any](v T) *T { return &v }

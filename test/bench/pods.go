package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The images that test/images builds.
const (
	toolsImage = "docker.io/local/tools:1"
	proxyImage = "docker.io/local/tokioproxy:1"
	loadImage  = "docker.io/local/load:1"
)

func podOf(name string, containers ...corev1.Container) *corev1.Pod {
	one := int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench"}},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &one, Containers: containers},
	}
}

// proxy is a pod's proxy as the program knows it, with real tokio metrics.
func proxy() corev1.Container {
	user := int64(2102)
	return corev1.Container{
		Name: "linkerd-proxy", Image: proxyImage, ImagePullPolicy: corev1.PullNever,
		SecurityContext: &corev1.SecurityContext{RunAsUser: &user, RunAsGroup: &user},
	}
}

// tools is a container in which kubectl exec can run ss.
func tools() corev1.Container {
	return corev1.Container{
		Name: "tools", Image: toolsImage, ImagePullPolicy: corev1.PullNever,
		Command: []string{"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"},
	}
}

// server listens on so many ports.
func server(listeners int) corev1.Container {
	args := []string{"badserver"}
	for i := range listeners {
		args = append(args, "-listen", fmt.Sprintf("0.0.0.0:%d/128", 8000+i))
	}
	return corev1.Container{Name: "server", Image: loadImage, ImagePullPolicy: corev1.PullNever, Command: args}
}

// start makes the pods and waits until all of them run.
func (b *bench) start(ctx context.Context, pods ...*corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for err := error(nil); ; {
		if _, err = b.client.CoreV1().ServiceAccounts(b.ns).Get(ctx, "default", metav1.GetOptions{}); err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for the namespace's service account: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, pod := range pods {
		if _, err := b.client.CoreV1().Pods(b.ns).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating pod %s: %w", pod.Name, err)
		}
	}
	for {
		list, err := b.client.CoreV1().Pods(b.ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("waiting for pods: %w", err)
		}
		up := 0
		for _, p := range list.Items {
			if p.Status.Phase == corev1.PodRunning {
				up++
			}
		}
		if up == len(list.Items) {
			return nil
		}
		time.Sleep(300 * time.Millisecond)
	}
}

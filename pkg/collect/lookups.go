package collect

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// lookupTimeout bounds a question whose answer is only a help.
const lookupTimeout = 5 * time.Second

// NodeCPUs reads a node's CPUs. Many users may not read nodes; then the figure
// is unknown, and so is whatever depends on it.
func NodeCPUs(client kubernetes.Interface) func(context.Context, string) model.Value[int64] {
	return func(ctx context.Context, name string) model.Value[int64] {
		if name == "" {
			return model.Unknown[int64]("the pod has no node yet")
		}
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return model.Unknown[int64](fmt.Sprintf("reading node %s: %v", name, err))
		}
		cpus := node.Status.Capacity.Cpu()
		if cpus == nil || cpus.IsZero() {
			return model.Unknown[int64]("node " + name + " does not tell its CPUs")
		}
		return model.Known(cpus.Value())
	}
}

// headBytes is how much of a log's beginning is read: the proxy's start-up lines
// are among the first twenty.
const headBytes = 16 << 10

// LogHead reads the beginning of a container's log. The metrics wait for it, and
// may come back before an API server does, so that it takes no longer than any
// lookup.
func LogHead(client kubernetes.Interface) func(context.Context, *corev1.Pod, string) ([]byte, error) {
	return func(ctx context.Context, pod *corev1.Pod, container string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		limit := int64(headBytes)
		body, err := client.CoreV1().Pods(pod.Namespace).
			GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, LimitBytes: &limit}).Stream(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the log of container %s: %w", container, err)
		}
		defer body.Close()
		head, err := io.ReadAll(io.LimitReader(body, headBytes))
		if err != nil {
			return nil, fmt.Errorf("reading the log of container %s: %w", container, err)
		}
		return head, nil
	}
}

// Pulling gives the kubelet's words while it pulls the image of an ephemeral
// container. They are in the events alone; who may not read these is not told.
func Pulling(client kubernetes.Interface) func(context.Context, *corev1.Pod, string) string {
	return func(ctx context.Context, pod *corev1.Pod, container string) string {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		events, err := client.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.Set{
				"involvedObject.uid":       string(pod.UID),
				"involvedObject.fieldPath": "spec.ephemeralContainers{" + container + "}",
			}.String(),
			Limit: 50,
		})
		if err != nil {
			return ""
		}
		var newest corev1.Event
		for _, e := range events.Items {
			if !e.LastTimestamp.Before(&newest.LastTimestamp) {
				newest = e
			}
		}
		if newest.Reason != "Pulling" {
			return ""
		}
		return strings.TrimSpace(newest.Message)
	}
}

package collect

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Bounds of a log that is kept as evidence: the newest lines matter.
const (
	evidenceLines = 5000
	evidenceBytes = 8 << 20
)

// ContainerLog copies the newest lines of a container's log, or of the one that ran
// before it, to w: at most 5,000 lines and 8 MiB, with the kubelet's times in front.
func ContainerLog(ctx context.Context, client kubernetes.Interface, namespace, pod, container string, previous bool, w io.Writer) error {
	lines, bytes := int64(evidenceLines), int64(evidenceBytes)
	body, err := client.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: &lines, LimitBytes: &bytes,
	}).Stream(ctx)
	if err != nil {
		return fmt.Errorf("reading the log of container %s: %w", container, err)
	}
	defer body.Close()
	if _, err := io.Copy(w, io.LimitReader(body, evidenceBytes)); err != nil {
		return fmt.Errorf("copying the log of container %s: %w", container, err)
	}
	return nil
}

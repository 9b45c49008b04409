package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probePods are measured together, so that ticks of 10 ms are fine enough.
const probePods = 5

// probeCost measures what a probe uses with ten listeners and a frame a second:
// CPU of the sampler and all that it starts, memory of its container, and bytes
// of log. It reads /proc of the node, so the node must be this machine.
func (b *bench) probeCost(ctx context.Context) error {
	var pods []*corev1.Pod
	args := []string{"get", "-n", b.ns, "--window", "0"}
	for i := range probePods {
		pods = append(pods, podOf(fmt.Sprintf("cost-%d", i), server(10)))
		args = append(args, pods[i].Name)
	}
	if err := b.start(ctx, pods...); err != nil {
		return err
	}
	if _, _, err := b.command(ctx, b.binary, args...); err != nil {
		return err
	}
	var pids []int
	for _, pod := range pods {
		made, err := b.client.CoreV1().Pods(b.ns).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("looking for the pod's processes: %w", err)
		}
		found, err := samplers(string(made.UID))
		if err != nil {
			return err
		}
		pids = append(pids, found...)
	}
	if len(pids) == 0 {
		b.add("probe", "", "not measured: its processes are not on this machine")
		return nil
	}
	cpu := func() (sum float64, err error) {
		for _, pid := range pids {
			s, err2 := cpuSeconds(pid)
			sum, err = sum+s, errors.Join(err, err2)
		}
		return sum, err
	}
	first, err := cpu()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := sleep(ctx, time.Duration(b.seconds)*time.Second); err != nil {
		return err
	}
	last, err := cpu()
	if err != nil {
		return err
	}
	cores := (last - first) / time.Since(begun).Seconds() / float64(len(pids))
	b.add("probe, CPU, 10 listeners at 1 Hz", "under 10 millicores", "%.1f millicores (%d probes, %d s)", cores*1000, len(pids), b.seconds)
	most := 0.0
	for _, pid := range pids {
		if n, err := cgroupMiB(pid); err == nil {
			most = max(most, n)
		}
	}
	if most > 0 {
		b.add("probe, memory of its container", "under 8 MiB", "%.1f MiB", most)
	}
	bytes, err := b.logBytes(ctx, pods[0].Name)
	if err != nil {
		return err
	}
	// The container runtime writes a time and a stream's name before each line.
	b.add("probe, log", "", "%.1f MB an hour", bytes*3600/1e6)
	return nil
}

// criPrefix is what the container runtime puts before each line of a log.
const criPrefix = len("2026-01-02T15:04:05.123456789Z stdout F ")

// logBytes is what a probe writes into its log in a second, as it is on disk.
func (b *bench) logBytes(ctx context.Context, pod string) (float64, error) {
	since := int64(20)
	body, err := b.client.CoreV1().Pods(b.ns).GetLogs(pod, &corev1.PodLogOptions{Container: "backlog-probe-1", SinceSeconds: &since}).Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the probe's log: %w", err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, fmt.Errorf("reading the probe's log: %w", err)
	}
	lines := 0
	for _, c := range text {
		if c == '\n' {
			lines++
		}
	}
	return float64(len(text)+lines*criPrefix) / float64(since), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

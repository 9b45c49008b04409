package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// firstRow compares how long a first look takes with the same look by kubectl,
// by turns, so that whatever else the machine does hits both alike.
func (b *bench) firstRow(ctx context.Context) error {
	var pods []*corev1.Pod
	for i := range b.runs {
		pods = append(pods, podOf(fmt.Sprintf("first-%d", i), proxy(), tools()))
	}
	if err := b.start(ctx, pods...); err != nil {
		return err
	}
	if err := b.withoutProbe(ctx, pods); err != nil {
		return err
	}
	return b.withProbe(ctx, pods)
}

// absolute is a row with everything that one sample can tell: queue, overflows
// since the start, workers. Rates (OVF/S, BUSY) need a second one.
var absolute = regexp.MustCompile(`in:4143 +\d+/128 +\d+ +\S+ +\d+ `)

// pair are two ways to the same figures.
type pair struct{ ours, theirs times }

// byTurns tries both ways on each pod; each is first in every other run.
func (b *bench) byTurns(ctx context.Context, pods []*corev1.Pod, kubectl func(context.Context, string) (time.Duration, error)) (p pair, err error) {
	for i, pod := range pods {
		ways := []func() error{
			func() error {
				took, err := b.look(ctx, pod.Name)
				p.ours = append(p.ours, took)
				return err
			},
			func() error {
				took, err := kubectl(ctx, pod.Name)
				p.theirs = append(p.theirs, took)
				return err
			},
		}
		if i%2 == 1 {
			slices.Reverse(ways)
		}
		for _, way := range ways {
			if err := way(); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// look is one full row with absolute values.
func (b *bench) look(ctx context.Context, pod string) (time.Duration, error) {
	took, out, err := b.command(ctx, b.binary, "get", "-n", b.ns, pod, "--window", "0", "--no-headers")
	if err == nil && !absolute.MatchString(out) {
		err = fmt.Errorf("the row of %s is not full: %s", pod, out)
	}
	return took, err
}

func (b *bench) withoutProbe(ctx context.Context, pods []*corev1.Pod) error {
	lost := 0
	p, err := b.byTurns(ctx, pods, func(ctx context.Context, pod string) (time.Duration, error) {
		// -i attaches, so that the figures are printed; it may come too late.
		took, out, err := b.command(ctx, "kubectl", "debug", "-n", b.ns, pod, "-i", "-q", "--image", toolsImage,
			"--image-pull-policy", "Never", "--profile", "general", "--", "sh", "-c", "ss -HOltn; nstat -asz TcpExtListenOverflows")
		if err == nil && !strings.Contains(out, "LISTEN") {
			lost++
		}
		return took, err
	})
	if err != nil {
		return err
	}
	b.add("first full row, no probe yet", "", "%s", p.ours)
	b.add("kubectl debug -- ss, nstat", "", "%s; printed nothing in %d of %d", p.theirs, lost, len(p.theirs))
	b.add("  ratio", "at most 1.1", "%.2f", ratio(p.ours, p.theirs))
	return nil
}

func (b *bench) withProbe(ctx context.Context, pods []*corev1.Pod) error {
	p, err := b.byTurns(ctx, pods, func(ctx context.Context, pod string) (time.Duration, error) {
		took, _, err := b.command(ctx, "kubectl", "exec", "-n", b.ns, pod, "-c", "tools", "--", "ss", "-HOltn")
		return took, err
	})
	if err != nil {
		return err
	}
	b.add("first full row, probe running", "", "%s", p.ours)
	b.add("kubectl exec -- ss", "", "%s", p.theirs)
	b.add("  ratio", "at most 1.5", "%.2f", ratio(p.ours, p.theirs))
	return nil
}

package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

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

// look is one full row with absolute values; the exit code tells that it was.
func (b *bench) look(ctx context.Context, pod string) (times, error) {
	took, out, err := b.command(ctx, b.binary, "get", "-n", b.ns, pod, "--window", "0", "--no-headers")
	if err == nil && !absolute.MatchString(out) {
		err = fmt.Errorf("the row of %s is not full: %s", pod, out)
	}
	return times{took}, err
}

func (b *bench) withoutProbe(ctx context.Context, pods []*corev1.Pod) error {
	var ours, theirs times
	lost := 0
	for i, pod := range pods {
		byUs := func() error {
			took, err := b.look(ctx, pod.Name)
			ours = append(ours, took...)
			return err
		}
		byKubectl := func() error {
			// -i attaches, so that the figures are printed; it may come too late.
			took, out, err := b.command(ctx, "kubectl", "debug", "-n", b.ns, pod.Name, "-i", "-q", "--image", toolsImage,
				"--image-pull-policy", "Never", "--profile", "general", "--", "sh", "-c", "ss -HOltn; nstat -asz TcpExtListenOverflows")
			theirs = append(theirs, took)
			if err == nil && !strings.Contains(out, "LISTEN") {
				lost++
			}
			return err
		}
		if err := inTurn(i, byUs, byKubectl); err != nil {
			return err
		}
	}
	b.add("first full row, no probe yet", "", "%s", ours)
	b.add("kubectl debug -- ss, nstat", "", "%s; printed nothing in %d of %d", theirs, lost, len(theirs))
	b.add("  ratio", "at most 1.1", "%.2f", ratio(ours, theirs))
	return nil
}

func (b *bench) withProbe(ctx context.Context, pods []*corev1.Pod) error {
	var ours, theirs times
	for i, pod := range pods {
		byUs := func() error {
			took, err := b.look(ctx, pod.Name)
			ours = append(ours, took...)
			return err
		}
		byKubectl := func() error {
			took, _, err := b.command(ctx, "kubectl", "exec", "-n", b.ns, pod.Name, "-c", "tools", "--", "ss", "-HOltn")
			theirs = append(theirs, took)
			return err
		}
		if err := inTurn(i, byUs, byKubectl); err != nil {
			return err
		}
	}
	b.add("first full row, probe running", "", "%s", ours)
	b.add("kubectl exec -- ss", "", "%s", theirs)
	b.add("  ratio", "at most 1.5", "%.2f", ratio(ours, theirs))
	return nil
}

// inTurn lets each of two ways be first in every other run.
func inTurn(i int, a, b func() error) error {
	if i%2 == 1 {
		a, b = b, a
	}
	if err := a(); err != nil {
		return err
	}
	return b()
}

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// errDryRun ends a command after it has said what it would do.
var errDryRun = errors.New("dry run")

// dryRun says for each pod what would be added to it. With `server` the API
// server is asked as well: authorization, Pod Security and webhooks answer as
// they would, and nothing is left behind.
func (s *selection) tellDryRun(ctx context.Context, out io.Writer, prober *collect.Prober, pods []*corev1.Pod, spec func(*corev1.Pod) collect.ProbeSpec) error {
	prober.DryRun = true
	failed := false
	for _, pod := range pods {
		probe, err := s.planned(ctx, prober, pod, spec(pod))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := fmt.Sprintf("pod/%s", pod.Name)
		if s.manyNamespaces() {
			name += " in " + pod.Namespace
		}
		switch {
		case err != nil:
			failed = true
			fmt.Fprintf(out, "%s: %s\n", name, render.Clean(err.Error()))
		case !probe.New:
			fmt.Fprintf(out, "%s: %s is there already, nothing would be added\n", name, probe.Name)
		default:
			fmt.Fprintf(out, "%s: ephemeral container %s of %s would be added (%s dry run)\n", name, probe.Name, render.Clean(probe.Container.Image), s.dryRun)
		}
	}
	if failed {
		return errReported
	}
	return errDryRun
}

func (s *selection) planned(ctx context.Context, prober *collect.Prober, pod *corev1.Pod, spec collect.ProbeSpec) (collect.Probe, error) {
	if pod.Spec.HostNetwork {
		return collect.Probe{}, errors.New("it uses the node's network: no probe is added to it")
	}
	if s.dryRun == "server" {
		return prober.Ensure(ctx, pod, spec)
	}
	return collect.Plan(pod, spec)
}

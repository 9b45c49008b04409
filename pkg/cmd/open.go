package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// open starts a source over the selection, and says on stderr what it adds.
func (s *selection) open(ctx context.Context, errOut io.Writer) (source.Source, error) {
	if s.local {
		return s.openLocal()
	}
	if err := s.configured(); err != nil {
		return nil, err
	}
	adapters := plugins.All()
	chosen, err := target.Resolve(ctx, s.flags, target.Query{
		Args: s.args, Namespace: s.namespace, AllNamespaces: s.allNamespaces,
		LabelSelector: s.labels, FieldSelector: s.fields,
		Meshed: func(pod *corev1.Pod) bool { return meshed(adapters, pod) },
	})
	if err != nil {
		return nil, err
	}
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The default of five requests a second would let fifty pods wait for ten.
	config.QPS, config.Burst = 50, 100
	// Pods come in half the bytes and are decoded in half the time.
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	watch, err := chosen.Start(ctx, client)
	if err != nil {
		return nil, err
	}
	spec := collect.ProbeSpec{Image: s.image, TTL: s.ttl, Target: s.container}
	announce(errOut, watch.Pods(), spec)
	forwarder := &collect.Forwarder{Config: config, Client: client.CoreV1().RESTClient()}
	return source.NewCluster(source.ClusterOptions{
		Pods:     watch,
		Prober:   &collect.Prober{Client: client},
		Probe:    spec,
		Adapters: adapters,
		Pages: func(pod *corev1.Pod, port uint16) source.Pages {
			return podPages{
				Getter:  forwarder.Getter(pod.Namespace, pod.Name, port),
				release: func() { forwarder.Release(pod.Namespace, pod.Name) },
			}
		},
		NodeCPUs: nodeCPUs(client),
		Workload: target.Workload,
		Window:   s.window,
		Interval: s.interval,
		Now:      s.now,
	}), nil
}

// announce says what looking adds to the pods: an entry that stays in a pod's
// list until the pod goes is not made silently.
func announce(w io.Writer, pods []*corev1.Pod, spec collect.ProbeSpec) {
	n := 0
	for _, pod := range pods {
		if !pod.Spec.HostNetwork && collect.Possible(pod) == nil && !collect.Living(pod, spec) {
			n++
		}
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(w, "adding a probe to %d of %d pods: an ephemeral container of %s that ends by itself after %s; its entry stays in the pod's list\n",
		n, len(pods), render.Clean(spec.Image), strings.TrimSuffix(strings.TrimSuffix(spec.TTL.String(), "0s"), "0m"))
}

// podPages is the admin endpoint of one pod, whose tunnel goes with it.
type podPages struct {
	*collect.Getter
	release func()
}

// Close ends the connection and the tunnel that carried it.
func (p podPages) Close() {
	p.Getter.Close()
	p.release()
}

func (s *selection) openLocal() (source.Source, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return source.NewLocal(source.LocalOptions{
		Name: name,
		Run: func(ctx context.Context, sink func(parse.Frame, time.Time)) error {
			return collect.Local(ctx, collect.LocalOptions{}, sink)
		},
		Window: s.window, Interval: s.interval, Now: s.now,
	}), nil
}

func meshed(adapters []plugins.Adapter, pod *corev1.Pod) bool {
	for _, a := range adapters {
		if _, ok := a.Match(pod); ok {
			return true
		}
	}
	return false
}

// nodeCPUs reads a node's CPUs. Many users may not read nodes; then the figure
// is unknown, and so is whatever depends on it.
func nodeCPUs(client kubernetes.Interface) func(context.Context, string) model.Value[int64] {
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

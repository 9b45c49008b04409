package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// selection is what get and top have in common: which pods, and how to look.
type selection struct {
	flags *genericclioptions.ConfigFlags
	world world
	now   func() time.Time

	args          []string
	allNamespaces bool
	labels        string
	fields        string
	local         bool

	image     string
	ttl       time.Duration
	container string
	window    time.Duration
	interval  time.Duration

	// resolved by complete
	namespace string
	context   string
}

func newSelection(flags *genericclioptions.ConfigFlags) selection {
	return selection{
		flags: flags, world: realWorld(), now: time.Now,
		ttl: time.Hour, window: 3 * time.Second, interval: time.Second,
	}
}

func (s *selection) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Look at the pods of all namespaces")
	f.StringVarP(&s.labels, "selector", "l", "", "Label selector, as in kubectl get")
	f.StringVar(&s.fields, "field-selector", "", "Field selector for pods, as in kubectl get")
	f.BoolVar(&s.local, "local", false, "Look at this machine's own network namespace instead of a cluster (needs sh)")
	f.StringVar(&s.image, "image", "", fmt.Sprintf("Image of new probes; it needs sh, ss and nstat (default %s; also %s, or image: in the configuration file)", defaultImage, imageVariable))
	f.DurationVar(&s.ttl, "probe-ttl", s.ttl, "How long a new probe runs before it ends by itself")
	f.StringVarP(&s.container, "container", "c", "", "Container whose processes the probe may see (targetContainerName); none by default")
	f.DurationVar(&s.window, "window", s.window, "How far back rates and the busy ratio reach")
}

// complete resolves what the flags leave open.
func (s *selection) complete(args []string) error {
	s.args = args
	if s.local {
		return nil
	}
	loader := s.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	s.namespace = namespace
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	s.context = raw.CurrentContext
	if s.flags.Context != nil && *s.flags.Context != "" {
		s.context = *s.flags.Context
	}
	s.image, err = s.world.probeImage(s.image)
	return err
}

// configured says what to do when no cluster is known at all: client-go would
// try localhost:8080, which nobody has asked for.
func (s *selection) configured() error {
	loader := s.flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	inCluster := s.world.getenv("KUBERNETES_SERVICE_HOST") != ""
	if len(raw.Clusters) > 0 || *s.flags.APIServer != "" || inCluster {
		return nil
	}
	return fmt.Errorf("no cluster is configured: there is no kubeconfig in %s; set KUBECONFIG, or give --kubeconfig or --server (or --local for this machine)",
		strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", "))
}

func (s *selection) validate() error {
	switch {
	case s.local && (len(s.args) > 0 || s.allNamespaces || s.labels != "" || s.fields != "" || s.container != ""):
		return usageError{fmt.Errorf("--local looks at this machine alone: it goes with no pod, selector, -A or -c")}
	case len(s.args) > 0 && (s.labels != "" || s.fields != ""):
		return usageError{fmt.Errorf("name pods or give a selector, not both")}
	case len(s.args) > 0 && s.allNamespaces:
		return usageError{fmt.Errorf("a name means one namespace: it does not go with --all-namespaces")}
	case s.window < 0:
		return usageError{fmt.Errorf("--window must not be negative")}
	case s.ttl < 10*time.Second || s.ttl > 24*time.Hour:
		return usageError{fmt.Errorf("--probe-ttl must be between 10s and 24h")}
	}
	return nil
}

// title names the cluster and namespace on the screen.
func (s *selection) title() string {
	switch {
	case s.local:
		return "this machine"
	case s.allNamespaces:
		return s.context + "/*"
	}
	return s.context + "/" + s.namespace
}

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

// noArgs refuses arguments as a mistake on the command line.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))}
	}
	return nil
}

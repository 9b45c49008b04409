package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// open starts a source over the selection. Before it adds anything to a pod it
// asks, where somebody can answer, and says so where nobody can.
func (s *selection) open(ctx context.Context, streams genericiooptions.IOStreams) (source.Source, error) {
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
		Meshed: func(pod *corev1.Pod) bool { return proxyOf(adapters, pod) != "" },
	})
	if err != nil {
		return nil, err
	}
	s.found = chosen.Namespaces()
	config, client, err := s.connect()
	if err != nil {
		return nil, err
	}
	watch, err := chosen.Start(ctx, client)
	if err != nil {
		return nil, err
	}
	callers := target.NewCallers(target.CallersOptions{Client: client, Namespaces: chosen.Namespaces(), Now: s.now})
	o, err := s.clusterOptions(config, client, adapters, ending{watch, callers.Close})
	if err != nil {
		watch.Stop()
		callers.Close()
		return nil, err
	}
	o.Caller = callers.Name
	o.Notes = append(chosen.Notes(), meshedPorts(adapters, watch.Pods(), chosen.Ports)...)
	if err := s.admit(ctx, streams, client, &o); err != nil {
		o.Pods.Stop()
		return nil, err
	}
	src := source.NewCluster(o)
	if p, ok := o.Prober.(*collect.Prober); ok {
		p.Retrying = src.Retrying
	}
	return src, nil
}

// meshedPorts says of pods that were asked for by address and port where the
// connections to it really queue first.
func meshedPorts(adapters []plugins.Adapter, pods []*corev1.Pod, ports func(*corev1.Pod) []uint16) []string {
	var notes []string
	for _, pod := range pods {
		if asked := ports(pod); len(asked) > 0 && proxyOf(adapters, pod) != "" {
			notes = append(notes, fmt.Sprintf("pod %s/%s: connections to port %d from other pods queue at the proxy's inbound listener first, then at the app's",
				pod.Namespace, pod.Name, asked[0]))
		}
	}
	return notes
}

// connect makes the client that everything but the resolving of names uses.
func (s *selection) connect() (*rest.Config, kubernetes.Interface, error) {
	config, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// The default of five requests a second would let fifty pods wait for ten.
	config.QPS, config.Burst = 50, 100
	// Pods come in half the bytes and are decoded in half the time.
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return config, client, nil
}

// clusterOptions wires the rooms together.
func (s *selection) clusterOptions(config *rest.Config, client kubernetes.Interface, adapters []plugins.Adapter, watch source.Pods) (source.ClusterOptions, error) {
	forwarder := &collect.Forwarder{Config: config, Client: client.CoreV1().RESTClient()}
	proxied, err := collect.NewPodProxy(config, client.CoreV1().RESTClient())
	if err != nil {
		return source.ClusterOptions{}, err
	}
	execer := &collect.Execer{
		Config: config, Client: client, Now: s.now,
		Target: func(pod *corev1.Pod) string { return s.targetOf(pod, proxyOf(adapters, pod)) },
	}
	return source.ClusterOptions{
		Pods:     watch,
		Prober:   &collect.Prober{Client: client},
		Probe:    collect.ProbeSpec{Image: s.image, TTL: s.ttl, Target: s.container, Reason: s.reason},
		Adapters: adapters,
		Via:      s.rung(),
		Pages: func(pod *corev1.Pod, port uint16) source.Pages {
			return podPages{
				FallbackGetter: &collect.FallbackGetter{
					Getter: forwarder.Getter(pod.Namespace, pod.Name, port), Proxy: proxied, Now: s.now,
				},
				release: func() { forwarder.Release(pod.Namespace, pod.Name) },
			}
		},
		Target:   collect.DefaultTarget,
		Exec:     execer.Follow,
		NodeCPUs: collect.NodeCPUs(client),
		LogHead:  collect.LogHead(client),
		Pulling:  collect.Pulling(client),
		Manifest: target.NewManifests(target.ManifestsOptions{Client: client, Prefixes: annotationPrefixes(adapters), Now: s.now}).Of,
		Workload: target.Workload,
		Window:   s.window,
		Interval: s.interval,
		Now:      s.now,
	}, nil
}

// targetOf is the container whose processes are shown: the one that was named,
// or else the app's.
func (s *selection) targetOf(pod *corev1.Pod, proxy string) string {
	if s.container != "" {
		return s.container
	}
	return collect.DefaultTarget(pod, proxy)
}

// admit settles which pods may get a probe, before the first one is added.
func (s *selection) admit(ctx context.Context, streams genericiooptions.IOStreams, client kubernetes.Interface, o *source.ClusterOptions) error {
	if o.Via == model.ViaMetrics || o.Via == model.ViaExec {
		return nil
	}
	spec := func(pod *corev1.Pod) collect.ProbeSpec { return o.Spec(pod, proxyOf(o.Adapters, pod)) }
	if s.dryRun != "none" {
		return s.tellDryRun(ctx, streams.Out, &collect.Prober{Client: client}, o.Pods.Pods(), spec)
	}
	c := consent{
		selection: s, IOStreams: streams, client: client, spec: spec, pods: o.Pods.Pods,
		asking: interactive(streams),
		worst: func(ctx context.Context, pods []*corev1.Pod) ([]*corev1.Pod, error) {
			looking := *o
			looking.Pods, looking.Via, looking.Interval = staying{o.Pods}, model.ViaMetrics, time.Second
			src := source.NewCluster(looking)
			defer src.Close()
			return rank(ctx, src, s.now, pods)
		},
	}
	admission, err := c.decide(ctx)
	if err != nil {
		return err
	}
	o.Allow = admission.allow
	if len(needing(o.Pods.Pods(), spec)) > 0 && admission.none == nil {
		o.Probe.By = collect.WhoAmI(ctx, client, s.user)
	}
	return nil
}

// ending is a selection that ends something else with it.
type ending struct {
	podList
	also func()
}

// Stop ends both.
func (e ending) Stop() {
	e.podList.Stop()
	e.also()
}

// staying is a selection that goes on when one of its sources is closed.
type staying struct{ podList }

// podList lends the interface another name: it has a method called Pods.
type podList = source.Pods

// Stop does nothing: the selection is for the next source.
func (staying) Stop() {}

// podPages is the admin endpoint of one pod, whose tunnel goes with it.
type podPages struct {
	*collect.FallbackGetter
	release func()
}

// Close ends the connection and the tunnel that carried it.
func (p podPages) Close() {
	p.FallbackGetter.Close()
	p.release()
}

func (s *selection) openLocal() (source.Source, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return source.NewLocal(source.LocalOptions{
		Name: name, PID: s.pid,
		Run: func(ctx context.Context, sink func(parse.Frame, time.Time)) error {
			return collect.Local(ctx, collect.LocalOptions{Target: s.pid}, sink)
		},
		Window: s.window, Interval: s.interval, Now: s.now,
	}), nil
}

// annotationPrefixes are those of the annotations that adapters compare with a
// pod's own.
func annotationPrefixes(adapters []plugins.Adapter) []string {
	var prefixes []string
	for _, a := range adapters {
		if reader, ok := a.(plugins.ManifestReader); ok {
			prefixes = append(prefixes, reader.AnnotationPrefixes()...)
		}
	}
	return prefixes
}

// proxyOf is the container of the proxy that stands in front of the pod's server;
// empty when no adapter knows one.
func proxyOf(adapters []plugins.Adapter, pod *corev1.Pod) string {
	for _, a := range adapters {
		container, ok := a.Match(pod)
		if !ok {
			continue
		}
		if teller, ok := a.(plugins.SidecarTeller); ok && teller.Sidecar(pod) {
			return container
		}
		return "" // the server itself
	}
	return ""
}

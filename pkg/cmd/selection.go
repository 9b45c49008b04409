package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
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

// empty turns "nothing found" into a note on stderr, as kubectl has it, where
// nothing was asked for but a namespace's pods. Names and selectors that match
// nothing are an error: whoever gave them expected a pod.
func (s *selection) empty(err error, errOut io.Writer) error {
	var none *target.NoPodsError
	if errors.As(err, &none) && len(s.args) == 0 && s.labels == "" && s.fields == "" {
		fmt.Fprintln(errOut, render.Clean(none.Error()))
		return nil
	}
	return err
}

// noArgs refuses arguments as a mistake on the command line.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))}
	}
	return nil
}

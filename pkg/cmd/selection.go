package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
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
	pid           int // 0: not given

	image     string
	ttl       time.Duration
	container string
	window    time.Duration
	interval  time.Duration

	replay replaying

	via      string
	yes      bool
	readOnly bool
	maxPods  int
	reason   string
	dryRun   string

	// resolved by complete
	namespace string
	context   string
	user      string // the kubeconfig's name for the user

	// found are the namespaces of what was selected: an address may lead into
	// another than the one that was named.
	found []string
}

func newSelection(flags *genericclioptions.ConfigFlags) selection {
	return selection{
		flags: flags, world: realWorld(), now: time.Now,
		ttl: time.Hour, window: 3 * time.Second, interval: time.Second,
		via: "auto", maxPods: 50, dryRun: "none",
	}
}

func (s *selection) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Look at the pods of all namespaces")
	f.StringVarP(&s.labels, "selector", "l", "", "Label selector, as in kubectl get")
	f.StringVar(&s.fields, "field-selector", "", "Field selector for pods, as in kubectl get")
	f.BoolVar(&s.local, "local", false, "Look at this machine's own network namespace instead of a cluster (needs sh)")
	f.Func("pid", "With --local: look at the network namespace of process `N` and at what its threads do", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n == 0 {
			return errors.New("must be the number of a process")
		}
		s.pid = int(n)
		return nil
	})
	f.StringVar(&s.image, "image", "", fmt.Sprintf("Image of new probes; it needs sh, ss and nstat (default %s; also %s, or image: in the configuration file)", defaultImage, imageVariable))
	f.DurationVar(&s.ttl, "probe-ttl", s.ttl, "How long a new probe runs before it ends by itself")
	f.StringVarP(&s.container, "container", "c", "", "Container whose processes the probe sees (targetContainerName); the app's first one by default")
	f.DurationVar(&s.window, "window", s.window, "How far back rates and the busy ratio reach")
	f.StringVar(&s.via, "via", s.via, "How to look: probe, metrics (the proxy's own, adds nothing, no queues), exec (a shell in a container of the pod), or auto: probe, and where that is refused metrics")
	f.BoolVarP(&s.yes, "yes", "y", false, "Do not ask before adding probes")
	f.BoolVar(&s.readOnly, "read-only", false, "Never add a probe; those that run already are read")
	f.IntVar(&s.maxPods, "max-pods", s.maxPods, "How many pods may get a new probe without being asked again")
	f.StringVar(&s.reason, "reason", "", "Why you look, kept with the probes for whoever finds them")
	f.StringVar(&s.dryRun, "dry-run", s.dryRun, "client or server: say which probes would be added, and add none")
}

// complete resolves what the flags leave open.
func (s *selection) complete(args []string) error {
	s.args = args
	if s.local || s.replay.given() {
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
	if c := raw.Contexts[s.context]; c != nil {
		s.user = c.AuthInfo
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
	case s.replay.given() && (s.local || s.labels != "" || s.fields != "" || s.container != "" || s.via != "auto" || s.dryRun != "none"):
		return usageError{fmt.Errorf("--replay looks at a recording: it goes with names of pods and with -n, not with selectors, --local, -c, --via or --dry-run")}
	case s.replay.given() && s.addsProbes():
		return usageError{fmt.Errorf("--replay looks at a recording: nothing is added to any pod, so that --image, --probe-ttl, --max-pods, --reason and --yes do not go with it")}
	case s.replay.at != "" && !s.replay.given():
		return usageError{fmt.Errorf("--at is a moment of a recording: it needs --replay")}
	case s.pid != 0 && !s.local:
		return usageError{fmt.Errorf("--pid is a process of this machine: it needs --local")}
	case len(s.args) > 0 && (s.labels != "" || s.fields != ""):
		return usageError{fmt.Errorf("name pods or give a selector, not both")}
	case s.allNamespaces && slices.ContainsFunc(s.args, func(a string) bool { return !target.IsAddress(a) }):
		return usageError{fmt.Errorf("a name means one namespace: it does not go with --all-namespaces")}
	case s.local && (s.via != "auto" || s.dryRun != "none"):
		return usageError{fmt.Errorf("--local adds nothing to anything: it goes with neither --via nor --dry-run")}
	case !slices.Contains([]string{"auto", "probe", "metrics", "exec"}, s.via):
		return usageError{fmt.Errorf("--via must be auto, probe, metrics or exec, not %q", s.via)}
	case !slices.Contains([]string{"none", "client", "server"}, s.dryRun):
		return usageError{fmt.Errorf(`--dry-run must be "none", "client" or "server", not %q`, s.dryRun)}
	case s.readOnly && s.via == "exec":
		return usageError{fmt.Errorf("--via exec starts a process in a container: it does not go with --read-only")}
	case s.maxPods < 1:
		return usageError{fmt.Errorf("--max-pods must be at least 1; to add no probe give --read-only")}
	case len(s.reason) > maxReason:
		return usageError{fmt.Errorf("--reason is longer than %d bytes", maxReason)}
	case s.window < 0:
		return usageError{fmt.Errorf("--window must not be negative")}
	case s.ttl < 10*time.Second || s.ttl > 24*time.Hour:
		return usageError{fmt.Errorf("--probe-ttl must be between 10s and 24h")}
	}
	return nil
}

// addsProbes says whether a flag was given that is about adding probes.
func (s *selection) addsProbes() bool {
	usual := newSelection(s.flags)
	return s.image != "" || s.ttl != usual.ttl || s.maxPods != usual.maxPods || s.reason != "" || s.yes
}

// maxReason bounds what is written into each pod.
const maxReason = 200

// rung is what --via says; empty is auto.
func (s *selection) rung() model.Rung {
	if s.via == "auto" {
		return ""
	}
	return model.Rung(s.via)
}

// where names the namespaces that are looked at.
func (s *selection) where() string {
	if s.allNamespaces && len(s.args) == 0 || len(s.found) == 0 {
		return s.namespace
	}
	return strings.Join(s.found, ", ")
}

// manyNamespaces says whether a pod's name needs its namespace beside it.
func (s *selection) manyNamespaces() bool {
	return s.allNamespaces || len(s.found) > 0 && !slices.Equal(s.found, []string{s.namespace})
}

// title names the cluster and namespace on the screen.
func (s *selection) title() string {
	switch {
	case s.local && s.pid != 0:
		return fmt.Sprintf("process %d of this machine", s.pid)
	case s.local:
		return "this machine"
	case s.allNamespaces:
		return s.context + "/*"
	}
	return s.context + "/" + s.namespace
}

// nothing is what remains of an error that kept a source from being opened.
func (s *selection) nothing(err error, errOut io.Writer) error {
	if errors.Is(err, errDryRun) {
		return nil
	}
	return s.empty(err, errOut)
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

package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// errDeclined is why a pod has no probe after somebody said no.
var errDeclined = errors.New("no probe was added: it was declined")

// consent decides, once a run and before the first probe, to which pods one may
// be added. It asks where somebody can answer, and tells where nobody can.
type consent struct {
	*selection
	genericiooptions.IOStreams
	client kubernetes.Interface
	// spec is the probe that a pod would get, pods what is selected now.
	spec func(*corev1.Pod) collect.ProbeSpec
	pods func() []*corev1.Pod
	// asking says that somebody is there who can answer.
	asking bool
	// worst ranks pods by what their proxies say of themselves, worst first.
	worst func(ctx context.Context, pods []*corev1.Pod) ([]*corev1.Pod, error)
}

func (c *consent) decide(ctx context.Context) (*admission, error) {
	all := c.pods()
	need := needing(all, c.spec)
	a := &admission{limit: max(c.maxPods, len(need)), present: c.pods}
	switch {
	case c.readOnly:
		a.none = errors.New("no probe runs in it, and --read-only adds none")
		return a, nil
	case len(need) == 0:
		return a, nil
	}
	if c.asking {
		// Nobody is asked for what is not theirs to give.
		if err := collect.MayProbe(ctx, c.client, need[0]); err != nil {
			a.none = err
			return a, nil
		}
	}
	if len(need) > c.maxPods {
		if !c.asking {
			return nil, usageError{fmt.Errorf("%d pods need a new probe, more than --max-pods=%d: give --max-pods=%d, select fewer, or look without new probes with --read-only",
				len(need), c.maxPods, len(need))}
		}
		return a, c.choose(ctx, a, all, need)
	}
	a.limit = c.maxPods
	if c.asking && !c.yes {
		fmt.Fprint(c.ErrOut, c.question(len(need), len(all)).text())
		yes, err := confirm(ctx, c.IOStreams, "Add them?", !c.allNamespaces)
		if err != nil {
			return nil, err
		}
		if !yes {
			a.none = errDeclined
		}
		return a, nil
	}
	fmt.Fprintf(c.ErrOut, "adding a probe to %d of %d pods: an ephemeral container of %s that ends by itself after %s; its entry stays in the pod's list\n",
		len(need), len(all), render.Clean(c.image), shortDuration(c.ttl))
	return a, nil
}

func (c *consent) question(need, all int) question {
	return question{
		context: c.context, namespace: c.where(), everywhere: c.allNamespaces && len(c.args) == 0, image: c.image,
		need: need, all: all, ttl: c.ttl, ends: c.now().Add(c.ttl),
	}
}

// choose lets the user pick some of too many pods.
func (c *consent) choose(ctx context.Context, a *admission, all, need []*corev1.Pod) error {
	nodes := onePerNode(need)
	fmt.Fprint(c.ErrOut, c.question(len(need), len(all)).text())
	fmt.Fprintf(c.ErrOut, `That is more than --max-pods=%d. Add probes to
  a  all %d
  w  the %d that are worst by their proxies' own metrics (asks these first, for a few seconds)
  1  one on each node (%d)
  n  none: proxy metrics, and the probes that run already
`, c.maxPods, len(need), c.maxPods, len(nodes))
	for {
		fmt.Fprint(c.ErrOut, "Which? [n] ")
		answer, err := readLine(ctx, c.In)
		if err != nil {
			return err
		}
		switch strings.ToLower(answer) {
		case "a", "all":
			return nil
		case "", "n", "none":
			a.none = errDeclined
			return nil
		case "1":
			a.chosen = uids(nodes)
			return nil
		case "w", "worst":
			fmt.Fprintf(c.ErrOut, "asking %s for their proxies' metrics, for %s\n", render.Plural(len(need), "pod"), rankFor)
			worst, err := c.worst(ctx, need)
			if err != nil {
				return err
			}
			a.chosen = uids(worst[:min(len(worst), c.maxPods)])
			return nil
		}
	}
}

// rankFor is how long the proxies' metrics are looked at before they are ranked:
// two refreshes and the way there.
const rankFor = 5 * time.Second

// rank orders pods by what their proxies say of themselves: the busiest workers
// first, pods that do not say last.
func rank(ctx context.Context, src source.Source, now func() time.Time, all []*corev1.Pod) ([]*corev1.Pod, error) {
	s, err := until(ctx, src, now, rankFor, func(model.Snapshot) bool { return false })
	if err != nil {
		return nil, err
	}
	busy := map[string]float64{}
	for _, p := range s.Pods {
		b := p.Runtime.Window.Busy.Or(-1)
		if p.Runtime.Window.Stalled.Or(0) >= model.StallSeconds {
			b = math.Inf(1) // a stalled runtime is worse than a busy one
		}
		busy[p.Meta.UID] = b
	}
	ranked := append([]*corev1.Pod(nil), all...)
	sort.SliceStable(ranked, func(i, j int) bool { return busy[string(ranked[i].UID)] > busy[string(ranked[j].UID)] })
	return ranked, nil
}

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// fromSpecs adds what only the pod's spec and the nodes tell: the rule by which
// workers follow from CPUs, and where the workload may run.
func (o *planOptions) fromSpecs(ctx context.Context, client kubernetes.Interface, in *plan.Input) error {
	first := in.Pods[0]
	pod, err := client.CoreV1().Pods(first.Meta.Namespace).Get(ctx, first.Meta.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading pod %s/%s: %w", first.Meta.Namespace, first.Meta.Name, target.Explain(err))
	}
	adapters := plugins.All()
	for _, a := range adapters {
		if _, ok := a.Match(pod); !ok {
			continue
		}
		if teller, ok := a.(plugins.KnobTeller); ok {
			in.Rule, in.Limit, in.HasRule = teller.WorkerRule(pod)
		}
		break
	}
	if o.wanted.Ratio.IsKnown() && first.Proxy.Adapter != linkerdAdapter {
		return fmt.Errorf("--cpu-ratio is a setting of Linkerd's proxy, and %s has none", podName(first))
	}
	template, known := first.Manifest.Template.Get()
	_, own := template[linkerdLimit]
	in.FixedMax = in.Rule.Max.IsKnown() && known && !own

	nodes, err := listNodes(ctx, client)
	if err != nil {
		in.NodesReason = "listing nodes: " + target.Explain(err).Error()
		return nil
	}
	for i := range nodes {
		if mayRun(pod, &nodes[i]) {
			in.Nodes = append(in.Nodes, plan.Node{Name: nodes[i].Name, CPUs: cpusOf(&nodes[i])})
		}
	}
	if len(in.Nodes) == 0 {
		in.NodesReason = fmt.Sprintf("none of the %d nodes fits its node selector, affinity and tolerations", len(nodes))
	}
	in.NodeNotes = append(in.NodeNotes, "nodes are those that the pod's node selector, required node affinity and tolerations allow; "+
		"free room, cordons, spreading, other pods' affinity, volumes and an autoscaler's new nodes are not taken into account")
	return nil
}

// listNodes reads all nodes a page at a time and keeps of each what decides here.
func listNodes(ctx context.Context, client kubernetes.Interface) ([]corev1.Node, error) {
	var all []corev1.Node
	err := eachItem(ctx, metav1.ListOptions{}, lister(client.CoreV1().Nodes().List), func(n *corev1.Node) {
		all = append(all, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
			Spec:       corev1.NodeSpec{Taints: n.Spec.Taints},
			Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: *n.Status.Capacity.Cpu()}},
		})
	})
	return all, err
}

func cpusOf(n *corev1.Node) model.Value[int64] {
	if c := n.Status.Capacity.Cpu(); c != nil && !c.IsZero() {
		return model.Known(c.Value())
	}
	return model.Unknown[int64]("node " + n.Name + " does not tell its CPUs")
}

// mayRun says whether the scheduler may put such a pod on the node, as far as
// labels and taints decide.
func mayRun(pod *corev1.Pod, node *corev1.Node) bool {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return fits(t, node, isDaemon(pod)) }) {
			return false
		}
	}
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !tolerated(pod, t) && !passing(t)
	})
}

// passing are taints that come and go with a node's condition; a cordon is one.
func passing(t corev1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") }

// isDaemon says whether a DaemonSet made the pod: its affinity then names the one
// node that this pod is for.
func isDaemon(pod *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(pod)
	return c != nil && c.Kind == "DaemonSet"
}

// fits says whether all of a term holds. An empty term matches nothing.
func fits(t corev1.NodeSelectorTerm, node *corev1.Node, daemon bool) bool {
	if len(t.MatchExpressions) == 0 && len(t.MatchFields) == 0 {
		return false
	}
	fields := labels.Set{"metadata.name": node.Name}
	return !slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return !holds(r, labels.Set(node.Labels)) }) &&
		(daemon || !slices.ContainsFunc(t.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return !holds(r, fields) }))
}

func holds(r corev1.NodeSelectorRequirement, set labels.Set) bool {
	known := map[corev1.NodeSelectorOperator]operators.Operator{
		corev1.NodeSelectorOpIn: operators.In, corev1.NodeSelectorOpNotIn: operators.NotIn,
		corev1.NodeSelectorOpExists: operators.Exists, corev1.NodeSelectorOpDoesNotExist: operators.DoesNotExist,
		corev1.NodeSelectorOpGt: operators.GreaterThan, corev1.NodeSelectorOpLt: operators.LessThan,
	}
	requirement, err := labels.NewRequirement(r.Key, known[r.Operator], r.Values)
	return err == nil && requirement.Matches(set)
}

func tolerated(pod *corev1.Pod, taint corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		switch {
		case t.Effect != "" && t.Effect != taint.Effect, t.Key != "" && t.Key != taint.Key:
			return false
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			return t.Value == taint.Value
		case corev1.TolerationOpExists:
			return true
		case corev1.TolerationOpGt, corev1.TolerationOpLt:
			return compares(t, taint.Value)
		}
		return false
	})
}

// compares is a toleration of whole numbers.
func compares(t corev1.Toleration, value string) bool {
	bound, err := strconv.ParseInt(t.Value, 10, 64)
	n, err2 := strconv.ParseInt(value, 10, 64)
	if err != nil || err2 != nil {
		return false
	}
	if t.Operator == corev1.TolerationOpGt {
		return n > bound
	}
	return n < bound
}

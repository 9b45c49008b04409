package cmd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMayRun(t *testing.T) {
	big := node("big", "16")
	big.Labels = map[string]string{"pool": "web", "size": "16"}
	big.Spec.Taints = []corev1.Taint{
		{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule},
		{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule},
	}
	term := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"another"}}}}
	affinity := func(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}}
		}
	}
	tolerates := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}
	yes := true
	for _, tt := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"nothing asked for", func(*corev1.Pod) {}, true},
		{"a label", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "web"} }, true},
		{"another label", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "db"} }, false},
		{"the taint is not tolerated", func(p *corev1.Pod) { p.Spec.Tolerations = nil }, false},
		{"tolerated by value", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule}}
		}, true},
		{"another value", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Value: "db"}} }, false},
		{"another effect", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
		}, false},
		{"everything is tolerated", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }, true},
		{"in", affinity(term("pool", corev1.NodeSelectorOpIn, "db", "web")), true},
		{"not in", affinity(term("pool", corev1.NodeSelectorOpNotIn, "web")), false},
		{"exists", affinity(term("pool", corev1.NodeSelectorOpExists)), true},
		{"does not exist", affinity(term("zone", corev1.NodeSelectorOpDoesNotExist)), true},
		{"greater", affinity(term("size", corev1.NodeSelectorOpGt, "8")), true},
		{"less", affinity(term("size", corev1.NodeSelectorOpLt, "8")), false},
		{"one term of two", affinity(term("zone", corev1.NodeSelectorOpExists), term("pool", corev1.NodeSelectorOpExists)), true},
		{"an empty term matches nothing", affinity(corev1.NodeSelectorTerm{}), false},
		{"an operator of the future", affinity(term("pool", "Like", "w")), false},
		{"a pod for another node", affinity(field), false},
		{"a DaemonSet's pod is for one node, its set is not", func(p *corev1.Pod) {
			affinity(field)(p)
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "ds", Controller: &yes}}
		}, true},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{tolerates}}}
		tt.change(pod)
		if got := mayRun(pod, big); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

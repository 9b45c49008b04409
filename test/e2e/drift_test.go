package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	inboundBacklog = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	additionalEnv  = "config.linkerd.io/proxy-additional-env"
	cpuLimit       = "config.linkerd.io/proxy-cpu-limit"
	cpuRatio       = "config.linkerd.io/proxy-cpu-ratio-limit"
)

// additional is a list of one variable, as the annotation holds it.
func additional(name, value string) map[string]string {
	return map[string]string{additionalEnv: fmt.Sprintf(`[{"name":%q,"value":%q}]`, name, value)}
}

// template makes a pod template of a pod that wants to be injected.
func template(name string, annotations map[string]string) corev1.PodTemplateSpec {
	p := annotated(name, annotations)
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec}
}

// merge patches an object of the apps group.
func (e *env) merge(resource, name string, patch map[string]any) {
	e.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		e.Fatal(err)
	}
	err = cluster.client.AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(e.ns).Resource(resource).Name(name).Body(body).Do(e.Context()).Error()
	if err != nil {
		e.Fatalf("changing %s %s: %v", resource, name, err)
	}
}

func templateAnnotations(annotations map[string]string) map[string]any {
	return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}}
}

// podOf waits for the only pod of a workload and gives its name.
func (e *env) podOf(app string) string {
	e.Helper()
	var name string
	e.eventually("the pod of "+app, func() error {
		list, err := cluster.client.CoreV1().Pods(e.ns).List(e.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil || len(list.Items) != 1 {
			return errorf("%d pods (%v)", len(list.Items), err)
		}
		name = list.Items[0].Name
		return nil
	})
	return name
}

// Three workloads are made, and then what they are made from is changed in ways
// that no running pod notices. What was wanted, what is in force, why they differ
// and whether a restart settles it is what get says of each.
func TestDriftSinceThePodWasMade(t *testing.T) {
	e := newInjectedEnv(t)
	e.injects()
	apps := cluster.client.AppsV1()
	selector := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	_, err := apps.Deployments(e.ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "inherits"},
		Spec:       appsv1.DeploymentSpec{Selector: selector("inherits"), Template: template("inherits", nil)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = apps.StatefulSets(e.ns).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "held"},
		Spec: appsv1.StatefulSetSpec{
			Selector: selector("held"), Template: template("held", additional(inboundBacklog, "16")),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = apps.DaemonSets(e.ns).Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "everywhere"},
		Spec: appsv1.DaemonSetSpec{
			Selector: selector("everywhere"), Template: template("everywhere", additional(inboundBacklog, "16")),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inherits, held, everywhere := e.podOf("inherits"), e.podOf("held"), e.podOf("everywhere")
	e.running(inherits, held, everywhere)

	// As they were made, nothing differs.
	for name, p := range e.getJSON(inherits, held, everywhere) {
		for _, k := range p.Knobs {
			if k.Differs() || k.Why != "" {
				t.Errorf("%s: %s asked %+v, in force %+v, why %q", name, k.Name, k.Asked, k.InForce, k.Why)
			}
		}
	}

	// With a limit alone the request would be as high, and no node have room for two.
	e.annotateNamespace(map[string]string{cpuLimit: "2", cpuRatio: "0.5", "config.linkerd.io/proxy-cpu-request": "10m"}, nil)
	e.merge("statefulsets", "held", templateAnnotations(additional(inboundBacklog, "512")))
	e.merge("daemonsets", "everywhere", templateAnnotations(map[string]string{additionalEnv: "[]"}))
	e.eventually("the StatefulSet's controller to see the change", func() error {
		s, err := apps.StatefulSets(e.ns).Get(t.Context(), "held", metav1.GetOptions{})
		if err != nil || s.Status.ObservedGeneration < s.Generation || s.Status.UpdateRevision == s.Status.CurrentRevision {
			return errorf("status %+v (%v)", s.Status, err)
		}
		return nil
	})

	pods := e.getJSON(inherits, held, everywhere)
	for _, tt := range []struct {
		pod, knob      string
		asked, inForce int64
		why            []string
		link           string // of the chain
		command        string
	}{
		{
			inherits, "workers", min(2, e.nodeCPUs()), 1,
			[]string{
				`namespace annotation config.linkerd.io/proxy-cpu-limit asks for "2", but the container does not set LINKERD2_PROXY_CORES_MAX`,
				"set or changed after the pod was made", "restart the workload",
				`namespace annotation config.linkerd.io/proxy-cpu-ratio-limit="0.5" is ignored: pods do not inherit the ratio from their namespace`,
			},
			"namespace annotation config.linkerd.io/proxy-cpu-limit=2",
			"rollout restart ",
		},
		{
			held, "inbound backlog", 512, 16,
			[]string{
				`pod template annotation config.linkerd.io/proxy-additional-env asks for "512", but the container sets ` + inboundBacklog + ` to "16"`,
				"the pod template was changed after the pod was made", "OnDelete: delete the pod",
			},
			"pod template annotation config.linkerd.io/proxy-additional-env=" + inboundBacklog + "=512",
			"delete pod " + held,
		},
		{
			everywhere, "inbound backlog", 128, 16,
			[]string{`made the container set ` + inboundBacklog + ` to "16"`, "OnDelete: delete the pod"},
			"pod annotation config.linkerd.io/proxy-additional-env=" + inboundBacklog + "=16",
			"delete pod " + everywhere,
		},
	} {
		k := knobNamed(pods[tt.pod], tt.knob)
		if k.Asked != model.Known(tt.asked) || k.InForce != model.Known(tt.inForce) {
			t.Errorf("%s: %s asked %+v, in force %+v, want %d and %d", tt.pod, tt.knob, k.Asked, k.InForce, tt.asked, tt.inForce)
		}
		if tt.asked == tt.inForce {
			continue // one CPU: nothing differs
		}
		for _, words := range tt.why {
			if !strings.Contains(k.Why, words) {
				t.Errorf("%s: %s: why %q lacks %q", tt.pod, tt.knob, k.Why, words)
			}
		}
		if !k.Remedy.Restart {
			t.Errorf("%s: %s: a restart would settle it, and that is not said: %+v", tt.pod, tt.knob, k.Remedy)
		}
		if lines := chain(k); !strings.Contains(lines, tt.link) {
			t.Errorf("%s: %s: chain\n%s\nlacks %s", tt.pod, tt.knob, lines, tt.link)
		}
		i := slices.IndexFunc(pods[tt.pod].Verdicts, func(v model.Verdict) bool { return v.Class == model.ClassConfigDrift })
		if i < 0 {
			t.Errorf("%s: no config-drift among %+v", tt.pod, pods[tt.pod].Verdicts)
			continue
		}
		if command := pods[tt.pod].Verdicts[i].Fix[0].Command; !strings.Contains(command, tt.command) {
			t.Errorf("%s: the command is %q, want %q in it", tt.pod, command, tt.command)
		}
	}

	// Whoever may read pods alone sees what the pods tell, and it costs nothing else.
	u := e.user(t, "least", leastRights...)
	for name, p := range u.getJSON(inherits, held, everywhere) {
		if p.Collection.Stage != model.StageOK || len(p.Collection.Rights) > 0 {
			t.Errorf("%s: %+v", name, p.Collection)
		}
		for _, k := range p.Knobs {
			if k.Differs() || k.Remedy.Restart {
				t.Errorf("%s: %s asked %+v, in force %+v, why %q, without a look at the template", name, k.Name, k.Asked, k.InForce, k.Why)
			}
		}
	}
	// With three verbs more he sees what the administrator does.
	u = e.user(t, "more", append(leastRights[:len(leastRights):len(leastRights)],
		"get namespaces", "get deployments.apps", "get statefulsets.apps", "get daemonsets.apps", "get replicasets.apps")...)
	if k := knobNamed(u.getJSON(held)[held], "inbound backlog"); k.Asked != model.Known[int64](512) {
		t.Errorf("%s: asked %+v with the rights for it", held, k.Asked)
	}

	// What is said to settle it does.
	zero := int64(0)
	for _, name := range []string{inherits, held} {
		if err := cluster.client.CoreV1().Pods(e.ns).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			t.Fatal(err)
		}
	}
	inherits, held = e.podOf("inherits"), e.podOf("held")
	e.running(inherits, held)
	pods = e.getJSON(inherits, held)
	if k := knobNamed(pods[held], "inbound backlog"); k.InForce != model.Known[int64](512) || k.Differs() || k.Why != "" {
		t.Errorf("made anew: inbound backlog asked %+v, in force %+v, why %q", k.Asked, k.InForce, k.Why)
	}
	if k := knobNamed(pods[inherits], "workers"); k.InForce != model.Known(min(2, e.nodeCPUs())) || k.Differs() {
		t.Errorf("made anew: workers asked %+v, in force %+v, why %q", k.Asked, k.InForce, k.Why)
	}
}

func chain(k model.Knob) string {
	var b strings.Builder
	for _, o := range k.Chain {
		fmt.Fprintf(&b, "%s %s=%s (%s)\n", o.Where, o.Name, o.Value, o.Note)
	}
	return b.String()
}

// What is written and has no effect is named, with the reason; what the spec does
// not show comes from the process.
func TestIgnoredAndHiddenVariables(t *testing.T) {
	e := newInjectedEnv(t)
	e.injects()
	_, err := cluster.client.CoreV1().ConfigMaps(e.ns).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "depths"}, Data: map[string]string{"inbound": "64", "token": "hush"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.create(annotated("malformed", additional("LINKERD2_PROXY_CORES_MAX", "1500m")))
	e.create(annotated("ends", additional(inboundBacklog, "4k")))
	old := annotated("old", additional(inboundBacklog, "512"))
	old.Spec.Containers[0].Env = append(old.Spec.Containers[0].Env, corev1.EnvVar{Name: "TOKIOPROXY_VERSION", Value: "2.346.0"})
	e.create(old)
	from := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "depths"}, Key: key,
		}}
	}
	mapped := annotated("mapped", nil)
	mapped.Spec.Containers[0].Env = append(mapped.Spec.Containers[0].Env,
		corev1.EnvVar{Name: inboundBacklog, ValueFrom: from("inbound")}, corev1.EnvVar{Name: "TOKEN", ValueFrom: from("token")})
	e.create(mapped)
	twice := annotated("twice", additional(inboundBacklog, "32"))
	twice.Spec.Containers[0].Env = append(twice.Spec.Containers[0].Env, corev1.EnvVar{Name: inboundBacklog, Value: "1024"})
	e.create(twice)
	e.running("malformed", "old", "mapped", "twice")
	e.eventually("the proxy with a malformed backlog to end", func() error {
		for _, s := range e.get("ends").Status.ContainerStatuses {
			last := s.LastTerminationState.Terminated
			if last == nil {
				last = s.State.Terminated
			}
			if s.Name == "linkerd-proxy" && last != nil && last.ExitCode == 64 {
				return nil
			}
		}
		return errorf("it has not")
	})

	r := e.backlog("get", "-o", "json", "malformed", "old", "mapped", "twice")
	if strings.Contains(r.stdout+r.stderr, "hush") {
		t.Error("a variable that is nobody's business was printed")
	}
	pods := e.parse(r.stdout)
	for _, tt := range []struct {
		pod, knob      string
		asked, inForce int64
		why, link      string
	}{
		{
			"malformed", "workers", 1, 1, `LINKERD2_PROXY_CORES_MAX="1500m" is ignored: not a whole number above 0`,
			"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=1500m (ignored: not a whole number above 0)",
		},
		{
			"old", "inbound backlog", 512, 128, "proxy 2.346.0 is older than 2.347.0 and ignores " + inboundBacklog,
			"env of container linkerd-proxy " + inboundBacklog + "=512",
		},
		{
			"mapped", "inbound backlog", 64, 64, "",
			"env of container linkerd-proxy " + inboundBacklog + "=64 (" + inboundBacklog +
				" is set by valueFrom, which the pod's spec does not resolve; the running process has this value)",
		},
		{
			"twice", "inbound backlog", 32, 32, "",
			"env of container linkerd-proxy " + inboundBacklog + "=1024 (not used: the name stands again further down)",
		},
	} {
		k := knobNamed(pods[tt.pod], tt.knob)
		if k.Asked != model.Known(tt.asked) || k.InForce != model.Known(tt.inForce) || k.Why != tt.why {
			t.Errorf("%s: %s asked %+v, in force %+v, why %q; want %d, %d, %q", tt.pod, tt.knob, k.Asked, k.InForce, k.Why, tt.asked, tt.inForce, tt.why)
		}
		if lines := chain(k); !strings.Contains(lines, tt.link) {
			t.Errorf("%s: %s: chain\n%s\nlacks %s", tt.pod, tt.knob, lines, tt.link)
		}
	}

	// A proxy that ends because of its backlog asks for nothing that could be in force.
	p := e.getJSON("ends")["ends"]
	k := knobNamed(p, "inbound backlog")
	if k.Asked.IsKnown() || !strings.Contains(k.Why, inboundBacklog+`="4k"`) || !strings.Contains(k.Why, "exit code 64") {
		t.Errorf("ends: asked %+v, why %q", k.Asked, k.Why)
	}
}

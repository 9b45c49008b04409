package linkerd

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Only variables of knobs are asked for, and only those that the spec hides.
func TestEnvPath(t *testing.T) {
	whole := func(prefix string) *corev1.Pod {
		p := podWith(nil, pairs{least, "1"})
		p.Spec.Containers[1].EnvFrom = []corev1.EnvFromSource{{Prefix: prefix}}
		return p
	}
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"all is shown", pod(nil, pairs{most, "2"}), ""},
		{"valueFrom", hide(pod(nil, nil), most), "/env.json?" + most},
		{"two of them", hide(hide(pod(nil, nil), inbound), share), "/env.json?" + share + "&" + inbound},
		{"a reference to another variable", pod(nil, pairs{outbound, "$(DEPTH)"}), "/env.json?" + outbound},
		{"a variable that decides on no knob", hide(pod(nil, nil), "LINKERD2_PROXY_IDENTITY_TOKEN"), ""},
		{"shown behind the hidden one", func() *corev1.Pod {
			p := hide(pod(nil, nil), most)
			p.Spec.Containers[1].Env = append(p.Spec.Containers[1].Env, corev1.EnvVar{Name: most, Value: "2"})
			return p
		}(), ""},
		{
			"a whole ConfigMap", whole(""),
			"/env.json?" + strings.Join([]string{cores, most, share, inbound, outbound}, "&"),
		},
		{"a whole ConfigMap for the app", whole("APP_"), ""},
		{"no proxy", &corev1.Pod{}, ""},
	} {
		if got := New().EnvPath(tt.pod); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestReadEnv: what is no answer is unknown with the reason, never a value.
func TestReadEnv(t *testing.T) {
	p := hide(pod(nil, nil), most)
	for _, tt := range []struct {
		name, body, want, reason string
	}{
		{"a value", `{"LINKERD2_PROXY_CORES_MAX":"3"}`, "3", ""},
		{"more than was asked for", `{"LINKERD2_PROXY_CORES_MAX":"3","TOKEN":"hush"}`, "3", ""},
		{"not set", `{"LINKERD2_PROXY_CORES_MAX":null}`, "", ""},
		{"empty", `{"LINKERD2_PROXY_CORES_MAX":""}`, "", ""},
		{"not told", `{}`, "", "/env.json does not tell LINKERD2_PROXY_CORES_MAX"},
		{"no text", `{"LINKERD2_PROXY_CORES_MAX":3}`, "", "/env.json gives no text for LINKERD2_PROXY_CORES_MAX"},
		{"endless", `{"LINKERD2_PROXY_CORES_MAX":"` + strings.Repeat("3", 300) + `"}`, "", "too long for a number"},
		{"HTML", "<html>", "", `what /env.json gave is no JSON object: "<html>"`},
		{"cut off", `{"LINKERD2_PROXY_CORES_MAX":"3`, "", "no JSON object"},
		{"nothing", "", "", "no JSON object"},
		{"a list", "[]", "", "no JSON object"},
		{"null", "null", "", "does not tell"},
		{"escapes", "\x1b[31m", "", `no JSON object: "\x1b[31m"`},
	} {
		env := New().ReadEnv(p, []byte(tt.body))
		got, asked := env[most]
		if !asked || len(env) != 1 {
			t.Errorf("%s: %d values", tt.name, len(env))
		}
		if got.Or("") != tt.want || !strings.Contains(got.Reason(), tt.reason) || (tt.reason == "") != (got.Reason() == "") {
			t.Errorf("%s: %q, reason %q", tt.name, got.Or(""), got.Reason())
		}
		if tt.name == "empty" != (got.IsKnown() && tt.want == "") {
			t.Errorf("%s: known %v", tt.name, got.IsKnown())
		}
	}
	if env := New().ReadEnv(pod(nil, nil), []byte(`{"LINKERD2_PROXY_CORES":"3"}`)); len(env) != 0 {
		t.Errorf("kept %v, though nothing was asked for", env)
	}
}

// TestKnobsOfHiddenVariables: what the process told takes the place of what the
// spec does not show.
func TestKnobsOfHiddenVariables(t *testing.T) {
	told := func(p *corev1.Pod, body string) model.Pod {
		live := listening("2.366.0", 4096, 256, 128, 256)
		live.Runtime.Workers = model.Known[int64](2)
		live.Proxy.Env = New().ReadEnv(p, []byte(body))
		return live
	}
	p := hide(pod(nil, nil), most)
	k := workersOf(t, p, model.Known[int64](8), told(p, `{"LINKERD2_PROXY_CORES_MAX":"2"}`))
	if k.Asked.Or(0) != 2 || k.Why != "" {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
	const link = "env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2 " +
		"(LINKERD2_PROXY_CORES_MAX is set by valueFrom, which the pod's spec does not resolve; the running process has this value)"
	if lines := strings.Join(chainLines(k), "\n"); !strings.Contains(lines, link) {
		t.Errorf("chain:\n%s\nlacks:\n%s", lines, link)
	}
	// Not set in the process is as good as not set.
	if k = workersOf(t, p, model.Known[int64](8), told(p, `{"LINKERD2_PROXY_CORES_MAX":null}`)); k.Asked.Or(0) != 1 {
		t.Errorf("asked %d", k.Asked.Or(0))
	}
	// Malformed is what it is, wherever it comes from.
	k = workersOf(t, p, model.Known[int64](8), told(p, `{"LINKERD2_PROXY_CORES_MAX":"1500m"}`))
	if k.Asked.Or(0) != 1 || k.Why != `LINKERD2_PROXY_CORES_MAX="1500m" is ignored: not a whole number above 0` {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
	// An answer of no use says why beside what it could not tell.
	k = workersOf(t, p, model.Known[int64](8), told(p, "<html>"))
	if k.Asked.IsKnown() || !strings.Contains(k.Asked.Reason(), `valueFrom`) || !strings.Contains(k.Asked.Reason(), `(what /env.json gave is no JSON object: "<html>")`) {
		t.Errorf("asked: known %v, reason %q", k.Asked.IsKnown(), k.Asked.Reason())
	}
	// An annotation that asks for something else is a difference now.
	p = hide(pod(pairs{limit, "4"}, nil), most)
	k = workersOf(t, p, model.Known[int64](8), told(p, `{"LINKERD2_PROXY_CORES_MAX":"2"}`))
	if k.Asked.Or(0) != 4 || !strings.Contains(k.Why, `asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2"`) {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
	// The list that is there may take its value from elsewhere as well: then the
	// process alone knows it.
	list := `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","valueFrom":{"configMapKeyRef":{"name":"a","key":"b"}}}]`
	p = hide(pod(pairs{additional, list}, nil), inbound)
	k = backlogOf(t, p, told(p, `{"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG":"256"}`), "inbound")
	if k.Asked.Or(0) != 256 || k.Differs() || k.Why != "" {
		t.Errorf("asked %d (%s), why %q", k.Asked.Or(0), k.Asked.Reason(), k.Why)
	}
}

// The remedy of a ratio that the spec hides is the ratio.
func TestRemedyOfHiddenRatio(t *testing.T) {
	p := hide(pod(nil, nil), share)
	live := running("2.366.0", 4)
	live.Proxy.Env = New().ReadEnv(p, []byte(`{"LINKERD2_PROXY_CORES_MAX_RATIO":"0.5"}`))
	if k := workersOf(t, p, model.Known[int64](8), live); k.Asked.Or(0) != 4 || k.Remedy.Unit != "ratio" {
		t.Errorf("asked %d, remedy %+v", k.Asked.Or(0), k.Remedy)
	}
}

func FuzzReadEnv(f *testing.F) {
	for _, s := range []string{`{"LINKERD2_PROXY_CORES_MAX":"3"}`, `{"LINKERD2_PROXY_CORES_MAX":null}`, "<html>", "", `{"LINKERD2_PROXY_CORES_MAX":"3`} {
		f.Add(s)
	}
	p := hide(pod(nil, nil), most)
	f.Fuzz(func(t *testing.T, body string) {
		env := New().ReadEnv(p, []byte(body))
		v := env[most]
		if len(env) != 1 || len(v.Or("")) > maxValue || len(v.Reason()) > 1000 {
			t.Errorf("%d values, %d bytes, reason of %d", len(env), len(v.Or("")), len(v.Reason()))
		}
		if v.IsKnown() && !json.Valid([]byte(body)) {
			t.Errorf("%q of what is no JSON", v.Or(""))
		}
		live := running("2.366.0", 1)
		live.Proxy.Env = env
		if k := workersOf(t, p, model.Known[int64](4), live); !k.Asked.IsKnown() && k.Asked.Reason() == "" {
			t.Error("unknown without a reason")
		}
	})
}

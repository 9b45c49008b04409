package linkerd

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// TestAsks goes through what the injector makes of each annotation.
func TestAsks(t *testing.T) {
	for _, tt := range []struct {
		annotation, text string
		want             string // variable=value, or what is said of a value that is not taken
	}{
		{limit, "1500m", "LINKERD2_PROXY_CORES_MAX=2"},
		{limit, "2", "LINKERD2_PROXY_CORES_MAX=2"},
		{limit, "2.0001", "LINKERD2_PROXY_CORES_MAX=3"},
		{limit, "1m", "LINKERD2_PROXY_CORES_MAX=1"},
		{limit, "1k", "LINKERD2_PROXY_CORES_MAX=1000"},
		{limit, "0", "ignored: not above 0"},
		{limit, "-1", "ignored: not above 0"},
		{limit, "", "ignored: not a CPU quantity"},
		{limit, "two", "ignored: not a CPU quantity"},
		{request, "1500m", "LINKERD2_PROXY_CORES_MIN=2"},
		{request, "100m", "LINKERD2_PROXY_CORES_MIN=1"},
		{ratioAnn, "0.5", "LINKERD2_PROXY_CORES_MAX_RATIO=0.5"},
		{ratioAnn, "0.999", "LINKERD2_PROXY_CORES_MAX_RATIO=0.999"},
		{ratioAnn, "1.0", "refused: not between 0 and 1 (1 itself is refused too)"},
		{ratioAnn, "0", "refused: not between 0 and 1 (1 itself is refused too)"},
		{ratioAnn, "50%", "refused: not between 0 and 1 (1 itself is refused too)"},
		{additional, `[{"name":"LINKERD2_PROXY_CORES","value":"1"}]`, "LINKERD2_PROXY_CORES=1"},
		{additional, `[{"name":"LINKERD2_PROXY_CORES","value":"1"},{"name":"LINKERD2_PROXY_CORES","value":"3"}]`, "LINKERD2_PROXY_CORES=3"},
		{additional, `[{"name":"LINKERD2_PROXY_LOG","value":"debug"}]`, ""},
		{additional, `[]`, ""},
		{additional, `null`, ""},
		{additional, ``, "ignored: not a JSON list of name and value"},
		{additional, `[{"name":1}]`, "ignored: not a JSON list of name and value"},
	} {
		asked, refused := asks(places{pod: podWith(pairs{tt.annotation, tt.text}, nil)}.ofPod, false)
		got := refused[tt.annotation].Note
		for _, a := range asked {
			got += a.variable + "=" + a.setting.value
		}
		if got != tt.want {
			t.Errorf("%s: %q gives %q, want %q", tt.annotation, tt.text, got, tt.want)
		}
	}
}

// A long value is repeated in part.
func TestLongValuesAreShortened(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	asked, refused := asks(places{pod: podWith(pairs{limit, long, additional, `[{"name":"LINKERD2_PROXY_CORES","value":"` + long + `"}]`}, nil)}.ofPod, false)
	for what, text := range map[string]string{"refused": refused[limit].Value, "asked": asked[0].origin.Value} {
		if n := len([]rune(text)); n != shown+1 || !strings.HasSuffix(text, "…") {
			t.Errorf("%s value is repeated with %d characters", what, n)
		}
	}
}

// Of a list as long as the API server takes, what decides on no knob is passed over.
func TestLongListsAreBounded(t *testing.T) {
	list := "[" + strings.Repeat(`{"name":"A"},`, 20_000) + `{"name":"LINKERD2_PROXY_CORES_MAX","value":"3"}]`
	p := pod(pairs{additional, list}, pairs{most, "3"})
	asked, _ := asks(places{pod: p}.ofPod, false)
	if len(asked) != 1 {
		t.Errorf("%d variables kept, want that of the workers", len(asked))
	}
	k := workersOf(t, p, model.Known[int64](8), running("2.366.0", 3))
	if k.Asked.Or(0) != 3 || k.Why != "" || len(k.Chain) > 10 {
		t.Errorf("asked %d, why %q, %d links", k.Asked.Or(0), k.Why, len(k.Chain))
	}
}

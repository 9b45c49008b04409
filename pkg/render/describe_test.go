package render

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func pageOf(t *testing.T, p model.Pod, o PageOptions) string {
	t.Helper()
	o.Now = noon
	var b bytes.Buffer
	if err := PrintPage(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	pods := map[string]model.Pod{}
	for _, p := range everyKind().Pods {
		pods[p.Meta.Name] = p
	}
	for _, tt := range []struct {
		file, pod string
		opt       PageOptions
	}{
		{"page-saturated.txt", "a-saturated", PageOptions{Context: "prod-eu1", Alike: []string{"a-1", "a-2", "a-3", "a-4"}}},
		{"page-saturated.md", "a-saturated", PageOptions{Context: "prod-eu1", Markdown: true}},
		{"page-healthy.txt", "c-idle", PageOptions{}},
		{"page-drift.txt", "j-drift", PageOptions{}},
		{"page-hostnetwork.txt", "f-hostnetwork", PageOptions{}},
		{"page-failed.txt", "h-failed", PageOptions{}},
		{"page-failed.md", "h-failed", PageOptions{Markdown: true}},
	} {
		t.Run(tt.file, func(t *testing.T) { golden(t, tt.file, []byte(pageOf(t, pods[tt.pod], tt.opt))) })
	}
}

// The first six lines are what is pasted into the channel.
func TestMarkdownBeginsWithSixLines(t *testing.T) {
	p := everyKind().Pods[0]
	lines := strings.Split(pageOf(t, p, PageOptions{Markdown: true}), "\n")
	for i, want := range []string{"**shop/a-saturated**: CRITICAL", "The workers behind", "Evidence: refused packets", "NOW: ", "FIX: ", "NOT: ", ""} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want it to begin with %q", i+1, lines[i], want)
		}
	}
}

// Names and messages are never escape sequences, markup or HTML.
func TestPageIsClean(t *testing.T) {
	p := everyKind().Pods[0]
	hostile := "x\x1b[31m<script>alert(1)</script>[a](http://evil)`id`\n| **b** |"
	p.Meta.Name, p.Node, p.Collection.Message = hostile, hostile, hostile
	p.Verdicts[0].Sentence, p.Verdicts[0].Evidence[0].Text = hostile, hostile
	p.Verdicts[0].Now[0].Command, p.Verdicts[0].Fix[0].Values, p.Verdicts[0].Unknown = "kubectl "+hostile+"```", hostile, []string{hostile}
	p.Knobs = []model.Knob{{Name: hostile, Chain: []model.Origin{{Where: hostile, Value: hostile}}, Why: hostile}}
	for _, o := range []PageOptions{{}, {Markdown: true, Context: hostile, Alike: []string{hostile}}} {
		got := pageOf(t, p, o)
		if strings.ContainsAny(got, "\x1b\x07") {
			t.Errorf("markdown %v: an escape sequence reaches the page", o.Markdown)
		}
		if o.Markdown {
			var outside []string
			fenced := false
			for _, l := range strings.Split(got, "\n") {
				if strings.HasPrefix(l, "```") {
					fenced = !fenced
				} else if !fenced && !strings.Contains(l, "`` kubectl") && !strings.HasPrefix(l, "NOW:") {
					outside = append(outside, l)
				}
			}
			if text := strings.Join(outside, "\n"); strings.Contains(text, "<script>") || regexp.MustCompile(`[^\\]\]\(http`).MatchString(text) {
				t.Errorf("markup reaches the page:\n%s", text)
			}
		}
	}
}

func TestVerdictWords(t *testing.T) {
	v := func(classes ...model.Class) model.Pod {
		p := pod("x")
		for _, c := range classes {
			p.Verdicts = append(p.Verdicts, model.Verdict{Class: c, Severity: model.SeverityWarning})
		}
		return p
	}
	for want, p := range map[string]model.Pod{
		"-":                             v(),
		"?":                             v(model.ClassTooEarly),
		"burst-overflow":                v(model.ClassBurst),
		"burst-overflow,config-drift":   v(model.ClassBurst, model.ClassConfigDrift),
		"burst-overflow,config-drift+2": v(model.ClassBurst, model.ClassConfigDrift, model.ClassSynQueue, model.ClassHistory),
	} {
		if got := Verdict(p); got != want {
			t.Errorf("%v: %q, want %q", p.Verdicts, got, want)
		}
	}
	stale := v(model.ClassHealthy)
	stale.Collection.Stage = model.StageStale
	if got := Verdict(stale); got != Unknown {
		t.Errorf("a stale pod that was healthy is %q", got)
	}
	for _, c := range []model.Class{
		model.ClassAcceptStalled, model.ClassFDExhausted, model.ClassCPUStarved, model.ClassSaturated, model.ClassAcceptSlow, model.ClassImbalance,
		model.ClassAppBacklog, model.ClassSomaxconnCap, model.ClassFixedBacklog, model.ClassBurst, model.ClassSynQueue, model.ClassConfigDrift,
		model.ClassNotAttributable, model.ClassUndecided, model.ClassStarting, model.ClassHistory, model.ClassTooEarly, model.ClassHealthy,
	} {
		if short := ShortClass(c); len(short) > 11 {
			t.Errorf("%s is %q on a narrow screen: longer than 11", c, short)
		}
	}
}

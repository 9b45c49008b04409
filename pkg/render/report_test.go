package render

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// reported is what five minutes of three pods gave: one that a burst overflowed for a
// minute, one that is well, and one that cannot be read.
func reported(name string) Report {
	r := NewReporter("prod-eu1/shop", "v1.2.0")
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	total := int64(40)
	for n := range 300 {
		at := begun.Add(time.Duration(n) * time.Second)
		burst := n >= 120 && n < 180 && n%5 == 0
		if burst {
			total += 37
		}
		p := reportPod(name, at, n)
		p.Counters.ListenOverflows = model.Known(total)
		p.Listeners[0].Sockets[0].Drops = model.Known(total)
		p.Listeners[0].Sockets[0].Depth = model.Known(int64(n % 7))
		p.Verdicts = []model.Verdict{{Class: model.ClassHealthy, Severity: model.SeverityInfo, Sentence: "Not the queue."}}
		if burst {
			p.Listeners[0].Sockets[0].Depth = model.Known[int64](17)
		}
		if n >= 120 && n < 210 {
			p.Verdicts = []model.Verdict{burstVerdict(float64(n-120), total-40, n >= 180)}
		}
		well := reportPod("web-0", at, n)
		unread := reportPod("old-0", at, n)
		unread.Sample, unread.Listeners = model.Sample{}, nil
		unread.Runtime = model.UnknownRuntime("no proxy")
		unread.Collection = model.Collection{Stage: model.StageFailed, Message: "ErrImagePull: no such image"}
		s := model.Snapshot{Time: at, Pods: []model.Pod{p, well, unread}}
		if n >= 100 && n < 110 {
			s.Pods = s.Pods[1:] // nobody looked at it
		}
		r.Add(s)
	}
	r.Note("the recording has no end")
	return r.Report(begun.Add(time.Hour))
}

func reportPod(name string, at time.Time, n int) model.Pod {
	known := func(v int64) model.Value[int64] { return model.Known(v) }
	return model.Pod{
		Meta: model.Meta{Name: name, Namespace: "shop", UID: "uid-" + name}, Node: "node-1", Ready: true,
		Workload:   model.Workload{Kind: "Deployment", Name: "server"},
		Proxy:      model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Version: model.Known("2.366.0")},
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1"},
		Sample:     model.Sample{Uptime: model.Known(1000 + float64(n)), Sandbox: name, Arrived: at},
		Listeners: []model.Listener{{Address: "0.0.0.0", Port: 4143, Role: model.RoleInbound, Sockets: []model.Socket{{
			Inode: model.Known[uint64](7), Depth: known(0), Limit: known(16), Drops: known(0),
		}}}},
		Counters: model.Counters{ListenOverflows: known(0), PassiveOpens: known(int64(50 * n))},
		Runtime:  model.Runtime{Workers: known(1), Window: model.RuntimeWindow{Busy: model.Known(0.2 + float64(n%60)/100)}},
		Knobs: []model.Knob{{
			Name: "inbound backlog", Asked: known(128), InForce: known(16), SeenBy: "ss", Why: "somaxconn caps it",
			Chain: []model.Origin{{Where: "env of container linkerd-proxy", Name: "BACKLOG", Value: "128"}},
		}},
	}
}

func burstVerdict(held float64, refused int64, over bool) model.Verdict {
	return model.Verdict{
		Class: model.ClassBurst, Severity: model.SeverityWarning, Sentence: "Bursts exceed the queue of 0.0.0.0:4143 and drain in between.",
		Listener: "0.0.0.0:4143", Port: 4143, Role: model.RoleInbound, Window: model.Known(30.0), Held: model.Known(held), Over: over,
		Evidence: []model.Evidence{
			{Name: "refused packets", Text: "+" + Count(model.Known(refused)) + " on 0.0.0.0:4143", Source: "nstat, ss d"},
			{Name: "workers", Text: "1 in force, busy 0.31", Source: "tokio_rt"},
		},
		Now: []model.Action{{Text: "Pause the rollout.", Command: "kubectl --context prod-eu1 -n shop rollout pause deployment/server", Undo: "kubectl --context prod-eu1 -n shop rollout resume deployment/server"}},
		Fix: []model.Action{{
			Text: "A deeper backlog.", Values: "podAnnotations:\n  config.linkerd.io/proxy-additional-env: |\n    [{\"name\":\"A\"}]", Place: "values of Helm release server",
			Notes: []string{"restarts 3 pods"},
		}},
		Not:     []model.Action{{Text: "Not more workers."}},
		Unknown: []string{"the true peak: samples come once a second"},
	}
}

func TestReportGoldens(t *testing.T) {
	var page, text bytes.Buffer
	r := reported("server-0")
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&text, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.html", page.Bytes())
	golden(t, "report.md", text.Bytes())
}

// A verdict that is over tells less than it did while it held: the fuller one stays,
// with when it was seen first and last.
func TestReportKeepsTheWorst(t *testing.T) {
	r := reported("server-0")
	w := r.Pods[0].Worst
	if len(w) != 1 || w[0].Over || w[0].Held.Or(0) != 59 || clock(w[0].First) != "12:02:00Z" || clock(w[0].Last) != "12:03:29Z" {
		t.Errorf("%+v", w)
	}
	if s := r.Pods[0].Sum; s.Refused.Or(0) != 12*37 || s.Peak.Or(0) != 17 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(strings.Join(r.summary(), "\n"), "refused packets in all: 444") {
		t.Errorf("%q", r.summary())
	}
}

// Nothing that a name, a message or a command holds becomes markup.
func TestHostileReport(t *testing.T) {
	const evil = "x</td><script>alert(1)</script>\x1b[31m\u202e`](javascript:1)[a|b"
	r := reported(evil)
	r.Title, r.Tool, r.Notes = evil, evil, []string{evil}
	for i := range r.Pods {
		p := &r.Pods[i].Pod
		p.Node, p.Collection.Message, p.Knobs[0].Why, p.Knobs[0].Chain[0].Value = evil, evil, evil, evil
		for j := range r.Pods[i].Worst {
			v := &r.Pods[i].Worst[j]
			v.Sentence, v.Unknown = evil, []string{evil}
			v.Now = []model.Action{{Text: evil, Command: evil, Undo: evil, Values: evil, Place: evil, Notes: []string{evil}}}
			v.Evidence = []model.Evidence{{Name: evil, Text: evil, Source: evil}}
		}
	}
	for i := range r.Events {
		r.Events[i].Text = evil
	}
	var page, text bytes.Buffer
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&text, r); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{"HTML": page.String(), "Markdown": text.String()} {
		if strings.ContainsAny(s, "\x1b\u202e") || name == "HTML" && strings.Contains(s, "<script") {
			t.Errorf("%s holds what a reader would obey", name)
		}
	}
	inCode := false
	for _, l := range strings.Split(text.String(), "\n") {
		if strings.HasPrefix(l, "```") {
			inCode = !inCode
			continue
		}
		// Inline code may hold anything.
		if !inCode && !strings.Contains(l, "`` x<") && strings.Contains(l, "<script") {
			t.Errorf("markup in Markdown: %s", l)
		}
	}
}

func TestReportIsBounded(t *testing.T) {
	r := Report{Title: "t", From: time.Unix(0, 0), To: time.Unix(60, 0)}
	for range maxReportRows + 300 {
		r.Pods = append(r.Pods, ReportPod{Pod: reportPod("p", time.Unix(0, 0), 1), Worst: []WorstVerdict{{Verdict: burstVerdict(1, 1, false)}}})
	}
	h := r.html()
	if len(h.Pods) != maxReportPods || h.MorePods != maxReportRows+300-maxReportPods || h.MoreRows != 300 {
		t.Errorf("%d pods, %d more; %d more rows", len(h.Pods), h.MorePods, h.MoreRows)
	}
	var b bytes.Buffer
	if err := WriteMarkdown(&b, r); err != nil || !strings.Contains(b.String(), "more pods have no part of their own") {
		t.Errorf("%v", err)
	}
	if err := WriteHTML(&b, Report{}); err != nil {
		t.Errorf("an empty report: %v", err)
	}
}

// A pod that was deleted long before the end has its history in the report: it is what
// the report is about.
func TestReportOfADeletedPod(t *testing.T) {
	r := NewReporter("t", "v")
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n := range 30 {
		p := reportPod("server-0", begun.Add(time.Duration(n)*time.Second), n)
		p.Counters.ListenOverflows = model.Known(int64(n))
		p.Verdicts = []model.Verdict{burstVerdict(1, 1, false)}
		r.Add(model.Snapshot{Time: begun.Add(time.Duration(n) * time.Second), Pods: []model.Pod{p}})
	}
	for n := range 6 * 60 {
		at := begun.Add(time.Duration(n+1) * time.Minute)
		r.Add(model.Snapshot{Time: at, Pods: []model.Pod{reportPod("server-1", at, n*60)}})
	}
	p := r.Report(begun).Pods[0]
	if p.Pod.Meta.Name != "server-0" || p.Track == nil || p.Sum.Refused.Or(0) != 29 {
		t.Errorf("%s: %+v", p.Pod.Meta.Name, p.Sum)
	}
}

// Many that are well are one line, in HTML and in Markdown; one of which it is not known
// whether anything was refused is none of them.
func TestHealthyPodsAreFolded(t *testing.T) {
	r := NewReporter("t", "v")
	for n := range 20 {
		var s model.Snapshot
		s.Time = time.Unix(int64(n), 0).UTC()
		for i := range 30 {
			p := reportPod("web-"+Count(model.Known(int64(i))), s.Time, n)
			p.Verdicts = []model.Verdict{{Class: model.ClassHealthy, Severity: model.SeverityInfo}}
			if i == 7 {
				p.Verdicts = []model.Verdict{burstVerdict(1, 1, false)}
				p.Counters.ListenOverflows = model.Known(int64(n))
			}
			if i == 8 {
				p.Counters.ListenOverflows = model.Unknown[int64]("not read")
			}
			s.Pods = append(s.Pods, p)
		}
		r.Add(s)
	}
	var page, text bytes.Buffer
	report := r.Report(time.Unix(0, 0))
	if err := errors.Join(WriteHTML(&page, report), WriteMarkdown(&text, report)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{page.String(), text.String()} {
		if !strings.Contains(s, "28 more, of which nothing was refused") || !strings.Contains(s, "web-7") || !strings.Contains(s, "web-8") || strings.Contains(s, "web-9") {
			t.Errorf("%s", s)
		}
	}
	// The samples saw an empty queue; what was refused met a full one.
	if row := report.Pods[0].row(); row.Peak != "≥17/16" {
		t.Errorf("peak %s", row.Peak)
	}
}

func TestReporterIsBounded(t *testing.T) {
	r := NewReporter("t", "v")
	for n := range mostReported + 10 {
		p := reportPod(Count(model.Known(int64(n))), time.Unix(0, 0), 1)
		r.Add(model.Snapshot{Time: time.Unix(int64(n), 0), Pods: []model.Pod{p}})
	}
	out := r.Report(time.Unix(0, 0))
	if len(out.Pods) != mostReported || !strings.Contains(strings.Join(out.Notes, "\n"), "came later are left out") {
		t.Errorf("%d pods, notes %q", len(out.Pods), out.Notes)
	}
}

// BenchmarkReporter is what an hour of 50 pods needs: run with -benchtime=1x, the heap
// is printed in MiB.
func BenchmarkReporter(b *testing.B) {
	for b.Loop() {
		r := NewReporter("t", "v")
		for n := range 3600 {
			var s model.Snapshot
			s.Time = time.Unix(int64(n), 0)
			for i := range 50 {
				s.Pods = append(s.Pods, reportPod(string(rune('a'+i)), s.Time, n))
			}
			r.Add(s)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
		r.Report(time.Unix(0, 0))
	}
}

// Gaps are gaps: where nobody looked nothing is drawn, not even a zero.
func TestPictureHasGaps(t *testing.T) {
	r := reported("server-0")
	columns := pictureColumns(r.Pods[0].Track.Points(), r.From, r.To)
	seen := func(second int) bool { return columns[second*columnsOfPicture/300].seen }
	if !seen(50) || seen(105) || !seen(150) {
		t.Errorf("seen at 50, 105, 150 s: %v %v %v", seen(50), seen(105), seen(150))
	}
	refused := 0.0
	for _, c := range columns {
		refused += number(c.refused)
	}
	if refused != 444 {
		t.Errorf("the picture shows %v refused", refused)
	}
	// One sample after the other is one curve: nothing is missing between them.
	for second := 121; second < 290; second++ {
		for i := second * columnsOfPicture / 300; i < (second+1)*columnsOfPicture/300; i++ {
			if !columns[i].seen {
				t.Fatalf("a gap at second %d", second)
			}
		}
	}
	if svg := picture(nil, r.From, r.To); strings.Contains(svg, `class="depth"`) || strings.Contains(svg, "NaN") {
		t.Error("something is drawn of nothing")
	}
}

func TestTimeTicks(t *testing.T) {
	from := time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC)
	for _, d := range []time.Duration{time.Second, time.Minute, 15 * time.Minute, 5 * time.Hour, 90 * 24 * time.Hour} {
		if n := len(timeTicks(from, from.Add(d))); n < 1 || n > 7 {
			t.Errorf("%d ticks in %s", n, d)
		}
	}
}

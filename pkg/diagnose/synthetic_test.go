package diagnose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// maker makes a history second by second, as one server would give it.
type maker struct {
	pods                   []model.Pod
	limit, somaxconn       int64
	sockets                int
	role                   model.Role
	adapter                string
	overflows, drops, open int64
	cookies                int64
	d                      []int64
	depth                  []int64
	process                *model.Process
	runtime                func(second int, r *model.Runtime)
	change                 func(second int, p *model.Pod)
}

func server(limit int64) *maker {
	return &maker{limit: limit, somaxconn: 4096, sockets: 1, role: model.RoleApp}
}

// second takes one sample in which so many were refused (of the first socket),
// accepted, and now wait in each socket.
func (m *maker) second(refused, accepted int64, depths ...int64) {
	if m.d == nil {
		m.d, m.depth = make([]int64, m.sockets), make([]int64, m.sockets)
	}
	var grown int64
	for i, d := range depths {
		grown += d - m.depth[i]
		m.depth[i] = d
	}
	m.d[0] += refused
	m.overflows += refused
	m.drops += refused
	m.open += accepted + grown
	n := len(m.pods)
	up := 500 + float64(n)
	p := model.Pod{
		Ready: true, Collection: model.Collection{Stage: model.StageOK}, Proxy: model.Proxy{Adapter: m.adapter, Container: m.adapter, Sidecar: m.adapter != ""},
		Sample: model.Sample{Uptime: model.Known(up), Sandbox: "a", Arrived: time.Unix(int64(up), 0)},
		Counters: model.Counters{
			ListenOverflows: model.Known(m.overflows), ListenDrops: model.Known(m.drops), PassiveOpens: model.Known(m.open),
			ReqQFullDoCookies: model.Known(m.cookies), ReqQFullDrop: model.Known[int64](0), Somaxconn: model.Known(m.somaxconn),
		},
		Runtime: model.UnknownRuntime("no proxy"), Process: model.UnknownProcess("not shared"),
	}
	l := model.Listener{Address: "0.0.0.0", Port: 8080, Role: m.role}
	for i := range m.sockets {
		l.Sockets = append(l.Sockets, model.Socket{
			Inode: model.Known(uint64(i + 1)), Depth: model.Known(m.depth[i]), Limit: model.Known(m.limit), Drops: model.Known(m.d[i]),
		})
	}
	p.Listeners = []model.Listener{l}
	if m.process != nil {
		q := *m.process
		q.Uptime, q.Seconds = model.Known(up), model.Known(1.0)
		p.Process = q
	}
	if m.runtime != nil {
		r := model.UnknownRuntime("not read")
		r.Workers, r.Start, r.Clock = model.Known[int64](1), model.Known(100.0), model.Known(up+1000)
		r.OpenFDs, r.MaxFDs = model.Known[int64](20), model.Known[int64](20000)
		m.runtime(n, &r)
		p.Runtime = r
	}
	if m.change != nil {
		m.change(n, &p)
	}
	m.pods = append(m.pods, p)
}

func (m *maker) quiet(seconds int) *maker {
	for range seconds {
		m.second(0, 20, make([]int64, m.sockets)...)
	}
	return m
}

// full is a queue that stays full while so many a second are accepted.
func (m *maker) full(seconds int, accepted int64) *maker {
	for range seconds {
		m.second(50, accepted, m.limit+1)
	}
	return m
}

// bursts overflow every fifth second and have drained by the next sample.
func (m *maker) bursts(seconds int) *maker {
	for i := range seconds {
		if i%5 == 2 {
			m.second(100, 200, 0)
		} else {
			m.second(0, 0, 0)
		}
	}
	return m
}

func threads(cpu, wait float64, state string) *model.Process {
	p := model.UnknownProcess("")
	p.Container, p.PID, p.Name = "app", 7, "server"
	p.CPU, p.Wait = model.Known(cpu), model.Known(wait)
	p.OpenFDs, p.MaxFDs, p.CPUsAllowed = model.Known[int64](20), model.Known[int64](1024), model.Known[int64](8)
	p.Threads = []model.Thread{{TID: 7, Name: "server", State: state, CPU: model.Known(cpu), Wait: model.Known(wait)}}
	return &p
}

// busy is a proxy's runtime that works at a ratio, on so much CPU; it never
// parks when it is saturated.
func busy(ratio, cpu float64) func(int, *model.Runtime) {
	return func(n int, r *model.Runtime) {
		s := float64(n)
		r.BusySeconds, r.CPUSeconds = model.Known(5+s*ratio), model.Known(5+s*cpu)
		r.Polls, r.Parks = model.Known(int64(1000*n)), model.Known[int64](7)
		if ratio < 0.9 {
			r.Parks = model.Known(int64(100 * n))
		}
	}
}

func (m *maker) with(p *model.Process) *maker { m.process = p; return m }

func (m *maker) proxy(r func(int, *model.Runtime)) *maker {
	m.adapter, m.role, m.runtime = "linkerd", model.RoleInbound, r
	return m
}

func (m *maker) history() diagnose.History {
	return diagnose.History{Samples: m.pods}
}

func TestRules(t *testing.T) {
	skewed := server(16)
	skewed.sockets = 4
	for range 12 {
		skewed.second(5, 30, 17, 0, 1, 0)
	}
	alike := server(16)
	alike.sockets = 2
	for range 12 {
		alike.second(5, 30, 17, 17)
	}
	syn := server(128)
	for range 12 {
		syn.cookies += 40
		syn.second(0, 3, 0)
	}
	capped := server(128)
	capped.somaxconn = 128
	python := threads(0.1, 0, "S")
	python.Name = "python3"
	drifted := server(128)
	drifted.change = func(_ int, p *model.Pod) {
		p.Knobs = []model.Knob{{Name: "workers", Asked: model.Known[int64](4), InForce: model.Known[int64](1), Why: "not inherited"}}
	}
	host := server(8)
	host.change = func(_ int, p *model.Pod) { p.HostNetwork = true }
	notReady := server(8)
	notReady.proxy(func(n int, r *model.Runtime) { busy(0.001, 0.001)(n, r); r.Ready = model.Known(false) })
	noFDs := threads(1, 0, "R")
	noFDs.OpenFDs, noFDs.MaxFDs = model.Known[int64](64), model.Known[int64](64)
	vanished := server(128)
	vanished.proxy(func(n int, r *model.Runtime) {
		busy(0.87, 0.8)(n, r)
		r.CPUSeconds, r.OpenFDs, r.MaxFDs = model.Unknown[float64]("gone"), model.Unknown[int64]("gone"), model.Unknown[int64]("gone")
	})
	for range 12 {
		vanished.second(0, 100, 2)
	}
	unlimited := server(128)
	unlimited.change = func(_ int, p *model.Pod) {
		for i := range p.Listeners[0].Sockets {
			p.Listeners[0].Sockets[i].Limit = model.Unknown[int64]("from /proc/net/tcp")
		}
	}
	noDrops := server(128)
	noDrops.change = func(_ int, p *model.Pod) {
		p.Listeners = append(p.Listeners, model.Listener{Address: "127.0.0.1", Port: 9, Role: model.RoleApp, Sockets: slices.Clone(p.Listeners[0].Sockets)})
		for i := range p.Listeners {
			p.Listeners[i].Sockets = slices.Clone(p.Listeners[i].Sockets)
			p.Listeners[i].Sockets[0].Drops = model.Unknown[int64]("old iproute2")
			p.Listeners[i].Sockets[0].Depth = model.Known[int64](0)
		}
	}
	behind := server(20)
	behind.adapter = "linkerd"
	waits := server(64)
	waits.with(threads(0.001, 0, "S")).change = func(n int, p *model.Pod) {
		p.Listeners[0].Waiting = &model.Waiting{
			Uptime: p.Sample.Uptime, Since: model.Known(500.0), Stuck: model.Known[int64](1),
			Connections: []model.Connection{{Peer: "10.0.0.1:1", ID: "a", State: "established"}},
		}
	}
	for range 12 {
		waits.second(0, 1, 1) // scrapes are accepted elsewhere in the namespace
	}
	standing := server(1024).with(threads(0.99, 0, "R"))
	for range 12 {
		standing.second(0, 60, 300)
	}
	node := server(511)
	signs := server(64).with(threads(0.001, 0, "S"))
	signs.change = func(_ int, p *model.Pod) { // kubelet's probes go to a listener of their own
		p.Listeners = append(p.Listeners, model.Listener{Address: "*", Port: 9, Role: model.RoleApp, Sockets: []model.Socket{{
			Depth: model.Known[int64](0), Limit: model.Known[int64](128), Drops: model.Known[int64](0),
		}}})
	}
	onlyFull := server(16)
	onlyFull.change = func(_ int, p *model.Pod) {
		p.Listeners[0].Sockets[0].Drops = model.Unknown[int64]("old iproute2")
		p.Listeners = append(p.Listeners, model.Listener{Address: "*", Port: 9, Role: model.RoleApp, Sockets: []model.Socket{{
			Depth: model.Known[int64](0), Limit: model.Known[int64](128), Drops: model.Unknown[int64]("old iproute2"),
		}}})
	}
	cappedAll := server(128)
	cappedAll.somaxconn = 128
	for i := range 12 {
		cappedAll.second(40, 900, int64(30+5*(i%3)))
	}
	slow := server(8).with(threads(0.01, 0, "S"))
	for i := range 24 { // one accept in four seconds: gaps of one length are no stall
		accepted := int64(0)
		if i%4 == 0 {
			accepted = 1
		}
		slow.second(3, accepted, 9)
	}
	for name, c := range map[string]struct {
		h    diagnose.History
		want model.Class
		sev  model.Severity
	}{
		"nothing yet":                                {diagnose.History{}, model.ClassTooEarly, model.SeverityInfo},
		"two samples":                                {server(8).quiet(2).history(), model.ClassTooEarly, model.SeverityInfo},
		"quiet":                                      {server(8).quiet(12).history(), model.ClassHealthy, model.SeverityInfo},
		"bursts, workers unknown":                    {server(16).bursts(20).history(), model.ClassBurst, model.SeverityWarning},
		"bursts, idle threads":                       {server(16).with(threads(0.1, 0, "S")).bursts(20).history(), model.ClassBurst, model.SeverityWarning},
		"bursts at somaxconn":                        {capped.bursts(20).history(), model.ClassSomaxconnCap, model.SeverityWarning},
		"bursts at a default of the program":         {server(5).with(python).bursts(20).history(), model.ClassFixedBacklog, model.SeverityWarning},
		"bursts on the app behind a proxy":           {behind.bursts(20).history(), model.ClassAppBacklog, model.SeverityWarning},
		"full, threads burn":                         {server(64).with(threads(1, 0.01, "R")).full(12, 60).history(), model.ClassSaturated, model.SeverityCritical},
		"full, threads wait for a CPU":               {server(64).with(threads(0.1, 0.9, "R")).full(12, 60).history(), model.ClassCPUStarved, model.SeverityCritical},
		"full, threads sleep":                        {server(64).with(threads(0.05, 0, "S")).full(12, 60).history(), model.ClassAcceptSlow, model.SeverityCritical},
		"full, workers unknown":                      {server(64).full(12, 60).history(), model.ClassUndecided, model.SeverityCritical},
		"full, nothing accepted, threads sleep":      {server(64).with(threads(0.001, 0, "S")).full(12, 0).history(), model.ClassAcceptStalled, model.SeverityCritical},
		"full, nothing accepted, threads unknown":    {server(64).full(12, 0).history(), model.ClassUndecided, model.SeverityCritical},
		"the same connection waits, others accept":   {waits.history(), model.ClassAcceptStalled, model.SeverityCritical},
		"accepts once in four seconds":               {slow.history(), model.ClassAcceptSlow, model.SeverityCritical},
		"never empty, threads burn":                  {standing.history(), model.ClassSaturated, model.SeverityWarning},
		"bursts at a known default, program unknown": {node.bursts(20).history(), model.ClassUndecided, model.SeverityWarning},
		"nearly nothing accepted beside probes":      {signs.full(12, 1).history(), model.ClassAcceptStalled, model.SeverityCritical},
		"no drops told, one queue full":              {onlyFull.full(12, 60).history(), model.ClassUndecided, model.SeverityCritical},
		"overflows all the time at somaxconn":        {cappedAll.history(), model.ClassUndecided, model.SeverityCritical},
		"no descriptor left":                         {server(64).with(noFDs).full(12, 0).history(), model.ClassFDExhausted, model.SeverityCritical},
		"no descriptor left, by what is missing":     {vanished.history(), model.ClassFDExhausted, model.SeverityCritical},
		"one socket of four":                         {skewed.history(), model.ClassImbalance, model.SeverityCritical},
		"all sockets alike are no imbalance":         {alike.history(), model.ClassUndecided, model.SeverityCritical},
		"proxy saturated":                            {server(128).proxy(busy(0.98, 0.97)).full(12, 60).history(), model.ClassSaturated, model.SeverityCritical},
		"proxy saturated, nothing refused":           {server(1024).proxy(busy(0.98, 0.97)).quiet(12).history(), model.ClassSaturated, model.SeverityWarning},
		"proxy starved":                              {server(128).proxy(busy(0.96, 0.2)).full(12, 60).history(), model.ClassCPUStarved, model.SeverityCritical},
		"proxy with bursts":                          {server(128).proxy(busy(0.1, 0.1)).bursts(20).history(), model.ClassBurst, model.SeverityWarning},
		"proxy busy, but not enough":                 {server(128).proxy(busy(0.83, 0.7)).quiet(12).history(), model.ClassHealthy, model.SeverityInfo},
		"cookies alone":                              {syn.history(), model.ClassSynQueue, model.SeverityWarning},
		"workers differ":                             {drifted.quiet(12).history(), model.ClassConfigDrift, model.SeverityWarning},
		"the node's network":                         {host.full(12, 0).history(), model.ClassNotAttributable, model.SeverityInfo},
		"not ready":                                  {notReady.full(12, 0).history(), model.ClassStarting, model.SeverityInfo},
		"overflow long ago, in the same history":     {server(16).bursts(10).quiet(40).history(), model.ClassHistory, model.SeverityInfo},
		"overflow, limit unknown":                    {unlimited.bursts(20).history(), model.ClassBurst, model.SeverityWarning},
		"overflow, no socket's own count known":      {noDrops.bursts(20).history(), model.ClassNotAttributable, model.SeverityWarning},
		"overflow begins, threads unknown":           {server(64).quiet(10).full(2, 60).history(), model.ClassTooEarly, model.SeverityWarning},
		"stall of two seconds that is over: a burst": {server(16).with(threads(0.05, 0, "S")).quiet(8).full(2, 0).quiet(8).history(), model.ClassBurst, model.SeverityWarning},
	} {
		vs := diagnose.Judge(c.h, diagnose.Options{})
		if len(vs) == 0 || vs[0].Class != c.want || vs[0].Severity != c.sev {
			t.Errorf("%s: want %s %s, got\n      %s", name, c.sev, c.want, words(vs))
		}
	}
}

// Whatever is said is said whole: a sentence, the window, figures with their
// source, what helps and what does not; an undecided one names up to three.
func TestVerdictsAreComplete(t *testing.T) {
	for _, path := range recordings(t) {
		r := load(t, path, true)
		for _, v := range diagnose.Judge(r.between(0, r.at[len(r.at)-1]), diagnose.Options{}) {
			switch {
			case !strings.HasSuffix(v.Sentence, "."), v.Severity == "", !v.Window.IsKnown(), len(v.Evidence) == 0:
				t.Errorf("%s: %+v", r.name, v)
			case len(v.Now)+len(v.Fix) == 0:
				t.Errorf("%s: %s says nothing that helps", r.name, v.Class)
			case len(v.Not) == 0 && v.Class != model.ClassTooEarly:
				t.Errorf("%s: %s names no wrong remedy", r.name, v.Class)
			case (v.Class == model.ClassUndecided) != (len(v.Candidates) > 1) && v.Class == model.ClassUndecided, len(v.Candidates) > model.MaxCandidates:
				t.Errorf("%s: %s of %v", r.name, v.Class, v.Candidates)
			}
			for _, e := range v.Evidence {
				if e.Name == "" || e.Text == "" || e.Source == "" || !e.Figure.IsKnown() {
					t.Errorf("%s: evidence %+v", r.name, e)
				}
			}
		}
	}
}

func TestJudgeIsDeterministicAndLeavesTheHistory(t *testing.T) {
	h := server(64).with(threads(0.1, 0.9, "R")).full(12, 60).history()
	before := words(diagnose.Judge(h, diagnose.Options{}))
	for range 5 {
		if got := words(diagnose.Judge(h, diagnose.Options{})); got != before {
			t.Fatalf("first %s\nthen %s", before, got)
		}
	}
	if h.Samples[11].Listeners[0].Window.Overflows.IsKnown() {
		t.Error("Judge changed a sample that it was given")
	}
}

// A burst's backlog is what was refused at once on top of the limit, rounded up.
func TestNeededBacklog(t *testing.T) {
	v := diagnose.Judge(server(16).bursts(20).history(), diagnose.Options{})[0]
	if got := v.Fix[0]; got.Kind != model.ActRaiseBacklog || got.From != model.Known[int64](16) || got.To != model.Known[int64](128) {
		t.Errorf("fix = %+v, want 16 to 128 (16+100, next power of two)", got)
	}
}

// In a pod this young, the counters are the incident.
func TestHistoryIsBoundedByThePodsAge(t *testing.T) {
	m := server(16)
	m.overflows, m.d, m.depth = 276, []int64{276}, []int64{0}
	m.change = func(_ int, p *model.Pod) { p.Meta.Created = time.Unix(500-80, 0) }
	v := diagnose.Judge(m.quiet(12).history(), diagnose.Options{})[0]
	if v.Class != model.ClassHistory || v.Severity != model.SeverityWarning || !strings.Contains(v.Sentence, "276 packets were refused within this pod's 1m31s") {
		t.Errorf("%s %s: %s", v.Severity, v.Class, v.Sentence)
	}
}

func TestSiblingsAreEvidence(t *testing.T) {
	h := server(64).with(threads(0.001, 0, "S")).full(12, 0).history()
	vs := diagnose.Judge(h, diagnose.Options{})
	diagnose.AddSiblings(vs, diagnose.Siblings{Total: 39, Healthy: 39, AcceptedMin: model.Known(188.0), AcceptedMax: model.Known(231.0)})
	v := vs[0]
	if e := v.Evidence[len(v.Evidence)-1]; e.Text != "39 of 39 others healthy; they accept 188 to 231 per second" {
		t.Errorf("evidence = %+v", e)
	}
}

// What the proxy counted stands beside what the kernel refused, and how uneven
// the arrivals are beside both.
func TestTheSentenceThatEndsTheArgument(t *testing.T) {
	m := server(16).proxy(func(i int, r *model.Runtime) {
		busy(0.1, 0.1)(i, r)
		r.Requests, r.Failures = model.Known(int64(1000+100*i)), model.Known[int64](3)
	})
	v := diagnose.Judge(m.bursts(20).history(), diagnose.Options{})[0]
	text := map[string]string{}
	for _, e := range v.Evidence {
		text[e.Name] = e.Text
	}
	if got := text["proxy's view"]; !strings.HasPrefix(got, "1,900 requests, 100.00 % success; the ") {
		t.Errorf("%s: the proxy's view is %q", v.Class, got)
	}
	if got := text["arrivals"]; !strings.HasPrefix(got, "peak ") || !strings.Contains(got, " to 1") {
		t.Errorf("arrivals are %q", got)
	}
}

// Since when a verdict holds outlives the window.
func TestKeep(t *testing.T) {
	m := server(64).with(threads(1, 0, "R")).full(30, 60)
	before := diagnose.Judge(m.history(), diagnose.Options{})
	m.full(30, 60)
	now := diagnose.Keep(before, diagnose.Judge(m.history(), diagnose.Options{}))
	if h := now[0].Held.Or(0); h < 58 {
		t.Errorf("held %v s, want about 59", h)
	}
	alone := diagnose.Judge(m.history(), diagnose.Options{})
	if h := alone[0].Held.Or(0); h > 31 || !alone[0].Longer {
		t.Errorf("alone it says held %v s, longer %v", h, alone[0].Longer)
	}
	other := diagnose.Judge(server(64).with(threads(0.1, 0.9, "R")).full(60, 60).history(), diagnose.Options{})
	if got := diagnose.Keep(before, other); got[0].Held.Or(99) > 31 {
		t.Errorf("another class took over: held %v", got[0].Held)
	}
}

// BenchmarkJudge judges a thousand pods with sixty samples each.
func BenchmarkJudge(b *testing.B) {
	kinds := []diagnose.History{
		server(128).proxy(busy(0.3, 0.3)).quiet(60).history(),
		server(128).proxy(busy(0.98, 0.97)).full(60, 60).history(),
		server(16).with(threads(0.1, 0, "S")).bursts(60).history(),
		server(64).with(threads(0.001, 0, "S")).full(60, 0).history(),
	}
	for i := range kinds { // five listeners, as a meshed pod has
		for j := range kinds[i].Samples {
			p := &kinds[i].Samples[j]
			for port := uint16(1); port <= 4; port++ {
				p.Listeners = append(p.Listeners, model.Listener{Address: "127.0.0.1", Port: port, Role: model.RoleAdmin, Sockets: []model.Socket{{
					Depth: model.Known[int64](0), Limit: model.Known[int64](128), Drops: model.Known[int64](0),
				}}})
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range 1000 {
			if len(diagnose.Judge(kinds[i%len(kinds)], diagnose.Options{})) == 0 {
				b.Fatal("no verdict")
			}
		}
	}
}

// A setting that has no effect is told though nothing differs, and without a
// history; two listeners that one variable decides on are told once.
func TestIgnoredSettings(t *testing.T) {
	const why = `CORES_MAX="1500m" is no whole number and is ignored`
	for _, n := range []int{1, 12} {
		m := server(128).proxy(busy(0.1, 0.1))
		m.change = func(_ int, p *model.Pod) {
			p.Knobs = []model.Knob{
				{Name: "inbound backlog", Asked: model.Unknown[int64](why), InForce: model.Known[int64](128), Why: why},
				{Name: "admin backlog", Asked: model.Unknown[int64](why), InForce: model.Known[int64](128), Why: why},
				{Name: "workers", Asked: model.Known[int64](1), InForce: model.Known[int64](1)},
			}
		}
		v := diagnose.Judge(m.quiet(n).history(), diagnose.Options{})[0]
		if v.Class != model.ClassConfigDrift || len(v.Evidence) != 1 || !strings.Contains(v.Sentence, why) {
			t.Errorf("%d samples: %s: %s %+v", n, v.Class, v.Sentence, v.Evidence)
		}
	}
}

// envoy is a runtime that is booked every five seconds and tells no CPU time.
func envoy(busy float64, delay model.Value[float64]) func(int, *model.Runtime) {
	return func(n int, r *model.Runtime) {
		flush := float64(n / 5 * 5)
		r.ClockBooked, r.Start, r.Clock = true, model.Known(1.0), model.Known(1+flush)
		r.BusySeconds, r.CPUSeconds = model.Known(flush*busy), model.Unknown[float64]("Envoy does not tell it")
		r.PollDelaySeconds = delay
		if d, ok := delay.Get(); ok {
			r.PollDelaySeconds = model.Known(d * flush)
		}
	}
}

// A throttled Envoy reads a low busy ratio: what its events wait for is in none of
// it, and a low ratio alone clears nobody's CPU.
func TestALowBusyRatioDoesNotClearEnvoy(t *testing.T) {
	for _, tt := range []struct {
		name  string
		delay model.Value[float64]
		want  model.Class
	}{
		{"its loops are delayed", model.Known(0.8), model.ClassCPUStarved},
		{"they are not", model.Known(0.01), model.ClassAcceptSlow},
		{"nobody tells", model.Unknown[float64]("no dispatcher statistics"), model.ClassUndecided},
	} {
		m := server(64).proxy(envoy(0.2, tt.delay))
		if v := diagnose.Judge(m.full(30, 60).history(), diagnose.Options{})[0]; v.Class != tt.want {
			t.Errorf("%s: %s, want %s: %s %+v", tt.name, v.Class, tt.want, v.Sentence, v.Evidence)
		}
	}
}

// Samples that come late hold too few refreshes in the last seconds; the whole
// window tells all the same that the workers never rest.
func TestLateSamplesDoNotHideSaturation(t *testing.T) {
	h := server(128).proxy(busy(0.97, 0.95)).quiet(30).history()
	for i := range h.Samples {
		if i > 24 {
			h.Samples[i].Runtime.BusySeconds = model.Unknown[float64]("the answer is late")
		}
	}
	if v := diagnose.Judge(h, diagnose.Options{})[0]; v.Class != model.ClassSaturated {
		t.Errorf("%s: %s", v.Class, v.Sentence)
	}
}

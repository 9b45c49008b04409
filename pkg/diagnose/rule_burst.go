package diagnose

import (
	"fmt"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// burst: it overflows and drains in between, while the workers have headroom or,
// where that is unknown, empty the queue between two overflows.
func burst(f *facts, l *listener) (model.Verdict, bool) {
	n, ok := l.overflows.Get()
	if !l.pressed() || ok && n == 0 {
		return model.Verdict{}, false
	}
	if !ok && l.biggest == 0 {
		return model.Verdict{}, false // nothing of its own is known to have been refused
	}
	v := f.burstVerdict(l)
	v.Class = model.ClassBurst
	v.Sentence = fmt.Sprintf("Bursts exceed the queue of %s and drain in between; the workers have headroom.", l.name())
	if l.w.headroom != yes {
		v.Sentence = fmt.Sprintf("Bursts exceed the queue of %s and drain in between.", l.name())
		v.Candidates = []model.Class{model.ClassSaturated}
		v.Unknown = append(v.Unknown, "whether the workers have headroom")
	}
	v.Fix = []model.Action{f.deeper(l, "A deeper backlog, up to what the bursts need.")}
	v.Not = []model.Action{do(model.ActAddWorkers, "Not more workers: those there are have time between the bursts.")}
	if s, ok := f.last.Counters.Somaxconn.Get(); ok && l.limit.Or(s) < s {
		v.Not = append(v.Not, do(model.ActRaiseSomaxconn, fmt.Sprintf("Not somaxconn: %s does not bind.", num(s))))
		v.Unknown = append(v.Unknown, "whether somaxconn was lower when the program called listen(): a restart would tell")
	}
	if names := defaultsOf(l.limit, f.last.Counters.Somaxconn); names != "" && l.role != model.RoleInbound && l.role != model.RoleOutbound {
		v.Evidence = append(v.Evidence, model.Evidence{
			Name: "hint", Text: fmt.Sprintf("%s: %s ask for this by default", num(l.limit.Or(0)), names), Figure: model.Known(float64(l.limit.Or(0))),
			Unit: "connections", Window: model.Unknown[float64]("a figure of one moment"), Source: "known defaults",
		})
		v.Candidates = []model.Class{model.ClassFixedBacklog}
		if !f.programKnown(l) {
			v.Class, v.Candidates = model.ClassUndecided, []model.Class{model.ClassBurst, model.ClassFixedBacklog}
			v.Sentence += " Its limit is one that some programs ask for by default; which program it is, is unknown."
			v.Unknown = append(v.Unknown, "which program listens")
		}
	}
	return v, true
}

func (f *facts) burstVerdict(l *listener) model.Verdict {
	v := model.Verdict{
		Severity: model.SeverityWarning, Since: f.pressureSince(l), Over: !l.lasting && f.at(len(f.samples)-1)-f.at(l.final) > window/2,
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{
			do(model.ActPauseRollout, "Pause a rollout that is under way: new pods start with a burst."),
			do(model.ActScaleOut, "More replicas take a share of each burst."),
		},
	}
	if n, ok := l.overflows.Get(); ok && n > 0 {
		// A client that gives up after 1 s sends one or two SYNs.
		v.Evidence = append(v.Evidence, model.Evidence{
			Name: "clients hurt", Text: fmt.Sprintf("about %s to %s attempts, if clients give up after 1 s", num((n+1)/2), num(n)),
			Figure: model.Known(float64(n)), Unit: "attempts", Window: f.seconds, Source: "estimate",
		})
	}
	v.Unknown = append(v.Unknown, "the true peak: samples miss it")
	return v
}

// deeper is the backlog that the biggest burst seen would have needed: what was
// refused between two samples, on top of the limit. Retransmits are in it, so
// that it errs on the large side.
func (f *facts) deeper(l *listener, text string) model.Action {
	a := do(model.ActRaiseBacklog, text)
	a.Knob = "backlog"
	if k := f.backlogKnob(l); k != nil {
		a.Knob = k.Name
	}
	a.From = l.limit
	if lim, ok := l.limit.Get(); ok && l.biggest > 0 {
		a.To = model.Known(nextPower(lim + l.biggest))
	}
	return a
}

// somaxconnCap: bursts overflow a limit that is somaxconn itself.
func somaxconnCap(f *facts, l *listener) (model.Verdict, bool) {
	lim, ok := l.limit.Get()
	s, ok2 := f.last.Counters.Somaxconn.Get()
	if !l.pressed() || !ok || !ok2 || lim != s || l.overflows.Or(0) == 0 {
		return model.Verdict{}, false
	}
	k := f.backlogKnob(l)
	follows := k != nil && len(k.Chain) > 0 && k.Chain[0].Where == "default" && k.Asked.Or(lim) == lim && lim > 128
	if k != nil && k.Asked.IsKnown() && k.Asked.Or(0) <= lim && !follows {
		return model.Verdict{}, false // it asks for no more: its own setting binds as well
	}
	v := f.burstVerdict(l)
	v.Class = model.ClassSomaxconnCap
	v.Sentence = fmt.Sprintf("Bursts exceed the queue of %s, and its limit of %s is net.core.somaxconn: no higher backlog can take effect.", l.name(), num(lim))
	a := f.deeper(l, "net.core.somaxconn of the pod (an unsafe sysctl: the kubelet must allow it), then a restart, since the limit is taken when listen() is called.")
	a.Kind, a.Knob = model.ActRaiseSomaxconn, "net.core.somaxconn"
	v.Fix = []model.Action{a}
	v.Not = []model.Action{do(model.ActRaiseBacklog, "Not a higher backlog alone: somaxconn cuts it.")}
	if k == nil || !k.Asked.IsKnown() {
		v.Unknown = append(v.Unknown, "what the program asked for: the kernel does not tell; if it asked for exactly this, its own option binds as well")
	}
	return v, true
}

// fixedBacklog: bursts overflow a limit that the program hard-codes. A limit
// alone is a hint; together with the program's name, or a proxy that has no
// setting for it, it is enough.
func fixedBacklog(f *facts, l *listener) (model.Verdict, bool) {
	lim, ok := l.limit.Get()
	if !l.pressed() || !ok || l.overflows.Or(0) == 0 || lim >= f.last.Counters.Somaxconn.Or(lim) {
		return model.Verdict{}, false
	}
	why := ""
	if k := f.backlogKnob(l); k != nil {
		if k.Remedy.Name != "" || k.Differs() || k.Asked.Or(-1) != lim {
			return model.Verdict{}, false
		}
		why = "this proxy has no setting for it"
	} else if name := f.programOf(l, lim); name != "" {
		why = name + " asks for this by default"
	}
	if why == "" {
		return model.Verdict{}, false
	}
	v := f.burstVerdict(l)
	v.Class = model.ClassFixedBacklog
	v.Candidates = []model.Class{model.ClassBurst}
	v.Sentence = fmt.Sprintf("Bursts exceed the queue of %s, whose limit of %s is the program's own: %s.", l.name(), num(lim), why)
	v.Fix = []model.Action{f.deeper(l, "The program's own option for its listen backlog.")}
	v.Not = []model.Action{do(model.ActRaiseSomaxconn, "Not somaxconn: it only cuts, and does not bind here.")}
	v.Unknown = append(v.Unknown, "whether somaxconn was lower when the program called listen(): a restart would tell")
	return v, true
}

// programDefault is a backlog that programs ask for by default, as measured.
type programDefault struct {
	limit int64
	// words for people, and the process names that go with it.
	words string
	comms []string
}

func programDefaults() []programDefault {
	return []programDefault{
		{5, "Python's http.server and socketserver", []string{"python", "python3"}},
		{50, "Java's server sockets", []string{"java"}},
		{100, "Python asyncio and uWSGI", []string{"python", "python3", "uwsgi", "hypercorn"}},
		{128, "Rust, tokio and Python's listen()", []string{"python", "python3"}},
		{511, "Node.js, nginx, Redis and Apache", []string{"node", "nginx", "redis-server", "apache2", "httpd"}},
		{1024, "Puma, actix, granian, lighttpd and memcached", []string{"puma", "ruby", "granian", "lighttpd", "memcached", "waitress-serve"}},
		{2048, "gunicorn and uvicorn", []string{"gunicorn", "uvicorn"}},
	}
}

// defaultsOf names who asks for this by default; nobody when somaxconn is 128 or
// less, where all who ask for more look alike.
func defaultsOf(limit, somaxconn model.Value[int64]) string {
	n, ok := limit.Get()
	if s, known := somaxconn.Get(); !ok || !known || n >= s {
		return ""
	}
	for _, d := range programDefaults() {
		if d.limit == n {
			return d.words
		}
	}
	return ""
}

// programKnown says whether the name of who holds the listener is known.
func (f *facts) programKnown(l *listener) bool {
	if f.last.Process.Name != "" && (!f.last.Proxy.Sidecar || f.last.Process.Container != f.last.Proxy.Container) {
		return true
	}
	for i := range l.l.Sockets {
		if len(l.l.Sockets[i].Owners) > 0 {
			return true
		}
	}
	return false
}

// programOf is the program that holds the listener, when the limit is known to
// be its default.
func (f *facts) programOf(l *listener, limit int64) string {
	var names []string
	if f.last.Process.Container != f.last.Proxy.Container || !f.last.Proxy.Sidecar {
		names = append(names, f.last.Process.Name)
	}
	for i := range l.l.Sockets {
		for _, o := range l.l.Sockets[i].Owners {
			names = append(names, o.Name)
		}
	}
	for _, d := range programDefaults() {
		for _, name := range names {
			if d.limit == limit && slices.Contains(d.comms, name) {
				return name
			}
		}
	}
	return ""
}

// appBacklog: the drops are the app's, behind a proxy whose own queues are well.
func appBacklog(f *facts, l *listener) (model.Verdict, bool) {
	if !f.last.Proxy.Sidecar || l.role != model.RoleApp && l.role != "" || !l.pressed() || l.overflows.Or(0) == 0 {
		return model.Verdict{}, false
	}
	for i := range f.listeners {
		o := &f.listeners[i]
		if o.role != model.RoleApp && o.role != "" && o.overflows.Or(0) > 0 {
			return model.Verdict{}, false
		}
	}
	v := f.burstVerdict(l)
	v.Class = model.ClassAppBacklog
	v.Sentence = fmt.Sprintf("The drops belong to the app's own listener %s; the proxy in front of it refused nothing.", l.name())
	v.Fix = []model.Action{
		do(model.ActFixApp, "Look at the app: it accepts more slowly than the proxy connects."),
		f.deeper(l, "Or a deeper backlog of the app itself."),
	}
	v.Not = []model.Action{do(model.ActFixProxy, "Not the proxy's backlog or workers: its queues are empty.")}
	switch {
	case l.w.starved == yes:
		v.Evidence = append(v.Evidence, f.evidence("app", "starved of CPU", l.w.cpu.Or(0), "cores", "schedstat"))
	case l.w.saturated == yes:
		v.Evidence = append(v.Evidence, f.evidence("app", "its threads are busy all the time", l.w.cpu.Or(0), "cores", "schedstat"))
	case l.w.headroom == yes:
		v.Evidence = append(v.Evidence, f.evidence("app", "its threads have CPU to spare", l.w.cpu.Or(0), "cores", "schedstat"))
	}
	return v, true
}

package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// hostNetwork: sockets and counters are the node's.
func hostNetwork(f *facts) (model.Verdict, bool) {
	if f.last == nil || !f.last.HostNetwork {
		return model.Verdict{}, false
	}
	return model.Verdict{
		Class: model.ClassNotAttributable, Severity: model.SeverityInfo,
		Sentence: "This pod uses its node's network: sockets and counters are the node's, and nothing is attributed to the pod.",
		Since:    model.Unknown[float64]("it is no event"),
		Fix:      []model.Action{do(model.ActElsewhere, "Look at the node itself, with --local there.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not a change on a guess: the drops may be of another program of the node.")},
		Unknown:  []string{"whose the node's drops are"},
	}, true
}

// tooEarly: a difference needs two samples, and one difference is noise.
func tooEarly(f *facts) (model.Verdict, bool) {
	n := len(f.samples)
	why := f.why
	switch {
	case f.last == nil:
		why = cmp.Or(why, "no sample yet")
	case n < minSamples:
		why = cmp.Or(why, fmt.Sprintf("%d of the %d samples that a verdict needs", n, minSamples))
	case len(f.last.Listeners) == 0:
		why = cmp.Or(f.last.Collection.Message, f.last.Sockets.Reason(), "nothing listens in this pod")
	default:
		return model.Verdict{}, false
	}
	return model.Verdict{
		Class: model.ClassTooEarly, Severity: model.SeverityInfo,
		Sentence: sentence("not enough seen yet: " + why),
		Since:    model.Unknown[float64]("it is no event"),
		Now:      []model.Action{do(model.ActWait, "Look a few seconds longer.")},
		Unknown:  []string{"everything that needs a history: " + why},
	}, true
}

// starting: the sockets listen before the proxy has its identity and accept only
// after, so that a queue that fills meanwhile, overflows included, is normal.
func starting(f *facts) (model.Verdict, bool) {
	if f.notReadyUntil == 0 {
		return model.Verdict{}, false
	}
	ready := f.notReadyUntil < len(f.samples)
	if ready {
		// What was refused while it was starting is no fault of now. Drop counts
		// are booked with the sample after.
		until := min(f.notReadyUntil+1, len(f.samples)-1)
		later, ok := model.Growth(f.samples[until].Counters.ListenOverflows, f.last.Counters.ListenOverflows).Get()
		total, ok2 := f.overflows.Get()
		if !ok || !ok2 || later > 0 || total == 0 {
			return model.Verdict{}, false
		}
	}
	l := f.deepest()
	v := model.Verdict{
		Class: model.ClassStarting, Severity: model.SeverityInfo,
		Sentence: "Not ready yet: it listens already and accepts only later, so that the queue fills meanwhile.",
		Now:      []model.Action{do(model.ActWait, "Wait until it is ready; if it stays so, look at why: for a Linkerd proxy, its identity.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not a larger backlog: nobody accepts before it is ready.")},
		Over:     ready,
	}
	if ready {
		v.Sentence = "It was not ready until a moment ago: the queue filled before it accepted, and has drained since."
	}
	if l != nil {
		v.Listener, v.Port, v.Role = l.name(), l.port, l.role
		v.Evidence = f.queueEvidence(l)
	}
	words := "not ready in this window"
	if _, ok := f.last.Runtime.Ready.Get(); ok {
		words = "the proxy itself answered that it is not ready"
	}
	v.Evidence = append([]model.Evidence{f.evidence("readiness", words, float64(f.notReadyUntil), "samples", "/ready, Kubernetes")}, v.Evidence...)
	return v, true
}

// deepest is the listener whose queue was deepest, those of the proxy first.
func (f *facts) deepest() *listener {
	var best *listener
	for i := range f.listeners {
		l := &f.listeners[i]
		if best == nil || l.peak.Or(-1) > best.peak.Or(-1) {
			best = l
		}
	}
	return best
}

// unattributed: the namespace counted overflows, and no socket's own count grew.
func unattributed(f *facts, found []model.Verdict) (model.Verdict, bool) {
	n, ok := f.total.Unattributed.Get()
	if !ok || n == 0 || onQueue(found) {
		return model.Verdict{}, false
	}
	// The counter is read after the sockets: the last sample may lack the drops.
	if k := len(f.samples); f.listeners != nil && k >= 2 {
		if late, ok := model.Growth(f.samples[k-2].Counters.ListenOverflows, f.last.Counters.ListenOverflows).Get(); ok && late == n {
			return model.Verdict{
				Class: model.ClassTooEarly, Severity: model.SeverityInfo,
				Sentence: "Not enough seen yet: packets were refused with the last sample, and the next will tell by which listener.",
				Evidence: []model.Evidence{f.evidence("refused packets", "+"+num(n), float64(n), "packets", "nstat")},
				Since:    f.to, Now: []model.Action{do(model.ActWait, "Look a few seconds longer.")},
			}, true
		}
	}
	reason := "no listening socket's own drop count grew with it"
	for i := range f.listeners {
		reason = cmp.Or(f.listeners[i].overflows.Reason(), reason)
	}
	return model.Verdict{
		Class: model.ClassNotAttributable, Severity: model.SeverityWarning,
		Sentence: fmt.Sprintf("%s packets were refused in this pod's namespace, and it is unknown by which listener.", num(n)),
		Evidence: []model.Evidence{f.evidence("refused packets", "+"+num(n)+" without an owner", float64(n), "packets", "nstat")},
		Fix:      []model.Action{do(model.ActWatch, "Look with a probe, whose ss tells the sockets' own drops.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not a change on a guess.")},
		Unknown:  []string{"whose drops they are: " + reason},
	}, true
}

// onQueue says whether a verdict on a queue was found.
func onQueue(found []model.Verdict) bool {
	for i := range found {
		switch found[i].Class {
		case model.ClassConfigDrift, model.ClassSynQueue:
		default:
			return true
		}
	}
	return false
}

// synQueue: the SYN queue is the cause only when its events move while the
// accept queue's overflows stand still; an overflow moves both.
func synQueue(f *facts, found []model.Verdict) (model.Verdict, bool) {
	over, ok := f.overflows.Get()
	if !ok || over > 0 || f.overflowedBefore() {
		return model.Verdict{}, false
	}
	cookies, dropped := f.cookies.Or(0), f.reqDrops.Or(0)
	drops := f.drops.Or(0)
	events := max(cookies+dropped, drops)
	if events < synEvents || onQueue(found) {
		return model.Verdict{}, false
	}
	v := model.Verdict{
		Class: model.ClassSynQueue, Severity: model.SeverityWarning,
		Sentence: fmt.Sprintf("The SYN queue is full, not the accept queue: %s SYNs were answered by a cookie or dropped, and none was refused by a full accept queue.", num(events)),
		Evidence: []model.Evidence{
			f.evidence("SYN queue full", fmt.Sprintf("+%s by cookie, +%s dropped", num(cookies), num(dropped)), float64(events), "packets", "nstat"),
			f.evidence("refused packets", "+0 by a full accept queue", 0, "packets", "nstat"),
		},
		Now: []model.Action{do(model.ActElsewhere, "Look at who sends half-open connections: a scan, packet loss, or clients that give up.")},
		Fix: []model.Action{do(model.ActSynBacklog, "If they are real clients: net.ipv4.tcp_max_syn_backlog and tcp_syncookies of the pod.")},
		Not: []model.Action{do(model.ActRaiseBacklog, "Not the accept backlog alone: nothing waits in the accept queue.")},
	}
	if !f.cookies.IsKnown() || !f.reqDrops.IsKnown() {
		v.Unknown = append(v.Unknown, "which of cookies and drops: "+cmp.Or(f.cookies.Reason(), f.reqDrops.Reason()))
	}
	return v, true
}

// overflowedBefore looks further back than the window: the cookies of an
// overflow come for some seconds after it.
func (f *facts) overflowedBefore() bool {
	for i := range f.h.Samples {
		p := &f.h.Samples[i]
		if p.Sample.Sandbox != f.last.Sample.Sandbox {
			continue
		}
		n, ok := model.Growth(p.Counters.ListenOverflows, f.last.Counters.ListenOverflows).Get()
		return ok && n > 0
	}
	return false
}

// configDrift: what was asked for is not what is in force. A backlog that
// somaxconn cuts has a verdict of its own when it overflows.
func configDrift(f *facts, found []model.Verdict) (model.Verdict, bool) {
	v := drift{model.Verdict{Class: model.ClassConfigDrift, Severity: model.SeverityWarning, Since: model.Unknown[float64]("it holds since the process began or longer")}}
	somaxconn := f.last.Counters.Somaxconn.Or(-1)
	for i := range f.last.Knobs {
		k := &f.last.Knobs[i]
		if !k.Differs() {
			v.ignored(k)
			continue
		}
		asked, inForce := k.Asked.Or(0), k.InForce.Or(0)
		capped := k.Name != "workers" && inForce == somaxconn && asked > inForce
		if capped && has(found, model.ClassSomaxconnCap) {
			continue
		}
		text := fmt.Sprintf("asked %s, in force %s", num(asked), num(inForce))
		if k.Why != "" {
			text += ": " + k.Why
		}
		v.Evidence = append(v.Evidence, model.Evidence{
			Name: k.Name, Text: text, Figure: model.Known(float64(inForce)), Window: model.Unknown[float64]("a figure of one moment"), Source: cmp.Or(k.SeenBy, "the process"),
		})
		if len(v.Evidence) == 1 {
			v.Sentence = sentence(k.Name + " " + text)
		}
		a := do(model.ActSetKnob, k.Name+": restart the pod if it was made before the setting; else set the knob that the process reads.")
		if capped {
			a = do(model.ActRaiseSomaxconn, k.Name+": net.core.somaxconn of the pod is what binds (an unsafe sysctl), and a restart.")
		}
		a.Knob, a.From, a.To = k.Name, k.InForce, k.Asked
		v.Fix = append(v.Fix, a)
	}
	if len(v.Evidence) == 0 {
		return model.Verdict{}, false
	}
	v.Not = []model.Action{do(model.ActSetKnob, "Not a higher value in the same place before it is known why this one did not arrive.")}
	return v.Verdict, true
}

// drift gathers what is in force but not as asked for.
type drift struct{ model.Verdict }

// ignored adds a setting that somebody made and that has no effect, or stops the
// process: an adapter says why for these alone.
func (v *drift) ignored(k *model.Knob) {
	if k.Why == "" || slices.ContainsFunc(v.Evidence, func(e model.Evidence) bool { return e.Text == k.Why }) {
		return // none, or the same variable decides on two listeners
	}
	v.Evidence = append(v.Evidence, model.Evidence{
		Name: k.Name, Text: k.Why, Figure: model.Unknown[float64](k.Asked.Reason()), Window: model.Unknown[float64]("a figure of one moment"), Source: "the configuration",
	})
	if len(v.Evidence) == 1 {
		v.Sentence = sentence("a setting has no effect: " + k.Name + ": " + k.Why)
		if !k.Asked.IsKnown() {
			v.Sentence = sentence("a setting is not valid: " + k.Name + ": " + k.Why)
		}
	}
	v.Fix = append(v.Fix, do(model.ActSetKnob, k.Name+": put the setting right, or take it away: "+cmp.Or(k.Remedy.Where+" "+k.Remedy.Name, "where it is set")+"."))
}

func has(found []model.Verdict, c model.Class) bool {
	for i := range found {
		if found[i].Class == c {
			return true
		}
	}
	return false
}

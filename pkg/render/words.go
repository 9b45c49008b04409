package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What stands where a figure should: Unknown could not be read, and is never
// printed as 0; NotApplicable does not exist for this kind of pod.
const (
	Unknown       = "?"
	NotApplicable = "-"
)

// Count is a whole number, in full, or Unknown.
func Count[T int64 | uint64](v model.Value[T]) string {
	n, ok := v.Get()
	if !ok {
		return Unknown
	}
	return fmt.Sprint(n)
}

// Short is a whole number in at most five characters: 9999, 12.3k, 1.2M.
func Short(v model.Value[int64]) string {
	n, ok := v.Get()
	switch {
	case !ok:
		return Unknown
	case n < 0 || n < 10_000:
		return strconv.FormatInt(n, 10)
	}
	f, units := float64(n)/1000, "kMGTPE"
	for f >= 999.5 && len(units) > 1 {
		f, units = f/1000, units[1:]
	}
	if f < 99.95 {
		return fmt.Sprintf("%.1f%c", f, units[0])
	}
	return fmt.Sprintf("%.0f%c", f, units[0])
}

// Rate is a figure per second. One that is not zero is never printed as 0.0.
func Rate(v model.Value[float64]) string {
	f, ok := v.Get()
	switch {
	case !ok:
		return Unknown
	case f > 0 && f < 0.05:
		return "<0.1"
	case f < 99.95:
		return fmt.Sprintf("%.1f", f)
	default:
		return Short(model.Known(int64(min(f+0.5, 9e18))))
	}
}

// Queue is depth/limit of a socket: 129/128, ?/128.
func Queue(s model.Socket) string {
	if !s.Depth.IsKnown() && !s.Limit.IsKnown() {
		return Unknown
	}
	return Count(s.Depth) + "/" + Count(s.Limit)
}

// Fill is how full the socket's queue is, from 0 to 1, for sorting and bars
// only; false when depth or limit is unknown.
func Fill(s model.Socket) (float64, bool) {
	depth, ok0 := s.Depth.Get()
	limit, ok1 := s.Limit.Get()
	if !ok0 || !ok1 {
		return 0, false
	}
	return min(1, max(0, float64(depth)/float64(max(1, limit)))), true
}

var roleWords = []struct {
	role  model.Role
	short string
}{
	// In the order in which listeners of equal standing are shown.
	{model.RoleInbound, "in"},
	{model.RoleOutbound, "out"},
	{model.RoleApp, "app"},
	{model.RoleTap, "tap"},
	{model.RoleAdmin, "admin"},
}

func roleRank(r model.Role) int {
	for i, w := range roleWords {
		if w.role == r {
			return i
		}
	}
	return len(roleWords)
}

// Listener names a listener by role and port, with the number of its sockets
// where SO_REUSEPORT gives it several: in:4143, app:8080×4.
func Listener(l model.Listener) string {
	word := Clean(string(l.Role))
	for _, w := range roleWords {
		if w.role == l.Role {
			word = w.short
		}
	}
	if word == "" {
		word = "app"
	}
	name := word + ":" + strconv.Itoa(int(l.Port))
	if len(l.Sockets) > 1 {
		name += "×" + strconv.Itoa(len(l.Sockets))
	}
	return name
}

// ByUrgency gives the pod's listeners, worst first: by new overflows, then by
// how full the fullest socket is, then inbound before outbound before the rest.
func ByUrgency(p model.Pod) []model.Listener {
	listeners := slices.Clone(p.Listeners)
	slices.SortStableFunc(listeners, func(a, b model.Listener) int { return byUrgency(&a, &b) })
	return listeners
}

func byUrgency(a, b *model.Listener) int {
	return cmp.Or(
		cmp.Compare(b.Window.Overflows.Or(0), a.Window.Overflows.Or(0)),
		cmp.Compare(room(b), room(a)),
		cmp.Compare(roleRank(a.Role), roleRank(b.Role)),
		cmp.Compare(a.Port, b.Port),
	)
}

func room(l *model.Listener) float64 {
	fill, ok := Fill(l.Worst())
	if !ok {
		return -1
	}
	return fill
}

// Worst is the listener that stands for the pod in a list of one row per pod;
// false when the pod has none, or none of its own (hostNetwork).
func Worst(p model.Pod) (model.Listener, bool) {
	if p.HostNetwork || len(p.Listeners) == 0 {
		return model.Listener{}, false
	}
	worst := &p.Listeners[0]
	for i := range p.Listeners[1:] {
		if l := &p.Listeners[i+1]; byUrgency(l, worst) < 0 {
			worst = l
		}
	}
	return *worst, true
}

// OverflowRate is the listener's new overflows per second in the pod's window.
// Where overflows cannot be told apart by listener it is the pod's, and says so.
func OverflowRate(p model.Pod, l model.Listener) string {
	own := p.Window.PerSecond(l.Window.Overflows)
	if !own.IsKnown() {
		if all := p.Window.PerSecond(p.Window.Overflows); all.Or(0) > 0 {
			return Rate(all) + " (pod)"
		}
	}
	return Rate(own)
}

// proxyless says whether the pod has no proxy that would tell about its workers, and
// its threads do not tell of them either.
func proxyless(p model.Pod) bool {
	return p.Proxy.Adapter == "" && !p.Runtime.Workers.IsKnown() && !workersKnob(p).InForce.IsKnown()
}

// workersKnob is the knob of the workers; one of which nothing is known where there
// is none.
func workersKnob(p model.Pod) model.Knob {
	if i := slices.IndexFunc(p.Knobs, func(k model.Knob) bool { return k.Name == "workers" }); i >= 0 {
		return p.Knobs[i]
	}
	return model.Knob{}
}

// PodName is NAMESPACE/NAME, or the name alone for this machine, which has no
// namespace.
func PodName(p model.Pod) string {
	if p.Meta.Namespace == "" {
		return Clean(p.Meta.Name)
	}
	return Clean(p.Meta.Namespace) + "/" + Clean(p.Meta.Name)
}

// Workers is the number of workers in force; when another number was asked for,
// in force ≠ asked: 1≠4.
func Workers(p model.Pod) string {
	if proxyless(p) {
		return NotApplicable
	}
	in := p.Runtime.Workers
	for _, k := range p.Knobs {
		if k.Name != "workers" {
			continue
		}
		if k.Differs() {
			return mismatch(k)
		}
		if !in.IsKnown() {
			in = k.InForce
		}
	}
	return Count(in)
}

// Busy is the share of the workers' time spent working: 0.00 to 1.00.
func Busy(p model.Pod) string {
	if proxyless(p) {
		return NotApplicable
	}
	b, ok := p.Runtime.Window.Busy.Get()
	if !ok {
		return Unknown
	}
	return fmt.Sprintf("%.2f", b)
}

// Config says whether what is in force is what was asked for: "ok", the knobs
// that differ as in force ≠ asked ("workers 1≠2,inbound 128≠1024"), Unknown
// when a knob could not be compared, NotApplicable where there are no knobs.
func Config(p model.Pod) string {
	if p.Proxy.Adapter == "" {
		return NotApplicable // nobody knows this server's settings
	}
	var differ []string
	unknown, compared := false, false
	for _, k := range p.Knobs {
		switch {
		case k.Differs():
			differ = append(differ, strings.TrimSuffix(Clean(k.Name), " backlog")+" "+mismatch(k))
		case k.Asked.IsKnown() && k.InForce.IsKnown():
			compared = true
		case k.Asked.Reason() != "" || k.InForce.Reason() != "":
			unknown = true
		}
	}
	switch {
	case len(differ) > 0:
		return strings.Join(differ, ",")
	case unknown:
		return Unknown
	case compared:
		return "ok"
	}
	return NotApplicable
}

// Peak is the highest depth seen in the window. Samples a second apart miss
// bursts: where the listener overflowed, its queue held limit+1, seen or not.
func Peak(l model.Listener) string {
	limit, known := l.Worst().Limit.Get()
	if known && l.Window.Overflows.Or(0) > 0 && l.Window.Peak.Or(0) <= limit {
		return fmt.Sprintf("≥%d", limit+1)
	}
	return Count(l.Window.Peak)
}

func mismatch(k model.Knob) string { return Count(k.InForce) + "≠" + Count(k.Asked) }

// State is the pod's state in a word. A state that rests on figures that no
// longer arrive says so: "ok,stale", "saturated,ended".
func State(p model.Pod) string {
	state, _ := p.Condition()
	return stateWord(p, state)
}

func stateWord(p model.Pod, state model.State) string {
	switch stage := p.Collection.Stage; stage {
	case model.StageStale, model.StageEnded:
		return string(state) + "," + string(stage)
	default:
		return string(state)
	}
}

// Notes lists what went wrong or needs saying, one line each: what was asked for
// and could not be looked at, about the run, then about each pod that could not be read. They belong on stderr.
func Notes(s model.Snapshot) []string {
	var notes []string
	for _, n := range slices.Concat(s.Problems, s.Notes) {
		notes = append(notes, Clean(n))
	}
	for _, p := range s.Pods {
		name := "pod " + PodName(p) + ": "
		c := p.Collection
		switch c.Stage {
		case model.StageFailed, model.StageStale, model.StageEnded:
			notes = append(notes, name+strings.TrimSuffix(string(c.Stage)+": "+Clean(c.Message), ": "))
		}
		if c.Metrics != "" {
			notes = append(notes, name+"metrics: "+Clean(c.Metrics))
		}
		for _, n := range p.Notes {
			notes = append(notes, name+Clean(n))
		}
	}
	return notes
}

// Plural is "1 pod" and "2 pods".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

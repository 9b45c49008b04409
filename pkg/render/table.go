package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// TableOptions say how a table is printed.
type TableOptions struct {
	// Namespaces adds a NAMESPACE column, as kubectl -A does.
	Namespaces bool
	// Wide gives a row for each listener instead of each pod, and more columns.
	Wide bool
	// NoHeaders leaves the line of column names out.
	NoHeaders bool
}

// column is one column of the table; wide ones have priority 1, as kubectl's.
type column struct {
	name, description string
	wide              bool
	narrow            bool // not in the wide table, whose rows are listeners
	cell              func(s model.Snapshot, p model.Pod, l *model.Listener) string
}

// columns gives the table's columns from left to right. A nil listener is a pod
// without any.
func columns() []column {
	return []column{
		{name: "Pod", description: "Name of the pod", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Clean(p.Meta.Name)
		}},
		{name: "Listener", description: "Role and port; ×N for N sockets with SO_REUSEPORT", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return Listener(*l)
		}},
		{name: "Queue", description: "Connections that wait to be accepted / the backlog in force, of the fullest socket", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return Queue(l.Worst())
		}},
		// A row of the wide table is a listener: the namespace's counter beside it
		// would read as the listener's own.
		{name: "Overflows", narrow: true, description: "ListenOverflows of the pod's network namespace since it began", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return counter(p, p.Counters.ListenOverflows)
		}},
		{name: "Peak", wide: true, description: "Highest depth seen in the window, a lower bound; ≥limit+1 when it overflowed unseen", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return Peak(*l)
		}},
		{name: "Drops", wide: true, description: "Drops that the listener's own sockets counted since they were opened", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return Count(SocketDrops(*l))
		}},
		{name: "Ovf/s", description: "New overflows per second of this listener, over the window", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return OverflowRate(p, *l)
		}},
		{name: "Workers", description: "The proxy's workers in force; in force≠asked where they differ", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Workers(p)
		}},
		{name: "Busy", description: "Share of the workers' time spent working", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Busy(p)
		}},
		{name: "Config", description: "ok, or the settings whose value in force is not the one asked for", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Config(p)
		}},
		// The wide table has the age in a column of its own.
		{name: "State", narrow: true, description: "What the figures show, in a word; how old they are when no more arrive", cell: func(s model.Snapshot, p model.Pod, _ *model.Listener) string {
			return strings.TrimSuffix(State(p)+" "+staleAge(s, p), " ")
		}},
		{name: "State", wide: true, description: "What the figures of this listener and its pod show, in a word", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return State(p)
			}
			state, _ := p.ConditionOf(*l)
			return stateWord(p, state)
		}},
		{name: "Verdict", narrow: true, description: "What is wrong with the queues, judged from the last half minute; ? when too little was seen", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Verdict(p)
		}},
		{name: "Verdict", wide: true, description: "What is wrong with this listener's queue, or with the pod", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			return verdictOf(p, l)
		}},
		{name: "Address", wide: true, description: "Address that the listener is bound to", cell: func(_ model.Snapshot, p model.Pod, l *model.Listener) string {
			if l == nil {
				return NoListener(p)
			}
			return Clean(l.String())
		}},
		{name: "Pod-overflows", wide: true, description: "ListenOverflows of the pod's network namespace since it began", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return counter(p, p.Counters.ListenOverflows)
		}},
		{name: "Pod-drops", wide: true, description: "ListenDrops of the pod's network namespace since it began", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return counter(p, p.Counters.ListenDrops)
		}},
		{name: "Acc/s", wide: true, description: "Connections accepted per second in the pod, over the window", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Rate(p.Window.PerSecond(p.Window.Accepted))
		}},
		{name: "Somaxconn", wide: true, description: "net.core.somaxconn of the pod", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Count(p.Counters.Somaxconn)
		}},
		{name: "Age", wide: true, description: "Age of the sample", cell: func(s model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Age(s.Time, p.Sample.Arrived)
		}},
		{name: "Via", wide: true, description: "How the figures were collected", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return orDash(Clean(string(p.Collection.Via)))
		}},
		{name: "Proxy", wide: true, description: "The proxy and its version", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return Proxy(p)
		}},
		{name: "Node", wide: true, description: "Node that the pod runs on", cell: func(_ model.Snapshot, p model.Pod, _ *model.Listener) string {
			return orDash(Clean(p.Node))
		}},
	}
}

// NoListener stands for the queue figures of a pod that has no listener of its
// own: it has none, or they could not be read.
func NoListener(p model.Pod) string {
	if p.Collection.Stage == model.StageGone || p.Sockets.IsKnown() && !p.HostNetwork {
		return NotApplicable
	}
	return Unknown
}

// counter is a counter of the pod's own namespace: with hostNetwork it is the
// node's, which says nothing about the pod.
func counter(p model.Pod, v model.Value[int64]) string {
	if p.HostNetwork {
		return Unknown
	}
	return Count(v)
}

// SocketDrops adds up the drops that the listener's sockets counted themselves;
// unknown when one of them is.
func SocketDrops(l model.Listener) model.Value[int64] {
	var sum int64
	for _, s := range l.Sockets {
		d, ok := s.Drops.Get()
		if !ok {
			return model.Unknown[int64](s.Drops.Reason())
		}
		sum += d
	}
	return model.Known(sum)
}

// Age is the time from then to now in whole units: 0s, 12s, 3m, 2h.
func Age(now, then time.Time) string {
	if then.IsZero() || now.IsZero() {
		return Unknown
	}
	switch d := max(0, now.Sub(then)); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh", int(min(d.Hours(), 99_999)))
	}
}

// staleAge is the age of figures that no longer arrive; empty for all others, and
// where the time of the look is not known.
func staleAge(s model.Snapshot, p model.Pod) string {
	if p.Collection.Stage != model.StageStale || s.Time.IsZero() || p.Sample.Arrived.IsZero() {
		return ""
	}
	return Age(s.Time, p.Sample.Arrived)
}

// Proxy names the pod's proxy and its version: "linkerd 2.366.0".
func Proxy(p model.Pod) string {
	if p.Proxy.Adapter == "" {
		return NotApplicable
	}
	version, ok := p.Proxy.Version.Get()
	if !ok {
		version = Unknown
	}
	return Clean(p.Proxy.Adapter) + " " + shorten(Clean(version), 32)
}

// shorten cuts s to at most n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return NotApplicable
	}
	return s
}

// Table gives the snapshot as a table: a row for each pod with its worst
// listener, or, when wide, a row for each listener with the pod's name repeated.
func Table(s model.Snapshot, opt TableOptions) *metav1.Table {
	t := &metav1.Table{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}}
	cols := slices.DeleteFunc(columns(), func(c column) bool { return c.narrow && opt.Wide })
	for _, c := range cols {
		t.ColumnDefinitions = append(t.ColumnDefinitions, definition(c.name, c.description, c.wide))
	}
	for _, p := range s.Pods {
		for _, l := range rows(p, opt.Wide) {
			row := rowOf(p.Meta)
			for _, c := range cols {
				row.Cells = append(row.Cells, c.cell(s, p, l))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func rows(p model.Pod, wide bool) []*model.Listener {
	worst, ok := Worst(p)
	switch {
	case !ok:
		return []*model.Listener{nil}
	case !wide:
		return []*model.Listener{&worst}
	}
	var all []*model.Listener
	for _, l := range ByUrgency(p) {
		all = append(all, &l)
	}
	return all
}

// PrintTable writes the snapshot's table. Nothing is written for a snapshot
// without pods, as kubectl does.
func PrintTable(w io.Writer, s model.Snapshot, opt TableOptions) error {
	return writeTable(w, Table(s, opt), opt)
}

// definition is a column of kubectl's: wide ones have priority 1.
func definition(name, description string, wide bool) metav1.TableColumnDefinition {
	d := metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
	if wide {
		d.Priority = 1
	}
	return d
}

// rowOf is a row without cells: the printer takes the namespace from its object.
func rowOf(m model.Meta) metav1.TableRow {
	return metav1.TableRow{Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: Clean(m.Name), Namespace: Clean(m.Namespace), UID: types.UID(Clean(m.UID))},
	}}}
}

// writeTable prints a table, which the printer changes: it is for this print
// alone.
func writeTable(w io.Writer, t *metav1.Table, opt TableOptions) error {
	printer := printers.NewTablePrinter(printers.PrintOptions{
		NoHeaders: opt.NoHeaders, Wide: opt.Wide, WithNamespace: opt.Namespaces,
	})
	if err := printer.PrintObj(t, w); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Queue is one listener of the workload, over all of its pods.
type Queue struct {
	Role model.Role `json:"role"`
	Port uint16     `json:"port"`
	// Limit in force, the lowest of all pods, and Peak, the highest depth seen: a
	// lower bound, since samples miss bursts.
	Limit model.Value[int64] `json:"limit"`
	Peak  model.Value[int64] `json:"peak"`
	// Refused packets of the window, of all pods together, and Biggest, the most
	// between two samples of one pod.
	Refused model.Value[int64] `json:"refused"`
	Biggest model.Value[int64] `json:"biggest"`
	// Needed is the backlog that the bursts seen would have needed.
	Needed model.Value[int64] `json:"needed"`
	// Planned is what is wanted of it, InForce what the kernel would make of that, and
	// Somaxconn what it cuts to, the lowest of all pods.
	Planned   model.Value[int64] `json:"planned"`
	InForce   model.Value[int64] `json:"inForce"`
	Somaxconn model.Value[int64] `json:"somaxconn"`
	// Memory in bytes of a queue that is full, per pod.
	Memory model.Value[int64] `json:"memoryBytes"`
}

// bytesWaiting is what a connection that waits costs the kernel: struct tcp_sock
// (2,368 bytes on Linux 6.18, x86-64; /proc/slabinfo) and a small first packet in
// its receive buffer.
const bytesWaiting = 4096

func (b *builder) queues() {
	type key struct {
		role model.Role
		port uint16
	}
	at := map[key]*Queue{}
	var order []key
	var reason string
	for i := range b.in.Pods {
		p := &b.in.Pods[i]
		if p.HostNetwork {
			reason = model.ReasonHostNetwork
			continue
		}
		if len(p.Listeners) == 0 {
			reason = cmp.Or(p.Sockets.Reason(), p.Collection.Message, "nothing listens")
		}
		for j := range p.Listeners {
			l := &p.Listeners[j]
			k := key{l.Role, l.Port}
			q := at[k]
			if q == nil {
				unseen := "not seen"
				q = &Queue{
					Role: l.Role, Port: l.Port, Limit: model.Unknown[int64](unseen), Peak: model.Unknown[int64](unseen),
					Refused: model.Unknown[int64](unseen), Somaxconn: model.Unknown[int64](unseen), Biggest: model.Unknown[int64](unseen),
				}
				at[k] = q
				order = append(order, k)
			}
			q.Limit = lower(q.Limit, lowest(l))
			q.Peak = higher(q.Peak, l.Window.Peak)
			q.Refused = sum(q.Refused, l.Window.Overflows)
			q.Somaxconn = lower(q.Somaxconn, p.Counters.Somaxconn)
			q.Biggest = higher(q.Biggest, b.in.Bursts.Biggest(p.Key(), l.Place()))
		}
	}
	if len(order) == 0 {
		b.unknown("the queues: %s", reason)
		b.p.Needed.Backlog = model.Unknown[int64](reason)
		return
	}
	for _, k := range order {
		q := at[k]
		if !b.concerned(q) {
			continue
		}
		b.fill(q)
		b.p.Queues = append(b.p.Queues, *q)
	}
	slices.SortStableFunc(b.p.Queues, func(x, y Queue) int {
		return cmp.Or(cmp.Compare(y.Refused.Or(-1), x.Refused.Or(-1)), cmp.Compare(rank(x.Role), rank(y.Role)), cmp.Compare(x.Port, y.Port))
	})
	b.p.Needed.Backlog = model.Unknown[int64]("no listener was seen whose backlog the plan could set")
	for _, q := range b.p.Queues {
		if b.settable(&q) {
			b.p.Needed.Backlog = q.Needed
			break
		}
	}
}

func rank(r model.Role) int {
	switch r {
	case model.RoleInbound:
		return 0
	case model.RoleOutbound:
		return 1
	case model.RoleApp:
		return 2
	}
	return 3
}

// concerned leaves out listeners that nobody plans for: the proxy's admin port, as
// long as nothing is refused there.
func (b *builder) concerned(q *Queue) bool {
	return q.Role != model.RoleAdmin && q.Role != model.RoleTap || q.Refused.Or(0) > 0
}

// settable says whether it is the listener that a wanted backlog is for: the
// inbound one, or the server's own where no proxy stands in front of it.
func (b *builder) settable(q *Queue) bool {
	inFront := slices.ContainsFunc(b.in.Pods, func(p model.Pod) bool {
		return p.Proxy.Sidecar || slices.ContainsFunc(p.Listeners, func(l model.Listener) bool { return l.Role == model.RoleInbound })
	})
	return q.Role == model.RoleInbound || q.Role == model.RoleApp && !inFront
}

func (b *builder) fill(q *Queue) {
	q.Needed = neededBacklog(q)
	n, ok := q.Needed.Get()
	switch {
	case ok && q.Biggest.Or(0) > 0:
		b.assume("bursts are as they were: the queue of port %d would have had to hold its limit of %d and the %d that were refused between two samples, retransmits included, rounded up to a power of two: %d",
			q.Port, q.Limit.Or(0), q.Biggest.Or(0), n)
	case ok && q.Refused.Or(0) > 0:
		b.assume("bursts are as they were: all %d that were refused at port %d in the window count as one burst, since no two samples tell more", q.Refused.Or(0), q.Port)
	}
	depth := q.Needed
	if b.in.Wanted.Backlog.IsKnown() && b.settable(q) {
		q.Planned = b.in.Wanted.Backlog
		depth = q.Planned
	}
	q.InForce = cut(depth, q.Somaxconn)
	if n, ok := q.InForce.Get(); ok {
		q.Memory = model.Known((n + 1) * bytesWaiting)
		b.assume("a connection that waits costs the kernel about %d bytes (struct tcp_sock is 2,368 on Linux 6.18, and a small first packet), and only while it waits", bytesWaiting)
	} else {
		q.Memory = model.Unknown[int64](q.InForce.Reason())
	}
	b.judgeQueue(q, depth)
}

func (b *builder) judgeQueue(q *Queue, depth model.Value[int64]) {
	top, known := q.Somaxconn.Get()
	want, ok := depth.Get()
	planned := q.Planned.IsKnown()
	if ok && known && want > top {
		b.find("net.core.somaxconn of the pods is %d and cuts a backlog of %d at port %d: raise it as well (an unsafe sysctl)", top, want, q.Port)
	}
	if ok && !known && (planned || q.Biggest.Or(0) > 0) {
		b.unknown("whether net.core.somaxconn allows a backlog of %d: %s", want, q.Somaxconn.Reason())
	}
	if !planned {
		return
	}
	if needed, ok := q.Needed.Get(); ok && want < needed {
		b.find("a backlog of %d is less than the %d that the bursts seen at port %d would have needed", want, needed, q.Port)
	}
	if limit, ok := q.Limit.Get(); ok && q.InForce.Or(-1) == limit {
		b.find("the limit in force at port %d is %d already: nothing changes", q.Port, limit)
	}
	if b.p.Demand.AtLeast && !b.in.Wanted.Workers.IsKnown() && !b.in.Wanted.Ratio.IsKnown() {
		b.find("the workers are saturated: a deeper backlog alone hides bursts, and whoever is not refused waits longer instead")
	}
}

// neededBacklog is the limit and the biggest refusal seen on top of it; the limit
// as it is where nothing was refused.
func neededBacklog(q *Queue) model.Value[int64] {
	limit, ok := q.Limit.Get()
	if !ok {
		return model.Unknown[int64]("the limit in force is unknown: " + q.Limit.Reason())
	}
	biggest, ok := q.Biggest.Get()
	switch {
	case biggest == 0 && q.Refused.Or(0) > 0:
		// No two samples show it, but the window does: errs on the large side.
		biggest = q.Refused.Or(0)
	case !ok && !q.Refused.IsKnown():
		return model.Unknown[int64](fmt.Sprintf("what was refused is unknown: %s", q.Refused.Reason()))
	}
	if biggest == 0 {
		return model.Known(limit)
	}
	return model.Known(nextPower(limit + biggest))
}

// nextPower is the least power of two that is not less than n.
func nextPower(n int64) int64 {
	p := int64(1)
	for p < n && p < 1<<31 {
		p *= 2
	}
	return p
}

// cut is what the kernel makes of a backlog.
func cut(backlog, somaxconn model.Value[int64]) model.Value[int64] {
	n, ok := backlog.Get()
	top, known := somaxconn.Get()
	switch {
	case !ok:
		return backlog
	case known:
		return model.Known(min(n, top))
	}
	return model.Known(n)
}

// lowest limit of a listener's sockets.
func lowest(l *model.Listener) model.Value[int64] {
	v := model.Unknown[int64]("the listener has no socket")
	for i := range l.Sockets {
		v = lower(v, l.Sockets[i].Limit)
	}
	return v
}

func lower(a, b model.Value[int64]) model.Value[int64] {
	if !a.IsKnown() {
		return b
	}
	if b.Or(math.MaxInt64) < a.Or(0) {
		return b
	}
	return a
}

func higher(a, b model.Value[int64]) model.Value[int64] {
	if !a.IsKnown() {
		return b
	}
	if b.Or(math.MinInt64) > a.Or(0) {
		return b
	}
	return a
}

func sum(a, b model.Value[int64]) model.Value[int64] {
	switch {
	case !a.IsKnown():
		return b
	case !b.IsKnown():
		return a
	}
	return model.Known(a.Or(0) + b.Or(0))
}

package diagnose

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// findStill looks for times in which nothing was accepted while somebody waited.
//
// Two things show it. The kernel's own identities of the waiting connections,
// where they were asked for: the same ones in successive samples. Or the count
// of accepted connections of the namespace: new ones less the growth of all
// queues. The latter is a sum over all listeners, so that it proves a stall only
// when it is nothing at all.
func (f *facts) findStill(l *listener, points []point) {
	begin := -1
	var sum int64
	var best stillness
	var second float64
	end := func(to int) {
		if begin < 0 {
			return
		}
		s := f.at(to) - f.at(begin)
		if s >= best.seconds { // of two alike, the later
			second = best.seconds
			best = stillness{from: begin, to: to, seconds: s, overflows: max(0, points[to].drops-points[begin].drops)}
		} else {
			second = max(second, s)
		}
		begin = -1
	}
	for i := 1; i < len(points); i++ {
		a, b := &points[i-1], &points[i]
		n := f.accepted[i]
		// One connection may be counted on the wrong side of a sample.
		quiet := a.ok && b.ok && a.sum > 0 && b.sum >= a.sum && n >= 0 && (n == 0 || begin >= 0 && sum+n <= 1)
		if !quiet {
			end(i - 1)
			continue
		}
		if begin < 0 {
			begin, sum = i-1, 0
		}
		sum += n
	}
	lasts := begin >= 0
	end(len(points) - 1)
	best.others = second
	best.proof = "TcpPassiveOpens less the growth of all queues"
	best.lasts = lasts && best.to == len(points)-1
	l.still = best
	f.stillByIdentity(l)
}

func (f *facts) stillByIdentity(l *listener) {
	w := l.l.Waiting
	if w == nil || len(w.Connections) == 0 || l.depth.Or(0) == 0 {
		return
	}
	s, ok := w.StandsStill().Get()
	if !ok || s < stallSeconds {
		return
	}
	since := w.Since.Or(0)
	from := 0
	for from < len(f.samples)-1 && f.at(from) < since {
		from++
	}
	l.still = stillness{
		from: from, to: len(f.samples) - 1, seconds: s, lasts: true,
		proof: "the kernel's identities of the waiting connections (ss, ino:0)", overflows: l.overflows.Or(0),
	}
}

// trackSkew keeps the longest time in which the same socket was full and all
// others drained, or most of them when there are many.
func (f *facts) trackSkew(l *listener, m *model.Listener, i int) {
	if len(m.Sockets) < 2 {
		return
	}
	stuck, full, drained := -1, 0, 0
	for j := range m.Sockets {
		lim, ok0 := m.Sockets[j].Limit.Get()
		d, ok1 := m.Sockets[j].Depth.Get()
		p := point{worst: d, limit: lim}
		switch {
		case !ok0 || !ok1:
			return
		case p.full():
			full++
			stuck = j
		case p.drained():
			drained++
		}
	}
	skewed := full > 0 && full*2 <= len(m.Sockets) && full+drained == len(m.Sockets)
	s := &l.skew
	if !skewed {
		s.lasts = false
		return
	}
	if !s.lasts {
		if s.seconds >= stallSeconds {
			return // a long one was found already
		}
		*s = skewness{from: i, socket: stuck, lasts: true}
	}
	s.to, s.seconds = i, f.at(i)-f.at(s.from)
}

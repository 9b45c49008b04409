package diagnose

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// listener are the facts of one listener in the window.
type listener struct {
	l    *model.Listener // the newest, with what the window attributed to it
	port uint16
	role model.Role
	n    int // samples in which it was seen with a known depth
	// limit of its fullest socket, as in the newest sample.
	limit model.Value[int64]
	// peak is the deepest that a socket was seen; depth is now.
	peak, depth model.Value[int64]
	// overflows of the window that are its own.
	overflows model.Value[int64]
	// biggest growth of drops between two samples.
	biggest int64
	// highShare and lowShare of the samples of the span (see below).
	// clearShare of those that were drained and before which nothing was refused.
	highShare, lowShare, clearShare float64
	// fullGaps is how many times it was full in two samples running, fullAccepted
	// what the namespace accepted between those.
	fullGaps     int
	fullAccepted int64
	// stands says that it was hardly ever drained.
	stands bool
	// first and last sample with pressure: a full queue, or an overflow since the
	// sample before; -1 when there was none. lasting when that goes on.
	first, final int
	lasting      bool
	// span is the part of the window over which the workers are judged.
	spanFrom, spanTo int
	// still is the longest time in which nothing was accepted while somebody waited.
	still stillness
	// skew is the longest time in which one socket was full and others empty.
	skew skewness
	// w are the workers over the span, late those of the last seconds, once asked.
	w, late *workers
}

// stillness is a time in which nothing was accepted while somebody waited.
type stillness struct {
	from, to  int     // samples
	seconds   float64 // 0 for none
	others    float64 // the longest other such time before it
	proof     string
	overflows int64 // refused meanwhile (growth of the sockets' drops)
	lasts     bool
}

// skewness is a time in which one SO_REUSEPORT socket was full and the others
// drained.
type skewness struct {
	from, to int
	seconds  float64
	socket   int
	lasts    bool
}

func (l *listener) name() string { return l.l.String() }

func (l *listener) pressed() bool { return l.first >= 0 }

// point is a listener in one sample.
type point struct {
	worst, sum, drops int64
	refused           int64 // since the sample before
	limit             int64 // -1 unknown
	ok, dropsOK       bool
}

func pointOf(m *model.Listener) (p point) {
	p.limit, p.dropsOK = -1, true
	var fullest float64 = -1
	for j := range m.Sockets {
		s := &m.Sockets[j]
		d, ok := s.Depth.Get()
		if !ok {
			return point{limit: -1}
		}
		p.ok = true
		p.sum += d
		fill := float64(d)
		if lim, ok := s.Limit.Get(); ok {
			fill = float64(d) / float64(lim+1)
			if fill > fullest {
				p.limit = lim
			}
		}
		if fill > fullest {
			fullest, p.worst = fill, d
		}
		if n, ok := s.Drops.Get(); ok {
			p.drops += n
		} else {
			p.dropsOK = false
		}
	}
	return p
}

// full and drained need a known limit. A backlog of n holds n+1.
func (p *point) full() bool {
	return p.limit >= 0 && p.worst >= 1 && float64(p.worst) >= high*float64(p.limit)
}

func (p *point) drained() bool {
	return p.worst == 0 || p.limit >= 0 && float64(p.worst) <= low*float64(p.limit)
}

// follow fills in a listener, looking through the samples.
func (f *facts) follow(l *listener, m *model.Listener, position int) {
	n := len(f.samples)
	l.l, l.port, l.role = m, m.Port, m.Role
	worst := m.Worst()
	l.limit, l.depth, l.overflows = worst.Limit, worst.Depth, m.Window.Overflows
	l.peak = model.Unknown[int64]("the depth was not read")
	l.first, l.final = -1, -1
	if f.points == nil {
		f.points = make([]point, n)
	}
	points := f.points
	var peak int64 = -1
	everFull := false
	only := len(f.listeners) == 1
	for i := range f.samples {
		old := same(f.samples[i].Listeners, m, position)
		if old == nil {
			points[i] = point{limit: -1}
			continue
		}
		points[i] = pointOf(old)
		p := &points[i]
		if !p.ok {
			continue
		}
		l.n++
		peak = max(peak, p.worst)
		refused := f.refused(points, i, only, l)
		p.refused = refused
		l.biggest = max(l.biggest, refused)
		full := p.full()
		everFull = everFull || full
		if full || refused > 0 {
			if l.first < 0 {
				l.first = i
			}
			l.final = i
		}
		f.trackSkew(l, old, i)
	}
	if peak >= 0 {
		l.peak = model.Known(peak)
	}
	if v, ok := l.overflows.Get(); ok && v == 0 && !everFull {
		l.first, l.final = -1, -1 // drop counts alone: junk packets, or the SYN queue
	}
	if peak <= 0 && !l.pressed() { // nobody ever waited
		l.spanTo, l.lowShare, l.clearShare = n-1, 1, 1
	} else {
		l.span(f, points)
		f.findStill(l, points)
	}
	l.w = f.workersOf(l)
}

// refused is how many packets the listener refused since the sample before: by
// its own drop count, or the namespace's counter when nobody else listens. Drop
// counts move without an overflow too, so that they count only where the
// namespace's counter moved in the window.
func (f *facts) refused(points []point, i int, only bool, l *listener) int64 {
	if i == 0 || !points[i-1].ok {
		return 0
	}
	if v, ok := l.overflows.Get(); ok && v == 0 {
		return 0
	}
	if only {
		if n, ok := model.Growth(f.samples[i-1].Counters.ListenOverflows, f.samples[i].Counters.ListenOverflows).Get(); ok {
			return n
		}
	}
	if points[i].dropsOK && points[i-1].dropsOK {
		return max(0, points[i].drops-points[i-1].drops)
	}
	return 0
}

// same finds the listener in an older sample; mostly it stands at its place.
func same(listeners []model.Listener, m *model.Listener, position int) *model.Listener {
	if position < len(listeners) {
		if l := &listeners[position]; l.Port == m.Port && l.Address == m.Address && l.Interface == m.Interface {
			return l
		}
	}
	return model.ListenerAt(listeners, m.Place())
}

// span decides over which part of the window the workers are judged: from the
// first pressure to the end while it lasts; once it is over, the time it lasted
// when that was long, or else the whole window, in which it was a burst.
func (l *listener) span(f *facts, points []point) {
	n := len(points)
	l.spanFrom, l.spanTo = 0, n-1
	if l.pressed() {
		quiet := f.at(n-1) - f.at(l.final)
		l.lasting = quiet < stallSeconds
		from := max(0, l.first-1)
		switch {
		case l.lasting:
			l.spanFrom = from
		case f.at(l.final)-f.at(from) >= overSeconds:
			l.spanFrom, l.spanTo = from, l.final
		}
	}
	var seen, full, drained, quiet int
	for i := l.spanFrom; i <= l.spanTo; i++ {
		// The sample before the first pressure begins the span and is no part of it.
		if !points[i].ok || i == l.spanFrom && l.pressed() && l.spanFrom == l.first-1 {
			continue
		}
		seen++
		if points[i].full() {
			full++
		}
		if points[i].drained() {
			drained++
			if points[i].refused == 0 {
				quiet++
			}
		}
	}
	for i := l.spanFrom + 1; i <= l.spanTo; i++ {
		if f.accepted[i] >= 0 && points[i].ok && points[i-1].ok && points[i].full() && points[i-1].full() {
			l.fullGaps++
			l.fullAccepted += f.accepted[i]
		}
	}
	if seen > 0 {
		l.stands = seen >= 2*minSamples && float64(drained) < standing*float64(seen)
		l.highShare, l.lowShare, l.clearShare = float64(full)/float64(seen), float64(drained)/float64(seen), float64(quiet)/float64(seen)
	}
}

func (l *listener) spanSeconds(f *facts) float64 { return f.at(l.spanTo) - f.at(l.spanFrom) }

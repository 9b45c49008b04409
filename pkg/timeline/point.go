package timeline

import (
	"math"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Point is one sample of a pod, small enough to be kept by the million. Figures
// that are unknown are NaN; read them through the methods.
type Point struct {
	// at is in milliseconds of Unix time: when the frame came, or for a frame that
	// was read later, when it would have come, by the pod's own clock.
	at int64
	// seconds since the point before, by the pod's own clock; 0 where the two cannot
	// be compared.
	seconds float32
	// depth and limit are those of the worst socket; port is its listener's.
	depth, limit, refused, accepted, busy, workers float32
	port                                           uint16
	severity                                       uint8 // as severityOf counts; 0 is none
	class                                          uint8 // as codeOf counts; 0 is none
}

// Time of the sample, in UTC.
func (p Point) Time() time.Time { return time.UnixMilli(p.at).UTC() }

// Seconds that the counts of the point are over; unknown for the first of its kind.
func (p Point) Seconds() model.Value[float64] {
	if p.seconds <= 0 {
		return model.Unknown[float64]("the first sample of its kind")
	}
	return model.Known(float64(p.seconds))
}

// Depth of the fullest accept queue, and Limit of the same; Port is its listener's,
// 0 where nothing listens.
func (p Point) Depth() model.Value[float64] { return value(p.depth) }

// Limit is the backlog in force of that queue.
func (p Point) Limit() model.Value[float64] { return value(p.limit) }

// Port of the listener whose queue that is.
func (p Point) Port() uint16 { return p.port }

// Refused is how many packets met a full accept queue since the point before.
func (p Point) Refused() model.Value[float64] { return value(p.refused) }

// Accepted is how many connections were accepted since the point before.
func (p Point) Accepted() model.Value[float64] { return value(p.accepted) }

// Busy ratio of the workers over the pod's window.
func (p Point) Busy() model.Value[float64] { return value(p.busy) }

// Workers in force.
func (p Point) Workers() model.Value[float64] { return value(p.workers) }

// Severity of the worst verdict at the time; empty where nobody judged.
func (p Point) Severity() model.Severity {
	for _, s := range []model.Severity{model.SeverityCritical, model.SeverityWarning, model.SeverityInfo} {
		if severityOf(s) == p.severity {
			return s
		}
	}
	return ""
}

// Class of the worst verdict at the time; empty where nobody judged.
func (p Point) Class() model.Class {
	if list := classes(); int(p.class) <= len(list) && p.class > 0 {
		return list[p.class-1]
	}
	return ""
}

// judged notes the verdict that stands for a pod.
func (p *Point) judged(verdicts []model.Verdict) {
	if len(verdicts) > 0 {
		p.severity, p.class = severityOf(verdicts[0].Severity), codeOf(verdicts[0].Class)
	}
}

// codeOf is a class in one byte, 0 for one that is not known here.
func codeOf(c model.Class) uint8 {
	for i, known := range classes() {
		if known == c {
			return uint8(i + 1)
		}
	}
	return 0
}

func classes() [18]model.Class {
	return [18]model.Class{
		model.ClassAcceptStalled, model.ClassFDExhausted, model.ClassCPUStarved, model.ClassSaturated, model.ClassAcceptSlow, model.ClassImbalance,
		model.ClassAppBacklog, model.ClassSomaxconnCap, model.ClassFixedBacklog, model.ClassBurst, model.ClassSynQueue, model.ClassConfigDrift,
		model.ClassNotAttributable, model.ClassUndecided, model.ClassStarting, model.ClassHistory, model.ClassTooEarly, model.ClassHealthy,
	}
}

func severityOf(s model.Severity) uint8 {
	switch s {
	case model.SeverityCritical:
		return 3
	case model.SeverityWarning:
		return 2
	case model.SeverityInfo:
		return 1
	}
	return 0
}

func value(f float32) model.Value[float64] {
	if math.IsNaN(float64(f)) {
		return model.Unknown[float64]("not known of this sample")
	}
	return model.Known(float64(f))
}

func count(v model.Value[int64]) float32 {
	n, ok := v.Get()
	if !ok {
		return unknown()
	}
	return float32(n)
}

func figure(v model.Value[float64]) float32 {
	f, ok := v.Get()
	if !ok {
		return unknown()
	}
	return float32(f)
}

func unknown() float32 { return float32(math.NaN()) }

// merge makes one point of two that follow each other: sums of what is counted, the
// worst of what is a level.
func (p Point) merge(q Point) Point {
	m := q
	m.seconds += p.seconds
	m.refused, m.accepted = sum(p.refused, q.refused), sum(p.accepted, q.accepted)
	if !(q.depth >= p.depth) && !math.IsNaN(float64(p.depth)) {
		m.depth, m.limit, m.port = p.depth, p.limit, p.port
	}
	if !math.IsNaN(float64(p.busy)) && !(q.busy >= p.busy) {
		m.busy = p.busy
	}
	if p.severity > q.severity {
		m.severity, m.class = p.severity, p.class
	}
	return m
}

// sum of what is known.
func sum(a, b float32) float32 {
	switch {
	case math.IsNaN(float64(a)):
		return b
	case math.IsNaN(float64(b)):
		return a
	}
	return a + b
}

package timeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Options bound what is kept.
type Options struct {
	// Reach is how far back points and events are kept; 0 keeps all, of deleted pods too.
	Reach time.Duration
	// Step makes one point of all that fall into the same step; 0 keeps each.
	Step time.Duration
	// Events is the most events that are kept, the newest; 5,000 when 0.
	Events int
}

const (
	mostEvents = 5000
	// mostPoints bounds a track whatever its pod's clock says: 18 hours at one a second.
	mostPoints = 1 << 16
	// mostTracks bounds the pods that are remembered where nothing else does: pods that
	// were deleted are what a report is about, those of a day of jobs are too many.
	mostTracks = 10_000
	// forgetEvery is how often what is out of reach is dropped: to look at the oldest
	// points of a thousand tracks costs more than to keep them for a while.
	forgetEvery = 10 * time.Second
)

// Timeline gathers tracks and events. It is for one user at a time. The zero value
// is not fit for use.
type Timeline struct {
	options  Options
	tracks   map[string]*Track
	events   []Event
	from, to time.Time
	forgot   time.Time // when what is out of reach was last dropped
}

// New starts without history.
func New(o Options) *Timeline {
	o.Events = cmp.Or(o.Events, mostEvents)
	return &Timeline{options: o, tracks: map[string]*Track{}}
}

// Add takes a snapshot in. Its pods' samples may be the ones of the snapshot before:
// those add nothing.
func (t *Timeline) Add(s model.Snapshot) {
	if t.from.IsZero() {
		t.from = s.Time
	}
	first := t.to.IsZero()
	t.to = s.Time
	for i := range s.Pods {
		p := &s.Pods[i]
		k := t.tracks[p.Key()]
		if k == nil {
			k = &Track{Meta: p.Meta, Workload: p.Workload}
			t.tracks[p.Key()] = k
			if !first {
				t.event(s.Time, p, KindNew, model.SeverityInfo, "new pod")
			}
		}
		k.seen = s.Time
		k.Workload = p.Workload
		t.compare(s.Time, k, p)
		k.add(p, t.options.Step)
		k.note(p)
	}
	t.forget()
}

// forget drops what is older than the reach.
func (t *Timeline) forget() {
	if since := t.to.Sub(t.forgot); since >= forgetEvery || since < 0 {
		t.forgot = t.to
		t.forgetTracks()
	}
	n := max(0, len(t.events)-t.options.Events)
	for t.options.Reach > 0 && n < len(t.events) && t.to.Sub(t.events[n].Time) > t.options.Reach {
		n++
	}
	if n > 0 {
		t.events = slices.Delete(t.events, 0, n)
	}
	if t.options.Reach > 0 && t.to.Sub(t.from) > t.options.Reach {
		t.from = t.to.Add(-t.options.Reach)
	}
}

func (t *Timeline) forgetTracks() {
	if t.options.Reach == 0 {
		t.forgetGone()
		return
	}
	for key, k := range t.tracks {
		if t.to.Sub(k.seen) > t.options.Reach {
			delete(t.tracks, key)
			continue
		}
		k.drop(t.to.Add(-t.options.Reach).UnixMilli())
	}
}

// forgetGone drops the tracks that are too many, those that ended first.
func (t *Timeline) forgetGone() {
	if len(t.tracks) <= mostTracks {
		return
	}
	keys := slices.Collect(maps.Keys(t.tracks))
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(t.tracks[a].seen.Compare(t.tracks[b].seen), cmp.Compare(a, b))
	})
	for _, key := range keys[:len(keys)-mostTracks] {
		delete(t.tracks, key)
	}
}

// Span is the time that is covered: of the first snapshot that is still within
// reach, and of the newest one. Both are zero before the first.
func (t *Timeline) Span() (from, to time.Time) { return t.from, t.to }

// Track of a pod; nil when none is known by that key.
func (t *Timeline) Track(key string) *Track { return t.tracks[key] }

// Keys of all tracks, ordered by namespace and name of their pods.
func (t *Timeline) Keys() []string {
	keys := make([]string, 0, len(t.tracks))
	for key := range t.tracks {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := t.tracks[a].Meta, t.tracks[b].Meta
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(a, b))
	})
	return keys
}

// Events of all pods, oldest first. The slice is not to be changed.
func (t *Timeline) Events() []Event { return t.events }

// EventsOf are the events of one pod, oldest first.
func (t *Timeline) EventsOf(key string) []Event {
	var own []Event
	for _, e := range t.events {
		if e.Pod == key {
			own = append(own, e)
		}
	}
	return own
}

func (t *Timeline) event(at time.Time, p *model.Pod, kind Kind, severity model.Severity, text string) {
	t.events = append(t.events, Event{
		Time: at.UTC(), Pod: p.Key(), Namespace: p.Meta.Namespace, Name: p.Meta.Name, Kind: kind, Severity: severity, Text: text,
	})
	// What is told of later stands at its time.
	for i := len(t.events) - 1; i > 0 && t.events[i].Time.Before(t.events[i-1].Time); i-- {
		t.events[i], t.events[i-1] = t.events[i-1], t.events[i]
	}
}

package diagnose

import (
	"cmp"
	"fmt"
)

// fdsWords is how many descriptors are open.
func (w *workers) fdsWords() string {
	if w.fdsMost == 0 {
		return "the lines that the proxy reads from /proc are missing on an otherwise good page, which needs a free descriptor"
	}
	return fmt.Sprintf("%s of %s descriptors open", num(w.fdsOpen), num(w.fdsMost))
}

// runtimeFDs: a proxy out of descriptors cannot read /proc, so that the lines it
// takes from there are missing on a page that is otherwise good.
func (f *facts) runtimeFDs(w *workers) {
	since, vanished, seen := -1, 0, false
	for i := range f.samples {
		r := &f.samples[i].Runtime
		if open, ok := r.OpenFDs.Get(); ok {
			if most, ok := r.MaxFDs.Get(); ok && most > 0 {
				seen = true
				if float64(open) >= fdReached*float64(most) {
					vanished++
					if since < 0 {
						since = i
					}
					w.fdsOpen, w.fdsMost = open, most
					continue
				}
				since, vanished = -1, 0
				w.fdsOpen, w.fdsMost = open, most
			}
			continue
		}
		if r.Start.IsKnown() && r.Clock.IsKnown() && !r.CPUSeconds.IsKnown() && !r.MaxFDs.IsKnown() && r.BusySeconds.IsKnown() {
			vanished++
			if since < 0 {
				since = i
			}
			w.fdsOpen, w.fdsMost = 0, 0
		}
	}
	switch {
	case vanished >= 2:
		w.fdsFull, w.fdsSeconds = yes, f.at(len(f.samples)-1)-f.at(since)
	case vanished == 0 && seen:
		w.fdsFull = no
	}
}

// processFDs: accept fails with EMFILE when the descriptors reach the limit.
func (f *facts) processFDs(w *workers) {
	full, since := 0, -1
	for i := range f.samples {
		p := &f.samples[i].Process
		n, ok0 := p.OpenFDs.Get()
		most, ok1 := p.MaxFDs.Get()
		if !ok0 || !ok1 || most <= 0 {
			continue
		}
		w.fdsFull = no
		w.fdsOpen, w.fdsMost = n, most
		if float64(n) < fdReached*float64(most) {
			full, since = 0, -1
			continue
		}
		if full++; since < 0 {
			since = i
		}
	}
	if full >= 2 {
		w.fdsFull, w.fdsSeconds = yes, f.at(len(f.samples)-1)-f.at(since)
	}
	if w.fdsFull == no && len(f.last.Process.Children) > 0 {
		// Whoever accepts may be a child, and the master has descriptors to spare.
		w.fdsFull = open
		w.unknown = append(w.unknown, "open descriptors of the child processes: only the first process's are counted")
	} else if w.fdsFull == open {
		w.unknown = append(w.unknown, "open descriptors: "+cmp.Or(f.last.Process.OpenFDs.Reason(), "they need the process's own user and group"))
	}
}

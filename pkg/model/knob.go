package model

import "math"

// Knob is one setting that decides how connections queue: what was asked for
// and through which chain, and what is in force and how that was seen.
type Knob struct {
	// Name is the same for every proxy where the meaning is: "workers",
	// "inbound backlog", "outbound backlog", "admin backlog".
	Name string `json:"name"`
	// Asked is the value the configuration leads to; InForce what the process
	// has. SeenBy says how the latter was seen: "tokio_rt_workers", "ss".
	Asked   Value[int64] `json:"asked"`
	InForce Value[int64] `json:"inForce"`
	SeenBy  string       `json:"seenBy,omitempty"`
	// Available is the number of CPUs that a ratio is of, for workers.
	Available Value[int64] `json:"available"`
	// Chain is where the asked value came from, first cause first.
	Chain []Origin `json:"chain,omitempty"`
	// Remedy says where the knob is set.
	Remedy Remedy `json:"remedy"`
	// Why explains a difference, where it can be explained.
	Why string `json:"why,omitempty"`
}

// Differs says whether asked and in-force values are both known and differ.
func (k Knob) Differs() bool {
	a, ok0 := k.Asked.Get()
	f, ok1 := k.InForce.Get()
	return ok0 && ok1 && a != f
}

// Origin is one link of the chain that a setting came through.
type Origin struct {
	// Where: "pod annotation", "env of container linkerd-proxy", "default".
	Where string `json:"where"`
	// Name and Value as they stand there.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Note says what became of it: "rounded up", "ignored: not a number".
	Note string `json:"note,omitempty"`
}

// Remedy says where a knob is set and in which form.
type Remedy struct {
	// Where: "pod template annotation", "Helm value".
	Where string `json:"where,omitempty"`
	// Name of the annotation, variable or option, and the form of its value.
	Name string `json:"name,omitempty"`
	Form string `json:"form,omitempty"`
	// Variable is what the named annotation or value carries a list of, where it
	// does: the variable of the proxy that is set.
	Variable string `json:"variable,omitempty"`
	// Unit of the value: "cpus" is a number of whole CPUs, "ratio" a share of the
	// CPUs available (Knob.Available); empty for a plain number.
	Unit string `json:"unit,omitempty"`
	// Restart says that the value asked for is set where it should be already, and
	// that a restart is all that it takes.
	Restart bool `json:"restart,omitempty"`
}

// WorkerRule is how a proxy decides on its number of workers.
type WorkerRule struct {
	// Min and Max in workers, Ratio of the available CPUs in (0,1]; each may be unset.
	Min   Value[int64]   `json:"min"`
	Max   Value[int64]   `json:"max"`
	Ratio Value[float64] `json:"ratio"`
}

// Workers is the number of workers on a machine that gives the process so many
// CPUs (at least 1). Max beats Ratio, Min beats Max, and what is available caps
// all; a ratio is rounded half away from zero: 10 x 0.35 = 3.5 gives 4.
func (r WorkerRule) Workers(available int) int {
	available = max(1, available)
	n := 1
	if m, ok := r.Max.Get(); ok {
		n = clampInt(m)
	} else if ratio, ok := r.Ratio.Get(); ok {
		if share := int(math.Round(float64(available) * ratio)); share > 0 {
			n = share
		}
	}
	n = max(n, clampInt(r.Min.Or(1)))
	return min(n, available)
}

func clampInt(n int64) int { return int(min(n, math.MaxInt32)) }

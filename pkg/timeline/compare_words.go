package timeline

import (
	"fmt"
	"math"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// chance is how likely a difference may be when nothing has changed, and still be
	// told as one.
	chance = 0.05
	// otherLoad is how much accepted connections may differ and still be the same load.
	otherLoad = 0.7
	// otherBusy is how much the busy ratio must differ to be worth a word.
	otherBusy = 0.15
)

// judge tells what changed about a workload.
func (c *Comparison) judge(r *Comparable) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	a, b := &r.Before, &r.After
	r.Outcome, r.Chance = OutcomeUnknown, model.Unknown[float64]("not known at both times")
	switch {
	case a.Pods == 0:
		c.caveat("%s was not seen before: there is nothing to compare it with", name)
		return
	case b.Pods == 0:
		c.caveat("%s was not seen after: there is nothing to compare it with", name)
		return
	}
	changes := changesOf(a, b)
	switch {
	case !a.Refused.IsKnown() || !b.Refused.IsKnown():
		c.caveat("what was refused by %s is not known at both times", name)
		c.found(name, OutcomeUnknown, "", changes)
	case a.Refused.Or(0) == 0 && b.Refused.Or(0) == 0:
		r.Outcome = bySeverity(a, b)
		c.found(name, r.Outcome, "nothing was refused at either time", changes)
	default:
		c.judgeRefused(name, r, changes)
	}
	if a.Pods != b.Pods {
		c.caveat("%s had %d pods before and %d after", name, a.Pods, b.Pods)
	}
}

// judgeRefused judges a workload that refused packets at one of the times.
func (c *Comparison) judgeRefused(name string, r *Comparable, changes string) {
	a, b := &r.Before, &r.After
	p := byChance(a.stretches, b.stretches)
	r.Chance = model.Known(p)
	before, after := a.Refused.Or(0), b.Refused.Or(0)
	figures := fmt.Sprintf("%s refused packets a minute before, %s after (in %d of %d stretches of 10 s, then in %d of %d)",
		perMinute(before), perMinute(after), a.Refusing, a.Stretches, b.Refusing, b.Stretches)
	load := loadOf(a, b)
	switch {
	case p > chance:
		r.Outcome = OutcomeUnclear
		c.found(name, r.Outcome, figures, changes)
		c.caveat("%s: such a difference comes by chance in about %.0f of 100 cases: look longer at both times", name, max(1, p*100))
		c.caveatLoad(name, load, a, b)
		return
	case after < before && load == loadSmaller, after > before && load == loadLarger:
		r.Outcome = OutcomeUnclear
	case after < before:
		r.Outcome = OutcomeBetter
		if after == 0 {
			figures = "nothing is refused any more: " + figures
		}
	default:
		r.Outcome = OutcomeWorse
	}
	c.found(name, r.Outcome, figures, changes)
	c.caveatLoad(name, load, a, b)
}

type load int

const (
	loadUnknown load = iota
	loadSame
	loadSmaller
	loadLarger
)

func loadOf(a, b *Total) load {
	x, okA := a.Accepted.Get()
	y, okB := b.Accepted.Get()
	switch {
	case !okA || !okB:
		return loadUnknown
	case y < otherLoad*x:
		return loadSmaller
	case x < otherLoad*y:
		return loadLarger
	}
	return loadSame
}

// caveatLoad says when another load may be the reason.
func (c *Comparison) caveatLoad(name string, l load, a, b *Total) {
	rates := fmt.Sprintf("(%.1f accepted a second before, %.1f after)", a.Accepted.Or(0), b.Accepted.Or(0))
	switch l {
	case loadUnknown:
		c.caveat("%s: the load is not known at both times, and may be the reason", name)
	case loadSmaller:
		c.caveat("%s: the load was smaller after %s: that alone may be the reason", name, rates)
	case loadLarger:
		if b.Refused.Or(0) > a.Refused.Or(0) {
			c.caveat("%s: the load was larger after %s: that alone may be the reason", name, rates)
		}
	}
}

func (c *Comparison) caveat(format string, args ...any) {
	c.Caveats = append(c.Caveats, fmt.Sprintf(format, args...))
}

// found tells of a workload of which there is something to tell.
func (c *Comparison) found(name string, o Outcome, figures, changes string) {
	if changes == "" && (o == OutcomeSame || o == OutcomeUnknown) {
		return
	}
	text := name + ": " + string(o)
	for _, part := range []string{figures, changes} {
		if part != "" {
			text += ": " + part
		}
	}
	c.Findings = append(c.Findings, text)
}

// bySeverity judges by the verdicts where nothing was refused.
func bySeverity(a, b *Total) Outcome {
	switch {
	case a.Severity == "" || b.Severity == "":
		return OutcomeUnclear
	case a.Severity.Rank() > b.Severity.Rank():
		return OutcomeWorse
	case a.Severity.Rank() < b.Severity.Rank():
		return OutcomeBetter
	}
	return OutcomeSame
}

// changesOf says what else differs.
func changesOf(a, b *Total) string {
	var list []string
	for _, f := range []struct {
		name          string
		before, after model.Value[float64]
		least         float64
		format        string
	}{
		{"workers", a.Workers, b.Workers, 1, "%.0f"},
		{"limit", a.Limit, b.Limit, 1, "%.0f"},
		{"busy", a.Busy, b.Busy, otherBusy, "%.2f"},
	} {
		x, okA := f.before.Get()
		y, okB := f.after.Get()
		if okA && okB && math.Abs(x-y) >= f.least {
			list = append(list, fmt.Sprintf("%s "+f.format+" -> "+f.format, f.name, x, y))
		}
	}
	if a.Class != "" && b.Class != "" && a.Class != b.Class && (a.Severity != model.SeverityInfo || b.Severity != model.SeverityInfo) {
		list = append(list, fmt.Sprintf("worst verdict %s -> %s", a.Class, b.Class))
	}
	return strings.Join(list, ", ")
}

// perMinute is a rate in words: a small one is not none.
func perMinute(f float64) string {
	if f > 0 && f < 0.1 {
		return "less than 0.1"
	}
	return fmt.Sprintf("%.1f", f)
}

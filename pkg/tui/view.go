package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// layout makes everything that scrolls agree with the size of the screen.
func (a *app) layout() {
	rows := a.listHeight()
	a.top = min(a.top, max(0, len(a.visible)-rows))
	if i := a.index(); i >= 0 && rows > 0 {
		a.top = min(max(a.top, i-rows+1), i)
	}
	a.top = max(0, a.top)
	if a.page == listPage {
		return
	}
	a.scroll.Width = a.width
	a.scroll.Height = max(0, a.height-a.headerHeight()-1)
	a.scroll.SetContent(strings.Join(a.pageLines(), "\n"))
}

// listHeight is how many rows the list has room for.
func (a *app) listHeight() int { return max(0, a.height-a.headerHeight()-2) }

// headerHeight is the number of lines that header gives.
func (a *app) headerHeight() int {
	n := 1
	if a.showsCounts() {
		n++
	}
	if a.problem() != "" {
		n++
	}
	return n
}

func (a *app) showsCounts() bool { return a.height >= 8 }

// View draws the screen.
func (a *app) View() string {
	lines := a.header()
	if a.page == listPage {
		lines = append(lines, a.listLines()...)
	} else {
		lines = append(lines, strings.Split(a.scroll.View(), "\n")...)
	}
	for len(lines) < a.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, a.height-1)], a.footer())
	return fit(strings.Join(lines, "\n"), a.width, a.height)
}

// header says what is watched and how it stands, and what is wrong.
func (a *app) header() []string {
	st := a.styles
	name := st.title.Render("kubectl backlog")
	if t := render.Clean(a.title); t != "" {
		name += "  " + st.bold.Render(t)
	}
	var right []string
	if w := a.markWord(); w != "" {
		right = append(right, st.info.Render(w))
	}
	if a.recording != "" {
		right = append(right, st.bad.Render("REC"))
	}
	if w := a.replayWord(); w != "" {
		right = append(right, st.info.Render(w))
	}
	if w := a.whenWord(); w != "" {
		right = append(right, st.warn.Render(w))
	} else if lag := a.lag(); lag != "" {
		right = append(right, st.dim.Render("lag "+lag))
	}
	clock := a.now
	if a.replay != nil {
		clock = a.viewNow()
	}
	right = append(right, clock.UTC().Format("15:04:05Z"))
	lines := []string{spread(name, strings.Join(right, "  "), a.width)}
	if a.showsCounts() {
		total := a.total()
		lines = append(lines, spread(a.counts(a.width-ansi.StringWidth(total)-2), total, a.width))
	}
	if p := a.problem(); p != "" {
		lines = append(lines, p)
	}
	return lines
}

// counts tells how many pods are in which state, worst first, as far as there is
// room.
func (a *app) counts(room int) string {
	if len(a.shown.Pods) == 0 {
		return a.styles.dim.Render("no pods yet")
	}
	line := render.Plural(len(a.shown.Pods), "pod")
	for i, c := range a.counted {
		next := "  " + a.styles.state(c.state).Render(fmt.Sprintf("%d %s", c.n, c.state))
		more := "  …"
		if i == len(a.counted)-1 {
			more = ""
		}
		if ansi.StringWidth(line+next+more) > room {
			return line + "  …"
		}
		line += next
	}
	return line
}

// summary is counts without colour.
func summary(s model.Snapshot) string {
	parts := []string{render.Plural(len(s.Pods), "pod")}
	for _, c := range count(s) {
		parts = append(parts, fmt.Sprintf("%d %s", c.n, c.state))
	}
	return strings.Join(parts, "  ")
}

type counted struct {
	state model.State
	n     int
}

// count tells how many pods there are of each state, worst first. Pods whose
// figures no longer arrive are counted as that, not as what they were.
func count(s model.Snapshot) []counted {
	n := map[model.State]int{}
	for _, p := range s.Pods {
		n[label(p)]++
	}
	var found []counted
	for _, state := range statesInOrder() {
		if n[state] > 0 {
			found = append(found, counted{state, n[state]})
		}
	}
	return found
}

// statesInOrder are all words that pods are counted under, worst first.
func statesInOrder() []model.State {
	var all []model.State
	for _, c := range []model.Class{
		model.ClassAcceptStalled, model.ClassFDExhausted, model.ClassCPUStarved, model.ClassSaturated, model.ClassAcceptSlow,
		model.ClassImbalance, model.ClassAppBacklog, model.ClassSomaxconnCap, model.ClassFixedBacklog, model.ClassBurst,
		model.ClassUndecided, model.ClassSynQueue, model.ClassConfigDrift,
	} {
		all = append(all, model.State(c))
	}
	all = append(all, model.StateOverflowing, model.StateFull, model.StateStalled, model.StateSaturated, model.StateDrift,
		model.State(model.ClassNotAttributable), model.StateUnknown, model.State(model.StageStale), model.State(model.StageEnded),
		model.StatePending, model.State(model.ClassStarting), model.State(model.ClassHistory), model.StateOK, model.StateGone)
	return all
}

// total adds up the overflow rates of the pods whose figures are current.
func (a *app) total() string {
	var sum float64
	known := false
	for _, r := range a.rows {
		if f, ok := r.rate.Get(); ok && a.ageWord(*r.pod) == "" {
			sum, known = sum+f, true
		}
	}
	if !known {
		return ""
	}
	text := "ovf " + render.Rate(model.Known(sum)) + "/s"
	if sum > 0 {
		return a.styles.bad.Render(text)
	}
	return a.styles.dim.Render(text)
}

// lag is the age of the oldest figures among the pods whose frames arrive.
func (a *app) lag() string {
	worst := -1.0
	for _, p := range a.shown.Pods {
		if p.Collection.Stage == model.StageOK && !p.Sample.Arrived.IsZero() {
			worst = max(worst, a.viewNow().Sub(p.Sample.Arrived).Seconds())
		}
	}
	switch {
	case worst < 0:
		return ""
	case worst < 60:
		return fmt.Sprintf("%.1fs", worst)
	default:
		return render.Age(a.viewNow(), a.viewNow().Add(-secondsToDuration(worst)))
	}
}

// problem is the one line for what is wrong with the whole run, with what to do.
func (a *app) problem() string {
	st := a.styles
	if a.height < 6 {
		return ""
	}
	line := func(text string) string { return cell(render.Clean(text), a.width, false) }
	switch {
	case a.err != nil:
		next := "; trying again, q quits"
		text := render.Clean("! " + a.err.Error())
		if room := a.width - len(next); room > 20 {
			text = strings.TrimRight(cell(text, min(room, len([]rune(text))), false), " ") + next
		}
		return st.bad.Render(cell(text, a.width, false))
	case a.trouble != "":
		return st.warn.Render(line("! " + a.trouble))
	case a.ended:
		return st.dim.Render(line("the recording has ended; [ goes back, q quits"))
	case len(a.shown.Problems) > 0:
		text := a.shown.Problems[0]
		if n := len(a.shown.Problems); n > 1 {
			text = fmt.Sprintf("(%d problems) %s", n, text)
		}
		return st.warn.Render(line("! " + text))
	case a.renewHint() != "":
		return st.warn.Render(line("! " + a.renewHint()))
	case len(a.shown.Notes) > 0 && a.height >= 18:
		return st.dim.Render(line(a.shown.Notes[len(a.shown.Notes)-1]))
	}
	return ""
}

// footer names the keys, or takes the filter.
func (a *app) footer() string {
	if a.asking {
		return a.styles.warn.Render(cell(a.renewQuestion(), a.width, false))
	}
	if text := a.saying(); text != "" {
		return a.styles.info.Render(cell(render.Clean(text), a.width, false))
	}
	if a.filtering {
		found := a.styles.dim.Render(fmt.Sprintf("%d of %d  ⏎ keep  esc clear", len(a.visible), len(a.all)))
		return spread(a.filter.View(), found, a.width)
	}
	right := ""
	set := a.keys.list()
	switch a.page {
	case listPage:
		if rows := a.listHeight(); len(a.visible) > rows && rows > 0 {
			right = fmt.Sprintf("%d-%d of %d", a.top+1, min(len(a.visible), a.top+rows), len(a.visible))
		}
		if f := a.filter.Value(); f != "" {
			right = strings.TrimSpace("filter: " + render.Clean(f) + "  " + right)
		}
	case detailPage:
		set = a.keys.detail()
	case helpPage:
		set = a.keys.helpPage()
	}
	if a.page != listPage && !(a.scroll.AtTop() && a.scroll.AtBottom()) {
		right = fmt.Sprintf("%d%%", int(a.scroll.ScrollPercent()*100))
	}
	right = cell(right, min(len([]rune(right)), a.width/2), false)
	a.help.Width = max(1, a.width-len([]rune(right))-2)
	return spread(a.help.ShortHelpView(set.short), a.styles.dim.Render(right), a.width)
}

func pending(list []counted) int {
	for _, c := range list {
		if c.state == model.StatePending {
			return c.n
		}
	}
	return 0
}

// pageLines are the lines of the page that scrolls.
func (a *app) pageLines() []string {
	if a.page == helpPage {
		return a.helpLines()
	}
	return a.detailLines()
}

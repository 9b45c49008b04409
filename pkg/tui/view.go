package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// listRoom is how many lines there are between the column titles and what is below
// the list.
func (a *app) listRoom() int { return max(0, a.height-a.headerHeight()-2-a.lowerHeight()) }

// listHeight is how many of them are rows: the last one tells of those for which
// there is no room.
func (a *app) listHeight() int {
	room := a.listRoom()
	if len(a.visible) > room && room >= 8 {
		return room - 1
	}
	return room
}

// headerHeight is the number of lines that header gives.
func (a *app) headerHeight() int {
	if a.problem() != "" {
		return 2
	}
	return 1
}

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
	view := fit(strings.Join(lines, "\n"), a.width, a.height)
	if a.ascii {
		view = toASCII(view)
	}
	return view
}

// header says what is watched and how it stands, and what is wrong.
func (a *app) header() []string {
	left, right := a.headerLeft(), a.headerRight()
	// What there is no room for is left out, what matters least first.
	for joined(left)+joined(right)+2 > a.width && len(left)+len(right) > 2 {
		least := &left
		if lowest(right) > lowest(left) {
			least = &right
		}
		at := slices.IndexFunc(*least, func(p part) bool { return p.rank == lowest(*least) })
		*least = slices.Delete(*least, at, at+1)
	}
	lines := []string{spread(textOf(left), textOf(right), a.width)}
	if p := a.problem(); p != "" {
		lines = append(lines, p)
	}
	return lines
}

// part is a piece of the header. Those of high rank are left out first.
type part struct {
	text string
	rank int
}

func lowest(parts []part) int {
	rank := 0
	for _, p := range parts {
		rank = max(rank, p.rank)
	}
	return rank
}

func textOf(parts []part) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return strings.Join(texts, "  ")
}

func joined(parts []part) int { return ansi.StringWidth(textOf(parts)) }

// headerLeft is what is watched, how many pods stand how, and what is refused.
func (a *app) headerLeft() []part {
	st := a.styles
	title := orElse(a.title != "", render.Clean(a.title), "kubectl backlog")
	parts := []part{{st.title.Render(middle(title, max(8, a.width/3))), 0}}
	if a.width < 60 {
		parts[0].rank = 7 // whoever opened a screen of this size knows what it shows
	}
	if len(a.shown.Pods) == 0 {
		parts = append(parts, part{st.dim.Render("no pods yet"), 1})
	} else {
		words := a.width >= 160
		n := a.tally.pods()
		parts = append(parts, part{render.Plural(n, "pod") + orElse(words, "  ", " ") + a.tally.counts.text(st, words), 1})
	}
	if rate, ok := a.tally.rate.Get(); ok {
		parts = append(parts, part{orStyle(rate > 0, st.bad, st.dim).Render("ovf " + render.Rate(a.tally.rate) + "/s"), 2})
	}
	if w := a.markWord(); w != "" {
		parts = append(parts, part{st.info.Render(w), 4})
	}
	return parts
}

// headerRight is how fresh that is.
func (a *app) headerRight() []part {
	st := a.styles
	var parts []part
	if n := a.tally.probes; n > 0 {
		parts = append(parts, part{st.dim.Render(render.Plural(n, "probe") + " to " + a.tally.until.UTC().Format("15:04Z")), 6})
	}
	if a.recording != "" {
		parts = append(parts, part{st.bad.Render("REC"), 3})
	}
	if w := a.replayWord(); w != "" {
		parts = append(parts, part{st.info.Render(w), 3})
	}
	if w := a.whenWord(); w != "" {
		parts = append(parts, part{st.warn.Render(w), 1})
	} else if lag := a.lag(); lag != "" {
		parts = append(parts, part{st.dim.Render("lag " + lag), 5})
	}
	clock := a.now
	if a.replay != nil {
		clock = a.viewNow()
	}
	return append(parts, part{clock.UTC().Format("15:04:05Z"), 1})
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

// lag is the age of the oldest figures among the pods whose frames arrive.
func (a *app) lag() string {
	if a.tally.oldest.IsZero() {
		return ""
	}
	lag := max(0, a.viewNow().Sub(a.tally.oldest))
	if lag < time.Minute {
		return fmt.Sprintf("%.1fs", lag.Seconds())
	}
	return render.Age(a.viewNow(), a.tally.oldest)
}

// startingWord says how far the probes have come that have shown nothing yet.
func (a *app) startingWord() string {
	n := 0
	var parts []string
	for _, s := range []struct {
		stage model.Stage
		word  string
	}{
		{model.StageAsking, "asking"}, {model.StagePulling, "pulling"}, {model.StageStarting, "starting"}, {model.StageWaiting, "first frame"},
	} {
		if of := a.tally.stages[s.stage]; of > 0 {
			n += of
			parts = append(parts, fmt.Sprintf("%s %d", s.word, of))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("starting %d of %s: %s", n, render.Plural(a.tally.pods(), "probe"), strings.Join(parts, ", "))
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
	case a.startingWord() != "":
		return st.info.Render(line(a.startingWord()))
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
		found := a.styles.dim.Render(fmt.Sprintf("%s  %s keep  esc clear", render.Plural(a.podsShown(), "pod"), a.keys.accept.Help().Key))
		return spread(a.filter.View(), found, a.width)
	}
	right := ""
	set := a.keys.list(a.width)
	switch a.page {
	case listPage:
		right = a.narrowedWord()
		if rows := a.listHeight(); len(a.visible) > rows && rows > 0 {
			right = strings.TrimSpace(fmt.Sprintf("%s  %d-%d of %d", right, a.top+1, min(len(a.visible), a.top+rows), len(a.visible)))
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

// narrowedWord says what the list leaves out: a list that is short for that reason
// looks like good news.
func (a *app) narrowedWord() string {
	var parts []string
	if a.space != "" {
		parts = append(parts, "namespace "+render.Clean(a.space))
	}
	if n := a.narrowings[a.narrowingAt].name; n != "" {
		parts = append(parts, n)
	}
	if f := a.filter.Value(); f != "" {
		parts = append(parts, "filter: "+render.Clean(f))
	}
	return strings.Join(parts, "  ")
}

// podsShown is how many pods the filters leave, folded ones too.
func (a *app) podsShown() int {
	n := 0
	for i := range a.visible {
		switch l := &a.visible[i]; {
		case l.kind == podLine:
			n++
		case l.kind == restLine && l.folded:
			n += l.pods
		case l.kind == groupLine && l.folded:
			n += len(l.group.rows)
		}
	}
	return n
}

// pageLines are the lines of the page that scrolls.
func (a *app) pageLines() []string {
	if a.page == helpPage {
		return a.helpLines()
	}
	return a.detailLines()
}

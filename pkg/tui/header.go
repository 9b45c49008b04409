package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

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
		total := render.Plural(n, "pod") + orElse(words, "  ", " ")
		if a.width < 60 {
			total = strconv.Itoa(n) + ": "
		}
		parts = append(parts, part{total + a.tally.counts.text(st, words), 1})
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

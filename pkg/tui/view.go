package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
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
	a.scroll.Height = max(0, a.height-a.headerHeight()-len(a.pageHead())-1)
	// A page of raw text has thousands of lines: they are made when something is another
	// than before, not with every key.
	if now := a.drawing(); now != a.drawn {
		a.drawn = now
		a.scroll.SetContent(strings.Join(a.pageLines(), "\n"))
	}
}

// drawing is all that a page's lines depend on.
type drawing struct {
	page          page
	detail        string
	tab           tab
	shows         uint64
	second        int64
	width, height int
	query         string
	event         timeline.Event
	ifs           ifs
	mark          time.Time
}

func (a *app) drawing() drawing {
	d := drawing{page: a.page, shows: a.shows, second: a.viewNow().Unix(), width: a.width, height: a.height, mark: a.mark.at}
	if a.page == detailPage {
		p := a.opened()
		d.detail, d.tab, d.query, d.event, d.ifs = a.detail, p.tab, p.query, p.event, p.ifs
	}
	return d
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
	lines := append(a.header(), a.pageHead()...)
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
	if a.searching {
		return a.query.View()
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
		set = a.keys.detail(a.opened(), a.width)
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
			n += l.pods
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

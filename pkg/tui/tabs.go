package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// tab is a part of a pod's page.
type tab int

const (
	verdictTab tab = iota
	queuesTab
	workersTab
	configTab
	eventsTab
	rawTab
)

// tabNames are those of the tabs, in their order.
func tabNames() []string {
	return []string{"Verdict", "Queues", "Workers", "Config", "Events", "Raw"}
}

// podPage is what the screen keeps of a pod's page while it runs: coming back to it
// finds it as it was left.
type podPage struct {
	tab    tab
	offset [6]int         // how far each tab is scrolled
	event  timeline.Event // the chosen one; zero for the newest
	query  string         // what is searched for in the raw text
	hit    int            // the line of the hit that was jumped to; -1 for none
	ifs    ifs
}

// opened is the page of the pod that is shown.
func (a *app) opened() *podPage {
	p := a.pages[a.detail]
	if p == nil {
		p = &podPage{hit: -1}
		a.pages[a.detail] = p
	}
	return p
}

// openTab turns to a tab and to where it was left.
func (a *app) openTab(t tab) {
	p := a.opened()
	p.offset[p.tab] = a.scroll.YOffset
	p.tab = (t + 6) % 6
	a.layout()
	a.scroll.SetYOffset(p.offset[p.tab])
}

// pageHead are the lines above a pod's page that do not scroll.
func (a *app) pageHead() []string {
	if a.page != detailPage {
		return nil
	}
	var lines []string
	if r, ok := a.rows[a.detail]; ok && a.height >= 10 {
		word, style := a.stateWord(r, maxName)
		name := a.styles.bold.Render(middle(render.PodName(*r.pod), max(8, a.width/2))) + "  " + style.Render(word)
		lines = append(lines, spread(name, a.styles.dim.Render(a.placeWord(r.pod)), a.width))
	}
	return append(lines, a.tabLine())
}

// placeWord says where a pod is, how old, and how it is looked at.
func (a *app) placeWord(p *model.Pod) string {
	var parts []string
	add := func(text string, least int) {
		if text != "" && a.width >= least {
			parts = append(parts, text)
		}
	}
	add(render.Clean(p.Node), 100)
	if !p.Meta.Created.IsZero() {
		add("age "+render.Age(a.viewNow(), p.Meta.Created), 60)
	}
	via := render.Clean(string(p.Collection.Via))
	if !p.Collection.Until.IsZero() {
		via += " to " + p.Collection.Until.UTC().Format("15:04Z")
	}
	add(via, 70)
	return strings.Join(parts, "  ")
}

// tabLine names the tabs; the open one is in brackets, so that nobody needs colours.
func (a *app) tabLine() string {
	open := a.opened().tab
	var parts []string
	for i, name := range tabNames() {
		text := fmt.Sprintf("%d %s", i+1, name)
		if a.width < 60 {
			text = fmt.Sprintf("%d%s", i+1, name[:1])
		}
		if tab(i) == open {
			if a.width < 60 {
				text = fmt.Sprintf("%d %s", i+1, name)
			}
			parts = append(parts, a.styles.title.Render("["+text+"]"))
			continue
		}
		parts = append(parts, a.styles.dim.Render(" "+text+" "))
	}
	return ansi.Truncate(strings.Join(parts, " "), a.width, "")
}

// detailLines are what scrolls on a pod's page.
func (a *app) detailLines() []string {
	r, ok := a.rows[a.detail]
	if !ok {
		return []string{"", "  " + a.styles.dim.Render("this pod is no longer among the watched ones; esc goes back")}
	}
	d := &detail{app: a, pod: *r.pod, row: r}
	page := a.opened()
	if page.ifs.on {
		d.whatIf(&page.ifs)
	}
	switch page.tab {
	case verdictTab:
		d.verdictPage()
	case queuesTab:
		d.listeners()
		d.queueCharts()
		d.waiting()
		d.counters()
	case workersTab:
		d.workers()
		d.busyChart()
		d.threads()
	case configTab:
		d.knobs()
		d.limits()
		d.collection()
		d.notes()
		d.unknowns()
	case eventsTab:
		d.events(page)
	case rawTab:
		d.rawText(page)
	}
	return d.lines
}

package tui

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/textinput"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// tab is one side of a pod's page.
type tab int

const (
	verdictTab tab = iota
	queuesTab
	workersTab
	configTab
	eventsTab
	rawTab
	tabCount
)

func (t tab) title() string {
	return [tabCount]string{"Verdict", "Queues", "Workers", "Config", "Events", "Raw"}[t]
}

// podPages is the state of the pods' pages.
type podPages struct {
	pages map[string]*podPage // by the pod's key; while the screen runs
	drawn drawn
	focus int       // the line that must be in sight; -1 for none
	out   io.Writer // the terminal, for what is copied

	hits      int  // lines of the raw text that hold what is searched for
	searching bool // a text to search for is being typed
	query     textinput.Model
}

// podPage is what is kept of one pod's page: whoever comes back finds it as it was.
type podPage struct {
	tab    tab
	offset [tabCount]int
	event  timeline.Event // the selected one; zero for the newest
	search search
	// last is the pod as it was last seen: one that is gone keeps its page.
	last model.Pod
	seen bool
}

// drawn says what the lines of the page were made of. They are made anew only when
// it is another.
type drawn struct {
	pod           string
	tab           tab
	width, height int
	seq           uint64
	at, now, mark time.Time
	events        int
	event         timeline.Event
	search        search
}

func newPodPages(o Options, st styles) podPages {
	p := podPages{pages: map[string]*podPage{}, out: o.Out, query: textinput.New()}
	plainInput(&p.query, st)
	p.query.Prompt = "/"
	return p
}

// openPage is the page that is open.
func (a *app) openPage() *podPage {
	p := a.pages[a.detail]
	if p == nil {
		p = &podPage{}
		a.pages[a.detail] = p
	}
	return p
}

// layoutPage makes the lines of the open page, if they are not the same as before,
// and scrolls to where it was left.
func (a *app) layoutPage() {
	a.scroll.Width = a.width
	a.scroll.Height = max(0, a.height-a.headerHeight()-1)
	if a.page == helpPage {
		a.drawn = drawn{}
		a.scroll.SetContent(strings.Join(a.helpLines(), "\n"))
		return
	}
	if r := a.rows[a.detail]; r != nil {
		p := a.openPage()
		p.last, p.seen = *r.pod, true
	}
	p := a.openPage()
	a.scroll.Height = max(0, a.scroll.Height-len(a.pageHead()))
	d := drawn{
		pod: a.detail, tab: p.tab, width: a.width, height: a.scroll.Height, seq: a.shown.Seq, at: a.shown.Time,
		now: a.viewNow(), mark: a.mark.at, events: len(a.timeline.Events()), event: p.event, search: p.search,
	}
	if d == a.drawn {
		p.offset[p.tab] = a.scroll.YOffset
		return
	}
	another := d.pod != a.drawn.pod || d.tab != a.drawn.tab
	chosen := another || d.event != a.drawn.event || d.search != a.drawn.search
	a.drawn = d
	a.focus, a.hits = -1, 0
	a.scroll.SetContent(strings.Join(a.tabLines(p), "\n"))
	if another {
		a.scroll.SetYOffset(p.offset[p.tab])
	}
	if a.focus >= 0 && chosen {
		a.reveal(a.focus)
	}
	p.offset[p.tab] = a.scroll.YOffset
}

// reveal scrolls as little as brings a line into sight.
func (a *app) reveal(line int) {
	switch {
	case line < a.scroll.YOffset:
		a.scroll.SetYOffset(line)
	case line >= a.scroll.YOffset+a.scroll.Height:
		a.scroll.SetYOffset(line - a.scroll.Height + 1)
	}
}

// leavePage goes back to the list.
func (a *app) leavePage() {
	a.page = listPage
	a.drawn = drawn{}
}

// showTab opens a tab of the page, the last one after the first.
func (a *app) showTab(t tab) {
	a.openPage().tab = (t + tabCount) % tabCount
}

// podOnPage is the pod of the open page, and its row as the list has it. A pod that
// is gone is shown as it was last seen; one that was not there at the moment that is
// shown is not.
func (a *app) podOnPage() (*row, bool) {
	if r := a.rows[a.detail]; r != nil {
		return r, true
	}
	p := a.openPage()
	if !p.seen || a.moment.held {
		return nil, false
	}
	return newRow(nil, &p.last, a.timeline.Track(a.detail).Points()), true
}

// pageHead are the lines above the tab: whose page it is, and the tabs.
func (a *app) pageHead() []string {
	switch {
	case a.height < 6:
		return nil
	case a.height < 10:
		return []string{a.tabBar()}
	}
	return []string{a.pageTitle(), a.tabBar()}
}

// pageTitle says whose page it is and how the pod is looked at.
func (a *app) pageTitle() string {
	st := a.styles
	r, ok := a.podOnPage()
	if !ok {
		return st.dim.Render("this pod was not there at the moment that is shown")
	}
	p := r.pod
	left := []part{{st.bold.Render(middle(render.Clean(p.Meta.Name), max(8, min(a.width-2, 2*a.width/3)))), 0}}
	if p.Meta.Namespace != "" {
		left = append(left, part{render.Clean(p.Meta.Namespace), 3})
	}
	if p.Node != "" {
		node := a.nodes[p.Node]
		if node == "" {
			node = render.Clean(p.Node)
		}
		if n, ok := p.Process.CPUsAllowed.Get(); ok {
			node += "/" + strconv.FormatInt(n, 10) + "c"
		}
		left = append(left, part{"on " + node, 4})
	}
	if !p.Meta.Created.IsZero() && a.viewNow().After(p.Meta.Created) {
		left = append(left, part{"age " + render.Age(a.viewNow(), p.Meta.Created), 5})
	}
	return squeeze(left, a.lookedAt(p), a.width)
}

// lookedAt says how the pod's figures come about, until when, and how old they are.
func (a *app) lookedAt(p *model.Pod) []part {
	st := a.styles
	c := p.Collection
	via := render.Clean(string(c.Via))
	if c.Via == model.ViaMetrics {
		via = "metrics only"
	}
	style := st.dim
	switch c.Stage {
	case model.StageOK:
		if !c.Until.IsZero() {
			via += " to " + c.Until.UTC().Format("15:04Z")
		}
	case model.StageGone:
		via, style = "gone, kept as last seen", st.warn
	default:
		via, style = strings.TrimSpace(via+" "+render.Clean(string(c.Stage))), st.warn
	}
	if a.rows[a.detail] == nil {
		via, style = "gone, kept as last seen", st.warn
	}
	parts := []part{{style.Render(via), 1}}
	if !p.Sample.Arrived.IsZero() {
		parts = append(parts, part{st.dim.Render(render.Age(a.viewNow(), p.Sample.Arrived) + " old"), 2})
	}
	return parts
}

// tabBar names the tabs, the open one in brackets; where there is little room the
// others by their numbers.
func (a *app) tabBar() string {
	open := a.openPage().tab
	bar := func(short bool) string {
		var names []string
		for t := range tabCount {
			name := strconv.Itoa(int(t) + 1)
			if !short || t == open {
				name += " " + t.title()
			}
			if t == open {
				name = a.styles.title.Render("[" + name + "]")
			} else {
				name = a.styles.dim.Render(name)
			}
			names = append(names, name)
		}
		return strings.Join(names, "  ")
	}
	return bar(a.width < 60)
}

// squeeze sets parts at the two ends of a line. What there is no room for is left
// out, what matters least first.
func squeeze(left, right []part, width int) string {
	for joined(left)+joined(right)+2 > width && len(left)+len(right) > 1 {
		least := &left
		if lowest(right) > lowest(left) {
			least = &right
		}
		at := slices.IndexFunc(*least, func(p part) bool { return p.rank == lowest(*least) })
		*least = slices.Delete(*least, at, at+1)
	}
	return spread(textOf(left), textOf(right), width)
}

// tabLines are the lines of the open tab.
func (a *app) tabLines(p *podPage) []string {
	r, ok := a.podOnPage()
	if !ok {
		return []string{"", "  " + a.styles.dim.Render("no figures of this pod at the moment that is shown; ] goes on, p to the present, esc to the list")}
	}
	d := &detail{app: a, page: p, pod: *r.pod, row: r}
	switch p.tab {
	case verdictTab:
		d.verdictTab()
	case queuesTab:
		d.queuesTab()
	case workersTab:
		d.workersTab()
	case configTab:
		d.configTab()
	case eventsTab:
		d.eventsTab()
	default:
		d.rawTab()
	}
	return d.lines
}

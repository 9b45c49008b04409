package tui

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// measure sees how much room the columns need whose texts differ in length, and
// what of the nodes' names tells them apart.
func (a *app) measure() {
	a.nodes = map[string]string{}
	for _, r := range a.rows {
		a.nodes[r.pod.Node] = render.Clean(r.pod.Node)
	}
	names := make([]string, 0, len(a.nodes))
	for _, name := range a.nodes {
		names = append(names, name)
	}
	head, tail := shared(names)
	for node, name := range a.nodes {
		a.nodes[node] = name[head : len(name)-tail]
	}
	a.widths = map[string]int{}
	for _, r := range a.rows {
		a.widths[columnNode] = max(a.widths[columnNode], ansi.StringWidth(a.nodeWord(r)))
		a.widths[columnListener] = max(a.widths[columnListener], ansi.StringWidth(listenerWord(r, 99)))
	}
}

// shared is how many bytes all names begin and end with, up to a hyphen or a dot:
// a pool's name and a domain.
func shared(names []string) (head, tail int) {
	if len(names) < 2 {
		return 0, 0
	}
	low, high := slices.Min(names), slices.Max(names)
	for i := 0; i < min(len(low), len(high)) && low[i] == high[i]; i++ {
		if strings.IndexByte("-.", low[i]) >= 0 {
			head = i + 1
		}
	}
	suffix := names[0][head:]
	for _, name := range names {
		for !strings.HasSuffix(name[head:], suffix) {
			suffix = suffix[1:]
		}
	}
	dot := strings.IndexByte(suffix, '.')
	if dot < 0 {
		return head, 0
	}
	return head, len(suffix) - dot
}

// placed is a column with the place it has on this screen.
type placed struct {
	column
	at int
}

// sized gives the column the width and title that it has on this screen.
func (a *app) sized(c column) column {
	if a.width >= 100 || c.brief == "" {
		c.brief = c.title
	}
	switch {
	case a.width < 60:
		c.width = cmp.Or(c.tiny, c.narrow, c.width)
	case a.width < 100:
		c.width = cmp.Or(c.narrow, c.width)
	case a.width >= 140:
		c.width = cmp.Or(c.wide, c.width)
	}
	if c.fits > 0 && (a.width >= 140 || c.title == columnNode) {
		c.width = min(max(c.width, a.widths[c.title]), c.fits)
	}
	return c
}

// place chooses the columns for the screen's width and gives the width of the name
// and where the sentence behind the verdict begins.
func (a *app) place() (cols []placed, name, end int) {
	longest := max(a.longest, minName)
	room := a.width - markWidth - min(longest, max(minName, a.width/4))
	candidates := make([]column, 0, len(a.columns))
	for _, c := range a.columns {
		shown, chosen := a.wanted[c.id()]
		if chosen && !shown || c.title == columnWhy {
			continue
		}
		if chosen {
			c.rank -= 100 // before all that nobody asked for
		}
		candidates = append(candidates, a.sized(c))
	}
	order := slices.Clone(candidates)
	slices.SortStableFunc(order, func(x, y column) int { return cmp.Compare(x.rank, y.rank) })
	takes := map[string]bool{}
	for _, c := range order {
		if c.width+1 <= room {
			takes[c.id()] = true
			room -= c.width + 1
		}
	}
	used := markWidth
	for _, c := range candidates {
		if takes[c.id()] {
			cols = append(cols, placed{column: c})
			used += c.width + 1
		}
	}
	name = max(1, min(longest, maxName, a.width-used))
	at := markWidth + name + 1
	for i := range cols {
		cols[i].at = at
		at += cols[i].width + 1
	}
	return cols, name, at
}

// minName keeps the columns in place while names are short.
const minName = 12

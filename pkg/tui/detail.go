package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// detail gathers the page's lines.
type detail struct {
	*app
	pod   model.Pod
	row   *row
	lines []string
}

func (d *detail) add(lines ...string) { d.lines = append(d.lines, lines...) }

func (d *detail) section(name, about string) {
	line := d.styles.title.Render(name)
	if about != "" {
		line += "  " + d.styles.dim.Render(render.Clean(about))
	}
	d.add("", line)
}

const labelWidth = 18

// field adds a labelled text, wrapped with a hanging indent.
func (d *detail) field(label, text string, style lipgloss.Style) {
	for i, l := range wrap(render.Clean(text), d.width-labelWidth-3) {
		head := ""
		if i == 0 {
			head = label
		}
		d.add("  " + d.styles.dim.Render(cell(head, labelWidth, false)) + style.Render(l))
	}
}

func (d *detail) plain(label, text string) { d.field(label, text, d.styles.plain) }

func (d *detail) listeners() {
	p := d.pod
	about := ""
	if p.HostNetwork {
		about = "of the node: " + model.ReasonHostNetwork
	}
	d.section("Listeners", about)
	if len(p.Listeners) == 0 {
		d.add("  " + d.styles.dim.Render(cmp.Or(d.stageText(d.row), render.Clean(p.Sockets.Reason()), "nothing listens in this pod")))
		return
	}
	head := []string{"LISTENER", "ADDRESS", "Q/LIMIT", "", "PEAK", "OVF", "OVF/s", "DROPS", "INODE"}
	table := [][]string{head}
	styles := []lipgloss.Style{d.styles.dim}
	for _, l := range render.ByUrgency(p) {
		s := l.Worst()
		fill, ok := render.Fill(s)
		style := d.styles.level(fill, 0.5, 1)
		if l.Window.Overflows.Or(0) > 0 {
			style = d.styles.bad
		}
		inode := render.Count(s.Inode)
		if len(l.Sockets) > 1 {
			inode = ""
		}
		table = append(table, []string{
			render.Listener(l), render.Clean(l.String()), render.Queue(s), orElse(ok, bar(fill, 8), ""),
			render.Peak(l), render.Short(l.Window.Overflows),
			render.Rate(p.Window.PerSecond(l.Window.Overflows)), render.Short(render.SocketDrops(l)), inode,
		})
		styles = append(styles, style)
		for i, s := range several(l.Sockets) {
			fill, ok := render.Fill(s)
			table = append(table, []string{
				fmt.Sprintf("  socket %d", i+1), owners(s), render.Queue(s), orElse(ok, bar(fill, 8), ""),
				"", "", "", render.Short(s.Drops), render.Count(s.Inode),
			})
			styles = append(styles, d.styles.level(fill, 0.5, 1))
		}
	}
	for i, l := range alignTable(table, []bool{false, false, true, false, true, true, true, true, true}) {
		d.add("  " + styles[i].Render(l))
	}
}

// several is the sockets of a listener that has more than one, bounded: a page
// of thousands helps nobody.
func several(sockets []model.Socket) []model.Socket {
	if len(sockets) < 2 {
		return nil
	}
	return sockets[:min(len(sockets), 64)]
}

func owners(s model.Socket) string {
	var names []string
	for _, o := range s.Owners[:min(3, len(s.Owners))] {
		names = append(names, fmt.Sprintf("%s/%d", render.Clean(o.Name), o.PID))
	}
	return strings.Join(names, " ")
}

// alignTable pads the cells of each column to its widest.
func alignTable(table [][]string, right []bool) []string {
	widths := make([]int, len(right))
	for _, row := range table {
		for i, c := range row {
			widths[i] = max(widths[i], min(40, lipgloss.Width(c)))
		}
	}
	lines := make([]string, len(table))
	for i, row := range table {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = cell(c, widths[j], right[j])
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return lines
}

package tui

import (
	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// styles are the screen's few colours. Every one of them only repeats what a
// word or a mark beside it says.
type styles struct {
	plain, bold, dim, title, heading lipgloss.Style
	bad, warn, good, info            lipgloss.Style
	// selected is the background of the selected row.
	selected lipgloss.AdaptiveColor
}

func newStyles(r *lipgloss.Renderer) styles {
	color := func(light, dark string) lipgloss.Style {
		return r.NewStyle().Foreground(lipgloss.AdaptiveColor{Light: light, Dark: dark})
	}
	return styles{
		plain:    r.NewStyle(),
		bold:     r.NewStyle().Bold(true),
		dim:      color("243", "245"),
		title:    color("25", "117").Bold(true),
		heading:  color("240", "250").Underline(true),
		bad:      color("160", "203").Bold(true),
		warn:     color("130", "221"),
		good:     color("28", "114"),
		info:     color("61", "147"),
		selected: lipgloss.AdaptiveColor{Light: "254", Dark: "236"},
	}
}

// marked are the same styles on the background of the selected line.
func (s styles) marked() styles {
	for _, style := range []*lipgloss.Style{&s.plain, &s.bold, &s.dim, &s.bad, &s.warn, &s.good, &s.info} {
		*style = style.Background(s.selected)
	}
	return s
}

func (s styles) state(state model.State) lipgloss.Style {
	switch state {
	case model.StateOverflowing, model.StateFull, model.StateStalled:
		return s.bad
	case model.StateSaturated, model.StateDrift, model.State(model.StageStale), model.State(model.StageEnded):
		return s.warn
	case model.StateUnknown, model.StatePending:
		return s.info
	case model.StateOK:
		return s.good
	case model.State(model.ClassAcceptStalled), model.State(model.ClassFDExhausted), model.State(model.ClassCPUStarved), model.State(model.ClassSaturated):
		return s.bad
	case model.StateGone:
		return s.dim
	case model.State(model.ClassStarting), model.State(model.ClassHistory), model.State(model.ClassNotAttributable):
		return s.info
	default:
		return s.warn // the other verdicts
	}
}

// level colours a share from 0 to 1 by how near its end it is.
func (s styles) level(share, warn, bad float64) lipgloss.Style {
	switch {
	case share >= bad:
		return s.bad
	case share >= warn:
		return s.warn
	default:
		return s.plain
	}
}

func (s styles) help() help.Styles {
	return help.Styles{
		ShortKey: s.bold, ShortDesc: s.dim, ShortSeparator: s.dim, Ellipsis: s.dim,
		FullKey: s.bold, FullDesc: s.dim, FullSeparator: s.dim,
	}
}

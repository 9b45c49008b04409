package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// sparkline draws rates as blocks: the lowest is 0, a gap is unknown. It is
// scaled to its own highest, but never so that less than one a second fills it.
func sparkline(values []model.Value[float64]) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	top := 1.0
	for _, v := range values {
		top = max(top, v.Or(0))
	}
	var b strings.Builder
	for _, v := range values {
		f, ok := v.Get()
		switch {
		case !ok:
			b.WriteByte(' ')
		case f <= 0:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[1+min(len(levels)-2, int(f/top*float64(len(levels)-1)))])
		}
	}
	return b.String()
}

// bar draws a share from 0 to 1 over n columns, in eighths; anything above 0 is
// seen. It is always n columns wide.
func bar(share float64, n int) string {
	eighths := []rune("▏▎▍▌▋▊▉█")
	share = min(1, max(0, share))
	total := int(share*float64(n)*8 + 0.5)
	if share > 0 {
		total = max(1, total)
	}
	full, rest := total/8, total%8
	s := strings.Repeat("█", full)
	if rest > 0 {
		s += string(eighths[rest-1])
	}
	return s + strings.Repeat(" ", max(0, n-full-min(1, rest)))
}

// cell makes text exactly n columns wide.
func cell(text string, n int, right bool) string {
	if n <= 0 {
		return ""
	}
	w := ansi.StringWidth(text)
	if w > n {
		text = ansi.Truncate(text, n, "…")
		w = ansi.StringWidth(text)
	}
	fill := strings.Repeat(" ", max(0, n-w))
	if right {
		return fill + text
	}
	return text + fill
}

// middle cuts a name in its middle: a pod's last part tells it from its siblings.
func middle(name string, n int) string {
	w := ansi.StringWidth(name)
	if w <= n {
		return name
	}
	if n <= 1 {
		return ansi.Truncate(name, max(0, n), "")
	}
	head := (n - 1) / 3
	tail := n - 1 - head
	end := ansi.TruncateLeft(name, w-tail, "")
	for cut := w - tail + 1; ansi.StringWidth(end) > tail; cut++ { // half of a wide character
		end = ansi.TruncateLeft(name, cut, "")
	}
	return ansi.Truncate(name, head, "") + "…" + end
}

// fit cuts a view to the screen. A view that is taller than its terminal loses
// its top lines, so too many lines are cut at the bottom.
func fit(view string, width, height int) string {
	lines := strings.Split(view, "\n")
	if len(lines) > height {
		lines = lines[:max(0, height)]
	}
	for i, line := range lines {
		if ansi.StringWidth(line) > width {
			lines[i] = ansi.Truncate(line, max(0, width), "")
		}
	}
	return strings.Join(lines, "\n")
}

// spread puts left and right at the two ends of a line; when they do not fit
// beside each other the left one is cut.
func spread(left, right string, width int) string {
	r := ansi.StringWidth(right)
	if r+1 >= width {
		return ansi.Truncate(right, max(0, width), "")
	}
	if r > 0 {
		r++
	}
	return cell(left, width-r, false) + strings.Repeat(" ", min(1, r)) + right
}

// wrap breaks text into lines of at most n columns.
func wrap(text string, n int) []string {
	return strings.Split(ansi.Wrap(text, max(1, n), ""), "\n")
}

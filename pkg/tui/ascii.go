package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"
)

// toASCII writes a finished view with the characters of 1968. Everything keeps its
// width, so that nothing has to be laid out anew: one column becomes one character.
// Colours are escape sequences, which are ASCII already.
func toASCII(view string) string {
	var b strings.Builder
	b.Grow(len(view))
	for _, r := range view {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r >= '▁' && r <= '█': // sparklines, and the full part of bars
			b.WriteByte("_.:-=+*#"[r-'▁'])
		case r >= '▉' && r <= '▏': // the last part of a bar, widest first
			b.WriteByte("==----.."[min(7, r-'▉')])
		default:
			b.WriteString(plainly(r))
		}
	}
	return b.String()
}

// plainly is a character by another of the same width.
func plainly(r rune) string {
	switch r {
	case '▸':
		return "+"
	case '▾', '─', '━', '—', '–', '−':
		return "-"
	case '│', '┃':
		return "|"
	case '┌', '┐', '└', '┘', '├', '┤', '┬', '┴', '┼':
		return "+"
	case '▼', '↓':
		return "v"
	case '▲', '↑':
		return "^"
	case '→', '⏎', '≥', '›', '»':
		return ">"
	case '←', '≤', '‹', '«':
		return "<"
	case '≠':
		return "!"
	case '×':
		return "x"
	case '…':
		return "~"
	case '·', '•':
		return "."
	case '‘', '’':
		return "'"
	case '“', '”':
		return `"`
	}
	return strings.Repeat("?", ansi.StringWidth(string(r)))
}

// spell names the keys in words where their signs are not ASCII.
func (k *keyMap) spell() {
	for _, b := range []*key.Binding{
		&k.up, &k.down, &k.open, &k.accept, &k.fold, &k.unfold, &k.nextTab, &k.prevTab,
	} {
		h := b.Help()
		b.SetHelp(strings.NewReplacer("⏎", "enter", "↑", "up", "↓", "down", "←", "left", "→", "right").Replace(h.Key), h.Desc)
	}
}

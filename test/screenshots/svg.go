package main

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// Sizes of a picture, in its own units.
const (
	cellWidth  = 8.4
	lineHeight = 18.0
	margin     = 14.0
	titleBar   = 36.0
	foreground = "#d7dae0"
	background = "#16181d"
)

// writeSVG draws the lines as a terminal's window. Each piece of text is stretched to
// its columns, so that they stand under each other whatever font there is.
func writeSVG(w io.Writer, title string, lines [][]span) {
	columns := 0
	for _, spans := range lines {
		for _, s := range spans {
			columns = max(columns, s.at+s.width())
		}
	}
	width := 2*margin + float64(columns)*cellWidth
	height := titleBar + float64(len(lines))*lineHeight + margin
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n", width, height, html.EscapeString(title))
	p(`<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}</style>` + "\n")
	p(`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		p(`<circle cx="%d" cy="18" r="5.5" fill="%s"/>`, 18+18*i, c)
	}
	p("\n"+`<text x="%.1f" y="23" text-anchor="middle" fill="#9aa0a6">%s</text>`+"\n", width/2, html.EscapeString(title))
	for i, spans := range lines {
		y := titleBar + float64(i)*lineHeight
		for _, s := range spans {
			s.draw(p, y)
		}
	}
	p("</svg>\n")
}

func (s span) draw(p func(string, ...any), y float64) {
	fg, bg := s.fg, s.bg
	if s.reverse {
		fg, bg = orElse(bg, background), orElse(fg, foreground)
	}
	fg = orElse(fg, foreground)
	x, n := margin+float64(s.at)*cellWidth, float64(s.width())*cellWidth
	if bg != "" {
		p(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, n, lineHeight, bg)
	}
	if strings.TrimSpace(s.text) == "" {
		return
	}
	more := ""
	if s.bold {
		more += ` font-weight="bold"`
	}
	if s.dim {
		more += ` opacity="0.6"`
	}
	if s.underline {
		more += ` text-decoration="underline"`
	}
	p(`<text x="%.1f" y="%.1f" fill="%s"%s textLength="%.1f">%s</text>`+"\n", x, y+13, fg, more, n, html.EscapeString(s.text))
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

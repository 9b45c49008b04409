package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// style is how a piece of text looks. Colours are #rrggbb, or empty for the
// terminal's own.
type style struct {
	fg, bg                        string
	bold, dim, underline, reverse bool
}

// span is text of one style, from a column of its line on.
type span struct {
	style
	at   int
	text string
}

// width in columns: the screen uses no wide characters.
func (s span) width() int { return utf8.RuneCountInString(s.text) }

// readLine takes a line apart, starting in the style that the line before ended with.
func readLine(line string, now style) ([]span, style) {
	var spans []span
	column := 0
	for line != "" {
		at := strings.IndexByte(line, 0x1b)
		text := line
		if at >= 0 {
			text = line[:at]
		}
		if text != "" {
			spans = append(spans, span{style: now, at: column, text: text})
			column += utf8.RuneCountInString(text)
		}
		if at < 0 {
			break
		}
		line = line[at+1:]
		if !strings.HasPrefix(line, "[") {
			continue // a sequence that draws nothing
		}
		end := strings.IndexFunc(line[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			break
		}
		params, final := line[1:1+end], line[1+end]
		line = line[2+end:]
		if final == 'm' {
			now = now.change(params)
		}
	}
	return trimRight(spans), now
}

// trimRight leaves out blanks at the end that nobody would see.
func trimRight(spans []span) []span {
	for len(spans) > 0 {
		s := &spans[len(spans)-1]
		if s.bg != "" || s.reverse {
			return spans
		}
		if s.text = strings.TrimRight(s.text, " "); s.text != "" {
			return spans
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// change applies the parameters of an SGR sequence.
func (s style) change(params string) style {
	var n []int
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' }) {
		v, err := strconv.Atoi(p)
		if err != nil {
			return s
		}
		n = append(n, v)
	}
	if len(n) == 0 {
		return style{}
	}
	for i := 0; i < len(n); i++ {
		switch v := n[i]; {
		case v == 0:
			s = style{}
		case v == 1:
			s.bold = true
		case v == 2:
			s.dim = true
		case v == 4:
			s.underline = true
		case v == 7:
			s.reverse = true
		case v == 22:
			s.bold, s.dim = false, false
		case v == 24:
			s.underline = false
		case v == 27:
			s.reverse = false
		case v >= 30 && v <= 37:
			s.fg = palette(v - 30)
		case v >= 90 && v <= 97:
			s.fg = palette(v - 90 + 8)
		case v >= 40 && v <= 47:
			s.bg = palette(v - 40)
		case v >= 100 && v <= 107:
			s.bg = palette(v - 100 + 8)
		case v == 39:
			s.fg = ""
		case v == 49:
			s.bg = ""
		case v == 38 || v == 48:
			color, used := extended(n[i+1:])
			i += used
			if v == 38 {
				s.fg = color
			} else {
				s.bg = color
			}
		}
	}
	return s
}

// extended reads 5;N and 2;R;G;B.
func extended(n []int) (color string, used int) {
	switch {
	case len(n) >= 2 && n[0] == 5:
		return palette(n[1]), 2
	case len(n) >= 4 && n[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", n[1]&255, n[2]&255, n[3]&255), 4
	}
	return "", len(n)
}

// palette is xterm's, of 256 colours.
func palette(n int) string {
	basic := [...]string{
		"#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
		"#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
	}
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return basic[n]
	case n < 232:
		level := [...]int{0, 95, 135, 175, 215, 255}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level[n/36], level[n/6%6], level[n%6])
	}
	gray := 8 + (n-232)*10
	return fmt.Sprintf("#%02x%02x%02x", gray, gray, gray)
}

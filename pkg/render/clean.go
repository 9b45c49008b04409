package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a string from outside safe to print on one line of a terminal:
// control characters (C0, DEL, C1, whose U+009B is an escape sequence's start
// in many terminals), invisible and bidirectional format characters, line and
// paragraph separators, private and unassigned code points and broken UTF-8
// are shown as escapes: \n, \t, \x1b, \u202e. Any other character stays.
func Clean(s string) string { return clean(s, "") }

// cleanData is Clean for the data formats, where a message may have lines.
func cleanData(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	bad := func(r rune) bool { return !printable(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !bad(r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// printable is unicode.IsPrint, with marks that combine left out: stacked ones
// paint over neighbouring lines.
func printable(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.M, r) || unicode.Is(unicode.Mc, r)
}

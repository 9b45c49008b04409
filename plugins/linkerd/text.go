package linkerd

import (
	"strconv"
	"unicode/utf8"
)

// shown is how much of a value from a pod's spec is repeated; an annotation may
// hold 256 KiB.
const shown = 120

// clip shortens a value that comes from outside.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= shown {
		return s
	}
	return string([]rune(s)[:shown]) + "…"
}

// quote shortens a value and makes it safe to stand in a sentence.
func quote(s string) string { return strconv.Quote(clip(s)) }

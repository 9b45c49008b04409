package parse

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxErrorText is how much of a malformed line an error carries, in runes.
	maxErrorText = 120
	// maxErrors is how many malformed lines of one text are told one by one.
	maxErrors = 32
)

// LineError says which line of what could not be read. The lines around it were
// kept.
type LineError struct {
	// What was read: "ss", "nstat", "/proc/net/tcp", "frame".
	What string
	// Line counts from 1 within what was read; 0 when the whole of it is meant.
	Line int
	// Text is the line, cut to 120 runes and otherwise as it came: Error quotes it.
	Text string
	// Msg says what is wrong with it: "Recv-Q is not a number".
	Msg string
}

// Error gives one line without control characters, whatever the text holds.
func (e *LineError) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Line > 0 {
		b.WriteString(" line ")
		b.WriteString(strconv.Itoa(e.Line))
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Text != "" {
		b.WriteString(": ")
		b.WriteString(strconv.Quote(e.Text))
	}
	return b.String()
}

// shorten cuts to a number of runes and copies, so that an error that is kept
// does not keep the whole text it came from.
func shorten(s string, runes int) string {
	s = strings.TrimRight(s, " \t\r\n")
	for i := range s {
		if runes == 0 {
			return s[:i] + "…"
		}
		runes--
	}
	return strings.Clone(s)
}

// harmless makes a message of a library fit for Msg: some repeat a byte of the
// input as it is.
func harmless(msg string) string {
	return shorten(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, msg), maxErrorText)
}

// problems gathers the malformed lines of one text, a bounded number of them.
type problems struct {
	what string
	list []error
	more int
	// moreFrom is the first line that was counted only.
	moreFrom int
}

func (p *problems) add(line int, text, msg string) {
	if len(p.list) >= maxErrors {
		if p.more == 0 {
			p.moreFrom = line
		}
		p.more++
		return
	}
	p.list = append(p.list, &LineError{What: p.what, Line: line, Text: shorten(text, maxErrorText), Msg: msg})
}

// errors gives what was gathered; the last one stands for those beyond the bound.
func (p *problems) errors() []error {
	if p.more == 0 {
		return p.list
	}
	return append(p.list, &LineError{
		What: p.what, Line: p.moreFrom,
		Msg: fmt.Sprintf("from here on %d more lines could not be read", p.more),
	})
}

// cutLine splits off the first line, without its end; a carriage return before
// the newline, as a terminal adds, is not part of the line.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// cutField splits off the first field; fields are separated by blanks and tabs.
// At the end it gives "".
func cutField(line string) (field, rest string) {
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, ""
}

// count parses a figure that cannot be negative.
func count(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// valid copies, and replaces bytes that are no UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

package parse

import (
	"bufio"
	"errors"
	"io"
)

// lineReader gives lines of bounded length, without allocating for each.
type lineReader struct {
	r    *bufio.Reader
	max  int
	long []byte // a line that did not fit the bufio.Reader's buffer
	torn bool   // the line that was given last had no end
}

// next gives the next line without its end. Of a line longer than the bound it
// gives the beginning, and whole is false. The line is good until the next
// call. A last line without an end is given too, and torn is set.
func (l *lineReader) next() (line []byte, whole bool, err error) {
	l.long = l.long[:0]
	whole = true
	for {
		part, err := l.r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !full {
			l.torn = true
			// What arrived before the end of the input, or before it broke.
			if len(part) == 0 && len(l.long) == 0 {
				return nil, false, err
			}
			if !errors.Is(err, io.EOF) {
				return nil, false, err
			}
		}
		if !full && len(l.long) == 0 { // the usual case: no copy
			line = trimEnd(part)
			return line, len(line) <= l.max, nil
		}
		if room := l.max - len(l.long) + 2; len(part) > room {
			part, whole = part[:max(room, 0)], false
		}
		l.long = append(l.long, part...)
		if !full {
			line = trimEnd(l.long)
			return line, whole && len(line) <= l.max, nil
		}
	}
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

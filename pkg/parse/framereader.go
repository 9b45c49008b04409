package parse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Bounds of what a FrameReader takes. A frame of ten listeners has 2 KB.
const (
	maxLine     = 64 << 10
	maxFrame    = 4 << 20
	maxSections = 256
)

const (
	markPrefix    = "==backlog-"
	framePrefix   = "==backlog-frame/"
	beginPrefix   = "==backlog-frame/1 begin seq="
	endPrefix     = "==backlog-frame/1 end seq="
	sectionPrefix = "==backlog-section "
	markSuffix    = "=="
)

// FrameReader reads frames from a probe's log, one after the other, and never
// beyond the end of the frame that it returns.
type FrameReader struct {
	// Dropped counts the frames that were not returned: without their end mark,
	// with an end mark of another seq, or beyond the bounds.
	Dropped int
	// Stray is the last line outside of any frame, cut to 120 runes: where a
	// probe gives no frame, what its container printed instead says why. It is as
	// it came and may hold terminal escapes.
	Stray string
	// OtherVersion is the version of frames that this reader does not know, when
	// the log holds such.
	OtherVersion string

	in   lineReader
	text []byte    // of the sections of the open frame
	cuts []section // its sections
	bad  problems  // its malformed lines
}

// section is a Section whose text is a part of FrameReader.text.
type section struct {
	name, arg  string
	begin, end int
}

// NewFrameReader reads frames from r: a followed log, a recording, the output
// of an exec.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{in: lineReader{r: bufio.NewReader(r), max: maxLine}}
}

// Next gives the next complete frame. It is io.EOF when the input ends, inside
// of a frame or not, and any other error is the input's own. A malformed line
// is no error but a warning of its frame.
func (r *FrameReader) Next() (Frame, error) {
	var (
		open bool
		f    Frame
		line int // within the frame, from 1 at its begin mark
	)
	for {
		text, whole, err := r.in.next()
		if err != nil {
			if open {
				r.Dropped++
			}
			if errors.Is(err, io.EOF) {
				return Frame{}, io.EOF
			}
			return Frame{}, fmt.Errorf("reading a frame: %w", err)
		}
		line++
		isMark := whole && len(text) >= len(markPrefix) && string(text[:len(markPrefix)]) == markPrefix
		if isMark {
			mark := string(text)
			if seq, uptime, ok := beginMark(mark); ok {
				if open { // the one before never ended
					r.Dropped++
				}
				open, line = true, 1
				f = r.begin(seq, uptime, mark)
				continue
			}
			if seq, ok := endMark(mark); ok && open {
				if seq == f.Seq {
					r.finish(&f)
					return f, nil
				}
				open = false
				r.Dropped++
				continue
			}
			if name, arg, ok := sectionMark(mark); ok && open {
				if len(r.cuts) == maxSections {
					open = false
					r.Dropped++
					continue
				}
				r.cut()
				r.cuts = append(r.cuts, section{name: name, arg: arg, begin: len(r.text), end: -1})
				continue
			}
			if v, ok := otherVersion(mark); ok && !open {
				r.OtherVersion = v
			}
		}
		switch {
		case !open:
			if len(text) > 0 {
				r.Stray = shorten(string(text[:min(len(text), 4*maxErrorText)]), maxErrorText)
			}
		case !whole:
			r.bad.add(line, string(text[:min(len(text), 4*maxErrorText)]), "line is longer than 64 KiB")
		case len(r.text)+len(text) >= maxFrame:
			open = false
			r.Dropped++
		case len(r.cuts) == 0:
			if len(text) > 0 {
				r.bad.add(line, string(text), "line before the first section")
			}
		default:
			if isMark {
				r.bad.add(line, string(text), "not a mark of frame version 1")
			}
			r.text = append(append(r.text, text...), '\n')
		}
	}
}

func (r *FrameReader) begin(seq uint64, uptime, mark string) Frame {
	r.text, r.cuts = r.text[:0], r.cuts[:0]
	r.bad = problems{what: "frame"}
	f := Frame{Seq: seq}
	seconds, err := strconv.ParseFloat(uptime, 64)
	if err == nil && seconds >= 0 && seconds < 1e12 {
		f.Uptime = model.Known(seconds)
		return f
	}
	f.Uptime = model.Unknown[float64]("the sampler could not read /proc/uptime")
	if uptime != "" {
		r.bad.add(1, mark, "uptime is not a number of seconds")
	}
	return f
}

// cut ends the section that is open.
func (r *FrameReader) cut() {
	if n := len(r.cuts); n > 0 && r.cuts[n-1].end < 0 {
		r.cuts[n-1].end = len(r.text)
	}
}

// finish makes one string of all sections' text and reads them.
func (r *FrameReader) finish(f *Frame) {
	r.cut()
	text := string(r.text)
	f.Sections = make([]Section, len(r.cuts))
	for i, c := range r.cuts {
		f.Sections[i] = Section{Name: c.name, Arg: c.arg, Text: text[c.begin:c.end]}
	}
	f.Warnings = r.bad.errors()
	f.read()
}

// beginMark reads ==backlog-frame/1 begin seq=17 uptime=83421.07==
func beginMark(s string) (seq uint64, uptime string, ok bool) {
	s, ok = between(s, beginPrefix)
	if !ok {
		return 0, "", false
	}
	number, uptime, ok := strings.Cut(s, " uptime=")
	if !ok || strings.ContainsAny(uptime, "= ") {
		return 0, "", false
	}
	seq, ok = seqNumber(number)
	return seq, uptime, ok
}

// endMark reads ==backlog-frame/1 end seq=17==
func endMark(s string) (seq uint64, ok bool) {
	if s, ok = between(s, endPrefix); !ok {
		return 0, false
	}
	return seqNumber(s)
}

// sectionMark reads ==backlog-section NAME== and ==backlog-section NAME ARG==
func sectionMark(s string) (name, arg string, ok bool) {
	if s, ok = between(s, sectionPrefix); !ok {
		return "", "", false
	}
	name, arg, hasArg := strings.Cut(s, " ")
	if !isWord(name) || hasArg && !isWord(arg) {
		return "", "", false
	}
	return name, arg, true
}

// otherVersion reads the version from a frame mark, when it is not this one.
func otherVersion(s string) (string, bool) {
	s, ok := between(s, framePrefix)
	version, _, _ := strings.Cut(s, " ")
	return version, ok && version != "1" && isWord(version)
}

func between(s, prefix string) (string, bool) {
	s, ok1 := strings.CutPrefix(s, prefix)
	s, ok2 := strings.CutSuffix(s, markSuffix)
	return s, ok1 && ok2
}

func seqNumber(s string) (uint64, bool) {
	if !isDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// isWord bounds what a name in a mark may be.
func isWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 64
}

package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	begin1 = "==backlog-frame/1 begin seq=1 uptime=1.00==\n"
	begin2 = "==backlog-frame/1 begin seq=2 uptime=2.00==\n"
	end1   = "==backlog-frame/1 end seq=1==\n"
	end2   = "==backlog-frame/1 end seq=2==\n"
	ss80   = "==backlog-section ss==\nLISTEN 0 5 *:80 *:*\n"
)

// Logs rotate, connections break, containers say other things first: a frame is
// whole or it is not there.
func TestFrameReaderTakesWholeFramesOnly(t *testing.T) {
	for _, test := range []struct {
		name, log string
		seqs      string
		dropped   int
		stray     string
	}{
		{"nothing", "", "[]", 0, ""},
		{"two", begin1 + ss80 + end1 + begin2 + ss80 + end2, "[1 2]", 0, ""},
		{"words before, between and after", "sh: hello\n" + begin1 + ss80 + end1 + "other\n" + begin2 + ss80 + end2 + "bye\n", "[1 2]", 0, "bye"},
		{"begins in the middle", "LISTEN 0 5 *:80 *:*\n" + end1 + begin2 + end2, "[2]", 0, "==backlog-frame/1 end seq=1=="},
		{"ends in the middle", begin1 + ss80 + end1 + begin2 + ss80, "[1]", 1, ""},
		{"ends in the middle of a line", begin1 + ss80 + end1 + begin2 + "==backlog-section ss==\nLISTEN 0", "[1]", 1, ""},
		{"no newline behind the last mark", begin1 + ss80 + strings.TrimSpace(end1), "[1]", 0, ""},
		{"end mark is missing", begin1 + ss80 + begin2 + ss80 + end2, "[2]", 1, ""},
		{"end mark of another frame", begin1 + ss80 + end2 + begin2 + ss80 + end2, "[2]", 1, ""},
		{"the same frame twice", begin1 + ss80 + end1 + begin1 + ss80 + end1, "[1 1]", 0, ""},
		{"carriage returns of a terminal", strings.ReplaceAll(begin1+ss80+end1, "\n", "\r\n"), "[1]", 0, ""},
		{"the largest seq", strings.ReplaceAll(begin1+end1, "seq=1", "seq=18446744073709551615"), "[18446744073709551615]", 0, ""},
		{"a seq beyond it", strings.ReplaceAll(begin1+end1, "seq=1", "seq=18446744073709551616"), "[]", 0, "==backlog-frame/1 end seq=18446744073709551616=="},
		{"a seq with a sign", strings.ReplaceAll(begin1+end1, "seq=1", "seq=+1"), "[]", 0, "==backlog-frame/1 end seq=+1=="},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, r := frames(t, test.log)
			var seqs []uint64
			for _, f := range all {
				seqs = append(seqs, f.Seq)
			}
			if fmt.Sprint(seqs) != test.seqs || r.Dropped != test.dropped || r.Stray != test.stray {
				t.Errorf("frames %v, dropped %d, stray %q; want %s, %d, %q", seqs, r.Dropped, r.Stray, test.seqs, test.dropped, test.stray)
			}
		})
	}
}

// A mark is a whole line in one exact form. Whatever else looks like one is text
// of its section, and told.
func TestFrameReaderForgedMarks(t *testing.T) {
	for _, line := range []string{
		"==backlog-frame/1 end seq=1== ",
		" ==backlog-frame/1 end seq=1==",
		"==backlog-frame/1 end seq=1",
		"==backlog-frame/1 end seq=1==x",
		"==backlog-frame/1 end seq= 1==",
		"==backlog-frame/1 begin seq=2==",
		"==backlog-frame/1 begin seq=2 uptime=1.00 x==",
		"==backlog-frame/2 begin seq=2 uptime=1.00==",
		"==backlog-section==",
		"==backlog-section ==",
		"==backlog-section a b c==",
		"==backlog-section a\x1b[2J==",
		"==backlog-section ss",
		"==backlog-sect",
	} {
		all, r := frames(t, begin1+"==backlog-section waiting==\n"+line+"\n"+end1)
		if len(all) != 1 || r.Dropped != 0 || len(all[0].Sections) != 1 || all[0].Sections[0].Text != line+"\n" {
			t.Errorf("%q was taken for a mark: %+v", line, all)
		}
	}
}

// The longest name that a process can give itself is too short for any mark,
// wherever ss and the kernel print it.
func TestFrameReaderNamesForgeNothing(t *testing.T) {
	for _, mark := range []string{strings.TrimSpace(begin2), strings.TrimSpace(end1), "==backlog-section a==", "==backlog-section ss=="} {
		if len(mark) <= maxComm {
			t.Errorf("%q fits into a name", mark)
		}
	}
	name := "\n==backlog-fram"
	log := begin1 + ss80 +
		"==backlog-section owners==\nLISTEN 0 5 *:80 *:* users:((\"" + name + "\",pid=1,fd=2),(\"" + name + "\",pid=3,fd=4))\n" +
		"==backlog-section threads==\nstat 7 (" + name + ")" + statRest + "\nschedstat 7 1 2 3\n" + end1
	all, r := frames(t, log)
	if len(all) != 1 || r.Dropped != 0 || len(all[0].Sections) != 3 {
		t.Fatalf("%+v, dropped %d", all, r.Dropped)
	}
	f := all[0]
	if o := f.Sockets[0].Owners; len(o) != 2 || o[1].Name != name || o[1].PID != 3 {
		t.Errorf("owners %+v", o)
	}
	if len(f.Process.Threads) != 1 || f.Process.Threads[0].Name != name || f.Process.Threads[0].WaitNS.Or(0) != 2 {
		t.Errorf("threads %+v", f.Process.Threads)
	}
}

func TestFrameReaderUptime(t *testing.T) {
	for text, want := range map[string]string{
		"83421.07": "83421.07", "0.00": "0", "": "?(the sampler could not read /proc/uptime)",
		"x": "?(the sampler could not read /proc/uptime)", "NaN": "?(the sampler could not read /proc/uptime)",
		"-1": "?(the sampler could not read /proc/uptime)", "Inf": "?(the sampler could not read /proc/uptime)",
	} {
		all, _ := frames(t, "==backlog-frame/1 begin seq=1 uptime="+text+"==\n"+ss80+end1)
		if len(all) != 1 || show(all[0].Uptime) != want {
			t.Errorf("uptime %q: %+v", text, all)
		}
	}
}

// A log of frames that this program is too old for says so.
func TestFrameReaderOtherVersion(t *testing.T) {
	all, r := frames(t, "==backlog-frame/2 begin seq=1 uptime=1.00==\nx\n==backlog-frame/2 end seq=1==\n")
	if len(all) != 0 || r.OtherVersion != "2" {
		t.Errorf("%d frames, other version %q", len(all), r.OtherVersion)
	}
}

func TestFrameReaderBounds(t *testing.T) {
	long := strings.Repeat("x", maxLine+1) + "\n"
	full := strings.Repeat(strings.Repeat("y", 1000)+"\n", maxFrame/1000)

	all, r := frames(t, begin1+"==backlog-section ss==\n"+long+"LISTEN 0 5 *:80 *:*\n"+end1)
	if len(all) != 1 || len(all[0].Sockets) != 1 || len(all[0].Warnings) != 1 || r.Dropped != 0 {
		t.Errorf("a long line: %d frames, %d dropped", len(all), r.Dropped)
	} else if got := all[0].Warnings[0].Error(); got != `frame line 3: line is longer than 64 KiB: "`+strings.Repeat("x", maxErrorText)+`…"` {
		t.Error(got)
	}
	if all, r := frames(t, begin1+"==backlog-section a==\n"+full+end1+begin2+ss80+end2); len(all) != 1 || all[0].Seq != 2 || r.Dropped != 1 {
		t.Errorf("a frame too long: %d frames, %d dropped", len(all), r.Dropped)
	}
	if all, r := frames(t, begin1+strings.Repeat("==backlog-section a==\n", maxSections+1)+end1+begin2+ss80+end2); len(all) != 1 || r.Dropped != 1 {
		t.Errorf("too many sections: %d frames, %d dropped", len(all), r.Dropped)
	}
	if all, r := frames(t, long+begin1+ss80+end1); len(all) != 1 || len(r.Stray) > 4*maxErrorText {
		t.Errorf("a long line outside: %d frames, stray of %d bytes", len(all), len(r.Stray))
	}
}

func TestFrameReaderTextBeforeTheFirstSection(t *testing.T) {
	all, _ := frames(t, begin1+"\nsh: ss: not found\n"+ss80+end1)
	if len(all) != 1 {
		t.Fatal("no frame")
	}
	wantErrors(t, all[0].Warnings, `frame line 3: line before the first section: "sh: ss: not found"`)
}

// A connection that breaks is the caller's to mend; what was whole was returned.
func TestFrameReaderInputBreaks(t *testing.T) {
	broken := errors.New("connection reset")
	r := NewFrameReader(io.MultiReader(strings.NewReader(begin1+ss80+end1+begin2+ss80), iotest.ErrReader(broken)))
	if f, err := r.Next(); err != nil || f.Seq != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) || r.Dropped != 1 {
		t.Errorf("%v, %d dropped", err, r.Dropped)
	}
}

// However the bytes arrive, and without waiting for those of the next frame.
func TestFrameReaderOneByteAtATime(t *testing.T) {
	r := NewFrameReader(iotest.OneByteReader(strings.NewReader(begin1 + ss80 + end1)))
	if f, err := r.Next(); err != nil || len(f.Sockets) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write([]byte(begin1 + ss80 + end1)) }() // and stays open
	if f, err := NewFrameReader(in).Next(); err != nil || f.Seq != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Frames are of their own: reading the next one does not change the last.
func TestFramesDoNotShareText(t *testing.T) {
	r := NewFrameReader(strings.NewReader(begin1 + ss80 + end1 + begin2 + "==backlog-section tcp==\nXXXXXXXXXX\n" + end2))
	first, _ := r.Next()
	before := showFrame(first) + first.Sections[0].Text
	_, _ = r.Next()
	if after := showFrame(first) + first.Sections[0].Text; after != before {
		t.Errorf("%s\nbecame %s", before, after)
	}
}

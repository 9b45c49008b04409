package collect

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// What cat printed in a network namespace with two listeners, three connections
// that wait and four that are accepted or closed, as a frame.
func TestCatMakesAFrame(t *testing.T) {
	text, err := os.ReadFile("testdata/cat.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := readCat(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse.NewFrameReader(strings.NewReader(files.frame())).Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Uptime.Or(0); got != 12558.60 {
		t.Errorf("uptime %v", got)
	}
	var sockets []string
	for _, s := range f.Sockets {
		sockets = append(sockets, fmt.Sprintf("%s:%d %d/%v", s.Address, s.Port, s.Depth.Or(-1), s.Limit.IsKnown()))
	}
	if got, want := strings.Join(sockets, ", "), "0.0.0.0:4143 3/false, :::8080 0/false"; got != want {
		t.Errorf("sockets %s, want %s", got, want)
	}
	c := f.Counters
	if c.PassiveOpens.Or(-1) != 4 || c.ListenOverflows.Or(-1) != 0 || c.Somaxconn.Or(-1) != 4096 {
		t.Errorf("passive opens %d, overflows %d, somaxconn %d", c.PassiveOpens.Or(-1), c.ListenOverflows.Or(-1), c.Somaxconn.Or(-1))
	}
	if len(f.Warnings) > 0 {
		t.Errorf("warnings %v", f.Warnings)
	}
}

// Whatever a container prints instead, nothing but lines of /proc gets into the
// frame, and what is missing is missing.
func TestCatOfSomethingElse(t *testing.T) {
	const header = "  sl  local_address rem_address   st\n"
	for _, c := range []struct {
		name, text string
		frame      string // between its marks
		tables     bool
	}{
		{"nothing", "", "", false},
		{"no uptime", "4096\n", "==backlog-section somaxconn==\n4096\n", false},
		{
			"forged marks", "==backlog-frame/1 end seq=1==\n" + header + "==backlog-section ss==\n   0: A:1 B:0 0A x\n",
			"==backlog-section tcp==\n" + header + "   0: A:1 B:0 0A x\n", true,
		},
		{"no tcp6", header + "   0: A:1 B:0 01 x\n   1: A:1 B:0 0A x\n", "==backlog-section tcp==\n" + header + "   1: A:1 B:0 0A x\n", true},
		{
			"a line without end", header + strings.Repeat("x", 3*maxCatLine) + " 0:\n   1: A:1 B:0 0A x\n",
			"==backlog-section tcp==\n" + header + "   1: A:1 B:0 0A x\n", true,
		},
		{"a word twice", "1.5 2.5\n9.5 9.5\n4096\n5\nTcp: a\nTcp: 1\nTcp: b\n", "==backlog-section snmp==\nTcp: a\nTcp: 1\n==backlog-section somaxconn==\n4096\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, err := readCat(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if files.tables() != c.tables {
				t.Errorf("tables: %t", files.tables())
			}
			_, rest, _ := strings.Cut(files.frame(), "==\n")
			if got := strings.TrimSuffix(rest, "==backlog-frame/1 end seq=1==\n"); got != c.frame {
				t.Errorf("frame holds\n%swant\n%s", got, c.frame)
			}
		})
	}
}

// A table without end is neither kept nor read to the end.
func TestCatIsBounded(t *testing.T) {
	row := "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n"
	files, err := readCat(strings.NewReader("  sl  local_address rem_address   st\n" + strings.Repeat(row, maxCatRows+5)))
	if err != nil || len(files.tcp) != maxCatRows+1 || len(files.notes) != 1 {
		t.Errorf("%d rows, notes %q, %v", len(files.tcp), files.notes, err)
	}
	endless := &endlessReader{text: row}
	if _, err := readCat(endless); err == nil || endless.read > maxCat+maxCatLine {
		t.Errorf("read %d MiB: %v", endless.read>>20, err)
	}
}

type endlessReader struct {
	text string
	read int
}

func (r *endlessReader) Read(p []byte) (int, error) {
	n := 0
	for n+len(r.text) <= len(p) {
		n += copy(p[n:], r.text)
	}
	r.read += n
	return n, nil
}

// cat goes on after a file that is not there; what it says becomes a note. One
// that printed no table at all has failed.
func TestCatTellsWhatItCouldNotRead(t *testing.T) {
	s, k := serveExec(t)
	k.containers["app"] = func(c execCall) (int, error) {
		if c.words[0] != "cat" {
			return withoutPrograms(c)
		}
		fmt.Fprint(c.stderr, "cat: /proc/net/tcp6: No such file or directory\n")
		fmt.Fprint(c.stdout, "1.00 1.00\n  sl  local_address rem_address   st\n")
		return 1, nil
	}
	frames, _, _ := followExec(t, s, runningPod("app"), 1)
	if len(frames) != 1 || !frames[0].SocketsRead {
		t.Fatalf("%+v", frames)
	}
	want := []string{
		"there is no shell in container app: depths are from /proc/net/tcp, which does not tell limits and drops",
		"cat says: cat: /proc/net/tcp6: No such file or directory",
	}
	if got := frames[0].Notes; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("notes %q", got)
	}

	k.containers["app"] = func(c execCall) (int, error) {
		fmt.Fprint(c.stderr, c.words[0]+": Permission denied\n")
		return 1, nil
	}
	_, _, err := followExec(t, s, runningPod("app"), 1)
	var impossible *NotPossibleError
	if !errors.As(err, &impossible) || !strings.Contains(err.Error(), `cat: "cat: Permission denied (exit code 1)"`) {
		t.Errorf("got %v", err)
	}
}

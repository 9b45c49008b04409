package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func showFrame(f Frame) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frame %d uptime %s sockets read %v\n", f.Seq, show(f.Uptime), f.SocketsRead)
	b.WriteString(showSockets(f.Sockets, nil))
	c := f.Counters
	fmt.Fprintf(&b, "ListenOverflows %s\nListenDrops %s\nReqQFullDoCookies %s\nReqQFullDrop %s\nSyncookiesSent %s\nSyncookiesRecv %s\nPassiveOpens %s\nSomaxconn %s\n",
		show(c.ListenOverflows), show(c.ListenDrops), show(c.ReqQFullDoCookies), show(c.ReqQFullDrop),
		show(c.SyncookiesSent), show(c.SyncookiesRecv), show(c.PassiveOpens), show(c.Somaxconn))
	for _, w := range f.Waiting {
		b.WriteString(showWaiting(w, nil))
	}
	if f.Process != nil {
		b.WriteString(showProcess(*f.Process, nil))
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "note %q\n", n)
	}
	for _, s := range f.Sections {
		fmt.Fprintf(&b, "section %q %q of %d bytes\n", s.Name, s.Arg, len(s.Text))
	}
	return b.String() + showErrors(f.Warnings)
}

// frames reads all frames of a log.
func frames(t testing.TB, log string) ([]Frame, *FrameReader) {
	t.Helper()
	r := NewFrameReader(strings.NewReader(log))
	var all []Frame
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
}

// oneFrame makes a frame of sections, each "NAME" or "NAME ARG" and its text.
func oneFrame(sections ...string) string {
	var b strings.Builder
	b.WriteString("==backlog-frame/1 begin seq=1 uptime=10.50==\n")
	for i := 0; i < len(sections); i += 2 {
		fmt.Fprintf(&b, "==backlog-section %s==\n%s", sections[i], sections[i+1])
	}
	b.WriteString("==backlog-frame/1 end seq=1==\n")
	return b.String()
}

func readOne(t testing.TB, sections ...string) Frame {
	t.Helper()
	all, r := frames(t, oneFrame(sections...))
	if len(all) != 1 || r.Dropped != 0 {
		t.Fatalf("%d frames, %d dropped", len(all), r.Dropped)
	}
	return all[0]
}

// Whole logs: all frames of a file, with what was left out.
func TestFramesRecorded(t *testing.T) {
	recorded(t, "frames/*.log", func(t *testing.T, file, text string) {
		all, r := frames(t, text)
		var b strings.Builder
		for _, f := range all {
			b.WriteString(showFrame(f) + "\n")
		}
		fmt.Fprintf(&b, "dropped %d, stray %q, other version %q\n", r.Dropped, r.Stray, r.OtherVersion)
		golden(t, strings.TrimSuffix(file, "log")+"golden", b.String())
	})
}

// What each rung of the ladder cannot know is unknown, with its reason.
func TestFrameWithoutSS(t *testing.T) {
	f := readOne(
		t, "note", "ss is not in this image\n",
		"tcp", readFile(t, "testdata/proc/tcp.txt"), "tcp6", readFile(t, "testdata/proc/tcp6.txt"),
	)
	wantErrors(t, f.Warnings)
	if !f.SocketsRead || len(f.Sockets) != 11 || f.Sockets[1].Depth.Or(-1) != 3 || f.Sockets[1].Limit.Reason() != procLimit {
		t.Error(showFrame(f))
	}
	if diff := cmp.Diff([]string{"ss is not in this image"}, f.Notes); diff != "" {
		t.Error(diff)
	}
}

// "No listener" is told from "could not be read".
func TestFrameSocketsRead(t *testing.T) {
	for _, test := range []struct {
		name     string
		sections []string
		read     bool
		warnings []string
	}{
		{"ss found none", []string{"ss", ""}, true, nil},
		{"no section", []string{"somaxconn", "4096\n"}, false, []string{"frame: no section told of the sockets"}},
		{
			"no section, and the sampler says why",
			[]string{"note", "ss: not found\n", "note", "tcp: permission denied\n"},
			false,
			[]string{`frame: no section told of the sockets; the sampler says: "ss: not found; tcp: permission denied"`},
		},
		{
			"words where rows should be",
			[]string{"ss", "ss: not found\n"},
			false,
			[]string{`ss line 1: not a row of ss: "ss: not found"`, "frame: no section told of the sockets"},
		},
		{"/proc/net/tcp without a listener", []string{"tcp", "  sl  local_address rem_address   st tx_queue rx_queue\n"}, true, nil},
		{"/proc/net/tcp could not be read", []string{"tcp", ""}, false, []string{"frame: no section told of the sockets"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := readOne(t, test.sections...)
			wantErrors(t, f.Warnings, test.warnings...)
			if f.SocketsRead != test.read || len(f.Sockets) != 0 {
				t.Errorf("read %v, sockets %+v", f.SocketsRead, f.Sockets)
			}
		})
	}
}

func TestFrameCounters(t *testing.T) {
	const (
		netstat = "TcpExt: ListenDrops ListenOverflows\nTcpExt: 9 8\n"
		snmp    = "Tcp: MaxConn PassiveOpens\nTcp: -1 7\n"
		nstat   = "#kernel\nTcpExtListenDrops 24 0.0\n"
		daemon  = "#12.34 sampling_interval=1\nTcpExtListenDrops 1 0.0\n"
	)
	for _, test := range []struct {
		name                    string
		sections                []string
		drops, overflows, opens string
		warnings                int
	}{
		{"none", nil, "?(the frame has none of the sections nstat, netstat, snmp)", "?(the frame has none of the sections nstat, netstat, snmp)", "?(the frame has none of the sections nstat, netstat, snmp)", 0},
		{"nstat", []string{"nstat", nstat}, "24", "?(not told by the frame's section nstat)", "?(not told by the frame's section nstat)", 0},
		{"nstat as JSON", []string{"nstat", " {\"kernel\":{\"TcpExtListenDrops\":24}}\n"}, "24", "?(not told by the frame's section nstat)", "?(not told by the frame's section nstat)", 0},
		{"netstat", []string{"netstat", netstat}, "9", "8", "?(not told by the frame's section netstat)", 0},
		{"netstat and snmp", []string{"netstat", netstat, "snmp", snmp}, "9", "8", "7", 0},
		{"nstat goes before netstat", []string{"netstat", netstat, "nstat", nstat}, "24", "8", "?(not told by the frame's section nstat, netstat)", 0},
		{"a daemon's figures are not taken", []string{"nstat", daemon, "netstat", netstat}, "9", "8", "?(not told by the frame's section nstat, netstat)", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := readOne(t, append([]string{"ss", ""}, test.sections...)...)
			got := []string{show(f.Counters.ListenDrops), show(f.Counters.ListenOverflows), show(f.Counters.PassiveOpens)}
			if diff := cmp.Diff([]string{test.drops, test.overflows, test.opens}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(f.Warnings) != test.warnings {
				t.Errorf("warnings %v", f.Warnings)
			}
		})
	}
}

func TestFrameSomaxconn(t *testing.T) {
	for text, want := range map[string]string{
		"4096\n": "4096",
		"":       "?(the sampler could not read net.core.somaxconn)",
		"x\n":    "?(the frame's section somaxconn holds no number)",
		"-1\n":   "?(the frame's section somaxconn holds no number)",
	} {
		if f := readOne(t, "ss", "", "somaxconn", text); show(f.Counters.Somaxconn) != want {
			t.Errorf("%q: %s", text, show(f.Counters.Somaxconn))
		}
	}
	if f := readOne(t, "ss", ""); show(f.Counters.Somaxconn) != "?(the frame has no section somaxconn)" {
		t.Error(show(f.Counters.Somaxconn))
	}
}

// The holders come from a second list, which may be a little newer.
func TestFrameOwners(t *testing.T) {
	const (
		plain   = "LISTEN 0 5 *:80 *:*\nLISTEN 0 5 *:81 *:*\nLISTEN 0 6 *:81 *:*\n"
		inode   = "LISTEN 0 5 *:80 *:* ino:10 sk:1\nLISTEN 0 5 *:81 *:* ino:11 sk:2\nLISTEN 0 6 *:81 *:* ino:12 sk:3\n"
		owners  = "LISTEN 0 5 *:80 *:* users:((\"a\",pid=1,fd=1))\nLISTEN 0 5 *:81 *:* users:((\"b\",pid=2,fd=1))\nLISTEN 0 6 *:81 *:* users:((\"c\",pid=3,fd=1))\n"
		turned  = "LISTEN 0 6 *:81 *:* users:((\"c\",pid=3,fd=1)) ino:12\nLISTEN 0 5 *:80 *:* users:((\"z\",pid=9,fd=1)) ino:99\nLISTEN 0 5 *:81 *:* users:((\"b\",pid=2,fd=1)) ino:11\n"
		fewer   = "LISTEN 0 5 *:80 *:* users:((\"a\",pid=1,fd=1))\nLISTEN 0 6 *:81 *:* users:((\"c\",pid=3,fd=1))\n"
		nobody  = "LISTEN 0 5 *:80 *:*\n"
		another = "LISTEN 0 5 0.0.0.0:80 0.0.0.0:* users:((\"a\",pid=1,fd=1))\n"
	)
	for _, test := range []struct {
		name, ss, owners string
		want             []string
	}{
		{"by address and position", plain, owners, []string{"a", "b", "c"}},
		{"by inode, in any order; a socket made anew is another one", inode, turned, []string{"", "b", "c"}},
		{"one sibling is gone: no telling which", plain, fewer, []string{"a", "", ""}},
		{"ss may not look", plain, nobody, []string{"", "", ""}},
		{"another address", plain, another, []string{"", "", ""}},
		{"inode on one side only", inode, owners, []string{"a", "b", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := readOne(t, "ss", test.ss, "owners", test.owners)
			wantErrors(t, f.Warnings)
			var got []string
			for _, s := range f.Sockets {
				name := ""
				if len(s.Owners) > 0 {
					name = s.Owners[0].Name
				}
				got = append(got, name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An unknown section is kept as it is; a name that comes twice is told, since
// only the first one was read.
func TestFrameSectionsAreKept(t *testing.T) {
	f := readOne(
		t, "ss", "LISTEN 0 5 *:80 *:*\n", "later 80", "ESTAB a\n", "later 81", "ESTAB b\n",
		"new-thing", "x\n\ny\n", "ss", "LISTEN 0 5 *:99 *:*\n", "note", "a\n", "note", "b\n",
	)
	want := []Section{
		{"ss", "", "LISTEN 0 5 *:80 *:*\n"},
		{"later", "80", "ESTAB a\n"},
		{"later", "81", "ESTAB b\n"},
		{"new-thing", "", "x\n\ny\n"},
		{"ss", "", "LISTEN 0 5 *:99 *:*\n"},
		{"note", "", "a\n"},
		{"note", "", "b\n"},
	}
	if diff := cmp.Diff(want, f.Sections); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantErrors(t, f.Warnings, `frame: section occurs twice, the first one is used: "ss"`)
	if len(f.Sockets) != 1 || f.Sockets[0].Port != 80 {
		t.Errorf("%+v", f.Sockets)
	}
}

func TestFrameWarningsAreBounded(t *testing.T) {
	var sections []string
	for _, name := range []string{"ss", "tcp", "tcp6", "owners", "nstat", "netstat", "snmp", "threads"} {
		sections = append(sections, name, strings.Repeat("nonsense\n", 100))
	}
	for range 100 {
		sections = append(sections, "x", "")
	}
	if f := readOne(t, sections...); len(f.Warnings) != maxWarnings {
		t.Errorf("%d warnings", len(f.Warnings))
	}
}

package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// seed adds recorded files to a corpus.
func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(files) == 0 {
			f.Fatalf("no file %s (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
}

// checkErrors holds what is promised of all errors: typed, bounded, with a line
// that exists, and harmless on a terminal.
func checkErrors(t *testing.T, text string, errs []error) {
	t.Helper()
	if len(errs) > maxErrors+1 {
		t.Fatalf("%d errors", len(errs))
	}
	lines := strings.Count(text, "\n") + 1
	for _, err := range errs {
		var e *LineError
		if !errors.As(err, &e) {
			t.Fatalf("not a *LineError: %v", err)
		}
		if e.Line < 1 || e.Line > lines {
			t.Errorf("line %d of %d: %v", e.Line, lines, err)
		}
		if n := utf8.RuneCountInString(e.Text); n > maxErrorText+1 {
			t.Errorf("text of %d runes", n)
		}
		for _, r := range err.Error() {
			if !unicode.IsPrint(r) {
				t.Errorf("prints %q: %q", r, err.Error())
			}
		}
	}
}

// checkSockets holds what is promised of all sockets.
func checkSockets(t *testing.T, text string, sockets []model.Socket) {
	t.Helper()
	if len(sockets) > strings.Count(text, "\n")+1 {
		t.Fatalf("%d sockets of %d lines", len(sockets), strings.Count(text, "\n")+1)
	}
	for _, s := range sockets {
		if s.Address == "" || s.Port == 0 || strings.ContainsAny(s.Address, " \n[]%") || len(s.Interface) > maxInterface {
			t.Errorf("address %q interface %q port %d", s.Address, s.Interface, s.Port)
		}
		for _, unknown := range []bool{
			!s.Depth.IsKnown() && s.Depth.Reason() == "", !s.Limit.IsKnown() && s.Limit.Reason() == "",
			!s.Drops.IsKnown() && s.Drops.Reason() == "", !s.Inode.IsKnown() && s.Inode.Reason() == "",
		} {
			if unknown {
				t.Errorf("unknown without a reason: %+v", s)
			}
		}
		if s.Depth.Or(0) < 0 || s.Limit.Or(0) < 0 || s.Drops.Or(0) < 0 {
			t.Errorf("a negative figure: %+v", s)
		}
		for _, o := range s.Owners {
			if len(o.Name) > 3*maxComm || !utf8.ValidString(o.Name) || o.PID < 0 || o.FD < 0 {
				t.Errorf("owner %+v", o)
			}
		}
	}
}

// formatSocket writes a socket as ss -HOltnmep does.
func formatSocket(s model.Socket) string {
	host := s.Address
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.Interface != "" {
		host += "%" + s.Interface
	}
	limit, _ := s.Limit.Get()
	row := fmt.Sprintf("LISTEN %d %d %s:%d 0.0.0.0:*", s.Depth.Or(0), limit, host, s.Port)
	if len(s.Owners) > 0 {
		row += " " + formatUsers(s.Owners)
	}
	if inode, ok := s.Inode.Get(); ok {
		row += fmt.Sprintf(" ino:%d sk:1", inode)
	}
	if drops, ok := s.Drops.Get(); ok {
		row += fmt.Sprintf(" skmem:(r0,bl0,d%d)", drops)
	} else if s.Limit.IsKnown() {
		row += " skmem:(r0,bl0)"
	}
	return row
}

func FuzzListenSockets(f *testing.F) {
	seed(f, "ss/*.txt")
	f.Add("LISTEN 0 5 *:80 *:* users:((\"\",pid=1,fd=2),(\"\n\",pid=1,fd=2)) ino:1 skmem:(r0,d1")
	f.Fuzz(func(t *testing.T, text string) {
		sockets, errs := ListenSockets(text)
		checkErrors(t, text, errs)
		checkSockets(t, text, sockets)
		// What was read can be written and read again.
		for _, s := range sockets {
			replaced := false
			for _, o := range s.Owners { // a replaced byte may make a name too long
				replaced = replaced || strings.ContainsRune(o.Name, utf8.RuneError)
			}
			if replaced {
				continue
			}
			again, errs := ListenSockets(formatSocket(s))
			if len(again) != 1 || len(errs) > 0 {
				t.Fatalf("%q: %+v %v", formatSocket(s), again, errs)
			}
			a, b := again[0], s
			if a.Address != b.Address || a.Interface != b.Interface || a.Port != b.Port || a.Depth != b.Depth ||
				a.Limit.IsKnown() != b.Limit.IsKnown() || a.Limit.Or(0) != b.Limit.Or(0) ||
				a.Drops.IsKnown() != b.Drops.IsKnown() || a.Drops.Or(0) != b.Drops.Or(0) ||
				a.Inode.Or(0) != b.Inode.Or(0) || fmt.Sprint(a.Owners) != fmt.Sprint(b.Owners) {
				t.Errorf("%+v became %+v", b, a)
			}
		}
	})
}

// Any list of names that a kernel can hold reads back, and what follows the row
// is still there.
func FuzzUsersRoundTrip(f *testing.F) {
	f.Add("nginx", "python3", 1, 3)
	f.Add("\n0 1 *:1 *:* ", `",pid=1,fd=2))`, 4194304, 9)
	f.Add(`",pid=1,fd=2)`, `x),("y",pid=1`, 0, 0)
	f.Fuzz(func(t *testing.T, a, b string, pid, fd int) {
		if len(a) > maxComm || len(b) > maxComm || !utf8.ValidString(a+b) || strings.Contains(a+b, "\x00") ||
			pid < 0 || pid > 1<<22 || fd < 0 || fd > 1<<30 {
			t.Skip()
		}
		owners := []model.Owner{{Name: a, PID: pid, FD: fd}, {Name: b, PID: 7, FD: 8}}
		text := "LISTEN 0 5 *:80 *:* " + formatUsers(owners) + " ino:5 skmem:(d6)\nLISTEN 0 5 *:81 *:*\n"
		sockets, errs := ListenSockets(text)
		if len(sockets) != 2 || len(errs) > 0 || fmt.Sprint(sockets[0].Owners) != fmt.Sprint(owners) ||
			sockets[0].Inode.Or(0) != 5 || sockets[0].Drops.Or(0) != 6 || sockets[1].Port != 81 {
			t.Errorf("%q: %+v %v", text, sockets, errs)
		}
	})
}

func FuzzProcTCP(f *testing.F) {
	seed(f, "proc/tcp*.txt")
	f.Fuzz(func(t *testing.T, text string) {
		sockets, errs := ProcTCP(text)
		checkErrors(t, text, errs)
		checkSockets(t, text, sockets)
		for _, s := range sockets {
			if s.Limit.IsKnown() || s.Drops.IsKnown() {
				t.Errorf("/proc/net/tcp told %+v", s)
			}
		}
	})
}

func FuzzNstat(f *testing.F) {
	seed(f, "nstat/*.txt")
	f.Add(`{"kernel":{"TcpExtListenOverflows":24,"TcpPassiveOpens":1}}`)
	f.Add("#12.34 sampling_interval=1\nTcpExtListenDrops 1 0.0\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, errs := Nstat(text)
		checkErrors(t, text, errs)
		// What was read can be written and read again.
		var table strings.Builder
		table.WriteString("#kernel\n")
		for k, v := range values {
			if k == "" || k[0] == '#' || strings.ContainsAny(k, " \t\r\n") {
				return // a key that only JSON can hold
			}
			fmt.Fprintf(&table, "%s %d 0.0\n", k, v)
		}
		again, errs := NstatText(table.String())
		if len(errs) > 0 || len(again) != len(values) {
			t.Fatalf("%q: %v %v", table.String(), again, errs)
		}
		for k, v := range values {
			if again[k] != v {
				t.Errorf("%s was %d, is %d", k, v, again[k])
			}
		}
	})
}

func FuzzProcNetstat(f *testing.F) {
	seed(f, "proc/netstat.txt", "proc/snmp.txt")
	f.Fuzz(func(t *testing.T, text string) {
		values, errs := ProcNetstat(text)
		checkErrors(t, text, errs)
		if len(values) > len(text) {
			t.Errorf("%d values of %d bytes", len(values), len(text))
		}
		// The frame takes the few it needs from the same file, and no other figure.
		used, _ := usedNetstat("netstat", text)
		for _, name := range CounterNames() {
			v, ok := values[name]
			if u, also := used[name]; ok != also || u != v {
				t.Errorf("%s is %d (%v), in a frame %d (%v)", name, v, ok, u, also)
			}
		}
	})
}

func FuzzWaitingRows(f *testing.F) {
	seed(f, "waiting/*.txt")
	f.Fuzz(func(t *testing.T, text string) {
		w, errs := WaitingRows(text)
		checkErrors(t, text, errs)
		if len(w.Connections) > strings.Count(text, "\n")+1 || w.Omitted < 0 {
			t.Fatalf("%d connections, %d omitted", len(w.Connections), w.Omitted)
		}
		for _, c := range w.Connections {
			if c.Waited.Or(0) < 0 || !c.Waited.IsKnown() && c.Waited.Reason() == "" || c.Peer == "" || c.Local == "" || c.State == "" {
				t.Errorf("%+v", c)
			}
			for _, r := range c.Peer + c.ID {
				if !unicode.IsPrint(r) {
					t.Errorf("%q is told of %q", c.Peer+c.ID, text)
				}
			}
		}
	})
}

func FuzzThreads(f *testing.F) {
	seed(f, "threads/*.txt")
	f.Fuzz(func(t *testing.T, text string) {
		p, errs := Process(text)
		checkErrors(t, text, errs)
		for _, v := range []model.Value[int64]{p.Start, p.Ticks, p.CPUsAllowed, p.OpenFDs, p.MaxFDs} {
			if v.Or(0) < 0 || !v.IsKnown() && v.Reason() == "" {
				t.Errorf("%+v", p)
			}
		}
		for _, c := range p.Children {
			if c.PID <= 0 || c.Ticks.Or(-1) < 0 || c.ChildTicks.Or(0) < 0 || !utf8.ValidString(c.Name) || !utf8.ValidString(c.Title) || len(c.Title) > 4*64 {
				t.Errorf("%+v", c)
			}
		}
		seen := map[int]bool{}
		for _, th := range p.Threads {
			if th.TID <= 0 || seen[th.TID] {
				t.Errorf("thread %d (seen %v)", th.TID, seen[th.TID])
			}
			seen[th.TID] = true
			if th.Ticks.Or(0) < 0 || th.RunNS.Or(0) < 0 || !utf8.ValidString(th.Name) {
				t.Errorf("%+v", th)
			}
			if th.State == "" && (th.Ticks.IsKnown() || th.Ticks.Reason() == "") {
				t.Errorf("figures without stat: %+v", th)
			}
		}
	})
}

// Any name that a kernel can hold reads back, and what follows is still there.
func FuzzThreadNameRoundTrip(f *testing.F) {
	f.Add("proxy")
	f.Add("\nstat 9 (x) R 1")
	f.Add("a) S 1 (b")
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) > maxComm || !utf8.ValidString(name) || strings.Contains(name, "\x00") {
			t.Skip()
		}
		stat := "17 (" + name + ")" + statRest
		for _, text := range []string{
			"stat " + stat + "\nschedstat 17 1 2 3\nwchan 18 ep_poll\n",
			"17/stat:" + strings.ReplaceAll(stat, "\n", "\n17/stat:") + "\n17/schedstat:1 2 3\n18/wchan:ep_poll\n",
		} {
			p, errs := Process(text)
			if th := p.Threads; len(errs) > 0 || len(th) != 2 || th[0].Name != name || th[0].WaitNS.Or(0) != 2 || th[1].TID != 18 {
				t.Errorf("%q: %+v %v", name, th, errs)
			}
		}
	})
}

func FuzzFrameReader(f *testing.F) {
	seed(f, "frames/*.log")
	f.Add(begin1 + ss80 + begin2 + "==backlog-section note==\nx\n" + end1 + end2)
	f.Fuzz(func(t *testing.T, log string) {
		r := NewFrameReader(strings.NewReader(log))
		lines := strings.Count(log, "\n") + 1
		for n := 0; ; n++ {
			frame, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || n > lines {
				t.Fatalf("frame %d: %v", n, err)
			}
			if len(frame.Warnings) > maxWarnings {
				t.Errorf("%d warnings", len(frame.Warnings))
			}
			for _, warning := range frame.Warnings {
				var e *LineError
				if !errors.As(warning, &e) || e.Line < 0 || e.Line > lines {
					t.Errorf("warning %v", warning)
				}
			}
			if !frame.SocketsRead && (len(frame.Sockets) > 0 || len(frame.Warnings) == 0) {
				t.Errorf("sockets %v were not read, warnings %v", frame.Sockets, frame.Warnings)
			}
			checkSockets(t, log, frame.Sockets)
			// What was read can be written and read again.
			again := NewFrameReader(strings.NewReader(formatFrame(frame)))
			got, err := again.Next()
			if err != nil || again.Dropped != 0 || got.Seq != frame.Seq || got.Uptime != frame.Uptime ||
				fmt.Sprint(got.Sections) != fmt.Sprint(frame.Sections) || showSockets(got.Sockets, nil) != showSockets(frame.Sockets, nil) {
				t.Errorf("%+v became %+v, %v", frame, got, err)
			}
		}
		if r.Dropped > lines {
			t.Errorf("%d dropped", r.Dropped)
		}
	})
}

func formatFrame(f Frame) string {
	var b strings.Builder
	uptime := ""
	if v, ok := f.Uptime.Get(); ok {
		uptime = fmt.Sprint(v)
	}
	fmt.Fprintf(&b, "==backlog-frame/1 begin seq=%d uptime=%s==\n", f.Seq, uptime)
	for _, s := range f.Sections {
		if s.Arg != "" {
			s.Name += " " + s.Arg
		}
		fmt.Fprintf(&b, "==backlog-section %s==\n%s", s.Name, s.Text)
	}
	fmt.Fprintf(&b, "==backlog-frame/1 end seq=%d==\n", f.Seq)
	return b.String()
}

func FuzzReadMetrics(f *testing.F) {
	seed(f, "metrics/linkerd-idle.txt")
	f.Add("# TYPE a info\na{b=\"c\"} 1 # {d=\"e\"} 2 3\r\nbad x\n{\"q q\",a=\"b\"} NaN 5\n# EOF")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMetrics(strings.NewReader(text))
		if m == nil || m.Len() > strings.Count(text, "\n")+1 {
			t.Fatalf("%v samples, %v", m, err)
		}
		if m.Len() == 0 && err == nil {
			t.Error("neither a sample nor an error")
		}
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				for _, r := range line {
					if !unicode.IsPrint(r) {
						t.Errorf("prints %q: %q", r, line)
					}
				}
			}
		}
		// Samples of one name: Sum, Value and Each tell of the same ones.
		for name := range m.families {
			known, sum := 0, 0.0
			m.Each(name, func(_ map[string]string, v float64) {
				if !math.IsNaN(v) {
					known++
					sum += v
				}
			})
			got, ok := m.Sum(name)
			if ok != (known > 0) || got != sum && !math.IsNaN(sum) {
				t.Errorf("%s: sum %v (%v), want %v of %d", name, got, ok, sum, known)
			}
		}
		// The filter leaves the page as it is for the names it lets through.
		some, _ := ReadMetricsOnly(bytes.NewReader([]byte(text)), "tokio_rt_")
		for name := range m.families {
			if !strings.HasPrefix(name, "tokio_rt_") {
				continue
			}
			a, okA := m.Sum(name)
			b, okB := some.Sum(name)
			if okA != okB || a != b && !math.IsNaN(a) {
				t.Errorf("%s is %v (%v), filtered %v (%v)", name, a, okA, b, okB)
			}
		}
	})
}

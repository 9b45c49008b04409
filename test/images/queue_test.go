// Package images_test runs badserver and burst against each other and looks at the
// kernel's queues with ss, as users of these programs do.
package images_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is met only by what hangs.
const patience = 30 * time.Second

// programs holds the folder that TestMain builds into.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "images-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		programs = dir
		if out, err := exec.Command("go", "build", "-o", dir, "./badserver", "./burst").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// server is a running badserver.
type server struct {
	*exec.Cmd
	lines *bufio.Reader
	// addrs has one address per socket.
	addrs []string
}

func start(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{Cmd: exec.Command(filepath.Join(programs, "badserver"), args...)}
	s.Stderr = os.Stderr
	stdout, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	s.lines = bufio.NewReader(stdout)
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("reading what badserver says: %v", err)
		}
		if line == "ready\n" {
			return s
		}
		var addr string
		var backlog int
		if _, err := fmt.Sscanf(line, "listening on %s backlog %d\n", &addr, &backlog); err != nil {
			t.Fatalf("badserver says %q: %v", line, err)
		}
		s.addrs = append(s.addrs, addr)
	}
}

// stop sends SIGTERM and returns the last line.
func (s *server) stop(t *testing.T) string {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(s.lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("badserver ended with %v after SIGTERM", err)
	}
	return strings.TrimSpace(string(rest))
}

// ends is the JSON line of burst.
type ends struct {
	Opened, OK, Timeouts, Unanswered, Refused, Broken, Other int
	LastError                                                string
	Seconds                                                  float64
}

// burst runs burst to its end. With -fill it returns once the connections stand, and
// they are held until the test ends.
func burst(t *testing.T, addr string, args ...string) ends {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "burst"), append([]string{"-addr", addr}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var got ends
	if err := json.NewDecoder(stdout).Decode(&got); err != nil {
		t.Fatalf("reading burst's result: %v", err)
	}
	return got
}

// queues returns "Recv-Q/Send-Q" of every socket that listens on addr.
func queues(t *testing.T, addr string) []string {
	t.Helper()
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip("no ss on this machine (Debian: iproute2)")
	}
	out, err := exec.Command("ss", "-HOltnm").Output()
	if err != nil {
		t.Fatalf("running ss: %v", err)
	}
	var rows []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == addr {
			rows = append(rows, f[1]+"/"+f[2])
		}
	}
	return rows
}

// eventually repeats a look at the kernel until it shows what is wanted.
func eventually(t *testing.T, want string, look func() string) {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = look(); got == want {
			return
		}
	}
	t.Fatalf("got %s, want %s", got, want)
}

func TestAQueueIsFilledToAnExactDepth(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		s := start(t, "-listen", listen, "-backlog", "4", "-never-accept")
		got := burst(t, s.addrs[0], "-fill", "3", "-hold", "1m")
		if got.Opened != 3 || got.OK != 3 {
			t.Errorf("%s: filling 3: %+v", listen, got)
		}
		if got := fmt.Sprint(queues(t, s.addrs[0])); got != "[3/4]" {
			t.Errorf("%s: queue %s, want [3/4]", listen, got)
		}
		// A backlog of N holds N+1; the next finds no room.
		if got := burst(t, s.addrs[0], "-fill", "3", "-hold", "1m", "-timeout", "300ms"); got.OK != 2 || got.Timeouts != 1 {
			t.Errorf("%s: filling 3 into room for 2: %+v", listen, got)
		}
		if got := fmt.Sprint(queues(t, s.addrs[0])); got != "[5/4]" {
			t.Errorf("%s: queue %s, want [5/4]", listen, got)
		}
		if got := s.stop(t); got != "accepted 0" {
			t.Errorf("%s: at its end it says %q", listen, got)
		}
	}
}

func TestAFewAreAcceptedThenNone(t *testing.T) {
	s := start(t, "-listen", "127.0.0.1:0", "-backlog", "8", "-accept-n", "2", "-hold")
	burst(t, s.addrs[0], "-fill", "5", "-hold", "1m")
	eventually(t, "[3/8]", func() string { return fmt.Sprint(queues(t, s.addrs[0])) })
	if got := s.stop(t); got != "accepted 2" {
		t.Errorf("at its end it says %q", got)
	}
}

func TestAStoppedServerKeepsItsQueueAndServesItLater(t *testing.T) {
	s := start(t, "-listen", "127.0.0.1:0", "-backlog", "16", "-hold")
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// The kernel completes the handshakes by itself; the stopped thread that waits in
	// accept gets its connection only when it goes on.
	burst(t, s.addrs[0], "-fill", "6", "-hold", "1m")
	eventually(t, "[6/16]", func() string { return fmt.Sprint(queues(t, s.addrs[0])) })
	if err := s.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "[0/16]", func() string { return fmt.Sprint(queues(t, s.addrs[0])) })
	if got := s.stop(t); got != "accepted 6" {
		t.Errorf("at its end it says %q", got)
	}
}

func TestOneOfSeveralSocketsIsStuck(t *testing.T) {
	s := start(t, "-listen", "127.0.0.1:0", "-backlog", "64", "-reuseport", "4", "-stuck", "1", "-hold")
	if len(s.addrs) != 4 || s.addrs[0] != s.addrs[3] {
		t.Fatalf("sockets at %v, want 4 at one address", s.addrs)
	}
	burst(t, s.addrs[0], "-fill", "40", "-hold", "1m")
	// The kernel spreads by a hash, so which share the stuck one gets is not fixed.
	eventually(t, "3 empty of 4", func() string {
		rows := queues(t, s.addrs[0])
		empty := 0
		for _, row := range rows {
			if row == "0/64" {
				empty++
			}
		}
		return fmt.Sprintf("%d empty of %d", empty, len(rows))
	})
}

func TestEachListenerHasItsBacklog(t *testing.T) {
	s := start(t, "-listen", "127.0.0.1:0/3", "-listen", "127.0.0.1:0/0", "-listen", "[::1]:0", "-backlog", "7", "-never-accept")
	for i, want := range []string{"[0/3]", "[0/0]", "[0/7]"} {
		if got := fmt.Sprint(queues(t, s.addrs[i])); got != want {
			t.Errorf("%s: %s, want %s", s.addrs[i], got, want)
		}
	}
}

func TestBurstCountsHowConnectionsEnd(t *testing.T) {
	once := []string{"-n", "20", "-for", "0s"}
	answering := start(t, "-listen", "127.0.0.1:0")
	if got := burst(t, answering.addrs[0], append(once, "-timeout", "20s")...); got.OK != 20 || got.Opened != 20 {
		t.Errorf("answered: %+v", got)
	}
	if got := answering.stop(t); got != "accepted 20" {
		t.Errorf("at its end it says %q", got)
	}
	if got := burst(t, answering.addrs[0], once...); got.Refused != 20 {
		t.Errorf("nobody listens: %+v", got)
	}
	holding := start(t, "-listen", "127.0.0.1:0", "-hold")
	if got := burst(t, holding.addrs[0], append(once, "-timeout", "300ms")...); got.Unanswered != 20 {
		t.Errorf("never answered: %+v", got)
	}
	if got := burst(t, holding.addrs[0], append(once, "-connect-only")...); got.OK != 20 {
		t.Errorf("connected only: %+v", got)
	}
	full := start(t, "-listen", "127.0.0.1:0/4", "-never-accept")
	if got := burst(t, full.addrs[0], append(once, "-timeout", "300ms")...); got.Timeouts != 15 || got.Unanswered != 5 {
		t.Errorf("room for 5: %+v", got)
	}
}

func TestBurstsComeAtTheirTimes(t *testing.T) {
	s := start(t, "-listen", "127.0.0.1:0")
	got := burst(t, s.addrs[0], "-n", "5", "-every", "200ms", "-for", "600ms", "-timeout", "20s")
	if got.Opened%5 != 0 || got.Opened > 15 || got.OK != got.Opened {
		t.Errorf("got %+v, want whole bursts, at most 3", got)
	}
	if got.Seconds < 0.2 && got.Opened > 5 {
		t.Errorf("%d connections in %g s: closer than 200ms", got.Opened, got.Seconds)
	}
}

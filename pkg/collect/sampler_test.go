package collect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// shells are the POSIX shells of this machine that a probe image could have.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the sampler reads a Linux kernel's /proc")
	}
	found := map[string][]string{}
	for name, command := range map[string][]string{
		"sh": {"sh"}, "dash": {"dash"}, "bash": {"bash"}, "busybox": {"busybox", "sh"},
	} {
		path, err := exec.LookPath(command[0])
		if err != nil {
			continue
		}
		found[name] = append([]string{path}, command[1:]...)
	}
	if len(found) == 0 {
		t.Skip("no shell")
	}
	return found
}

// sampler is the command that a probe's container runs.
func sampler(shell []string, env ...string) *exec.Cmd {
	cmd := exec.Command(shell[0], append(shell[1:len(shell):len(shell)], "-c", samplerScript, "backlog-probe")...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// run lets the sampler end by itself and reads what it printed.
func run(t *testing.T, cmd *exec.Cmd) ([]parse.Frame, string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	// A container's log holds both streams: a word on stderr would be a stray line.
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", &stderr)
	}
	return readFrames(t, bytes.NewReader(out))
}

func readFrames(t *testing.T, r io.Reader) (frames []parse.Frame, stray string) {
	t.Helper()
	reader := parse.NewFrameReader(r)
	for {
		f, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range f.Warnings {
			t.Errorf("frame %d: %v", f.Seq, w)
		}
		frames = append(frames, f)
	}
	if reader.Dropped > 0 {
		t.Errorf("%d frames were dropped", reader.Dropped)
	}
	return frames, reader.Stray
}

// listen opens a listener and gives its port.
func listen(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func socketOn(t *testing.T, f parse.Frame, port uint16) model.Socket {
	t.Helper()
	for _, s := range f.Sockets {
		if s.Port == port {
			return s
		}
	}
	t.Fatalf("no socket on %d in frame %d: %+v", port, f.Seq, f.Sockets)
	return model.Socket{}
}

func TestSamplerInEveryShell(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := listen(t)
			frames, last := run(t, sampler(shell, envTTL+"=3"))
			if last != endMark {
				t.Errorf("last line %q, want %q", last, endMark)
			}
			if len(frames) < 2 {
				t.Fatalf("%d frames, want at least 2", len(frames))
			}
			somaxconn, err := os.ReadFile("/proc/sys/net/core/somaxconn")
			if err != nil {
				t.Fatal(err)
			}
			want, _ := strconv.ParseInt(strings.TrimSpace(string(somaxconn)), 10, 64)
			before := -1.0
			for i, f := range frames {
				if f.Seq != uint64(i+1) {
					t.Errorf("frame %d has seq %d", i+1, f.Seq)
				}
				if up, ok := f.Uptime.Get(); !ok || up <= before {
					t.Errorf("uptime %v after %v", f.Uptime, before)
				} else {
					before = up
				}
				if got, ok := f.Counters.Somaxconn.Get(); !ok || got != want {
					t.Errorf("somaxconn %v, want %d: read one byte at a time it is its first digit", f.Counters.Somaxconn, want)
				}
				knowsCounters(t, f)
				socketOn(t, f, port)
			}
		})
	}
}

// knowsCounters checks that every counter that a frame is for was told.
func knowsCounters(t *testing.T, f parse.Frame) {
	t.Helper()
	c := f.Counters
	for name, v := range map[string]model.Value[int64]{
		"ListenOverflows": c.ListenOverflows, "ListenDrops": c.ListenDrops,
		"ReqQFullDoCookies": c.ReqQFullDoCookies, "ReqQFullDrop": c.ReqQFullDrop,
		"SyncookiesSent": c.SyncookiesSent, "SyncookiesRecv": c.SyncookiesRecv,
		"PassiveOpens": c.PassiveOpens,
	} {
		if !v.IsKnown() {
			t.Errorf("%s is unknown: %s", name, v.Reason())
		}
	}
}

// path makes a PATH that holds cat, sleep and the given programs of ours only.
func path(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cat", "sleep"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + dir
}

func TestSamplerFallsBack(t *testing.T) {
	needs := func(name string) string {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no %s on this machine", name)
		}
		return p
	}
	realSS, realNstat := needs("ss"), needs("nstat")
	tests := map[string]struct {
		programs map[string]string
		sections string
		notes    string
		limits   bool // are limits known?
	}{
		"neither ss nor nstat": {
			sections: "note tcp tcp6 note netstat snmp somaxconn",
			notes:    "ss is not in this image: depths are from /proc/net/tcp, which does not tell limits and drops\nnstat is not in this image: counters are from /proc/net",
		},
		"both fail": {
			programs: map[string]string{"ss": "exit 255", "nstat": "exit 255"},
			sections: "note tcp tcp6 note netstat snmp somaxconn",
			notes:    "ss failed: depths are from /proc/net/tcp, which does not tell limits and drops\nnstat failed: counters are from /proc/net",
		},
		"ss without -e": {
			programs: map[string]string{"ss": `case $1 in *e) exit 255;; esac; exec ` + realSS + ` "$@"`, "nstat": "exec " + realNstat + ` "$@"`},
			sections: "ss nstat somaxconn",
			limits:   true,
		},
		"ss without -O and -H": {
			programs: map[string]string{"ss": `case $1 in *[OH]*) exit 255;; esac; exec ` + realSS + ` "$@"`, "nstat": "exec " + realNstat + ` "$@"`},
			sections: "ss nstat somaxconn",
			limits:   true,
		},
		"an nstat daemon": {
			programs: map[string]string{"ss": "exec " + realSS + ` "$@"`, "nstat": `echo "#12.34 sampling_interval=1 time_const=60"; echo "TcpExtListenOverflows 1 0.0"`},
			sections: "ss note netstat snmp somaxconn",
			notes:    "nstat answers with figures of a daemon: counters are from /proc/net",
			limits:   true,
		},
	}
	shell := shells(t)["sh"]
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := listen(t)
			frames, _ := run(t, sampler(shell, envTTL+"=1", path(t, tt.programs)))
			f := frames[0]
			var sections []string
			for _, s := range f.Sections {
				sections = append(sections, s.Name)
			}
			if got := strings.Join(sections, " "); got != tt.sections {
				t.Errorf("sections %q, want %q", got, tt.sections)
			}
			if got := strings.Join(f.Notes, "\n"); got != tt.notes {
				t.Errorf("notes\n%s\nwant\n%s", got, tt.notes)
			}
			knowsCounters(t, f)
			s := socketOn(t, f, port)
			if s.Depth != model.Known[int64](0) {
				t.Errorf("depth %v", s.Depth)
			}
			if s.Limit.IsKnown() != tt.limits {
				t.Errorf("limit %v, known: want %v", s.Limit, tt.limits)
			}
		})
	}
}

// The rows of sockets that do not listen, of which there may be thousands, are
// left out of the fallback.
func TestSamplerListsOnlyListeners(t *testing.T) {
	t.Parallel()
	shell := shells(t)["sh"]
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	frames, _ := run(t, sampler(shell, envTTL+"=1", path(t, nil)))
	s, ok := frames[0].Section("tcp")
	if !ok {
		t.Fatal("no section tcp")
	}
	rows := strings.Split(strings.TrimSpace(s.Text), "\n")
	for _, row := range rows[1:] {
		if fields := strings.Fields(row); len(fields) < 4 || fields[3] != "0A" {
			t.Errorf("not a listener: %s", row)
		}
	}
	if len(rows) < 2 {
		t.Errorf("no rows: %q", s.Text)
	}
}

func TestSamplerShowsThreadsOfTheTarget(t *testing.T) {
	self := os.Getpid()
	for name, shell := range shells(t) {
		for form, env := range map[string][]string{"with grep": nil, "without grep": {path(t, nil)}} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				frames, _ := run(t, sampler(shell, append(env, envTTL+"=3", envTarget+"="+strconv.Itoa(self), envContainer+"=app")...))
				p := frames[0].Process
				if p == nil {
					t.Fatal("no threads")
				}
				if p.PID != self || p.Container != "app" || p.Name == "" || p.CPUsAllowed.Or(0) < 1 || p.MaxFDs.Or(0) < 1 || p.OpenFDs.Or(0) < 1 {
					t.Errorf("process %+v", p)
				}
				if p.Uptime.Or(0) < frames[0].Uptime.Or(1e9) || !p.Ticks.IsKnown() || !p.Start.IsKnown() {
					t.Errorf("clock %v start %v ticks %v", p.Uptime, p.Start, p.Ticks)
				}
				if frames[1].Process != nil || frames[2].Process == nil {
					t.Error("threads are for the frames 1 and 3, and then every fifth")
				}
				for _, th := range p.Threads {
					if th.TID != self {
						continue
					}
					if th.Name == "" || th.State == "" || !th.Ticks.IsKnown() || !th.Start.IsKnown() || !th.RunNS.IsKnown() {
						t.Errorf("thread %+v", th)
					}
					return
				}
				t.Errorf("the main thread %d is missing: %+v", self, p.Threads)
			})
		}
	}
}

// A server that forks: what its workers do is shown, whatever the shell, and so are
// their own children.
func TestSamplerShowsTheTargetsChildren(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	if !tellsChildren(t) {
		t.Skip("this kernel does not tell of children (CONFIG_PROC_CHILDREN)")
	}
	// The second worker has a child of its own, and one burns CPU for ever.
	target := forker(t, bash, `(exec -a "nginx: worker process" sleep 60) &
(sleep 60; :) &
(exec -a "nginx: cache manager process" `+bash+` -c "while :; do :; done") &
(exec -a "nginx: worker process is shutting down" sleep 60) &
echo; wait`)
	time.Sleep(200 * time.Millisecond) // for exec to take place
	for name, shell := range shells(t) {
		for form, env := range map[string][]string{"with grep": nil, "without grep": {path(t, nil)}} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				frames, _ := run(t, sampler(shell, append(env, envTTL+"=3", envTarget+"="+strconv.Itoa(target))...))
				p := model.ProcessBetween(frames[0].Process, *frames[2].Process)
				titles, own := map[string]int{}, 0
				for _, c := range p.Children {
					titles[c.Title]++
					if c.Parent == target {
						own++
					}
				}
				if len(p.Children) != 5 || own != 4 || titles["nginx: worker"] != 1 || titles["nginx: cache manager"] != 1 || titles["nginx: worker is shutting down"] != 1 {
					t.Errorf("children %+v", p.Children)
				}
				if len(p.Threads) != 6 {
					t.Errorf("threads %+v", p.Threads)
				}
				if p.CPU.Or(0) < 0.02 {
					t.Errorf("CPU %v (%s) though a child burns", p.CPU, p.CPU.Reason())
				}
				busiest := slices.MaxFunc(p.Threads, func(a, b model.Thread) int { return cmp.Compare(a.CPU.Or(0), b.CPU.Or(0)) })
				for _, c := range p.Children {
					if c.PID == busiest.PID && c.Title != "nginx: cache manager" {
						t.Errorf("the busiest is %+v of %+v", busiest, c)
					}
				}
			})
		}
	}
}

// forker runs a script that forks and then prints a line, and gives its process.
func forker(t *testing.T, shell, script string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, shell, "-c", script)
	ownGroup(cmd)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// tellsChildren says whether the kernel tells of a process's children.
func tellsChildren(t *testing.T) bool {
	t.Helper()
	self := strconv.Itoa(os.Getpid())
	_, err := os.Stat("/proc/" + self + "/task/" + self + "/children")
	return err == nil
}

// Very many processes and threads cost no more than a hundred, and it is said how
// many were left out.
func TestSamplerBoundsTheTargetsChildren(t *testing.T) {
	t.Parallel()
	if !tellsChildren(t) {
		t.Skip("this kernel does not tell of children (CONFIG_PROC_CHILDREN)")
	}
	shell := shells(t)["sh"]
	target := forker(t, "sh", "i=0; while [ $i -lt 210 ]; do sleep 60 & i=$((i+1)); done; echo; wait")
	frames, _ := run(t, sampler(shell, envTTL+"=1", envTarget+"="+strconv.Itoa(target)))
	p := frames[0].Process
	if len(p.Threads) != 100 || p.Omitted != 101 || len(p.Children) != 200 || p.OmittedChildren != 10 {
		t.Errorf("%d threads and %d more, %d children and %d more", len(p.Threads), p.Omitted, len(p.Children), p.OmittedChildren)
	}
}

// A name is the only foreign text that can hold a newline, and the kernel does
// not escape it.
func TestSamplerKeepsNewlinesInThreadNames(t *testing.T) {
	t.Parallel()
	shell := shells(t)["sh"]
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	odd := filepath.Join(t.TempDir(), "a ) S\nb")
	if err := os.Symlink(sleep, odd); err != nil {
		t.Fatal(err)
	}
	target := exec.Command(odd, "30")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = target.Process.Kill(); _ = target.Wait() }()
	for form, env := range map[string][]string{"with grep": nil, "without grep": {path(t, nil)}} {
		frames, _ := run(t, sampler(shell, append(env, envTTL+"=1", envTarget+"="+strconv.Itoa(target.Process.Pid))...))
		if p := frames[0].Process; len(p.Threads) != 1 || p.Threads[0].Name != "a ) S\nb" || p.Name != "a ) S\nb" {
			t.Errorf("%s: %+v", form, p)
		}
	}
}

func TestSamplerSaysThatTheTargetIsGone(t *testing.T) {
	t.Parallel()
	frames, _ := run(t, sampler(shells(t)["sh"], envTTL+"=1", envTarget+"=2147483646"))
	if f := frames[0]; f.Process == nil || !f.Process.Gone || len(f.Process.Threads) > 0 || len(f.Notes) > 0 {
		t.Errorf("process %+v, notes %v", f.Process, f.Notes)
	}
}

// The kubelet replaces "$$" by "$", and $(NAME) of the container's variables.
func TestScriptIsWhatTheKubeletRuns(t *testing.T) {
	if strings.Contains(Script(), "$$") {
		t.Error("the script holds $$")
	}
	for _, name := range []string{envTTL, envTarget, envContainer, envContainerID, envOwners, envStdin, envReason, envBy} {
		if strings.Contains(Script(), "$("+name+")") {
			t.Errorf("the script holds $(%s)", name)
		}
	}
}

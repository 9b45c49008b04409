//go:build linux

package collect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// inNamespace runs f on a thread in a network namespace of its own, whose
// loopback is up. Children of f are born into it.
func inNamespace(t *testing.T, f func() error) {
	t.Helper()
	needRoot(t)
	for _, program := range []string{"ss", "nstat"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	err := onThreadOfItsOwn(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		if err := loopbackUp(fd); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sockets are what a test opened in its namespace.
type sockets []int

func (s *sockets) open() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		*s = append(*s, fd)
	}
	return fd, os.NewSyscallError("socket", err)
}

func (s *sockets) close() {
	for _, fd := range *s {
		_ = unix.Close(fd)
	}
}

// server listens on 127.0.0.1:port.
func (s *sockets) server(port, backlog int) (int, error) {
	fd, err := s.open()
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	return fd, os.NewSyscallError("listen", unix.Listen(fd, backlog))
}

// accept takes one connection.
func (s *sockets) accept(server int) error {
	fd, _, err := unix.Accept(server)
	if err == nil {
		*s = append(*s, fd)
	}
	return os.NewSyscallError("accept", err)
}

// client connects from 127.0.0.N to 127.0.0.1:port.
func (s *sockets) client(n byte, port int) (int, error) {
	fd, err := s.open()
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, n}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	return fd, os.NewSyscallError("connect", unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
}

// startedSampler collects what a sampler prints until it ends.
func startedSampler(shell []string, env ...string) (wait func() (frames []parse.Frame, err error), err error) {
	cmd := sampler(shell, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() ([]parse.Frame, error) {
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			return nil, fmt.Errorf("the sampler: %w, %s", err, &errs)
		}
		var frames []parse.Frame
		for r := parse.NewFrameReader(&out); ; {
			f, err := r.Next()
			if err != nil {
				return frames, nil
			}
			if len(f.Warnings) > 0 {
				return nil, errors.Join(f.Warnings...)
			}
			frames = append(frames, f)
		}
	}, nil
}

// asks lists the frames that told of a port, and how many waited.
func asks(frames []parse.Frame, port uint16) (list []string) {
	for _, f := range frames {
		for _, w := range f.Waiting {
			if w.Port == port {
				list = append(list, fmt.Sprintf("%d: %d+%d", f.Seq, len(w.Connections), w.Omitted))
			}
		}
	}
	return list
}

// A server that does not accept, and one that does, seen by a sampler of every
// shell at the same time. It asks at once, again after five seconds, and only
// while somebody waits.
func TestSamplerTellsWhoWaits(t *testing.T) {
	t.Parallel()
	var s sockets
	defer s.close()
	seen := map[string][]parse.Frame{}
	inNamespace(t, func() error {
		if _, err := s.server(8001, 16); err != nil {
			return err
		}
		accepts, err := s.server(8002, 16)
		if err != nil {
			return err
		}
		for n := byte(1); n <= 3; n++ {
			fd, err := s.client(n, 8001)
			if err != nil {
				return err
			}
			if n == 3 { // gives up
				_ = unix.Shutdown(fd, unix.SHUT_WR)
			}
			if _, err := s.client(n, 8002); err != nil {
				return err
			}
			if err := s.accept(accepts); err != nil {
				return err
			}
		}
		if _, err := s.client(4, 8002); err != nil { // the only one to wait there
			return err
		}
		waits := map[string]func() ([]parse.Frame, error){}
		for name, shell := range shells(t) {
			for form, env := range map[string][]string{"with grep": nil, "without grep": {path(t, realPrograms(t, "ss", "nstat"))}} {
				wait, err := startedSampler(shell, append(env, envTTL+"=9")...)
				if err != nil {
					return err
				}
				waits[name+" "+form] = wait
			}
		}
		time.Sleep(3 * time.Second)
		if err := s.accept(accepts); err != nil {
			return err
		}
		for name, wait := range waits {
			if seen[name], err = wait(); err != nil {
				return err
			}
		}
		return nil
	})
	for name, frames := range seen {
		t.Run(name, func(t *testing.T) {
			if got := asks(frames, 8001); len(got) != 2 || got[0] != "1: 3+0" || !strings.HasSuffix(got[1], ": 3+0") {
				t.Errorf("8001, which accepts nothing: asked in the frames %q", got)
			}
			if got := asks(frames, 8002); !slices.Equal(got, []string{"1: 1+0"}) {
				t.Errorf("8002, which accepts: %q", got)
			}
			checkWaiters(t, frames)
		})
	}
}

// checkWaiters looks at the two answers for port 8001.
func checkWaiters(t *testing.T, frames []parse.Frame) {
	t.Helper()
	var ages []float64
	var ids []string
	for _, f := range frames {
		for _, w := range f.Waiting {
			if w.Port != 8001 {
				continue
			}
			var callers, states, now []string
			for _, c := range w.Connections {
				callers = append(callers, c.Peer[:strings.LastIndexByte(c.Peer, ':')])
				states = append(states, c.State)
				now = append(now, c.ID)
				if c.Local != "127.0.0.1" {
					t.Errorf("local %q", c.Local)
				}
			}
			slices.Sort(callers)
			slices.Sort(states)
			slices.Sort(now)
			if got, want := strings.Join(callers, " "), "127.0.0.1 127.0.0.2 127.0.0.3"; got != want {
				t.Errorf("callers %s, want %s", got, want)
			}
			if got, want := strings.Join(states, " "), "close-wait established established"; got != want {
				t.Errorf("states %s, want %s", got, want)
			}
			if ids != nil && !slices.Equal(ids, now) {
				t.Errorf("identities %v, before %v", now, ids)
			}
			ids = now
			age, ok := w.Connections[0].Waited.Get()
			if !ok && len(ages) > 0 { // at first it may just have come
				t.Errorf("waited: %v", w.Connections[0].Waited)
			}
			ages = append(ages, age)
		}
	}
	if len(ages) < 2 || ages[1] <= ages[0] {
		t.Errorf("the oldest waited %v", ages)
	}
}

// realPrograms are programs of this machine under their own names.
func realPrograms(t *testing.T, names ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range names {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		found[name] = "exec " + p + ` "$@"`
	}
	return found
}

// Of a long queue 256 are told and the others counted.
func TestSamplerBoundsWhoWaits(t *testing.T) {
	t.Parallel()
	inNamespace(t, func() error {
		var s sockets
		defer s.close()
		if _, err := s.server(8001, 400); err != nil {
			return err
		}
		for range 300 {
			if _, err := s.client(1, 8001); err != nil {
				return err
			}
		}
		wait, err := startedSampler(shells(t)["sh"], envTTL+"=1")
		if err != nil {
			return err
		}
		frames, err := wait()
		if err == nil && !slices.Equal(asks(frames, 8001), []string{"1: 256+44"}) {
			t.Errorf("%q", asks(frames, 8001))
		}
		return err
	})
}

// With many queues that are not empty two are asked in each frame, so that all
// get their turn.
func TestSamplerAsksTwoPortsAFrame(t *testing.T) {
	t.Parallel()
	inNamespace(t, func() error {
		var s sockets
		defer s.close()
		for port := 8001; port <= 8005; port++ {
			if _, err := s.server(port, 4); err != nil {
				return err
			}
			if _, err := s.client(1, port); err != nil {
				return err
			}
		}
		wait, err := startedSampler(shells(t)["sh"], envTTL+"=3")
		if err != nil {
			return err
		}
		frames, err := wait()
		if err != nil {
			return err
		}
		seen := map[uint16]int{}
		for i, f := range frames[:3] {
			if want := []int{2, 2, 1}[i]; len(f.Waiting) != want {
				t.Errorf("frame %d asks %d ports, want %d", f.Seq, len(f.Waiting), want)
			}
			for _, w := range f.Waiting {
				seen[w.Port]++
			}
		}
		if len(seen) != 5 {
			t.Errorf("asked: %v", seen)
		}
		return nil
	})
}

// Who holds the sockets is asked when the listeners change, not when a depth
// does.
func TestSamplerTellsOwnersWhenListenersChange(t *testing.T) {
	t.Parallel()
	inNamespace(t, func() error {
		var s sockets
		defer s.close()
		if _, err := s.server(8001, 4); err != nil {
			return err
		}
		wait, err := startedSampler(shells(t)["sh"], envTTL+"=8", envOwners+"=yes")
		if err != nil {
			return err
		}
		time.Sleep(1500 * time.Millisecond)
		if _, err := s.client(1, 8001); err != nil { // a depth
			return err
		}
		time.Sleep(time.Second)
		if _, err := s.server(8002, 4); err != nil {
			return err
		}
		frames, err := wait()
		if err != nil {
			return err
		}
		var told []float64
		for _, f := range frames {
			if _, ok := f.Section("owners"); ok {
				told = append(told, f.Uptime.Or(0)-frames[0].Uptime.Or(0))
				for _, sock := range f.Sockets {
					if len(sock.Owners) != 1 || sock.Owners[0].PID != os.Getpid() {
						t.Errorf("frame %d, port %d: %+v", f.Seq, sock.Port, sock.Owners)
					}
				}
			}
		}
		// At once, and then not before five seconds are over; the sampler counts
		// whole ones.
		if len(told) != 2 || told[0] != 0 || told[1] <= 4 {
			t.Errorf("owners are told after %v s", told)
		}
		return nil
	})
	if frames, _ := run(t, sampler(shells(t)["sh"], envTTL+"=1")); len(frames) > 0 {
		if _, ok := frames[0].Section("owners"); ok {
			t.Error("owners are told though nobody asked")
		}
	}
}

// In a process namespace that is shared, the target is found by its container's
// ID in the path of its cgroup; here that of this machine's first process.
func TestSamplerFindsTheContainersProcess(t *testing.T) {
	t.Parallel()
	needRoot(t)
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip(err)
	}
	// Any part of our own path will do; the lowest process that has it is found.
	line, _, _ := strings.Cut(string(text), "\n")
	want := lowestWith(t, line)
	frames, _ := run(t, sampler(shells(t)["sh"], envTTL+"=1", envContainer+"=app", envContainerID+"="+line))
	if p := frames[0].Process; p == nil || p.PID != want || p.Container != "app" || len(p.Threads) == 0 {
		t.Errorf("process %+v, want %d", p, want)
	}
	frames, _ = run(t, sampler(shells(t)["sh"], envTTL+"=1", envContainer+"=app", envContainerID+"=1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014"))
	if p := frames[0].Process; p == nil || !p.Gone || p.Container != "app" {
		t.Errorf("a container that is not there: %+v", p)
	}
}

// lowestWith is the process with the lowest number whose cgroup file holds text.
func lowestWith(t *testing.T, text string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	lowest := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || lowest > 0 && pid > lowest {
			continue
		}
		if cgroup, err := os.ReadFile("/proc/" + e.Name() + "/cgroup"); err == nil && strings.Contains(string(cgroup), text) {
			lowest = pid
		}
	}
	return lowest
}

// Without the target's user and group its descriptors and where it sleeps are
// unknown, not 0.
func TestSamplerSaysWhatItMayNotSee(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for name, tt := range map[string]struct {
		uid, gid uint32
		sees     bool
	}{"another user": {65534, 65534, false}, "another group": {1234, 65534, false}, "the same": {1234, 1234, true}} {
		t.Run(name, func(t *testing.T) {
			target := exec.Command("sleep", "30")
			target.Dir = "/"
			target.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1234, Gid: 1234}}
			if err := target.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = target.Process.Kill(); _ = target.Wait() }()
			cmd := sampler(shells(t)["sh"], envTTL+"=1", envTarget+"="+strconv.Itoa(target.Process.Pid))
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: tt.uid, Gid: tt.gid}}
			frames, _ := run(t, cmd)
			p := frames[0].Process
			if p == nil || len(p.Threads) != 1 || p.Name != "sleep" || !p.Threads[0].RunNS.IsKnown() || !p.MaxFDs.IsKnown() || !p.CPUsAllowed.IsKnown() {
				t.Fatalf("process %+v", p)
			}
			if p.Threads[0].Wchan.IsKnown() != tt.sees {
				t.Errorf("wchan %v", p.Threads[0].Wchan)
			}
			// With the user alone the descriptors may be counted: that is one of ours.
			if name != "another group" && p.OpenFDs.IsKnown() != tt.sees || p.OpenFDs.IsKnown() && p.OpenFDs.Or(0) < 3 {
				t.Errorf("descriptors %v", p.OpenFDs)
			}
		})
	}
}

package collect

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a namespace needs root")
	}
}

// Process 1 of a namespace gets no signal that it does not handle, as in a
// container.
func TestSamplerEndsAtOnceAsProcessOne(t *testing.T) {
	needRoot(t)
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := sampler(shell)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The guard makes this a failure instead of a test that hangs.
			guard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer guard.Stop()
			lines := bufio.NewScanner(stdout)
			for lines.Scan() && lines.Text() != "==backlog-frame/1 end seq=1==" {
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			// It sleeps now, for a second at most: it may not begin another round.
			rounds := 0
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "==backlog-frame/1 end") {
					rounds++
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("after SIGTERM: %v", err)
			}
			if rounds > 0 {
				t.Errorf("%d frames after SIGTERM", rounds)
			}
		})
	}
}

// The probe runs so by default: no privilege, no capability.
func TestSamplerNeedsNoPrivilege(t *testing.T) {
	t.Parallel()
	needRoot(t)
	port := listen(t)
	cmd := sampler(shells(t)["sh"], envTTL+"=1")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(nobody), Gid: uint32(nobody)}}
	frames, _ := run(t, cmd)
	s := socketOn(t, frames[0], port)
	if _, err := exec.LookPath("ss"); err == nil && (!s.Limit.IsKnown() || !s.Drops.IsKnown() || !s.Inode.IsKnown()) {
		t.Errorf("socket %+v", s)
	}
	knowsCounters(t, frames[0])
}

// The group is what is killed as a whole; a child would outlive its shell.
func TestLocalHasAProcessGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shell, pidFile := filepath.Join(dir, "shell"), filepath.Join(dir, "pid")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\necho $$ >"+pidFile+"\nexec sh \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Local(ctx, LocalOptions{Shell: []string{shell}}, func(parse.Frame, time.Time) {
		defer cancel()
		text, err := os.ReadFile(pidFile)
		if err != nil {
			t.Error(err)
			return
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Error(err)
			return
		}
		if group, err := unix.Getpgid(pid); err != nil || group != pid {
			t.Errorf("process %d is of group %d, %v", pid, group, err)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// In a network namespace of its own, with a listener whose queue is full, the
// frame tells exactly that.
func TestLocalInANamespaceWithAFullQueue(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, program := range []string{"ss", "nstat"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const backlog = 2
	var (
		frames []parse.Frame
		port   uint16
	)
	// The thread, and with it the namespace, ends with f. A child is born into the
	// namespace of the thread.
	err := onThreadOfItsOwn(func() error {
		at, closeAll, err := fullQueue(backlog)
		if err != nil {
			return err
		}
		defer closeAll()
		port = at
		return Local(context.Background(), LocalOptions{TTL: time.Second}, func(f parse.Frame, _ time.Time) {
			frames = append(frames, f)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	f := frames[0]
	if len(f.Warnings) > 0 {
		t.Error(f.Warnings)
	}
	if len(f.Sockets) != 1 || f.Sockets[0].Port != port {
		t.Fatalf("sockets %+v, want one on %d", f.Sockets, port)
	}
	s := f.Sockets[0]
	if s.Depth != model.Known[int64](backlog+1) || s.Limit != model.Known[int64](backlog) {
		t.Errorf("depth %v limit %v, want %d and %d", s.Depth, s.Limit, backlog+1, backlog)
	}
	if f.Counters.ListenOverflows.Or(0) == 0 || s.Drops.Or(0) == 0 {
		t.Errorf("overflows %v, drops %v", f.Counters.ListenOverflows, s.Drops)
	}
}

// fullQueue makes a network namespace for this thread, a listener in it, and
// more connections than its queue holds.
func fullQueue(backlog int) (port uint16, closeAll func(), err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return 0, nil, os.NewSyscallError("unshare", err)
	}
	var fds []int
	closeAll = func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
	socket := func() (int, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			fds = append(fds, fd)
		}
		return fd, err
	}
	server, err := socket()
	if err != nil {
		return 0, nil, err
	}
	if err := loopbackUp(server); err != nil {
		return 0, nil, err
	}
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(server, loopback); err != nil {
		return 0, nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(server, backlog); err != nil {
		return 0, nil, os.NewSyscallError("listen", err)
	}
	addr, err := unix.Getsockname(server)
	if err != nil {
		return 0, nil, os.NewSyscallError("getsockname", err)
	}
	to := addr.(*unix.SockaddrInet4)
	for range backlog + 4 {
		client, err := socket()
		if err != nil {
			return 0, nil, err
		}
		if err := unix.Connect(client, to); err != nil && err != unix.EINPROGRESS {
			return 0, nil, os.NewSyscallError("connect", err)
		}
	}
	return uint16(to.Port), closeAll, nil
}

func loopbackUp(fd int) error {
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return os.NewSyscallError("setting lo up", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req))
}

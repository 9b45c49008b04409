package collect

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// The network namespace of a process, its one listener and its threads, seen from
// outside; the thread that went there is not used for anything else.
func TestLocalLooksIntoAProcess(t *testing.T) {
	var s sockets
	defer s.close()
	var target *exec.Cmd
	inNamespace(t, func() error {
		if _, err := s.server(8001, 4); err != nil {
			return err
		}
		target = exec.Command("sleep", "60")
		return target.Start()
	})
	defer func() { _ = target.Process.Kill(); _ = target.Wait() }()
	var frames []parse.Frame
	err := Local(t.Context(), LocalOptions{Target: target.Process.Pid, TTL: time.Second}, func(f parse.Frame, _ time.Time) {
		frames = append(frames, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	f := frames[0]
	if len(f.Sockets) != 1 || f.Sockets[0].Port != 8001 {
		t.Errorf("sockets %+v, want the one of that namespace", f.Sockets)
	}
	if f.Process == nil || f.Process.PID != target.Process.Pid || f.Process.Name != "sleep" {
		t.Errorf("process %+v", f.Process)
	}
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	// Goroutines that start now must all be in our own namespace.
	for range 4 * runtime.GOMAXPROCS(0) {
		done := make(chan string)
		go func() { at, _ := os.Readlink("/proc/thread-self/ns/net"); done <- at }()
		if at := <-done; at != ours {
			t.Errorf("a thread is left in %s, ours is %s", at, ours)
		}
	}
}

// In our own namespace no privilege is needed.
func TestLocalLooksAtAProcessOfOurNamespace(t *testing.T) {
	t.Parallel()
	port := listen(t)
	var frames []parse.Frame
	err := Local(t.Context(), LocalOptions{Target: os.Getpid(), TTL: time.Second}, func(f parse.Frame, _ time.Time) {
		frames = append(frames, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	socketOn(t, frames[0], port)
	if p := frames[0].Process; p == nil || p.PID != os.Getpid() {
		t.Errorf("process %+v", p)
	}
}

func TestLocalOfAProcessThatIsNotThere(t *testing.T) {
	t.Parallel()
	err := Local(t.Context(), LocalOptions{Target: 2147483646}, func(parse.Frame, time.Time) {})
	var process *ProcessError
	if !errors.As(err, &process) || process.PID != 2147483646 || !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no process 2147483646 on this machine" {
		t.Errorf("%v", err)
	}
}

// What the kernel answers to one who may not, as words that say what to do.
func TestProcessErrorSaysWhatToDo(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		unix.EPERM: "sudo nsenter --target 7 --net", unix.EACCES: "run this with sudo", unix.ESRCH: "there is no process 7",
		unix.ENOENT: "there is no process 7", unix.EINVAL: "entering the network namespace of process 7: setns: invalid argument",
	} {
		if got := processError(7, os.NewSyscallError("setns", errno)).Error(); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q in it", errno, got, want)
		}
	}
}

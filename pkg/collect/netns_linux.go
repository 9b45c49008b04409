package collect

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// startIn starts the command in the network namespace of a process; 0 is our
// own. A child is born into the namespace of the thread that makes it, so that no
// privilege is needed where the two are the same.
func startIn(cmd *exec.Cmd, pid int) error {
	if pid == 0 {
		return cmd.Start()
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if _, err := os.Stat(dir); err != nil {
		return &ProcessError{PID: pid, Err: fs.ErrNotExist}
	}
	path := filepath.Join(dir, "ns", "net")
	theirs, err := os.Readlink(path)
	if err != nil {
		return processError(pid, err)
	}
	if ours, err := os.Readlink("/proc/thread-self/ns/net"); err == nil && ours == theirs {
		return cmd.Start()
	}
	return onThreadOfItsOwn(func() error { return startOver(cmd, pid, path) })
}

// onThreadOfItsOwn runs f on a thread that nobody uses afterwards. It is never
// unlocked, so that it ends with its goroutine. The first thread cannot end, and
// /proc/self is what that one is: it only waits here for another.
func onThreadOfItsOwn(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			done <- onThreadOfItsOwn(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f()
	}()
	return <-done
}

// startOver moves this thread into the namespace before it starts the command.
func startOver(cmd *exec.Cmd, pid int, path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return processError(pid, err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return processError(pid, os.NewSyscallError("setns", err))
	}
	return cmd.Start()
}

// processError tells a process that ended from one that we may not look into.
func processError(pid int, err error) error {
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, fs.ErrNotExist):
		err = fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission): // EPERM and EACCES
		err = fs.ErrPermission
	}
	return &ProcessError{PID: pid, Err: err}
}

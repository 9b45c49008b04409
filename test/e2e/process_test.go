package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, name, args...)
}

// listening gives the inodes of this machine's listening TCP sockets.
func listening(t *testing.T) map[string]bool {
	t.Helper()
	inodes := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Skipf("left out: %v", err)
		}
		for _, line := range strings.Split(string(data), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" {
				inodes[f[9]] = true
			}
		}
	}
	return inodes
}

// sockets gives the inodes of a process's sockets.
func sockets(pid int) map[string]bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	inodes := map[string]bool{}
	for _, e := range entries {
		link, err := os.Readlink(dir + "/" + e.Name())
		if inode, ok := strings.CutPrefix(link, "socket:["); err == nil && ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes
}

func socketsOf(t *testing.T, pid int) int { t.Helper(); return len(sockets(pid)) }

func ownsSocket(pid int, inode string) bool { return sockets(pid)[inode] }

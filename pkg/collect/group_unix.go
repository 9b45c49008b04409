//go:build unix

package collect

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the sampler a process group of its own, which is killed as a
// whole: its children would otherwise outlive it, and ^C on the terminal would
// reach it before us.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

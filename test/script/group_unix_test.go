//go:build unix

package script

import (
	"os/exec"
	"syscall"
)

// ownGroup and interrupt reach a whole pipeline, as a terminal's Ctrl-C does.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interrupt(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }

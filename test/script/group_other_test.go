//go:build !unix

package script

import "os/exec"

func ownGroup(*exec.Cmd) {}

func interrupt(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

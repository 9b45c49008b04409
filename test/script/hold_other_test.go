//go:build !linux

package script

// hold needs Linux's backlog; no script runs it elsewhere.
func hold() {}

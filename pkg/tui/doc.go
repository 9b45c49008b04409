// Package tui is the screen of `kubectl backlog top`: a list of pods, worst
// first, a page for one pod, and, where the output is not a terminal, a plain
// table that repeats.
//
// The screen is a bubbletea program. Its Update and View do no I/O and read no
// clock: one command at a time polls the Source, another ticks, and both bring
// the time along in their messages. Everything drawn fits the terminal, since a
// view that is taller loses its top lines, and every string from outside goes
// through render.Clean, since a terminal obeys what it is sent.
//
// The list is made in steps, each of the one before: rows of a snapshot (order.go),
// counts and workloads of the rows (severity.go, groups.go), their order, at most
// every five seconds (listing.go), the lines that filters and folds leave (folds.go).
// Drawing takes the lines that are in sight, so that a thousand pods cost what fifty
// do.
//
// This is the only package that imports bubbletea, bubbles and lipgloss.
package tui

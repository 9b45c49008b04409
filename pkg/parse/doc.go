// Package parse turns bytes that were collected into values: frames of the
// probe's log, output of ss and nstat, files of /proc, and metrics pages.
//
// It is pure: no I/O but the reader it is handed, no clock, no state. Input is
// taken to be hostile and torn: every size is bounded, a malformed line gives a
// [*LineError] with its number and text, and all other lines are kept. What the
// input does not tell is unknown with a reason, never 0.
//
// Names that programs choose themselves (Owner.Name, Thread.Comm, labels of
// metrics) are handed on as they came, but for bytes that are no UTF-8. They may
// hold newlines and terminal escapes; whoever prints them makes them harmless.
package parse

// Package render turns a model.Snapshot into what a terminal or a script
// reads: a table in kubectl's look, and objects for -o json, yaml, name,
// jsonpath and go-template.
//
// It is pure: it reads no clock and writes to nothing but the writer it is
// given. Everything that does not come from this program (versions, messages of
// a kubelet, names) goes through Clean before it can reach a terminal.
package render

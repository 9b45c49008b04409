// Package parse turns the bytes that were collected into values.
package parse

// Metrics is a parsed metrics page.
type Metrics struct{}

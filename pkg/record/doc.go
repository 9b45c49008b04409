// Package record keeps snapshots in files and in memory, and gives them back: the
// writer and the player of recordings, the flight recorder, and the tape that the
// screen looks back on. format.go describes what a recording looks like.
package record

// Package timeline keeps what happened to pods over many snapshots: a few figures
// for each sample, from which pictures and sums are made, and events in words. It
// is pure and bounded, whatever the number of snapshots.
package timeline

// Package plan says what would follow: how many workers a proxy would have on each
// kind of node, how busy they would be, which backlog the bursts seen so far would
// have needed and what it costs; and, from specs alone, which pods are exposed as
// they are. It is pure: it gets measured values and gives predictions, each with
// the assumptions that it rests on in words.
package plan

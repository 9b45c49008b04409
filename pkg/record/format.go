package record

import (
	"fmt"
	"time"
)

// Version of the format that this package writes and reads.
//
// A recording is lines of JSON, compressed with gzip unless the file's name ends in
// .jsonl. The first line is the header:
//
//	{"backlogRecording":1,"tool":"v1.2.0","started":"…","title":"prod-eu1/shop"}
//
// For each tick a line for each pod of which something changed, and one that ends it:
//
//	{"pod":"UID","full":true,"set":{"metadata":{…},"listeners":[…],…},"raw":{"ss":"…"},"texts":["ss",…]}
//	{"pod":"UID","set":{"sample":{…}},"unset":["notes"],"said":[{"class":"healthy",…}]}
//	{"tick":17,"time":"…","notes":[…],"problems":[…],"pods":["UID",…]}
//	{"end":"2026-03-01T12:15:00Z"}
//
// "set" holds the fields of the pod that differ from its line before, each whole, and
// "unset" names those that are empty now; where "full" is true it holds all of them.
// "raw" holds the texts that differ (what ss, nstat and the proxy said), and "texts"
// the names of all texts, in their order, where those changed. "said" is what was
// judged at the time, where it is another than before: to be read, not to be trusted,
// since a player judges anew. "notes", "problems" and "pods" of a tick stand there
// when they changed. Once a minute all pods are full, so that a recording can be cut;
// such a tick has "key":true. "end" is the last line of a recording that was ended and
// not cut off.
//
// Fields have the names of `get -o json`, and some more (codec.go). Readers pass over
// names that they do not know; a change that they could not pass over is another
// version.
const Version = 1

// Header says what a recording is of.
type Header struct {
	// Tool is the version of the program that wrote it.
	Tool    string    `json:"tool,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Title names the context and namespace, as on the screen.
	Title string `json:"title,omitempty"`
	// Redacted says that names were replaced.
	Redacted bool `json:"redacted,omitempty"`
}

// NotRecordingError is a file that is no recording.
type NotRecordingError struct {
	Name  string
	Looks string // what it is instead: "is empty", "looks like HTML"
}

func (e *NotRecordingError) Error() string {
	return fmt.Sprintf("%s %s: a recording is written by `record`, or by R on the screen", e.Name, e.Looks)
}

// VersionError is a recording of a version that this program does not read.
type VersionError struct {
	Name    string
	Version int64
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is a recording of version %d, and this program reads version %d: update it", e.Name, e.Version, Version)
}

// Bounds of what a player takes.
const (
	maxLine = 8 << 20
	maxPods = 20_000
)

// keyEvery is how often all pods are written whole.
const keyEvery = time.Minute

package model

// RawText is a text as it was read: what a pod's values were made of.
type RawText struct {
	// Name says what it is: a section of a frame ("ss", "nstat", "waiting 4143"), or
	// the path of a page ("/metrics").
	Name string `json:"name"`
	Text string `json:"text"`
}

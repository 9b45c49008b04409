package parse

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// noAge is why it is unknown how long a connection has waited at least. ss
// leaves out what is 0, so a row without both is also one that has just come.
const noAge = "ss printed neither lastsnd nor lastrcv: it has just come, or ss was asked without -i"

// maxWaiters bounds the rows of one section; the sampler prints 256.
const maxWaiters = 4096

// Waiting is a section "waiting PORT": connections of that port that nobody has
// accepted yet.
type Waiting struct {
	Port        uint16
	Connections []WaitingConnection
	// Omitted is how many more there were, at least.
	Omitted int
}

// WaitingConnection is one of them, with the address that it was made to: where
// several listeners share a port, that tells whose it is.
type WaitingConnection struct {
	model.Connection
	Local string
}

// WaitingRows reads the body of a section "waiting PORT". The sampler takes it
// from ss -HOtnie, and leaves out what is not read: state, both addresses, and
// the words sk, lastsnd and lastrcv (milliseconds) in any order. Other words are
// passed over.
//
//	ESTAB 10.1.0.7:4143 10.1.0.9:46374 sk:131b lastsnd:2020 lastrcv:16
//	CLOSE-WAIT [::ffff:10.1.0.7]:4143 [::ffff:10.1.0.9]:46384 sk:131d lastsnd:372000
//	more 24
//
// A child socket's lastsnd and lastrcv begin when the handshake is over. It
// sends nothing before it is accepted, so the greater of the two is how long it
// has waited, at least.
func WaitingRows(text string) (Waiting, []error) {
	var w Waiting
	p := problems{what: "waiting"}
	for line := 1; text != ""; line++ {
		var row string
		row, text = cutLine(text)
		first, rest := cutField(row)
		switch first {
		case "":
			continue
		case "more":
			field, _ := cutField(rest)
			n, ok := count(field)
			if !ok || n > 1<<31-1 {
				p.add(line, row, "more is not a number")
				continue
			}
			w.Omitted += int(n)
			continue
		}
		c, problem := waitingRow(first, rest)
		switch {
		case problem != "":
			p.add(line, row, problem)
		case len(w.Connections) == maxWaiters:
			w.Omitted++
		default:
			w.Connections = append(w.Connections, c)
		}
	}
	return w, p.errors()
}

func waitingRow(state, rest string) (c WaitingConnection, problem string) {
	switch state {
	case "ESTAB":
		c.State = "established"
	case "CLOSE-WAIT":
		c.State = "close-wait"
	default:
		return c, "not a state in which a connection waits"
	}
	local, rest := cutField(rest)
	peer, rest := cutField(rest)
	if peer == "" {
		return c, "row ends before the peer address"
	}
	if c.Local, _, _, problem = splitLocal(local); problem != "" {
		return c, problem
	}
	if _, _, _, problem = splitLocal(peer); problem != "" {
		return c, strings.Replace(problem, "local", "peer", 1)
	}
	c.Peer = strings.Clone(peer)
	waited := int64(-1)
	for {
		var word string
		if word, rest = cutField(rest); word == "" {
			break
		}
		key, value, _ := strings.Cut(word, ":")
		switch key {
		case "sk":
			if _, err := strconv.ParseUint(value, 16, 64); err != nil {
				return c, "sk is not a number"
			}
			c.ID = strings.Clone(value)
		case "lastsnd", "lastrcv":
			ms, ok := count(value)
			if !ok {
				return c, key + " is not a number"
			}
			waited = max(waited, ms)
		}
	}
	c.Waited = model.Unknown[float64](noAge)
	if waited >= 0 {
		c.Waited = model.Known(float64(waited) / 1000)
	}
	return c, ""
}

// readWaiting reads all sections "waiting PORT".
func (f *Frame) readWaiting() {
	for _, s := range f.Sections {
		if s.Name != "waiting" {
			continue
		}
		port, err := strconv.ParseUint(s.Arg, 10, 16)
		if err != nil || port == 0 {
			f.warn(&LineError{What: "frame", Text: shorten(s.Arg, maxErrorText), Msg: "waiting names no port"})
			continue
		}
		if len(f.Waiting) == maxWaitingPorts {
			f.warn(&LineError{What: "frame", Msg: "too many sections waiting"})
			return
		}
		w, errs := WaitingRows(s.Text)
		w.Port = uint16(port)
		f.Waiting = append(f.Waiting, w)
		f.warn(errs...)
	}
}

// maxWaitingPorts bounds the sections of one frame; the sampler prints two.
const maxWaitingPorts = 16

package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func showWaiting(w Waiting, errs []error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "waiting %d, %d left out\n", w.Port, w.Omitted)
	for _, c := range w.Connections {
		fmt.Fprintf(&b, "%s %s at %s sk %q waited %s\n", c.State, c.Peer, c.Local, c.ID, show(c.Waited))
	}
	return b.String() + showErrors(errs)
}

// Real queues of a server that accepts nothing, as the sampler printed them.
func TestWaitingRowsRecorded(t *testing.T) {
	recorded(t, "waiting/*.txt", func(t *testing.T, file, text string) {
		w, errs := WaitingRows(text)
		golden(t, strings.TrimSuffix(file, "txt")+"golden", showWaiting(w, errs))
	})
}

// A child socket sends nothing before it is accepted: lastsnd is its age, and
// lastrcv is younger where the caller has sent something.
func TestWaitingRowsWaited(t *testing.T) {
	for words, want := range map[string]model.Value[float64]{
		"lastsnd:372000 lastrcv:16": model.Known(372.0),
		"lastrcv:16 lastsnd:15":     model.Known(0.016),
		"lastrcv:16":                model.Known(0.016),
		"lastack:99 sk:1":           model.Unknown[float64](noAge),
		"":                          model.Unknown[float64](noAge),
	} {
		w, errs := WaitingRows("ESTAB 10.0.0.1:80 10.0.0.2:4000 " + words + "\n")
		wantErrors(t, errs)
		if len(w.Connections) != 1 || w.Connections[0].Waited != want {
			t.Errorf("%q: %s", words, showWaiting(w, nil))
		}
	}
}

func TestWaitingRowsMalformed(t *testing.T) {
	w, errs := WaitingRows(strings.Join([]string{
		"ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:1 lastsnd:5",
		"LISTEN 0 5 10.0.0.1:80 0.0.0.0:*",
		"ESTAB 10.0.0.1:80",
		"ESTAB 10.0.0.1:80 10.0.0.2:http sk:2",
		"ESTAB 10.0.0.1 10.0.0.2:4000 sk:2",
		"ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:\x1b[2J",
		"ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:2 lastsnd:-1",
		"more x",
		"more 3",
		"",
		"CLOSE-WAIT [fe80::1]%eth0:80 [fe80::2]%eth0:4000 new:word sk:3 lastsnd:7",
	}, "\n"))
	wantErrors(t, errs,
		`waiting line 2: not a state in which a connection waits: "LISTEN 0 5 10.0.0.1:80 0.0.0.0:*"`,
		`waiting line 3: row ends before the peer address: "ESTAB 10.0.0.1:80"`,
		`waiting line 4: peer port is not a number (ss needs -n): "ESTAB 10.0.0.1:80 10.0.0.2:http sk:2"`,
		`waiting line 5: local address has no port: "ESTAB 10.0.0.1 10.0.0.2:4000 sk:2"`,
		`waiting line 6: sk is not a number: "ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:\x1b[2J"`,
		`waiting line 7: lastsnd is not a number: "ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:2 lastsnd:-1"`,
		`waiting line 8: more is not a number: "more x"`)
	want := `waiting 0, 3 left out
established 10.0.0.2:4000 at 10.0.0.1 sk "1" waited 0.005
close-wait [fe80::2]%eth0:4000 at fe80::1 sk "3" waited 0.007
`
	if got := showWaiting(w, nil); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWaitingRowsAreBounded(t *testing.T) {
	w, errs := WaitingRows(strings.Repeat("ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:1\n", maxWaiters+7))
	wantErrors(t, errs)
	if len(w.Connections) != maxWaiters || w.Omitted != 7 {
		t.Errorf("%d and %d more", len(w.Connections), w.Omitted)
	}
}

func TestFrameTellsWhoWaits(t *testing.T) {
	f := readOne(t, "ss", "1 5 *:80 *:*\n", "waiting 80", "ESTAB 10.0.0.1:80 10.0.0.2:4000 sk:1\n", "waiting 81", "",
		"waiting", "", "waiting http", "", "waiting 0", "", "waiting 70000", "")
	wantErrors(t, f.Warnings,
		`frame: waiting names no port`, `frame: waiting names no port: "http"`,
		`frame: waiting names no port: "0"`, `frame: waiting names no port: "70000"`)
	if len(f.Waiting) != 2 || f.Waiting[0].Port != 80 || len(f.Waiting[0].Connections) != 1 || f.Waiting[1].Port != 81 || len(f.Waiting[1].Connections) != 0 {
		t.Errorf("%+v", f.Waiting)
	}
}

// The clock of the threads' own reading wins over the frame's.
func TestFrameTellsTheProcess(t *testing.T) {
	f := readOne(t, "threads app", "uptime 12.25\n1/wchan:ep_poll\n")
	if f.Process == nil || f.Process.Container != "app" || f.Process.Uptime.Or(0) != 12.25 || len(f.Process.Threads) != 1 {
		t.Errorf("%+v", f.Process)
	}
	if f = readOne(t, "threads", "1/wchan:ep_poll\n"); f.Process == nil || f.Process.Uptime.Or(0) != 10.5 {
		t.Errorf("%+v", f.Process)
	}
	if f = readOne(t, "ss", ""); f.Process != nil {
		t.Errorf("%+v", f.Process)
	}
}

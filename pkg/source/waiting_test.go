package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// log reads frames as a probe prints them, one a second from 100 s on. Each is
// the rows of ss, and perhaps more sections.
func log(t *testing.T, frames ...string) []parse.Frame {
	t.Helper()
	var b strings.Builder
	for i, text := range frames {
		fmt.Fprintf(&b, "==backlog-frame/1 begin seq=%d uptime=%d.00==\n==backlog-section ss==\n%s==backlog-frame/1 end seq=%d==\n", i+1, 100+i, text, i+1)
	}
	var all []parse.Frame
	for r := parse.NewFrameReader(strings.NewReader(b.String())); ; {
		f, err := r.Next()
		if err != nil {
			return all
		}
		all = append(all, f)
	}
}

// after is the pod when its history has seen the frames.
func after(h *history, frames []parse.Frame) model.Pod {
	for _, f := range frames {
		h.addFrame(f, "s", time.Time{})
	}
	var p model.Pod
	h.fill(&p)
	return p
}

const (
	full  = "2 5 *:80 *:* ino:7 sk:1 skmem:(r0,d0)\n"
	none  = "0 5 *:80 *:* ino:7 sk:1 skmem:(r0,d0)\n"
	asked = full + "==backlog-section waiting 80==\nESTAB [::ffff:10.0.0.1]:80 [::ffff:10.0.0.9]:4000 sk:a lastsnd:5000\nESTAB [::ffff:10.0.0.1]:80 [::ffff:10.0.0.8]:4000 sk:b lastsnd:9000\n"
)

func TestHistoryTellsWhoWaits(t *testing.T) {
	h := history{window: 3 * time.Second}
	p := after(&h, log(t, asked, full, full, full, full, asked))
	w := p.Listeners[0].Waiting
	if w == nil || w.Stuck != model.Known[int64](2) || w.StandsStill() != model.Known(5.0) || w.Oldest() != model.Known(9.0) || len(w.Callers) != 2 {
		t.Fatalf("waiting = %+v", w)
	}
	// Names are put into the callers of one snapshot: they stay out of the next.
	w.Callers[0].Pod = model.Known("shop/web")
	var again model.Pod
	h.fill(&again)
	if again.Listeners[0].Waiting.Callers[0].Pod.IsKnown() {
		t.Error("two snapshots share their callers")
	}
}

func TestHistoryForgetsWhoWaited(t *testing.T) {
	old := make([]string, waitingOldAfter+2)
	for i := range old {
		old[i] = full
	}
	old[0] = asked
	gone := full + "==backlog-section waiting 80==\n"
	for name, frames := range map[string][]string{
		"the queue is empty":                        {asked, none},
		"the listener is gone":                      {asked, "0 5 *:81 *:* ino:8 sk:2 skmem:(r0,d0)\n"},
		"nobody was left when it was asked":         {asked, gone},
		"it was empty in between":                   {asked, none, full},
		"the answer is too old":                     old,
		"it was never asked":                        {full},
		"the answer is of a port nobody listens on": {none + "==backlog-section waiting 99==\nESTAB 10.0.0.1:99 10.0.0.9:4000 sk:a\n"},
	} {
		p := after(&history{window: 3 * time.Second}, log(t, frames...))
		if w := p.Listeners[0].Waiting; w != nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	// An empty queue is a new beginning: the next answer is the first.
	p := after(&history{window: 3 * time.Second}, log(t, asked, none, asked))
	if w := p.Listeners[0].Waiting; w == nil || w.Stuck.IsKnown() {
		t.Errorf("%+v", w)
	}
	// So is another probe or sandbox.
	h := history{window: 3 * time.Second}
	after(&h, log(t, asked))
	h.addFrame(log(t, full)[0], "another", time.Time{})
	var q model.Pod
	if h.fill(&q); q.Listeners[0].Waiting != nil {
		t.Errorf("%+v", q.Listeners[0].Waiting)
	}
}

// Several listeners on one port: a connection belongs to the one that the kernel
// gives it to.
func TestHistorySharesWaitersOut(t *testing.T) {
	listeners := []string{"127.0.0.1", "0.0.0.0", "[::1]", "[::]", "*"}
	rows := func(of ...string) string {
		var b strings.Builder
		for i, l := range of {
			depth := 3
			if l, ok := strings.CutPrefix(l, "empty "); ok {
				depth, of[i] = 0, l
			}
			fmt.Fprintf(&b, "%d 5 %s:80 0.0.0.0:* ino:%d sk:1 skmem:(r0,d0)\n", depth, of[i], i+1)
		}
		return b.String()
	}
	for _, tt := range []struct {
		listeners []string
		local     string
		want      string
	}{
		{listeners, "127.0.0.1", "127.0.0.1"},
		{listeners, "10.0.0.1", "0.0.0.0"},
		{listeners, "[::1]", "::1"},
		{listeners, "[fd00::1]", "::"},
		{listeners, "[::ffff:10.0.0.1]", "*"},
		{[]string{"127.0.0.1", "[::]"}, "[::ffff:10.0.0.1]", "::"},
		{[]string{"empty 127.0.0.1", "*"}, "127.0.0.1", "*"},
		{[]string{"*"}, "10.9.9.9", "*"},
	} {
		text := rows(append([]string(nil), tt.listeners...)...) + "==backlog-section waiting 80==\nESTAB " + tt.local + ":80 10.0.0.9:4000 sk:a\nmore 5\n"
		p := after(&history{window: 3 * time.Second}, log(t, text))
		got := map[string]int{}
		for _, l := range p.Listeners {
			if l.Waiting != nil {
				got[l.Address] = l.Waiting.Total()
			}
		}
		if diff := cmp.Diff(map[string]int{tt.want: 6}, got); diff != "" {
			t.Errorf("%v, to %s:\n%s", tt.listeners, tt.local, diff)
		}
	}
}

func TestHistoryKeepsOwnersByInode(t *testing.T) {
	owned := none + "==backlog-section owners==\n0 5 *:80 *:* users:((\"server\",pid=1,fd=3)) ino:7 sk:1 skmem:(r0,d0)\n"
	h := history{window: time.Second}
	p := after(&h, log(t, owned, none, none))
	if o := p.Listeners[0].Sockets[0].Owners; len(o) != 1 || o[0].Name != "server" {
		t.Errorf("owners %+v", o)
	}
	reopened := strings.Replace(none, "ino:7", "ino:8", 1)
	p = after(&history{window: time.Second}, log(t, owned, reopened))
	if o := p.Listeners[0].Sockets[0].Owners; o != nil {
		t.Errorf("another socket has the owners of the one before: %+v", o)
	}
	p = after(&history{window: time.Second}, log(t, owned, none+"==backlog-section owners==\n"))
	if o := p.Listeners[0].Sockets[0].Owners; o != nil {
		t.Errorf("owners that are not told any more: %+v", o)
	}
}

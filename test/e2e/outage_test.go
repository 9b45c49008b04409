package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// How long the API server is away, and how long it may take afterwards until
// figures are current again: a pause between two tries is at most 5 s.
const (
	outageFor  = 20 * time.Second
	recoversIn = 12 * time.Second
)

// outage is one way in which the API server is gone, with the program before it.
type outage struct {
	name   string
	server string // what the program talks to
	begin  func()
	end    func()
	note   string // why rows are stale, in part
	top    *program
	get    *program
	held   int // sockets of top, before
}

// steadyLoad makes two pods whose figures are known: "full", whose queue is full
// and overflows fifty times a second and more, and "loaded", a proxy with a load
// that never changes. Their probes run, and their counters are recorded.
func (e *env) steadyLoad() {
	e.Helper()
	e.create(serverPod("full", []string{"-listen", "127.0.0.1:8080/4", "-never-accept"}))
	e.create(proxyPod("loaded", map[string]string{"TOKIOPROXY_BURN_US": "1000"}))
	e.running("full", "loaded")
	e.detach("full", "load", "burst", "-addr", "127.0.0.1:8080", "-fill", "5", "-hold", "3m")
	e.detach("full", "load", "burst", "-addr", "127.0.0.1:8080", "-n", "5", "-every", "100ms", "-for", "3m", "-timeout", "500ms")
	e.detach("loaded", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "10", "-every", "100ms", "-for", "3m", "-timeout", "1s")
	if r := e.backlog("get", "full", "loaded", "--window", "0"); r.code != 0 {
		e.Fatalf("code %d", r.code)
	}
	e.record("full")
	e.record("loaded")
	e.recordProxy("loaded")
}

// The API server goes away in every way at once, each behind a proxy of its own,
// under the eyes of top and of get -w: rows stay, say that they are stale and how
// long, come back, and no figure is ever wrong because of it.
func TestOutages(t *testing.T) {
	e := newEnv(t, nil)
	e.steadyLoad()

	refused, swallowed, forgotten := newWire(t), newWire(t), newWire(t)
	busy, expired, broken := newAPIProxy(t), newAPIProxy(t), newAPIProxy(t)
	outages := []*outage{
		{
			name: "connections cut and refused", server: refused.url(), note: "connection refused",
			begin: func() { refused.refuse(); refused.cut() }, end: refused.accept,
		},
		{
			name: "packets lost", server: swallowed.url(),
			begin: swallowed.swallow, end: func() { swallowed.pass(false) },
		},
		{
			name: "connections forgotten by a firewall", server: forgotten.url(),
			begin: forgotten.swallow, end: func() { forgotten.pass(true) },
		},
		{
			name: "too many requests", server: busy.url(), note: "too many requests",
			begin: func() {
				busy.instead(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later")
			},
			end: func() { busy.answers(nil) },
		},
		{
			name: "credentials expired", server: expired.url(), note: "You must be logged in to the server",
			begin: func() { expired.instead(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized") },
			end:   func() { expired.answers(nil) },
		},
		{
			name: "server errors", server: broken.url(), note: "etcdserver: request timed out",
			begin: func() {
				broken.instead(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: request timed out")
			},
			end: func() { broken.answers(nil) },
		},
	}
	for _, o := range outages {
		o.top = e.start("top", "full", "loaded", "--interval", "1s", "--server", o.server)
		o.get = e.start("get", "full", "loaded", "-w", "-o", "json", "--window", "3s", "--server", o.server)
	}
	term := e.terminal(160, 24)
	term.top("full", "loaded", "--server", refused.url())
	for _, o := range outages {
		o.get.shows("the overflows of full", func(p item) bool { return p.Meta.Name == "full" && p.Window.Overflows.Or(0) > 0 })
		o.get.shows("the busy ratio of loaded", func(p item) bool { return p.Meta.Name == "loaded" && p.Runtime.Window.Busy.IsKnown() })
		o.top.says("both", "full ", "loaded ")
	}
	term.shows("full", "loaded", "5/4")
	time.Sleep(2 * time.Second)

	for _, o := range outages {
		o.held = socketsOf(t, o.top.cmd.Process.Pid)
	}
	begun := time.Now()
	for _, o := range outages {
		o.begin()
	}
	time.Sleep(outageFor - 5*time.Second)
	screen := term.screen()
	time.Sleep(time.Until(begun.Add(outageFor)))
	ended := time.Now()
	for _, o := range outages {
		o.end()
	}
	term.gone("stale")
	recovered := time.Since(ended)
	time.Sleep(max(0, time.Until(ended.Add(recoversIn+4*time.Second))))

	truth := map[string]*series{"full": e.recorded("full"), "loaded": e.recorded("loaded")}
	t.Run("screen", func(t *testing.T) {
		for _, name := range []string{"full", "loaded"} {
			if !regexp.MustCompile(name + `\s.* stale 1[0-9]s`).MatchString(screen) {
				t.Errorf("no row of %s that is marked with its age:\n%s", name, screen)
			}
		}
		if !strings.Contains(screen, "connection refused") {
			t.Errorf("nothing says why:\n%s", screen)
		}
		if recovered > recoversIn {
			t.Errorf("it took %s until the screen was current again", recovered)
		}
		t.Logf("current again after %s; before:\n%s", recovered, screen)
	})
	for _, o := range outages {
		e.eventually("sockets as before, "+o.name, func() error {
			if now := socketsOf(t, o.top.cmd.Process.Pid); now > o.held+1 {
				return errorf("%d, before %d", now, o.held)
			}
			return nil
		})
		o.top.interrupt()
		o.get.interrupt()
		t.Run(o.name, func(t *testing.T) {
			o.checkTables(t, begun, ended)
			items := o.get.items()
			for i, p := range items {
				truth[p.Meta.Name].check(t, fmt.Sprintf("line %d of %d, %s at %s", i+1, len(items), p.Meta.Name, p.Sample.Arrived.Format(time.TimeOnly)), p)
			}
			if p := lastOf(items, "loaded"); !p.Runtime.Window.Busy.IsKnown() {
				t.Errorf("after the outage the busy ratio is unknown: %s, %s", p.Runtime.Window.Busy.Reason(), p.Collection.Metrics)
			}
			stale := slices.ContainsFunc(items, func(p item) bool { return p.Collection.Stage == model.StageStale })
			last := items[len(items)-1]
			if !stale || last.Collection.Stage != model.StageOK {
				t.Errorf("JSON: a stale pod %v, the last line is %+v", stale, last.Collection)
			}
		})
	}
	for name, s := range truth {
		if s.checked < 60 {
			t.Errorf("pod %s: only %d figures were held against the truth", name, s.checked)
		}
		if n := len(e.get(name).Spec.EphemeralContainers); n != 1 {
			t.Errorf("pod %s has %d ephemeral containers", name, n)
		}
	}
}

// checkTables looks at every table that top printed: both rows are in each, are
// marked stale with their age while the API server is away, and soon not any more.
func (o *outage) checkTables(t *testing.T, begun, ended time.Time) {
	t.Helper()
	staleRow := regexp.MustCompile(`,stale (\d+)s\b`)
	marked := 0
	var back time.Duration
	for _, table := range strings.Split(strings.TrimSpace(o.top.stdout()), "\n\n") {
		lines := strings.Split(table, "\n")
		clock, _, _ := strings.Cut(lines[0], "  ")
		at, err := time.Parse("15:04:05Z", clock)
		if err != nil {
			t.Errorf("a table begins with %q", lines[0])
			continue
		}
		at = time.Date(begun.Year(), begun.Month(), begun.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
		var rows []string
		for _, l := range lines[1:] {
			if strings.HasPrefix(l, "full ") || strings.HasPrefix(l, "loaded ") {
				rows = append(rows, l)
			}
		}
		if len(rows) != 2 {
			t.Errorf("not both rows in\n%s", table)
		}
		away := at.After(begun.Add(6*time.Second)) && at.Add(time.Second).Before(ended) // at has whole seconds
		for _, row := range rows {
			m := staleRow.FindStringSubmatch(row)
			switch {
			case m == nil && away:
				t.Errorf("%s after the API server went away: not marked stale:\n%s", at.Sub(begun).Round(time.Second), row)
			case m == nil:
			case at.Before(begun.Add(time.Second)):
				t.Errorf("stale before the API server went away:\n%s", row)
			default:
				marked++
				back = max(back, at.Sub(ended)+time.Second)
				if age, err := strconv.Atoi(m[1]); err != nil || age < int(at.Sub(begun).Seconds())-3 && at.Before(ended) {
					t.Errorf("%s after the API server went away the age is %q", at.Sub(begun), m[1])
				}
			}
		}
	}
	if marked == 0 {
		t.Error("no row was ever marked stale")
	}
	if back > recoversIn {
		t.Errorf("it took %s until all rows were current again", back)
	}
	if !strings.Contains(o.top.stderr(), o.note) {
		t.Errorf("nothing on stderr says %q:\n%s", o.note, o.top.stderr())
	}
	t.Logf("current again after %s at most; notes:\n%s", back.Round(time.Second), o.top.stderr())
}

// lastOf is the newest that was printed of a pod.
func lastOf(items []item, name string) (last item) {
	for _, p := range items {
		if p.Meta.Name == name {
			last = p
		}
	}
	return last
}

// instead answers every request as an API server does that refuses it.
func (g *apiProxy) instead(code int, reason metav1.StatusReason, message string) {
	g.answers(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		})
		return true
	})
	g.cut()
}

// top starts top on the terminal.
func (t *terminal) top(args ...string) {
	t.Helper()
	command := t.command(t.Context(), append([]string{"top"}, args...)...)
	t.keys("KUBECTL_BACKLOG_IMAGE="+toolsImage+" "+strings.Join(command.Args, " "), "Enter")
}

// gone waits until words are not on the screen any more.
func (t *terminal) gone(words string) {
	t.Helper()
	t.eventually("the screen without "+words, func() error {
		if s := t.screen(); strings.Contains(s, words) {
			return errorf("still there:\n%s", s)
		}
		return nil
	})
}

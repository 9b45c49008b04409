package source

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// pagedProxy is a proxy with a page of figures and one about the process, each of
// which is a single letter.
type pagedProxy struct{ fakeProxy }

func (pagedProxy) Pages(*corev1.Pod) []string { return []string{"/figures?x=1", "/about"} }

func (pagedProxy) Seldom(path string) bool { return path == "/about" }

// ReadPages takes the clock from the first page and the start from the second.
func (pagedProxy) ReadPages(bodies [][]byte) (model.Runtime, model.Value[string], error) {
	if len(bodies[0]) != 1 {
		return model.Runtime{}, model.Value[string]{}, errors.New("reading /figures: not the proxy's")
	}
	r := model.UnknownRuntime("not on the page")
	r.ClockBooked, r.Clock, r.Workers = true, model.Known(float64(bodies[0][0])), model.Known[int64](2)
	if len(bodies[1]) == 1 {
		r.Start = model.Known(float64(bodies[1][0]))
	}
	return r, model.Known("1"), nil
}

var (
	_ plugins.PageReader   = pagedProxy{}
	_ plugins.SeldomReader = pagedProxy{}
)

// server is what answers, and what it was asked for.
type server struct {
	pages  map[string]string
	errs   map[string]error
	status int
	asked  []string
}

func (s *server) Get(_ context.Context, path string) (collect.Response, error) {
	s.asked = append(s.asked, path)
	if err := s.errs[path]; err != nil {
		return collect.Response{}, err
	}
	status := 200
	if s.status != 0 {
		status = s.status
	}
	return collect.Response{Status: status, Body: []byte(s.pages[path])}, nil
}

func (*server) Close() {}

func (s *server) times(path string) (n int) {
	for _, p := range s.asked {
		if p == path {
			n++
		}
	}
	return n
}

// scrapeIt gives a reading at each call, so many seconds after the first.
func scrapeIt(s *server) (at func(second int) (model.Runtime, error)) {
	now := time.Unix(1000, 0)
	scraper := pageScraper{reader: pagedProxy{}, now: func() time.Time { return now }}
	return func(second int) (model.Runtime, error) {
		now = time.Unix(1000+int64(second), 0)
		r, err := scraper.read(context.Background(), pod("a"), s)
		return r.runtime, err
	}
}

// Pages on which nothing changes are asked for once a minute, the figures each time.
func TestSeldomPagesAreKept(t *testing.T) {
	s := &server{pages: map[string]string{"/figures?x=1": "5", "/about": "A"}}
	at := scrapeIt(s)
	for second := range 61 {
		r, err := at(second)
		if err != nil || r.Start != model.Known(float64('A')) {
			t.Fatalf("second %d: start %+v: %v", second, r.Start, err)
		}
	}
	if s.times("/figures?x=1") != 61 || s.times("/about") != 2 {
		t.Errorf("figures %d times, about %d times in a minute", s.times("/figures?x=1"), s.times("/about"))
	}
	if s.asked[0] != "/figures?x=1" {
		t.Errorf("%s was asked for first", s.asked[0])
	}
}

// A clock that went back, or an answer that failed, is another process: what was
// kept of the one before is not given to it.
func TestSeldomPagesOfAnotherProcess(t *testing.T) {
	for name, restart := range map[string]func(at func(int) (model.Runtime, error), s *server){
		"clock": func(_ func(int) (model.Runtime, error), s *server) { s.pages["/figures?x=1"] = "1" },
		"failure": func(at func(int) (model.Runtime, error), s *server) {
			s.errs = map[string]error{"/figures?x=1": &collect.RefusedConnectionError{Port: 1}}
			if _, err := at(1); err == nil {
				panic("a refused connection is a reading")
			}
			s.errs, s.pages["/figures?x=1"] = nil, "9"
		},
	} {
		s := &server{pages: map[string]string{"/figures?x=1": "5", "/about": "A"}}
		at := scrapeIt(s)
		if _, err := at(0); err != nil {
			t.Fatal(err)
		}
		restart(at, s)
		s.pages["/about"] = "B"
		if r, err := at(2); err != nil || r.Start != model.Known(float64('B')) {
			t.Errorf("%s: start %+v: %v", name, r.Start, err)
		}
	}
}

// A page that is too slow or too large costs the reading what stands on it, and no
// more; one without figures costs it all.
func TestPagesThatFail(t *testing.T) {
	slow, large := &collect.NoAnswerError{Port: 1, After: time.Second}, &collect.TooLargeError{}
	for _, tt := range []struct {
		name   string
		errs   map[string]error
		status int
		body   string
		again  time.Duration // 0: it is a reading
		words  string
	}{
		{"slow page about the process", map[string]error{"/about": slow}, 0, "5", 0, ""},
		{"large page about the process", map[string]error{"/about": large}, 0, "5", 0, ""},
		{"closed page about the process", map[string]error{"/about": errors.New("EOF")}, 0, "5", time.Second, "EOF"},
		{"slow figures", map[string]error{"/figures?x=1": slow}, 0, "5", time.Second, "no answer on 1 within 1s"},
		{"large figures", map[string]error{"/figures?x=1": large}, 0, "5", 15 * time.Second, "larger than 32 MiB"},
		{"not found", nil, 404, "5", 5 * time.Second, "the proxy answered 404 Not Found"},
		{"another program", nil, 0, "<html>", 5 * time.Second, "not the proxy's"},
		{"empty", nil, 0, "", 5 * time.Second, "not the proxy's"},
	} {
		s := &server{pages: map[string]string{"/figures?x=1": tt.body, "/about": "A"}, errs: tt.errs, status: tt.status}
		r, err := scrapeIt(s)(0)
		switch {
		case tt.again == 0 && (err != nil || r.Workers.Or(0) != 2 || r.Start.IsKnown()):
			t.Errorf("%s: %+v: %v", tt.name, r.Start, err)
		case tt.again != 0 && (err == nil || !strings.Contains(err.Error(), tt.words)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.words)
		case tt.again != 0 && scrapeAgainAfter(err) != tt.again:
			t.Errorf("%s: again after %s, want %s", tt.name, scrapeAgainAfter(err), tt.again)
		}
	}
}

// A clock that moves with its figures is looked at once a second: when exactly does
// not matter.
func TestPaceOfABookedClock(t *testing.T) {
	var p pace
	begin := time.Unix(1000, 0)
	for i, clock := range []float64{5, 5, 5, 10, 10, 10, 10, 10, 15} {
		r := model.Runtime{ClockBooked: true, Clock: model.Known(clock), BusySeconds: model.Known(clock / 10)}
		if wait := p.next(r, begin.Add(time.Duration(i)*time.Second)); wait != time.Second {
			t.Errorf("reading %d: again after %s", i, wait)
		}
	}
}

// A proxy that takes long to answer is asked less often, but never so seldom that
// its figures grow old.
func TestRestAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Millisecond: 300 * time.Millisecond, 200 * time.Millisecond: 2 * time.Second, 2 * time.Second: 4 * time.Second,
	} {
		if got := restAfter(took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
	}
}

// unaskable is a proxy whose admin port nobody knows.
type unaskable struct{ pagedProxy }

func (unaskable) Admin(*corev1.Pod) model.Endpoint {
	return model.Endpoint{Why: "its settings do not tell its admin port"}
}

// guessed is one whose admin port is a guess.
type guessed struct{ pagedProxy }

func (guessed) Admin(*corev1.Pod) model.Endpoint {
	return model.Endpoint{Port: 9901, Why: "9901 is a guess"}
}

// Nothing is asked of a proxy without an admin port, and the row says why; a guess
// that failed is called one.
func TestAdminPortThatIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		adapter plugins.Adapter
		want    []string
	}{
		{unaskable{}, []string{"its settings do not tell its admin port"}},
		{guessed{}, []string{"nothing listens on 9901", "(9901 is a guess)"}},
	} {
		prober := &fakeProber{follow: frames(1, constant(0), constant(0))}
		c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, func() (string, int, error) {
			return "", 0, &collect.RefusedConnectionError{Port: 9901}
		})
		c.opt.Adapters = []plugins.Adapter{tt.adapter}
		got := until(t, c, func(p model.Pod) bool { return p.Collection.Stage == model.StageOK && p.Collection.Metrics != "" })
		for _, words := range tt.want {
			if !strings.Contains(got.Collection.Metrics, words) || !strings.Contains(got.Runtime.Workers.Reason(), words) {
				t.Errorf("metrics %q, workers %q, want %q", got.Collection.Metrics, got.Runtime.Workers.Reason(), words)
			}
		}
	}
}

// The readings of a proxy with pages come to the row like any other's.
func TestPagesReachTheRow(t *testing.T) {
	s := &server{pages: map[string]string{"/figures?x=1": "5", "/about": "A"}}
	prober := &fakeProber{follow: frames(1, constant(0), constant(0))}
	c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, nil)
	c.opt.Adapters = []plugins.Adapter{pagedProxy{}}
	c.opt.Pages = func(*corev1.Pod, uint16) Pages { return s }
	got := until(t, c, func(p model.Pod) bool { return p.Runtime.Workers.IsKnown() })
	if got.Runtime.Start != model.Known(float64('A')) || got.Proxy.Version != model.Known("1") {
		t.Errorf("start %+v, version %+v", got.Runtime.Start, got.Proxy.Version)
	}
	c.Close()
	if !slices.Contains(s.asked, "/about") {
		t.Errorf("asked for %q", s.asked)
	}
}

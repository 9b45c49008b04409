package parse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// StubStatus is what nginx's stub_status tells. Accepts, Handled and Requests are
// since the master started, over all workers and listeners: an Accept that is not
// Handled was closed at once, since worker_connections had run out.
type StubStatus struct {
	Active                     int64
	Accepts, Handled, Requests int64
}

// maxStubStatus bounds the page, which has some 100 bytes.
const maxStubStatus = 4 << 10

// ReadStubStatus reads the page of ngx_http_stub_status_module:
//
//	Active connections: 291
//	server accepts handled requests
//	 16630948 16630948 31070465
//	Reading: 6 Writing: 179 Waiting: 106
//
// Whatever is not such a page is an error, which quotes its beginning.
func ReadStubStatus(page []byte) (StubStatus, error) {
	var s StubStatus
	if len(page) > maxStubStatus {
		return s, fmt.Errorf("reading stub_status: a page of %d bytes is none of nginx's", len(page))
	}
	text := string(page)
	problem := func(what string) error {
		return &LineError{What: "stub_status", Line: 1, Text: shorten(strings.TrimSpace(text), maxErrorText), Msg: what}
	}
	first, rest := cutLine(text)
	active, ok := strings.CutPrefix(strings.TrimSpace(first), "Active connections:")
	if !ok {
		return s, problem("not a page of stub_status")
	}
	if s.Active, ok = count(strings.TrimSpace(active)); !ok {
		return s, problem("active connections are not a number")
	}
	head, rest := cutLine(rest)
	// Tengine adds a column, and others may: by name, and at least these three.
	names := strings.Fields(strings.TrimPrefix(strings.TrimSpace(head), "server "))
	figures, _ := cutLine(rest)
	values := strings.Fields(figures)
	if len(values) != len(names) || len(names) > 16 {
		return s, problem("not as many figures as names")
	}
	found := 0
	for i, name := range names {
		var to *int64
		switch name {
		case "accepts":
			to = &s.Accepts
		case "handled":
			to = &s.Handled
		case "requests":
			to = &s.Requests
		default:
			continue
		}
		if *to, ok = count(values[i]); !ok {
			return s, problem(name + " is not a number")
		}
		found++
	}
	if found != 3 {
		return s, problem("accepts, handled and requests are not all there")
	}
	if s.Handled > s.Accepts {
		return s, problem("more connections were handled than accepted")
	}
	return s, nil
}

// ReadStubStatusRuntime is the runtime that stub_status tells: no workers, no time,
// and no start.
func ReadStubStatusRuntime(page []byte) (model.Runtime, error) {
	r := model.UnknownRuntime("nginx's stub_status does not tell it")
	if page == nil {
		return r, errors.New("reading stub_status: no page")
	}
	s, err := ReadStubStatus(page)
	if err != nil {
		return r, err
	}
	r.ClockBooked = true // no refresh to wait for: it is as it is at each reading
	r.Accepts, r.Handled, r.Requests = model.Known(s.Accepts), model.Known(s.Handled), model.Known(s.Requests)
	return r, nil
}

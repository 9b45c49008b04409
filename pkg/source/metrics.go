package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// followMetrics reads the proxy's metrics over one kept connection. A stalled
// runtime answers only connections that it already has, so a scrape that fails
// is a finding of its own and is told as such.
func (f *follower) followMetrics(ctx context.Context, endpoint model.Endpoint) {
	read := f.scraperOf(endpoint)
	if read == nil {
		return
	}
	pages := f.opt.Pages(f.current(), endpoint.Port)
	defer pages.Close()
	var p pace
	var log logReader
	var env envReader
	for {
		asked := f.opt.Now()
		got, err := read(ctx, f.current(), pages)
		if ctx.Err() != nil {
			return
		}
		wait := time.Second
		if err != nil {
			log.read(ctx, f)
		} else {
			env.read(ctx, f, pages, got.runtime.Start)
		}
		f.mu.Lock()
		if err != nil {
			wait = scrapeAgainAfter(err)
			f.problem, f.problemRights = err.Error(), collect.MissingRights(err)
			if endpoint.Why != "" {
				f.problem += " (" + endpoint.Why + ")"
			}
		} else {
			f.problem, f.problemRights, f.read, f.version = "", nil, asked, got.version
			f.page = got.raw
			f.history.addReading(got.runtime)
			first := !p.have
			wait = p.next(got.runtime, asked)
			if got.runtime.ClockBooked && !first {
				wait = max(wait, restAfter(f.opt.Now().Sub(asked)))
			}
		}
		f.mu.Unlock()
		if pause(ctx, wait-f.opt.Now().Sub(asked)) != nil {
			return
		}
	}
}

func scrape(ctx context.Context, pages Pages, path string, reader plugins.RuntimeReader) (reading, error) {
	answer, err := pages.Get(ctx, path)
	if err != nil {
		return reading{}, err
	}
	if answer.Status != http.StatusOK {
		return reading{}, &uselessError{fmt.Errorf("reading %s: the proxy answered %d %s", path, answer.Status, http.StatusText(answer.Status))}
	}
	page, err := parse.ReadMetricsFolded(bytes.NewReader(answer.Body), folds(), metricNames...)
	if page == nil || page.Len() == 0 {
		if err == nil {
			err = fmt.Errorf("the page has none of the figures of a proxy's runtime")
		}
		return reading{}, &uselessError{fmt.Errorf("reading %s: %w", path, err)}
	}
	runtime, version := reader.Runtime(page)
	return reading{runtime, version, []model.RawText{rawPage(path, page.Text())}}, nil
}

// uselessError is an answer that is no page of a proxy's metrics.
type uselessError struct{ error }

func (e *uselessError) Unwrap() error { return e.error }

// scrapeAgainAfter is how long to wait before the page is asked for again. What may be
// over in a moment is tried at the usual rhythm. A refusal, or whatever else sits
// on that port, will be the same in a second: with fifty pods that would be a
// hundred refusals, or gigabytes, a second for the API server.
func scrapeAgainAfter(err error) time.Duration {
	var useless *uselessError
	var large *collect.TooLargeError
	switch {
	case len(collect.MissingRights(err)) > 0, errors.As(err, &large):
		return 15 * time.Second
	case errors.As(err, &useless):
		return 5 * time.Second
	}
	return time.Second
}

// metricNames are the prefixes of all samples that an adapter reads: a page of
// a busy proxy has tens of thousands of others.
var metricNames = []string{"tokio_rt_", "process_", "proxy_build_info"}

// folds are the samples of which sums are wanted: Linkerd's proxy counts responses
// for each client, route and status, which makes thousands of lines. It writes the
// direction first, and those of outbound ones are most.
func folds() []parse.Fold {
	return []parse.Fold{{
		Prefix: `response_total{direction="inbound"`, Keep: []string{"direction", "target_ip", "target_port", "classification"},
	}}
}

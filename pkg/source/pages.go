package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// seldomEvery is how often pages are asked for on which nothing changes while the
// process lives. One of them may have 100 KB and more.
const seldomEvery = time.Minute

// scraper takes one reading of a proxy's figures.
type scraper func(ctx context.Context, pod *corev1.Pod, pages Pages) (reading, error)

// reading is what a proxy said of itself: the words, and what they mean.
type reading struct {
	runtime model.Runtime
	version model.Value[string]
	raw     []model.RawText
}

// maxRaw bounds the words of one page that are kept: a page has 2 KB where an adapter
// asks for few samples.
const maxRaw = 32 << 10

func rawPage(path, text string) model.RawText {
	return model.RawText{Name: path, Text: text[:min(len(text), maxRaw)]}
}

// scraperOf gives the way in which an adapter's proxy is read; nil for one that
// has no figures.
func (f *follower) scraperOf(endpoint model.Endpoint) scraper {
	switch reader := f.adapter.(type) {
	case plugins.PageReader:
		s := pageScraper{reader: reader, now: f.opt.Now}
		return s.read
	case plugins.RuntimeReader:
		return func(ctx context.Context, _ *corev1.Pod, pages Pages) (reading, error) {
			return scrape(ctx, pages, endpoint.Metrics, reader)
		}
	}
	return nil
}

// pageScraper reads a proxy that has several pages.
type pageScraper struct {
	reader plugins.PageReader
	now    func() time.Time

	kept  map[string][]byte // pages that are asked for seldom
	since time.Time         // when they were
	last  model.Runtime
	have  bool
}

func (s *pageScraper) read(ctx context.Context, pod *corev1.Pod, pages Pages) (reading, error) {
	if s.now().Sub(s.since) >= seldomEvery {
		s.forget()
	}
	old := s.kept != nil
	r, err := s.look(ctx, pod, pages)
	if err == nil && old && s.have && (r.runtime.Start != s.last.Start || r.runtime.Clock.Or(0) < s.last.Clock.Or(0)) {
		// Another process: what was kept is not its own.
		s.forget()
		r, err = s.look(ctx, pod, pages)
	}
	if err != nil {
		s.forget() // it may be on its way to another process
		return r, err
	}
	s.last, s.have = r.runtime, true
	return r, nil
}

func (s *pageScraper) forget() { s.kept, s.have = nil, false }

// look asks for the pages, those that are kept excepted. The order is the
// adapter's: what it needs each time comes first, so that a proxy that does not
// answer is given up at once.
func (s *pageScraper) look(ctx context.Context, pod *corev1.Pod, pages Pages) (reading, error) {
	seldom, _ := s.reader.(plugins.SeldomReader)
	if s.kept == nil {
		s.kept, s.since = map[string][]byte{}, s.now()
	}
	paths := s.reader.Pages(pod)
	bodies := make([][]byte, len(paths))
	var refused error
	var raw []model.RawText
	for i, path := range paths {
		keep := seldom != nil && seldom.Seldom(path)
		if body, ok := s.kept[path]; ok && keep {
			bodies[i] = body
			continue
		}
		answer, err := pages.Get(ctx, path)
		switch {
		case err != nil && keep && ctx.Err() == nil && unanswered(err):
			refused = errors.Join(refused, err)
		case err != nil:
			return reading{}, err
		case answer.Status != http.StatusOK:
			page, _, _ := strings.Cut(path, "?")
			refused = errors.Join(refused, fmt.Errorf("reading %s: the proxy answered %d %s", page, answer.Status, http.StatusText(answer.Status)))
		default:
			bodies[i] = answer.Body
			if bodies[i] == nil {
				bodies[i] = []byte{}
			}
			if !keep { // what is asked for seldom says how the server is configured, at length
				raw = append(raw, rawPage(path, string(bodies[i])))
			}
		}
		if keep {
			s.kept[path] = bodies[i]
		}
	}
	r, version, err := s.reader.ReadPages(bodies)
	if err != nil {
		if refused != nil {
			err = refused // the reader knows only that there was nothing to read
		}
		return reading{}, &uselessError{err}
	}
	return reading{r, version, raw}, nil
}

// unanswered says whether a page was too slow or too large: others may still come.
func unanswered(err error) bool {
	var slow *collect.NoAnswerError
	var large *collect.TooLargeError
	return errors.As(err, &slow) || errors.As(err, &large)
}

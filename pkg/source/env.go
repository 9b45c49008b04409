package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// envEvery is the least time between two tries where the answer was of no use: it
// does not change while the process lives.
const envEvery = time.Minute

// maxEnv bounds the page: it holds a handful of numbers.
const maxEnv = 64 << 10

// envReader asks the running process, once in its life, for variables that the
// pod's spec does not resolve.
type envReader struct {
	path  string
	start model.Value[float64]
	asked time.Time
	done  bool
}

// read asks if there is something to ask for and it was not answered by this
// process yet. It goes over the connection on which the metrics came.
func (e *envReader) read(ctx context.Context, f *follower, pages Pages, start model.Value[float64]) {
	reader, ok := f.adapter.(plugins.EnvReader)
	if !ok {
		return
	}
	pod := f.current()
	path := reader.EnvPath(pod)
	now := f.opt.Now()
	same := !e.asked.IsZero() && path == e.path && start == e.start
	if path == "" || same && (e.done || now.Sub(e.asked) < envEvery) {
		return
	}
	e.path, e.start, e.asked = path, start, now
	body, err := envPage(ctx, pages, path)
	if ctx.Err() != nil {
		return
	}
	env := reader.ReadEnv(pod, body)
	e.done = err == nil
	if err != nil {
		for name := range env {
			env[name] = model.Unknown[string](err.Error())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.env = env
}

// envPage is a page of an answer that is one.
func envPage(ctx context.Context, pages Pages, path string) ([]byte, error) {
	answer, err := pages.Get(ctx, path)
	var noAnswer *collect.NoAnswerError
	switch {
	case errors.As(err, &noAnswer):
		return nil, fmt.Errorf("asking the proxy for its environment (/env.json): %w", noAnswer)
	case err != nil:
		return nil, fmt.Errorf("asking the proxy for its environment (/env.json): %w", err)
	case answer.Status != http.StatusOK:
		return nil, fmt.Errorf("asking the proxy for its environment (/env.json): it answered %d %s", answer.Status, http.StatusText(answer.Status))
	case len(answer.Body) > maxEnv:
		return nil, fmt.Errorf("asking the proxy for its environment (/env.json): the answer is larger than %d KiB", maxEnv>>10)
	}
	return answer.Body, nil
}

// environment is what the process told, for one snapshot. mu is held.
func (f *follower) environment() map[string]model.Value[string] { return maps.Clone(f.env) }

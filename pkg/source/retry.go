package source

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
)

// Retrying takes why a pod's log is asked for anew, for its row to say so as
// long as nothing comes. It is a Prober's hook.
func (c *Cluster) Retrying(namespace, pod string, why error) {
	text := "the API server ended the probe's log"
	if !errors.Is(why, io.EOF) {
		text = target.Explain(why).Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.followers {
		f.retrying(namespace, pod, text)
	}
}

func (f *follower) retrying(namespace, pod, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pod.Namespace == namespace && f.pod.Name == pod && !f.deleted {
		f.broken = why
	}
}

// passes says of an error that it concerns the API server as it is now and not
// what was asked for: asking again later may help, without anybody's doing.
func passes(err error) bool {
	var unreached *url.Error
	return errors.As(err, &unreached) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsUnauthorized(err)
}

// askAgainAfter is the pause before a probe is asked for again after an error
// that passes.
const askAgainAfter = 3 * time.Second

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

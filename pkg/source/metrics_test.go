package source

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
)

// A proxy that does not answer for a moment is asked again at once; what will
// not change is not asked for every second.
func TestScrapeAgainAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want time.Duration
	}{
		"no answer":   {&collect.NoAnswerError{Port: 4191, After: 2 * time.Second}, time.Second},
		"closed":      {&collect.RefusedConnectionError{Port: 4191}, time.Second},
		"cut off":     {errors.New("unexpected EOF"), time.Second},
		"HTML":        {&uselessError{errors.New("not a metrics page")}, 5 * time.Second},
		"huge":        {&collect.TooLargeError{}, 15 * time.Second},
		"not allowed": {&collect.ForbiddenError{Verb: "create", Resource: "pods/portforward", Namespace: "shop"}, 15 * time.Second},
	} {
		if got := scrapeAgainAfter(fmt.Errorf("asking pod shop/a: %w", tt.err)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

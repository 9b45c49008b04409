package source

import (
	"fmt"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// endingSoon is how long before its end a probe's end is announced.
const endingSoon = time.Minute

// endings says when probes are about to end: they are never renewed silently.
func endings(s model.Snapshot) []string {
	n, first := 0, time.Time{}
	for _, p := range s.Pods {
		c := p.Collection
		if c.Until.IsZero() || c.Stage != model.StageOK || c.Until.Sub(s.Time) > endingSoon {
			continue
		}
		n++
		if first.IsZero() || c.Until.Before(first) {
			first = c.Until
		}
	}
	if n == 0 {
		return nil
	}
	at := first.UTC().Format("15:04:05Z")
	if n == 1 {
		return []string{"the probe of 1 pod ends by itself at " + at}
	}
	return []string{fmt.Sprintf("the probes of %d pods end by themselves, the first at %s", n, at)}
}

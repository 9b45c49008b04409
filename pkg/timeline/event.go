package timeline

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Kind of an event.
type Kind string

// The kinds of events.
const (
	KindVerdict Kind = "verdict" // the worst verdict is another than before
	KindRefused Kind = "refused" // packets were refused after a time without
	KindRestart Kind = "restart" // another sandbox, or another process of the proxy
	KindReady   Kind = "ready"   // the pod became ready, or ceased to be
	KindNew     Kind = "new"     // the pod was not there before
	KindGone    Kind = "gone"    // it was deleted, or finished
	KindProbe   Kind = "probe"   // collecting began, failed, went stale, ended
)

// Event is something that happened to a pod.
type Event struct {
	Time time.Time `json:"time"`
	// Pod is its key (model.Pod.Key), Name its namespace and name.
	Pod       string `json:"-"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Kind      Kind   `json:"kind"`
	// Severity of what happened: warning or critical is worth a jump.
	Severity model.Severity `json:"severity"`
	// Text says it in words that can stand behind a time and a name. It holds words of
	// the cluster and is not fit for a terminal as it is.
	Text string `json:"text"`
}

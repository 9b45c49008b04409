package collect

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// ForbiddenError says which right is missing. The API server does not always:
// a port-forward that lacks a verb is answered with "forbidden: " alone.
type ForbiddenError struct {
	// Verb and Resource as a Role names them: "patch", "pods/ephemeralcontainers".
	Verb, Resource string
	Namespace      string
	// Message is the API server's own.
	Message string
}

// Error names the right and where it is needed.
func (e *ForbiddenError) Error() string {
	s := fmt.Sprintf("not allowed to %s %s in namespace %s", e.Verb, e.Resource, e.Namespace)
	if m := strings.TrimSuffix(strings.TrimSpace(e.Message), ":"); m != "" && m != "forbidden" {
		s += ": " + m
	}
	return s
}

// Rights are those that a Role would have to grant. A port-forward or exec that
// was refused may lack either of two verbs, "get and create".
func (e *ForbiddenError) Rights() []model.Right {
	var rights []model.Right
	for verb := range strings.SplitSeq(e.Verb, " and ") {
		rights = append(rights, model.Right{Verb: verb, Resource: e.Resource, Namespace: e.Namespace})
	}
	return rights
}

// MissingRights are those that an error says are missing; none for any other.
func MissingRights(err error) []model.Right {
	var forbidden *ForbiddenError
	if !errors.As(err, &forbidden) {
		return nil
	}
	return forbidden.Rights()
}

// RefusedError is an admission that said no: a webhook, or Pod Security.
type RefusedError struct {
	// Message is the API server's, word for word; it names who refused.
	Message string
}

// Error is the message, word for word.
func (e *RefusedError) Error() string { return "refused by the cluster: " + e.Message }

// NotPossibleError says why a probe can never work here, whoever asks.
type NotPossibleError struct{ Reason string }

// Error is the reason.
func (e *NotPossibleError) Error() string { return e.Reason }

// GoneError says that the pod was deleted, replaced by another of the same
// name, or has finished.
type GoneError struct{ Pod, Why string }

// Error names the pod.
func (e *GoneError) Error() string { return fmt.Sprintf("pod %s %s", e.Pod, e.Why) }

// ProbeError says that a probe will give no more frames.
type ProbeError struct {
	// Stage is StageFailed when it could not start or broke, StageEnded when it
	// was stopped.
	Stage model.Stage
	// Message is the kubelet's own where it has one.
	Message string
}

// Error is the stage and the message.
func (e *ProbeError) Error() string { return fmt.Sprintf("the probe %s: %s", e.Stage, e.Message) }

// authorizer matches what an authorizer says, whatever it decides by.
var authorizer = regexp.MustCompile(`cannot \w+ (resource|path) `)

// asForbidden turns a 403 of the authorizer into a ForbiddenError, and one of an
// admission plug-in into a RefusedError. Both have reason Forbidden; the
// authorizer's says "cannot VERB resource". It is nil for any other error.
func asForbidden(err error, verb, resource, namespace string) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	s := status.Status()
	denied := strings.Contains(s.Message, "denied the request")
	if s.Code != http.StatusForbidden && !denied {
		return nil
	}
	bare := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s.Message), ":"))
	if !denied && (authorizer.MatchString(s.Message) || bare == "forbidden" || bare == "") {
		return &ForbiddenError{Verb: verb, Resource: resource, Namespace: namespace, Message: s.Message}
	}
	return &RefusedError{Message: s.Message}
}

package cmd

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// leastRights are those that everything here needs in a namespace, for pods that
// are named or selected. Port-forward needs both verbs: WebSocket asks with get,
// and since Kubernetes 1.35 create is asked for as well.
// Optional ones are left out: get on nodes, on namespaces and on workloads, which
// tell what a pod would be made from now.
func leastRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("", "pods", "get", "list", "watch"),
		rule("", "pods/log", "get"),
		rule("", "pods/ephemeralcontainers", "patch"),
		rule("", "pods/portforward", "get", "create"),
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// neededRoles are the Roles that would give the missing rights, one a namespace,
// each with all that the tool needs there, for whoever may grant it.
func neededRoles(missing []model.Right) (string, error) {
	var namespaces []string
	for _, r := range missing {
		if !slices.Contains(namespaces, r.Namespace) {
			namespaces = append(namespaces, r.Namespace)
		}
	}
	slices.Sort(namespaces)
	var documents []string
	for _, ns := range namespaces {
		kind, where := "Role", "in namespace "+ns
		if ns == "" {
			kind, where = "ClusterRole", "in all namespaces"
		}
		role := map[string]any{
			"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": kind,
			"metadata": names(ns), "rules": withRights(leastRights(), missing, ns),
		}
		text, err := yaml.Marshal(role)
		if err != nil {
			return "", fmt.Errorf("writing the role: %w", err)
		}
		documents = append(documents, fmt.Sprintf("# missing %s: %s\n%s", where, rightsIn(missing, ns), text))
	}
	return strings.Join(documents, "---\n"), nil
}

// tellRoles prints them, where something is missing.
func tellRoles(w io.Writer, missing []model.Right) error {
	if len(missing) == 0 {
		return nil
	}
	text, err := neededRoles(missing)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nWhoever may grant it can apply this, and bind it to you:\n%s", text)
	return nil
}

func names(namespace string) map[string]string {
	m := map[string]string{"name": "kubectl-backlog"}
	if namespace != "" {
		m["namespace"] = namespace
	}
	return m
}

// withRights adds what is missing beyond the least.
func withRights(rules []rbacv1.PolicyRule, missing []model.Right, namespace string) []rbacv1.PolicyRule {
	for _, r := range missing {
		if r.Namespace != namespace {
			continue
		}
		resource, group, _ := strings.Cut(r.Resource, ".")
		i := slices.IndexFunc(rules, func(have rbacv1.PolicyRule) bool {
			return have.Resources[0] == resource && have.APIGroups[0] == group
		})
		switch {
		case i < 0:
			rules = append(rules, rule(group, resource, r.Verb))
		case !slices.Contains(rules[i].Verbs, r.Verb):
			rules[i].Verbs = append(rules[i].Verbs, r.Verb)
		}
	}
	return rules
}

func rightsIn(missing []model.Right, namespace string) string {
	var words []string
	for _, r := range missing {
		if w := r.Verb + " " + r.Resource; r.Namespace == namespace && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

// refusal is how an authorizer says no: User "u" cannot list resource "pods" in
// API group "" in the namespace "shop".
var refusal = regexp.MustCompile(`cannot (\w+) resource "([\w/.-]+)"(?: in API group "([\w.-]*)")?(?: in the namespace "([\w.-]*)")?`)

// missingRight is the right that an error of the API server says is missing.
func missingRight(err error) (model.Right, bool) {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return model.Right{}, false
	}
	return rightInWords(status.Status().Message)
}

// rightInWords is the right that a text of an authorizer names.
func rightInWords(text string) (model.Right, bool) {
	m := refusal.FindStringSubmatch(text)
	if m == nil {
		return model.Right{}, false
	}
	r := model.Right{Verb: m[1], Resource: m[2], Namespace: m[4]}
	if m[3] != "" {
		r.Resource += "." + m[3]
	}
	return r, true
}

// missingRights collects those of all pods, and of the watch of pods, whose
// refusal is a note on the run.
func missingRights(s model.Snapshot) []model.Right {
	var all []model.Right
	for _, note := range s.Notes {
		if r, ok := rightInWords(note); ok && !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	for _, p := range s.Pods {
		for _, r := range p.Collection.Rights {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The Role that is printed grants what is missing, and all else that is needed.
func TestNeededRoles(t *testing.T) {
	text, err := neededRoles([]model.Right{
		{Verb: "patch", Resource: "pods/ephemeralcontainers", Namespace: "shop"},
		{Verb: "get", Resource: "deployments.apps", Namespace: "shop"},
		{Verb: "list", Resource: "pods", Namespace: ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(text, "---\n")
	if len(documents) != 2 {
		t.Fatalf("want one for shop and one for all namespaces:\n%s", text)
	}
	if !strings.Contains(documents[1], "# missing in namespace shop: patch pods/ephemeralcontainers, get deployments.apps") {
		t.Errorf("what is missing is not told:\n%s", documents[1])
	}
	var all rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &all); err != nil || all.Kind != "ClusterRole" || all.Namespace != "" {
		t.Errorf("for all namespaces: %v\n%s", err, documents[0])
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(documents[1]), &role); err != nil || role.Kind != "Role" || role.Namespace != "shop" {
		t.Fatalf("%v\n%s", err, documents[1])
	}
	var got []string
	for _, r := range role.Rules {
		got = append(got, fmt.Sprintf("%s/%s %s", r.APIGroups[0], r.Resources[0], strings.Join(r.Verbs, ",")))
	}
	want := "/pods get,list,watch; /pods/log get; /pods/ephemeralcontainers patch; /pods/portforward get,create; apps/deployments get"
	if strings.Join(got, "; ") != want {
		t.Errorf("rules %s\nwant  %s", strings.Join(got, "; "), want)
	}
}

func TestMissingRight(t *testing.T) {
	forbidden := func(text string) error {
		return fmt.Errorf("reading: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New(text)))
	}
	for text, want := range map[string]model.Right{
		`User "u" cannot list resource "pods" in API group "" in the namespace "shop"`:           {Verb: "list", Resource: "pods", Namespace: "shop"},
		`User "u" cannot get resource "deployments" in API group "apps" in the namespace "shop"`: {Verb: "get", Resource: "deployments.apps", Namespace: "shop"},
		`User "u" cannot list resource "pods" in API group "" at the cluster scope`:              {Verb: "list", Resource: "pods"},
		"admission webhook denied the request":                                                   {},
	} {
		got, ok := missingRight(forbidden(text))
		if got != want || ok != (want.Verb != "") {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	if _, ok := missingRight(errors.New(`cannot list resource "pods"`)); ok {
		t.Error("an error that is no refusal was taken for one")
	}
}

// A watch that is refused is a note on the run, not on a pod.
func TestMissingRightsInNotes(t *testing.T) {
	right := model.Right{Verb: "patch", Resource: "pods/ephemeralcontainers", Namespace: "shop"}
	got := missingRights(model.Snapshot{
		Notes: []string{
			`watching pods: pods is forbidden: User "jo" cannot watch resource "pods" in API group "" in the namespace "shop"`,
			"left out, without a proxy: 1 pod",
		},
		Pods: []model.Pod{{Collection: model.Collection{Rights: []model.Right{right}}}, {Collection: model.Collection{Rights: []model.Right{right}}}},
	})
	want := []model.Right{{Verb: "watch", Resource: "pods", Namespace: "shop"}, right}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

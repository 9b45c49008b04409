package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

func exposures() []plan.Exposure {
	return []plan.Exposure{
		{
			Namespace: "shop", Workload: model.Workload{Kind: "Deployment", Name: "server"}, Pods: 39, Names: []string{"server-1", "server-2", "server-3"},
			Adapter: "linkerd", Image: "registry:5000/linkerd/proxy:edge-26.8.3@sha256:00", NodeCPUs: known(16), Workers: known(1), Backlog: known(128),
			Findings: []plan.Finding{
				{Kind: plan.FindOneWorker, Severity: model.SeverityWarning, Short: "one worker on 16 CPUs", Text: "one worker on a node with 16 CPUs"},
				{Kind: plan.FindDefaultBacklog, Severity: model.SeverityInfo, Short: "default 128", Text: "the inbound backlog is the default of 128"},
			},
		},
		{
			Namespace: "shop", Pods: 1, Names: []string{"bare"}, NodeCPUs: model.Unknown[int64]("may not be read"),
			Findings: []plan.Finding{{Kind: plan.FindNotInjected, Severity: model.SeverityWarning, Short: "no sidecar\x1b[31m", Text: "evil\n" + evil}},
		},
	}
}

func TestExposures(t *testing.T) {
	for file, opt := range map[string]TableOptions{
		"audit.txt": {}, "audit-all.txt": {Namespaces: true}, "audit-wide.txt": {Namespaces: true, Wide: true}, "audit-bare.txt": {NoHeaders: true},
	} {
		var b bytes.Buffer
		if err := PrintExposures(&b, exposures(), opt); err != nil {
			t.Fatal(err)
		}
		golden(t, file, b.Bytes())
	}
	list, err := ExposureObject(exposures())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "audit.json", print(t, list, "json"))
}

func TestExposedNames(t *testing.T) {
	var b bytes.Buffer
	twice := append(exposures(), exposures()[0])
	if err := PrintExposedNames(&b, twice); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(b.String()); len(got) != 2 || got[0] != "deployment/server" || got[1] != "pod/bare" {
		t.Errorf("names %q", got)
	}
}

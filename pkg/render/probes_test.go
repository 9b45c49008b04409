package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func probesAt(now time.Time) []model.ProbeInfo {
	at := func(d time.Duration) time.Time { return now.Add(d) }
	probe := func(ns, pod string, change func(*model.ProbeInfo)) model.ProbeInfo {
		p := model.ProbeInfo{
			Name: "backlog-probe-1", Pod: model.Meta{Namespace: ns, Name: pod, UID: pod}, Node: "node-1",
			Image: "docker.io/nicolaka/netshoot:v0.13", By: "ann@example.com", State: model.ProbeRunning,
		}
		change(&p)
		return p
	}
	return []model.ProbeInfo{
		probe("shop", "web-starting", func(p *model.ProbeInfo) { p.State = model.ProbeStarting }),
		probe("shop", "web-5", func(p *model.ProbeInfo) {
			p.Started, p.Until, p.Reason, p.Target = at(-time.Minute), at(59*time.Minute), "refused connections at checkout", "web"
		}),
		probe("shop", "web-old", func(p *model.ProbeInfo) {
			p.State, p.By, p.Started, p.Ended = model.ProbeEnded, "", at(-30*time.Hour), at(-29*time.Hour)
			p.Message = "it ended (exit code 0)"
		}),
		probe("store", "db-0", func(p *model.ProbeInfo) {
			p.State, p.Message = model.ProbeFailed, "ErrImagePull: failed to resolve reference \"docker.io/nicolaka/netshoot:v0.13\":\nno such host"
		}),
		probe("shop", "web-7", func(p *model.ProbeInfo) {
			p.Name, p.State, p.Started, p.Ended = "backlog-probe-2", model.ProbeEnded, at(-10*time.Minute), at(-5*time.Minute)
		}),
		probe("shop", "web-5", func(p *model.ProbeInfo) { p.Name, p.Started = "backlog-probe-2", at(-time.Minute) }),
	}
}

func TestProbeTables(t *testing.T) {
	now := time.Date(2026, 3, 1, 14, 32, 7, 0, time.FixedZone("", 3600))
	probes := probesAt(now)
	SortProbes(probes)
	for file, opt := range map[string]TableOptions{
		"probes.txt":           {},
		"probes-all-ns.txt":    {Namespaces: true},
		"probes-wide.txt":      {Wide: true},
		"probes-noheaders.txt": {NoHeaders: true},
	} {
		t.Run(file, func(t *testing.T) {
			var out bytes.Buffer
			if err := PrintProbes(&out, probes, now, opt); err != nil {
				t.Fatal(err)
			}
			golden(t, file, out.Bytes())
		})
	}
}

func TestProbeObjects(t *testing.T) {
	probes := probesAt(time.Date(2026, 3, 1, 14, 32, 7, 0, time.UTC))
	for file, format := range map[string]string{
		"probes.json":         "json",
		"probes.yaml":         "yaml",
		"probes-jsonpath.txt": `jsonpath={range .items[*]}{.pod.namespace}/{.pod.name} {.metadata.name} {.state} {.by} {.until}{"\n"}{end}`,
	} {
		t.Run(file, func(t *testing.T) {
			list, err := ProbeObject(probes)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, print(t, list, format))
		})
	}
}

func TestPodNamesAreTheirOwn(t *testing.T) {
	var out strings.Builder
	if err := PrintPodNames(&out, probesAt(time.Unix(0, 0))); err != nil {
		t.Fatal(err)
	}
	if want := "pod/web-starting\npod/web-5\npod/web-old\npod/db-0\npod/web-7\n"; out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// Names, reasons and messages are other people's.
func TestProbesAreHarmless(t *testing.T) {
	now := time.Unix(0, 0)
	p := model.ProbeInfo{
		Name: evil, Node: evil, State: model.ProbeState(evil), Message: evil, By: evil, Reason: evil, Image: evil, Target: evil,
		Pod: model.Meta{Namespace: evil, Name: evil, UID: evil},
	}
	var out bytes.Buffer
	if err := PrintProbes(&out, []model.ProbeInfo{p}, now, TableOptions{Wide: true, Namespaces: true}); err != nil {
		t.Fatal(err)
	}
	if err := PrintPodNames(&out, []model.ProbeInfo{p}); err != nil {
		t.Fatal(err)
	}
	list, err := ProbeObject([]model.ProbeInfo{p})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"json", "yaml", "jsonpath={.items}"} {
		out.Write(print(t, list, format))
	}
	harmless(t, out.String())
}

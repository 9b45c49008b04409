package remedy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// backlog sets a proxy's backlog variable through the pod template's list of
// additional variables, keeping the entries that are there.
func (m maker) backlog(a *model.Action) {
	k := m.knob(a.Knob)
	n, ok := a.To.Get()
	if k == nil || k.Remedy.Name == "" {
		return // a program's own option: its text says so
	}
	if !ok {
		a.Notes = append(a.Notes, "no command: how deep it must be is unknown")
		return
	}
	if top, known := m.p.Counters.Somaxconn.Get(); known && n > top {
		a.Notes = append(a.Notes, fmt.Sprintf("net.core.somaxconn of the pod is %d and cuts it: raise that as well", top))
	}
	if k.Remedy.Variable == "" {
		a.Place, a.Notes = k.Remedy.Where, append(a.Notes, strings.TrimSpace(k.Remedy.Name+" "+k.Remedy.Form))
		return
	}
	m.variable(a, *k, num(n))
}

// variable puts a variable of a proxy where the remedy says.
func (m maker) variable(a *model.Action, k model.Knob, value string) {
	if k.Remedy.Where == "Helm value" {
		m.chart(a, k, value)
		return
	}
	old, known := m.annotation(k.Remedy.Name)
	if !known {
		a.Place = k.Remedy.Where + " " + k.Remedy.Name
		a.Values = list(nil, k.Remedy.Variable, value)
		a.Notes = append(a.Notes, "no command: the list that may be there already could not be read, and a command would replace it")
		return
	}
	entries, err := merged(old, k.Remedy.Variable, value)
	if err != nil {
		a.Notes = append(a.Notes, "no command: the annotation that is there is no JSON list of name and value, so the injector ignores it: put that right first")
		return
	}
	if kept := len(entries) - 1; kept > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("keeps what else is in the list (%d)", kept))
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return
	}
	m.annotate(a, k.Remedy.Name, string(text))
}

// annotation of the workload's pod template, or of the pod where nothing owns
// it; false when it could not be read.
func (m maker) annotation(name string) (string, bool) {
	all, ok := m.p.Manifest.Template.Get()
	return all[name], ok
}

// entry of the list, as it stands there: what this program does not know of it
// is kept.
type entry map[string]any

func merged(old, name, value string) ([]entry, error) {
	var entries []entry
	if strings.TrimSpace(old) != "" {
		if err := json.Unmarshal([]byte(old), &entries); err != nil {
			return nil, fmt.Errorf("reading the list that is there: %w", err)
		}
	}
	var out []entry
	for _, e := range entries {
		if e["name"] != name {
			out = append(out, e)
		}
	}
	return append(out, entry{"name": name, "value": value}), nil
}

func list(old []entry, name, value string) string {
	text, err := json.Marshal(append(old, entry{"name": name, "value": value}))
	if err != nil {
		return ""
	}
	return string(text)
}

// annotate sets an annotation of the pod template: by a command, or as values
// for the tool that owns the workload.
func (m maker) annotate(a *model.Action, name, value string) {
	if tool := m.p.Manifest.Manager; tool.Tool != "" {
		a.Place = fmt.Sprintf("annotations of the pod template, in what %s makes %s from: a command would be reverted", strings.TrimSpace(tool.Tool+" "+tool.Name), m.p.Workload.Name)
		a.Values = name + ": " + yamlQuoted(value)
		m.restarts(a)
		return
	}
	m.patch(a, map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
}

// patch changes the pod template.
func (m maker) patch(a *model.Action, template map[string]any) {
	w, ok := m.workload()
	if !ok {
		a.Notes = append(a.Notes, "no command: no workload is known whose pod template could be changed")
		return
	}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return
	}
	a.Command = m.kubectl("patch", w, "--type", "merge", "-p", string(text))
	if m.p.Workload.Kind == "Deployment" {
		a.Undo = m.kubectl("rollout", "undo", w)
	}
	m.restarts(a)
}

// yamlQuoted is a YAML string in single quotes, in which only these are special.
func yamlQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// workers sets the number of workers by what already decides on it.
func (m maker) workers(a *model.Action) {
	k := m.knob(cmp.Or(a.Knob, "workers"))
	n, ok := a.To.Get()
	if k == nil || k.Remedy.Name == "" {
		return
	}
	if !ok {
		a.Notes = append(a.Notes, "no command: how many would do is unknown, since what the clients want is more than what is served")
		return
	}
	switch {
	case k.Remedy.Unit == "ratio":
		cpus, known := k.Available.Get()
		if !known || cpus < 1 {
			a.Notes = append(a.Notes, "no command: the CPUs that the ratio is of are unknown")
			return
		}
		ratio := float64(n) / float64(cpus)
		if ratio >= 1 {
			a.Notes = append(a.Notes, fmt.Sprintf("no command: the ratio must stay below 1, and %d workers are all %d CPUs", n, cpus))
			return
		}
		m.annotate(a, k.Remedy.Name, fmt.Sprintf("%.3g", ratio))
	case k.Remedy.Unit == "cpus":
		m.annotate(a, k.Remedy.Name, num(n))
		a.Notes = append(a.Notes, "the same annotation limits the proxy's CPU")
	default:
		a.Place = strings.TrimSpace(k.Remedy.Where + " " + k.Remedy.Name)
		a.Notes = append(a.Notes, strings.TrimSpace(k.Remedy.Form))
	}
}

// cpu raises the limit of the container that is starved.
func (m maker) cpu(a *model.Action) {
	to, ok := a.To.Get()
	if !ok || a.Container == "" {
		return
	}
	if a.Container == m.p.Proxy.Container && m.p.Proxy.Sidecar {
		if k := m.knob("workers"); k != nil && k.Remedy.Unit == "cpus" {
			m.annotate(a, k.Remedy.Name, num((to+999)/1000))
		}
		return
	}
	w, known := m.workload()
	if !known {
		return
	}
	if tool := m.p.Manifest.Manager; tool.Tool != "" {
		a.Place = fmt.Sprintf("container %s of %s, in what %s makes it from: a command would be reverted", a.Container, m.p.Workload.Name, strings.TrimSpace(tool.Tool+" "+tool.Name))
		a.Values = fmt.Sprintf("resources: {limits: {cpu: %dm}}", to)
		m.restarts(a)
		return
	}
	a.Command = m.kubectl("set", "resources", w, "-c", a.Container, fmt.Sprintf("--limits=cpu=%dm", to))
	if m.p.Workload.Kind == "Deployment" {
		a.Undo = m.kubectl("rollout", "undo", w)
	}
	m.restarts(a)
}

// somaxconn is a sysctl of the pod, one that Kubernetes calls unsafe.
func (m maker) somaxconn(a *model.Action) {
	n, ok := a.To.Get()
	if !ok {
		a.Notes = append(a.Notes, "no command: how deep it must be is unknown")
		return
	}
	sysctls := []map[string]string{{"name": "net.core.somaxconn", "value": num(n)}}
	a.Notes = append(a.Notes,
		"Kubernetes calls it an unsafe sysctl: a node refuses the pod unless its kubelet runs with --allowed-unsafe-sysctls=net.core.somaxconn",
		"replaces the list of sysctls, if the pod template has one")
	if tool := m.p.Manifest.Manager; tool.Tool != "" {
		a.Place = "securityContext of the pod template, in what " + strings.TrimSpace(tool.Tool+" "+tool.Name) + " makes it from: a command would be reverted"
		a.Values = fmt.Sprintf("sysctls: [{name: net.core.somaxconn, value: %q}]", num(n))
		m.restarts(a)
		return
	}
	m.patch(a, map[string]any{"spec": map[string]any{"securityContext": map[string]any{"sysctls": sysctls}}})
}

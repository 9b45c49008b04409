package remedy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// chart is a value of the mesh's own chart: for proxies whose injector knows no
// annotation for it.
func (m maker) chart(a *model.Action, k model.Knob, value string) {
	name, version := chartOf(m.p.Proxy.Image)
	a.Place = "values of chart " + name
	a.Values = nested(k.Remedy.Name, k.Remedy.Variable, value)
	if version != "" {
		a.Place += ", kept at version " + version
	}
	a.Notes = append(a.Notes,
		"it concerns every proxy of the mesh, each when its pod restarts",
		"entries that are there already must stay in the list: `helm get values` of the release shows them")
	if version == "" {
		a.Notes = append(a.Notes, "the installed version of the chart could not be told from the proxy's image: `helm list` shows it, and --version keeps it")
	}
}

// nested is a list of one variable under a dotted name, as YAML.
func nested(name, variable, value string) string {
	var b strings.Builder
	indent := ""
	for part := range strings.SplitSeq(name, ".") {
		b.WriteString(indent + part + ":\n")
		indent += "  "
	}
	fmt.Fprintf(&b, "%s- name: %s\n%s  value: %q", indent, variable, indent, value)
	return b.String()
}

// chartOf tells the control plane's chart and its version from the proxy's
// image. Edge releases number their charts by date: edge-26.4.1 is 2026.4.1.
func chartOf(image string) (name, version string) {
	name = "linkerd-control-plane"
	tag := image[strings.LastIndexByte(image, '/')+1:]
	tag, _, _ = strings.Cut(tag, "@")
	_, tag, _ = strings.Cut(tag, ":")
	if v, ok := strings.CutPrefix(tag, "enterprise-"); ok {
		return "linkerd-enterprise-control-plane", plain(v)
	}
	if strings.Contains(image, "buoyantio/") || strings.Contains(image, "enterprise") {
		name = "linkerd-enterprise-control-plane"
	}
	if v, ok := strings.CutPrefix(tag, "edge-"); ok && plain(v) != "" {
		year, rest, _ := strings.Cut(v, ".")
		if n, err := strconv.Atoi(year); err == nil && n < 100 {
			return name, strconv.Itoa(2000+n) + "." + rest
		}
	}
	return name, ""
}

// plain is a version of numbers alone, or nothing.
func plain(v string) string {
	if v == "" || strings.Trim(v, "0123456789.") != "" {
		return ""
	}
	return v
}

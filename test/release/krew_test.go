package release

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

const tag = "v0.1.0"

// plugin is the part of krew's manifest that these tests look at.
type plugin struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			URI      string `json:"uri"`
			Bin      string `json:"bin"`
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
		} `json:"platforms"`
	} `json:"spec"`
}

// render fills in the template as krew-release-bot does: the one function it
// has takes a URL that is itself a template, and answers two lines of which
// the second is indented by four. The digest is made up here, since nothing
// is released yet; the bot computes it from the published archive.
func render(t *testing.T, text string) string {
	t.Helper()
	funcs := template.FuncMap{"addURIAndSha": func(url, tag string) (string, error) {
		inner, err := template.New("url").Parse(url)
		if err != nil {
			return "", err
		}
		var uri bytes.Buffer
		if err := inner.Execute(&uri, struct{ TagName string }{tag}); err != nil {
			return "", err
		}
		// Not digits alone: YAML would read a number.
		return fmt.Sprintf("uri: %s\n    sha256: %s", &uri, strings.Repeat("ab", 32)), nil
	}}
	outer, err := template.New("backlog.yaml").Funcs(funcs).Parse(text)
	if err != nil {
		t.Fatalf("parsing krew/backlog.yaml: %v", err)
	}
	var out bytes.Buffer
	if err := outer.Execute(&out, struct{ TagName string }{tag}); err != nil {
		t.Fatalf("filling in krew/backlog.yaml: %v", err)
	}
	return out.String()
}

func readPlugin(t *testing.T) plugin {
	t.Helper()
	var p plugin
	if err := yaml.Unmarshal([]byte(render(t, read(t, "krew/backlog.yaml"))), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// validate asks krew's own validator. It would also download and install the
// archives, which do not exist before the release: -skip-install.
func validate(t *testing.T, manifest string) (string, error) {
	t.Helper()
	file := write(t, "backlog.yaml", manifest)
	out, err := inTools(t, "krew", "tool", "validate-krew-manifest", "-skip-install", "-manifest", file)
	said, _, _ := strings.Cut(out, "\ngoroutine ") // it ends with a stack
	return said, err
}

func TestKrewAcceptsTheManifest(t *testing.T) {
	if out, err := validate(t, render(t, read(t, "krew/backlog.yaml"))); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestKrewRefusesAMistake(t *testing.T) {
	good := render(t, read(t, "krew/backlog.yaml"))
	for _, c := range []struct{ name, from, to, want string }{
		{"version without v", "version: v", "version: ", "not starting with 'v'"},
		{"another name", "name: backlog\n", "name: queue\n", "should be named"},
		{"one platform twice", "arch: arm64", "arch: amd64", "overlapping selectors"},
		{"no digest", "sha256:", "md5:", "sha256"},
		{"no program", "bin: kubectl-backlog\n", "\n", "bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := validate(t, replaced(t, good, c.from, c.to))
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("want a refusal that speaks of %q, got %v:\n%s", c.want, err, out)
			}
		})
	}
}

// What krew's index asks for and its validator does not look at.
func TestManifestFollowsTheIndexRules(t *testing.T) {
	p := readPlugin(t)
	if n := len(p.Spec.ShortDescription); n == 0 || n > 50 || strings.Contains(p.Spec.ShortDescription, "\n") {
		t.Errorf("shortDescription is one line of at most 50 characters; it has %d", n)
	}
	if p.Spec.Version != tag {
		t.Errorf("version is %q, want the tag %q", p.Spec.Version, tag)
	}
	// krew-release-bot takes the homepage as proof of whose plugin it is.
	if want := "https://github.com/kubectl-backlog/kubectl-backlog"; p.Spec.Homepage != want {
		t.Errorf("homepage is %q, want %q", p.Spec.Homepage, want)
	}
	// Whoever installs it must have read what stays behind in their pods.
	for _, want := range []string{"ephemeral container", "until the pod is deleted", "pods/ephemeralcontainers", "pods/log"} {
		if !strings.Contains(p.Spec.Caveats, want) {
			t.Errorf("caveats do not speak of %q", want)
		}
	}
}

func TestManifestNamesTheArchivesThatAreBuilt(t *testing.T) {
	p, config := readPlugin(t), readGoreleaser(t)
	prefix := p.Spec.Homepage + "/releases/download/" + tag + "/"
	var got []string
	for _, platform := range p.Spec.Platforms {
		if !strings.HasPrefix(platform.URI, prefix) {
			t.Errorf("uri %s does not begin with %s", platform.URI, prefix)
		}
		name := path.Base(platform.URI)
		got = append(got, name)
		goos, goarch := platform.Selector.MatchLabels["os"], platform.Selector.MatchLabels["arch"]
		if !strings.Contains(name, "_"+goos+"_"+goarch+".") {
			t.Errorf("%s is selected on %s/%s", name, goos, goarch)
		}
		bin := config.Builds[0].Binary
		if goos == "windows" {
			bin += ".exe"
		}
		if platform.Bin != bin {
			t.Errorf("bin on %s is %q, want %q", goos, platform.Bin, bin)
		}
	}
	slices.Sort(got)
	if want := config.archives(tag); !slices.Equal(got, want) {
		t.Errorf("the manifest names\n  %s\nand goreleaser makes\n  %s",
			strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

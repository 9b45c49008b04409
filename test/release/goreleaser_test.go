package release

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// goreleaser is the part of .goreleaser.yaml that krew/backlog.yaml repeats.
type goreleaser struct {
	ProjectName string `json:"project_name"`
	Builds      []struct {
		Main    string   `json:"main"`
		Binary  string   `json:"binary"`
		Ldflags []string `json:"ldflags"`
		Goos    []string `json:"goos"`
		Goarch  []string `json:"goarch"`
	} `json:"builds"`
	Archives []struct {
		Formats         []string `json:"formats"`
		FormatOverrides []struct {
			Goos    string   `json:"goos"`
			Formats []string `json:"formats"`
		} `json:"format_overrides"`
		NameTemplate string `json:"name_template"`
		Files        []struct {
			Src         string `json:"src"`
			StripParent bool   `json:"strip_parent"`
		} `json:"files"`
	} `json:"archives"`
}

func readGoreleaser(t *testing.T) goreleaser {
	t.Helper()
	var config goreleaser
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) != 1 || len(config.Archives) != 1 {
		t.Fatalf("%d builds and %d archives, want one of each", len(config.Builds), len(config.Archives))
	}
	return config
}

// archives are the names of the archives of one tag.
func (g goreleaser) archives(tag string) []string {
	var names []string
	for _, goos := range g.Builds[0].Goos {
		format := g.Archives[0].Formats[0]
		for _, override := range g.Archives[0].FormatOverrides {
			if override.Goos == goos {
				format = override.Formats[0]
			}
		}
		for _, goarch := range g.Builds[0].Goarch {
			name := strings.NewReplacer(
				"{{ .ProjectName }}", g.ProjectName, "{{ .Tag }}", tag,
				"{{ .Os }}", goos, "{{ .Arch }}", goarch,
			).Replace(g.Archives[0].NameTemplate)
			names = append(names, name+"."+format)
		}
	}
	slices.Sort(names)
	return names
}

func TestGoreleaserReadsItsConfig(t *testing.T) {
	if out, err := inTools(t, "goreleaser", "run", "./config", absolute(t, root+"/.goreleaser.yaml")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A check that lets everything pass is worse than none.
func TestGoreleaserRefusesAMistake(t *testing.T) {
	good := read(t, ".goreleaser.yaml")
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", "mod_timestamp:", "mod_time:", "field mod_time not found"},
		{"wrong kind", "goos: [linux, darwin, windows]", "goos: {linux: true}", "cannot unmarshal"},
		{"other version", "version: 2\n", "version: 1\n", "version is 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := write(t, ".goreleaser.yaml", replaced(t, good, c.from, c.to))
			out, err := inTools(t, "goreleaser", "run", "./config", bad)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("want a refusal that speaks of %q, got %v:\n%s", c.want, err, out)
			}
		})
	}
}

func TestBuildsSixPlatforms(t *testing.T) {
	build := readGoreleaser(t).Builds[0]
	for _, want := range []string{"linux", "darwin", "windows"} {
		if !slices.Contains(build.Goos, want) {
			t.Errorf("goos lacks %s", want)
		}
	}
	for _, want := range []string{"amd64", "arm64"} {
		if !slices.Contains(build.Goarch, want) {
			t.Errorf("goarch lacks %s", want)
		}
	}
	if _, err := os.Stat(filepath.Join(root, build.Main, "main.go")); err != nil {
		t.Errorf("builds[0].main: %v", err)
	}
}

// The version that a release reports is put in by the linker, by a name that
// nothing else checks: a misspelt one links without a word.
func TestLinkerSetsTheVersionThatMainHas(t *testing.T) {
	build := readGoreleaser(t).Builds[0]
	var name string
	for _, flags := range build.Ldflags {
		for _, word := range strings.Fields(flags) {
			if set, ok := strings.CutPrefix(word, "main."); ok {
				name, _, _ = strings.Cut(set, "=")
			}
		}
	}
	if name == "" {
		t.Fatal("ldflags have no -X main.…")
	}
	if main := read(t, filepath.Join(build.Main, "main.go")); !strings.Contains(main, "var "+name) {
		t.Errorf("ldflags set main.%s, and main.go has no var %s", name, name)
	}
}

func TestArchivesHoldWhatTheyNeed(t *testing.T) {
	files := map[string]bool{} // name in the archive: kept at its top
	for _, f := range readGoreleaser(t).Archives[0].Files {
		info, err := os.Stat(filepath.Join(root, f.Src))
		if err != nil {
			t.Errorf("archives[0].files: %v", err)
			continue
		}
		name := path.Base(f.Src)
		files[name] = f.StripParent || name == f.Src
		if strings.HasPrefix(name, "kubectl_complete") && info.Mode().Perm()&0o111 == 0 {
			t.Errorf("%s is not executable; kubectl ignores it then", f.Src)
		}
	}
	// krew refuses an archive without a licence.
	for _, want := range []string{"LICENSE", "README.md", "kubectl_complete-backlog"} {
		if !files[want] {
			t.Errorf("the archive has no %s at its top", want)
		}
	}
}

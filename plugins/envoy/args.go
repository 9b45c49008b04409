package envoy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// arguments are those of Envoy's that decide on workers and listeners.
type arguments struct {
	// concurrency is known where --concurrency is given; text as it stands there.
	concurrency model.Value[int64]
	text        string
	given       bool
	cpuset      bool // --cpuset-threads
	// file says that a bootstrap lies in a file, which the spec does not show.
	file bool
	// inline is what --config-yaml holds, merged over the file's.
	inline    parse.EnvoyBootstrap
	hasInline bool
	inlineErr error
}

// maxInline bounds what is read of --config-yaml; a pod's spec has 1.5 MB at most.
const maxInline = 1 << 20

// readArguments goes through the command line: "--name value", "--name=value". The
// last of equal ones would be an error to Envoy; the first is taken.
func readArguments(c *corev1.Container) arguments {
	a := arguments{concurrency: model.Unknown[int64]("the container's arguments do not set --concurrency")}
	line := commandLine(c)
	for i := 0; i < len(line); i++ {
		name, value, joined := strings.Cut(line[i], "=")
		take := func() string {
			if !joined && i+1 < len(line) {
				i++
				value = line[i]
			}
			return value
		}
		switch name {
		case "--concurrency":
			a.given, a.text = true, take()
			a.concurrency = concurrency(a.text)
		case "--cpuset-threads":
			a.cpuset = true
		case "-c", "--config-path":
			take()
			a.file = true
		case "--config-yaml":
			a.hasInline = true
			a.inline, a.inlineErr = readInline(take())
		}
	}
	return a
}

// concurrency reads a number of workers as Envoy does: 0 is one worker.
func concurrency(text string) model.Value[int64] {
	n, err := strconv.ParseUint(text, 10, 32)
	switch {
	case err == nil:
		return model.Known(int64(max(1, n)))
	case strings.Contains(text, "$("):
		return model.Unknown[int64]("--concurrency refers to a variable (" + quote(text) + ")")
	}
	return model.Unknown[int64]("--concurrency is " + quote(text) + ", which is no whole number: Envoy does not start")
}

func readInline(text string) (parse.EnvoyBootstrap, error) {
	if len(text) > maxInline {
		text = ""
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return parse.EnvoyBootstrap{}, err
	}
	return parse.ReadEnvoyBootstrap(asJSON)
}

// shown is how much of a value from a pod's spec is repeated.
const shown = 120

func clip(s string) string {
	if utf8.RuneCountInString(s) <= shown {
		return s
	}
	return string([]rune(s)[:shown]) + "…"
}

func quote(s string) string { return strconv.Quote(clip(s)) }

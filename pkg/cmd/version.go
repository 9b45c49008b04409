package cmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// build is what `version` tells.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersion(streams genericiooptions.IOStreams, version string) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of kubectl-backlog",
		Example: "  kubectl backlog version\n  kubectl backlog version -o json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b := build{
				Version: version, Commit: commit(), GoVersion: runtime.Version(),
				Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}
			switch output {
			case "":
				_, err := fmt.Fprintf(streams.Out, "kubectl-backlog %s %s %s\n", b.Version, b.Platform, b.GoVersion)
				return err
			case "json":
				data, err := json.MarshalIndent(b, "", "  ")
				if err != nil {
					return fmt.Errorf("encoding the version: %w", err)
				}
				_, err = fmt.Fprintf(streams.Out, "%s\n", data)
				return err
			case "yaml":
				data, err := yaml.Marshal(b)
				if err != nil {
					return fmt.Errorf("encoding the version: %w", err)
				}
				_, err = streams.Out.Write(data)
				return err
			}
			return usageError{fmt.Errorf("unknown output format %q: version knows json and yaml", output)}
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "Output format: json or yaml")
	return c
}

// commit is the revision the binary was built from, where the build recorded it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

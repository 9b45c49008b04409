// Command config reads .goreleaser.yaml the way goreleaser does, strictly: a
// key that goreleaser does not know, or a value of the wrong kind, is an error.
//
// It stands in for `goreleaser check`, which builds for many minutes since it
// brings every publisher along; this needs only goreleaser's types. What it
// cannot see is what `check` finds after reading: deprecated keys and values
// that contradict each other.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: config FILE")
		os.Exit(2)
	}
	project, err := config.Load(os.Args[1])
	if err == nil && project.Version != 2 {
		// Load only warns of another version when the rest can be read.
		err = fmt.Errorf("version is %d, and goreleaser reads 2", project.Version)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "reading %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// Command kubectl-backlog is the kubectl plugin `kubectl backlog`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // exec, OIDC and cloud logins of kubeconfig files

	"github.com/kubectl-backlog/kubectl-backlog/pkg/cmd"
)

// version is set by the release build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := cmd.Main(ctx, os.Args[1:], streams, version)
	stop()
	os.Exit(code)
}

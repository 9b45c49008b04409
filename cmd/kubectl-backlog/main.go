// Command kubectl-backlog is the kubectl plugin `kubectl backlog`.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // exec, OIDC and cloud logins of kubeconfig files
	"k8s.io/klog/v2"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/cmd"
)

// version is set by the release build.
var version = "dev"

// gcPercent trades CPU time, of which little is used, for memory: each connection
// to a proxy's admin port brings 0.8 MiB of SPDY header compressor along, and with
// fifty of them the default of 100 would let the heap grow to 110 MiB.
const gcPercent = 25

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup a closed terminal is no reason to end
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	// client-go logs to stderr when a connection breaks. The screen is there, and
	// what matters of it is told in words of our own. Another output would not do:
	// errors go to stderr whatever the output is.
	klog.SetLogger(klog.New(nil))
	code := cmd.Main(ctx, os.Args[1:], streams, version)
	stop()
	os.Exit(code)
}

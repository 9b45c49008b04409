// Command kube is Kubernetes in one file: API server, controller-manager,
// scheduler, kubelet and kubectl. Which of them runs is decided by the name it
// is called with (up.sh makes a symbolic link for each), or by its first argument.
//
// One binary instead of five, because most of their code is common: it is built,
// linked and kept once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the flag --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // request metrics of the client library
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric kubernetes_build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(run())
}

func run() int {
	names := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"}
	name := filepath.Base(os.Args[0])
	if !slices.Contains(names, name) && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	var command *cobra.Command
	switch name {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubelet":
		command = kubelet.NewKubeletCommand(context.Background())
	case "kubectl":
		// kubectl words its own errors, and leaves with the exit code they ask for.
		util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
		return 0
	default:
		fmt.Fprintf(os.Stderr, "kube: unknown component %q, want one of: %s\n", name, strings.Join(names, ", "))
		return 2
	}
	return cli.Run(command)
}

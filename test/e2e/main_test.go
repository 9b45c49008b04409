package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The images that test/images builds.
const (
	toolsImage = "docker.io/local/tools:1"
	nossImage  = "docker.io/local/noss:1"
	proxyImage = "docker.io/local/tokioproxy:1"
	loadImage  = "docker.io/local/load:1"
)

// cluster is what all tests share: set once before the first, read afterwards.
var cluster struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	binary     string // bin/kubectl-backlog, built from this tree
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	cluster.kubeconfig = os.Getenv("E2E_KUBECONFIG")
	if cluster.kubeconfig == "" {
		fmt.Println("left out: real-cluster tests; `make test-e2e` starts a cluster, or set E2E_KUBECONFIG")
		return 0, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", cluster.kubeconfig)
	if err != nil {
		return 1, fmt.Errorf("reading %s: %w", cluster.kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	cluster.config = config
	if cluster.client, err = kubernetes.NewForConfig(config); err != nil {
		return 1, fmt.Errorf("connecting to the cluster: %w", err)
	}
	dir, err := os.MkdirTemp("", "kubectl-backlog-e2e")
	if err != nil {
		return 1, fmt.Errorf("making a folder for the binary: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cluster.binary = filepath.Join(dir, "kubectl-backlog")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", cluster.binary, "../../cmd/kubectl-backlog")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building kubectl-backlog: %w\n%s", err, out)
	}
	return m.Run(), nil
}

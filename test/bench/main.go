package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// bench is one run against one cluster.
type bench struct {
	client     kubernetes.Interface
	kubeconfig string
	binary     string
	ns         string
	runs, pods int
	seconds    int
	rows       []row
}

// row is one figure of the table.
type row struct{ what, figure, goal string }

func (b *bench) add(what, goal, format string, args ...any) {
	b.rows = append(b.rows, row{what, fmt.Sprintf(format, args...), goal})
	fmt.Fprintf(os.Stderr, "  %s: %s\n", what, b.rows[len(b.rows)-1].figure)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 0
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

func run(ctx context.Context) error {
	var b bench
	flag.StringVar(&b.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the cluster")
	flag.IntVar(&b.runs, "runs", 10, "how often each of two ways is tried, by turns")
	flag.IntVar(&b.pods, "pods", 50, "how many pods are watched at once")
	flag.IntVar(&b.seconds, "seconds", 60, "how long CPU use is measured")
	only := flag.String("only", "first,probe,idle,fleet", "what to measure")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", b.kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	if b.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	dir, err := os.MkdirTemp("", "kubectl-backlog-bench")
	if err != nil {
		return fmt.Errorf("making a folder for the binary: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b.binary = filepath.Join(dir, "kubectl-backlog")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/kubectl-backlog").CombinedOutput(); err != nil {
		return fmt.Errorf("building kubectl-backlog: %w\n%s", err, out)
	}
	defer b.print()
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{{"first", b.firstRow}, {"probe", b.probeCost}, {"idle", b.idle}, {"fleet", b.fleet}} {
		if !strings.Contains(*only, part.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", part.name)
		if err := b.inNamespace(ctx, part.do); err != nil {
			return err
		}
	}
	return nil
}

// inNamespace gives each part a namespace of its own, and the machine back as it
// was before the next.
func (b *bench) inNamespace(ctx context.Context, do func(context.Context) error) error {
	ns, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating a namespace: %w", err)
	}
	b.ns = ns.Name
	err = do(ctx)
	// After an interrupt, too.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	zero := int64(0)
	gone := b.client.CoreV1().Namespaces().Delete(end, b.ns, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	for gone == nil && end.Err() == nil {
		if _, err := b.client.CoreV1().Namespaces().Get(end, b.ns, metav1.GetOptions{}); err != nil {
			break
		}
		time.Sleep(300 * time.Millisecond)
	}
	return errors.Join(err, gone)
}

// print writes the table.
func (b *bench) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEASURED\tGOAL")
	for _, r := range b.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.what, r.figure, r.goal)
	}
	_ = w.Flush()
}

// command runs a program to its end and gives how long it took.
func (b *bench) command(ctx context.Context, name string, args ...string) (took time.Duration, out string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+b.kubeconfig, "KUBECTL_BACKLOG_IMAGE="+toolsImage)
	begun := time.Now()
	text, err := c.Output()
	took = time.Since(begun)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return took, string(text), fmt.Errorf("running %s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return took, string(text), err
}

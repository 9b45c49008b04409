package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// evidence saves what is known of a pod before somebody restarts it: a report, the
// frames with their raw text, the figures as an object, and the logs.
type evidence struct {
	past *past
	// player opens what was seen, with its raw text.
	player func() (source.Recording, error)
	client kubernetes.Interface // nil where there is no cluster
	header record.Header
	now    func() time.Time
}

// logTimeout bounds the reading of one log: the restart may be waiting.
const logTimeout = 20 * time.Second

// save writes everything into a folder of its own below dir and gives its path. What
// cannot be had is named in a file of the folder, since the rest is evidence too.
func (e *evidence) save(ctx context.Context, dir string, pod model.Pod) (string, error) {
	folder := filepath.Join(dir, fileName("evidence-"+pod.Meta.Name, e.now()))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the folder: %w", err)
	}
	var missing []string
	for _, part := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.html", func(w io.Writer) error {
			return e.report(ctx, pod, func(r render.Report) error { return render.WriteHTML(w, r) })
		}},
		{"report.md", func(w io.Writer) error {
			return e.report(ctx, pod, func(r render.Report) error { return render.WriteMarkdown(w, r) })
		}},
		{"pod.json", func(w io.Writer) error { return (&printers.JSONPrinter{}).PrintObj(render.One(pod), w) }},
		{"raw.txt", func(w io.Writer) error { return writeRaw(w, pod) }},
	} {
		if err := writeFile(filepath.Join(folder, part.name), part.write); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", part.name, err))
		}
	}
	if err := e.frames(ctx, filepath.Join(folder, "frames.jsonl.gz"), pod); err != nil {
		missing = append(missing, fmt.Sprintf("frames.jsonl.gz: %v", err))
	}
	missing = append(missing, e.logs(ctx, folder, pod)...)
	if len(missing) > 0 {
		text := strings.Join(missing, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, "missing.txt"), []byte(text), 0o644); err != nil {
			return folder, fmt.Errorf("saving the evidence: %w", err)
		}
	}
	return folder, ctx.Err()
}

// report makes a report of what is remembered of the pod alone.
func (e *evidence) report(ctx context.Context, pod model.Pod, write func(render.Report) error) error {
	r, err := e.past.report(ctx, e.header, func(p model.Pod) bool { return p.Key() == pod.Key() }, e.now())
	if err != nil {
		return err
	}
	return write(r)
}

// frames copies the pod's part of the flight recorder, which has the raw text; where
// there is none, what is remembered.
func (e *evidence) frames(ctx context.Context, path string, pod model.Pod) error {
	player, err := e.player()
	if err != nil {
		return err
	}
	defer player.Close()
	out, err := record.Create(path, record.FileOptions{Header: e.header})
	if err != nil {
		return err
	}
	for {
		s, err := player.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			s.Pods = only(s.Pods, pod.Key())
			err = out.Add(s)
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
	}
}

func only(pods []model.Pod, key string) []model.Pod {
	for i := range pods {
		if pods[i].Key() == key {
			return pods[i : i+1]
		}
	}
	return nil
}

// logs saves the proxy's log, and the one of before its last restart. The app's is
// its owner's: it may hold anything.
func (e *evidence) logs(ctx context.Context, folder string, pod model.Pod) (missing []string) {
	container := pod.Proxy.Container
	switch {
	case e.client == nil:
		return []string{"logs: there is no cluster to ask"}
	case container == "":
		return []string{"logs: no proxy was recognised in this pod"}
	}
	for _, previous := range []bool{false, true} {
		name := container + ".log"
		if previous {
			name = container + "-previous.log"
		}
		path := filepath.Join(folder, filepath.Base(name))
		err := writeFile(path, func(w io.Writer) error {
			ctx, cancel := context.WithTimeout(ctx, logTimeout)
			defer cancel()
			return collect.ContainerLog(ctx, e.client, pod.Meta.Namespace, pod.Meta.Name, container, previous, w)
		})
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", name, err))
			_ = os.Remove(path) // an empty log would look like a silent proxy
		}
	}
	return missing
}

// writeRaw writes what the newest frame and page said.
func writeRaw(w io.Writer, pod model.Pod) error {
	for _, t := range pod.Raw {
		if _, err := fmt.Fprintf(w, "== %s ==\n%s\n", t.Name, t.Text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a file of what write gives.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// fileName is a name with a time that sorts, of characters that no shell minds.
func fileName(name string, at time.Time) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, name)
	return "backlog-" + strings.Trim(clean[:min(len(clean), 120)], "-.") + "-" + at.UTC().Format("20060102T150405Z")
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// fleet watches many pods on a real screen and measures the program: CPU, memory,
// how old the oldest row gets, and what it asks of the API server.
func (b *bench) fleet(ctx context.Context) error {
	if _, err := exec.LookPath("tmux"); err != nil {
		b.add("screen", "", "not measured: no tmux on this machine")
		return nil
	}
	var pods []*corev1.Pod
	for i := range b.pods {
		pods = append(pods, podOf(fmt.Sprintf("fleet-%d", i), proxy()))
	}
	if err := b.start(ctx, pods...); err != nil {
		return err
	}
	screen, err := b.openScreen(ctx)
	if err != nil {
		return err
	}
	defer screen.close()
	begun := time.Now()
	if err := screen.settled(ctx, b.pods); err != nil {
		return err
	}
	b.add(fmt.Sprintf("%d pods, until every row has figures", b.pods), "", "%.1f s", time.Since(begun).Seconds())
	// What happens once at the start is over, rates and all.
	if err := sleep(ctx, 15*time.Second); err != nil {
		return err
	}
	return b.watchScreen(ctx, screen)
}

func (b *bench) watchScreen(ctx context.Context, screen *screen) error {
	idle, err := b.requests(ctx)
	if err != nil {
		return err
	}
	cpu, err := cpuSeconds(screen.pid)
	if err != nil {
		return err
	}
	begun := time.Now()
	var oldest times
	for time.Since(begun) < time.Duration(b.seconds)*time.Second {
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		text, err := screen.text(ctx)
		if err != nil {
			return err
		}
		lag, ok := lagOn(text)
		if !ok {
			return fmt.Errorf("no lag on the screen:\n%s", text)
		}
		oldest = append(oldest, time.Duration(lag*float64(time.Second)))
	}
	took := time.Since(begun).Seconds()
	last, err := cpuSeconds(screen.pid)
	if err != nil {
		return err
	}
	busy, err := b.requests(ctx)
	if err != nil {
		return err
	}
	memory, err := residentMiB(screen.pid)
	if err != nil {
		return err
	}
	b.add("  client CPU", "under 0.2 core", "%.3f core", (last-cpu)/took)
	b.add("  client memory, highest", "under 150 MiB", "%.0f MiB", memory)
	b.add("  oldest row", "at most 2 s", "%.1f s, median %.1f s, of %d looks", oldest.at(1).Seconds(), oldest.median().Seconds(), len(oldest))
	b.add("  API requests a pod and minute", "", "%.2f", float64(busy-idle)/float64(b.pods)/(took/60))
	return nil
}

// asked are requests of a kind that the program makes.
var asked = regexp.MustCompile(`subresource="(log|portforward|ephemeralcontainers|proxy)"|subresource="",verb="(GET|LIST|WATCH)"`)

// requests counts what the API server was asked about pods by clients: their
// logs, port-forwards and ephemeral containers, and lists and watches of them.
// The kubelet's own writes (pods/status) are left out.
func (b *bench) requests(ctx context.Context) (int, error) {
	page, err := b.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	total := 0.0
	for _, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !strings.Contains(line, `resource="pods"`) || !asked.MatchString(line) {
			continue
		}
		n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("reading the API server's metrics: %w", err)
		}
		total += n
	}
	return int(total), nil
}

// screen is the program on a terminal.
type screen struct {
	socket string
	dir    string
	pid    int
}

func (b *bench) openScreen(ctx context.Context) (*screen, error) {
	dir, err := os.MkdirTemp("", "kubectl-backlog-bench-screen")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the screen: %w", err)
	}
	s := &screen{socket: filepath.Join(dir, "tmux"), dir: dir}
	line := fmt.Sprintf("KUBECONFIG=%s KUBECTL_BACKLOG_IMAGE=%s exec %s top -n %s --yes --max-pods %d", b.kubeconfig, toolsImage, b.binary, b.ns, b.pods)
	// The list gives half of the room to what is selected.
	if out, err := exec.CommandContext(ctx, "tmux", "-S", s.socket, "new-session", "-d", "-x", "160", "-y", fmt.Sprint(2*b.pods+40), line).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("opening a screen: %w\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, "tmux", "-S", s.socket, "list-panes", "-F", "#{pane_pid}").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for the program on the screen: %w", err)
	}
	if s.pid, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		return nil, fmt.Errorf("looking for the program on the screen: %w", err)
	}
	return s, nil
}

func (s *screen) close() {
	_ = exec.Command("tmux", "-S", s.socket, "send-keys", "q").Run() //nolint:noctx // it ends at once
	time.Sleep(time.Second)
	_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() //nolint:noctx // as above
	_ = os.RemoveAll(s.dir)
}

func (s *screen) key(ctx context.Context, key string) error {
	if out, err := exec.CommandContext(ctx, "tmux", "-S", s.socket, "send-keys", key).CombinedOutput(); err != nil {
		return fmt.Errorf("typing %s: %w\n%s", key, err, out)
	}
	return nil
}

func (s *screen) text(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "tmux", "-S", s.socket, "capture-pane", "-p").Output()
	if err != nil {
		return "", fmt.Errorf("reading the screen: %w", err)
	}
	return string(out), nil
}

var fullRow = regexp.MustCompile(`fleet-\d+ .*\d+/128`)

// settled waits until there are figures in every row.
func (s *screen) settled(ctx context.Context, pods int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		text, err := s.text(ctx)
		if err != nil {
			return err
		}
		if n := len(fullRow.FindAllString(text, -1)); n == pods {
			return nil
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for all rows: %w\n%s", err, text)
		}
	}
}

var lagWords = regexp.MustCompile(`lag (\d+\.\d)s`)

// lagOn reads the age in seconds of the oldest row from the first line.
func lagOn(text string) (float64, bool) {
	first, _, _ := strings.Cut(text, "\n")
	m := lagWords.FindStringSubmatch(first)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return n, err == nil
}

package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// rawLine is a line of the raw form: what ss, nstat and curl print, with a time.
type rawLine struct {
	// TMS is a time in milliseconds of any clock that only goes forward.
	TMS *float64 `json:"t_ms"`
	// Time is the time of day, where it is known.
	Time string  `json:"time"`
	SS   *string `json:"ss"`
	// Nstat is text, or the JSON that nstat -j prints; Somaxconn a number, or its text.
	Nstat     json.RawMessage `json:"nstat"`
	Somaxconn json.RawMessage `json:"somaxconn"`
	// Metrics is the proxy's page, where it was asked for.
	Metrics   string `json:"metrics"`
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
}

// isRawLine tells the raw form by its first line.
func isRawLine(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"t_ms"`))
}

// rawRecording plays the raw form.
type rawRecording struct {
	*lines
	pod    *framesPod
	line   int
	bad    int
	closer func() error
}

func newRawRecording(in io.Reader, closer func() error, name string) *rawRecording {
	return &rawRecording{lines: newLines(in, name), pod: newFramesPod(name), closer: closer}
}

// Next gives the snapshot of the next line. One that cannot be read is left out, and
// counted in the notes.
func (r *rawRecording) Next() (model.Snapshot, error) {
	for {
		text, ok := r.next()
		if !ok {
			if r.bad > 0 {
				r.notes = append(r.notes, fmt.Sprintf("%d lines of %s could not be read", r.bad, r.name))
				r.bad = 0
			}
			return model.Snapshot{}, io.EOF
		}
		var l rawLine
		if err := json.Unmarshal(text, &l); err != nil || l.TMS == nil || *l.TMS < 0 || *l.TMS > 1e15 {
			if len(bytes.TrimSpace(text)) > 0 {
				r.bad++
			}
			continue
		}
		if s, ok := r.snapshot(l); ok {
			return s, nil
		}
		r.bad++
	}
}

func (r *rawRecording) snapshot(l rawLine) (model.Snapshot, bool) {
	r.line++
	frame, err := parse.NewFrameReader(strings.NewReader(l.frame(r.line))).Next()
	if err != nil {
		return model.Snapshot{}, false
	}
	if r.line == 1 {
		r.notes = append(r.notes, "the recording holds what ss and nstat said, not the pod's spec: what was asked for is unknown")
	}
	if l.Pod != "" {
		r.pod.name = model.Meta{Name: l.Pod, Namespace: l.Namespace}
	}
	at, _ := time.Parse(time.RFC3339Nano, l.Time) // zero without one
	s := r.pod.add(frame, at.UTC(), "recorded")
	r.addMetrics(&s.Pods[0], l.Metrics)
	return s, true
}

// frame writes the line as the probe would have, so that it is read in the same way.
func (l rawLine) frame(seq int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "==backlog-frame/1 begin seq=%d uptime=%.3f==\n", seq, 1000+*l.TMS/1000)
	section := func(name, text string) {
		fmt.Fprintf(&b, "==backlog-section %s==\n%s", name, text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	if l.SS != nil {
		section("ss", *l.SS)
	}
	if text := plainText(l.Nstat); text != "" {
		section("nstat", text)
	}
	if text := plainText(l.Somaxconn); text != "" {
		section("somaxconn", text)
	}
	fmt.Fprintf(&b, "==backlog-frame/1 end seq=%d==\n", seq)
	return b.String()
}

// plainText is a text, or JSON as it stands.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// addMetrics reads the proxy's page with the adapter that finds its workers there.
func (r *rawRecording) addMetrics(p *model.Pod, text string) {
	if text == "" {
		return
	}
	page, err := parse.ReadMetricsFolded(strings.NewReader(text), folds(), metricNames...)
	if page == nil || page.Len() == 0 || err != nil && page.Len() == 0 {
		return
	}
	for _, a := range plugins.All() {
		reader, ok := a.(plugins.RuntimeReader)
		if !ok {
			continue
		}
		runtime, version := reader.Runtime(page)
		if !runtime.Workers.IsKnown() {
			continue
		}
		r.pod.history.addReading(runtime)
		p.Runtime = runtime
		p.Runtime.Window = model.BusyWindow(r.pod.history.readings, recordedWindow.Seconds())
		p.Proxy = model.Proxy{Adapter: a.Name(), Version: version, Sidecar: true}
		p.Raw = append(p.Raw, rawPage("/metrics", page.Text()))
		for i := range p.Listeners {
			// The ports that Linkerd has unless somebody changed them.
			if role, ok := map[uint16]model.Role{4143: model.RoleInbound, 4140: model.RoleOutbound, 4191: model.RoleAdmin}[p.Listeners[i].Port]; ok && a.Name() == "linkerd" {
				p.Listeners[i].Role = role
			}
		}
		return
	}
}

// Notes say what it cannot tell.
func (r *rawRecording) Notes() []string { return r.notes }

// Title is the file's name.
func (r *rawRecording) Title() string { return r.name }

// Close closes the file.
func (r *rawRecording) Close() error {
	if err := r.closer(); err != nil {
		return fmt.Errorf("closing %s: %w", r.name, err)
	}
	return nil
}

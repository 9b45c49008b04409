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

// reasonNotInRaw is why the raw form tells nothing of the rest.
const reasonNotInRaw = "the recording holds what ss and nstat said: neither the pod's spec nor its threads, and metrics only where they were written down"

// maxRawPods bounds the pods of one file.
const maxRawPods = 1000

// rawRecording plays the raw form. Each line is of one pod; its snapshot has the others
// as they were last seen.
type rawRecording struct {
	*lines
	pods   []*rawPod
	meta   model.Meta           // of the newest line: one without a name is of the same pod
	first  model.Value[float64] // t_ms of the first line
	seq    uint64
	line   int
	bad    int
	closer func() error
}

type rawPod struct {
	*framesPod
	newest model.Pod
}

func newRawRecording(in io.Reader, closer func() error, name string) *rawRecording {
	return &rawRecording{lines: newLines(in, name), closer: closer}
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
	pod := r.podOf(l)
	if pod == nil {
		return model.Snapshot{}, false
	}
	r.line++
	frame, err := parse.NewFrameReader(strings.NewReader(l.frame(r.line))).Next()
	if err != nil {
		return model.Snapshot{}, false
	}
	at, timed := l.at(&r.first)
	if r.line == 1 {
		r.notes = append(r.notes, reasonNotInRaw)
		if !timed {
			r.notes = append(r.notes, "it has no times of day (\"time\" would give them): they are counted from 1970")
		}
	}
	s := pod.add(frame, at, "recorded")
	r.addMetrics(pod, &s.Pods[0], l.Metrics)
	pod.newest = s.Pods[0]
	s.Pods = nil
	for _, p := range r.pods {
		s.Pods = append(s.Pods, p.newest)
		// Its raw text and its frames are of one snapshot alone.
		p.newest.Raw, p.newest.Earlier = nil, nil
		if last := &s.Pods[len(s.Pods)-1]; at.Sub(last.Sample.Arrived) > recordedWindow {
			last.Collection.Stage, last.Collection.Message = model.StageStale, "the recording has no newer line of it"
		}
	}
	r.seq++
	s.Seq = r.seq
	return s, true
}

// podOf is the pod that a line is of; nil for one too many.
func (r *rawRecording) podOf(l rawLine) *rawPod {
	switch {
	case l.Pod != "":
		r.meta = model.Meta{Name: l.Pod, Namespace: l.Namespace}
	case r.meta.Name == "":
		r.meta.Name = r.name
	}
	name := r.meta
	for _, p := range r.pods {
		if p.name == name {
			return p
		}
	}
	if len(r.pods) == maxRawPods {
		return nil
	}
	p := &rawPod{framesPod: newFramesPod("")}
	p.name, p.missing, p.raw = name, reasonNotInRaw, true
	r.pods = append(r.pods, p)
	return p
}

// at is when the line was written: the time of day where it has one.
func (l rawLine) at(first *model.Value[float64]) (at time.Time, timed bool) {
	if at, err := time.Parse(time.RFC3339Nano, l.Time); err == nil {
		return at.UTC(), true
	}
	if !first.IsKnown() {
		*first = model.Known(*l.TMS)
	}
	return time.UnixMilli(int64(*l.TMS - first.Or(0))).UTC(), false
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
func (r *rawRecording) addMetrics(pod *rawPod, p *model.Pod, text string) {
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
		pod.history.addReading(runtime)
		p.Runtime = runtime
		p.Runtime.Window = model.BusyWindow(pod.history.readings, recordedWindow.Seconds())
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

package diagnose_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/linkerd"
)

// A recording is JSON lines of raw text, as ss, nstat, /metrics and /proc gave
// it on a real server, beside a file that says what was wrong.

// truth is what a recording shows.
type truth struct {
	// Right classes, each of which is right; Also may be said besides.
	Right, Also []model.Class
	Port        uint16
	Why         string
	// Phase in seconds in which it shows; none for all the time.
	Phase []float64
	// Proxy that was recorded, and its environment.
	Proxy string
	Env   map[string]string
}

// line is one sample of a recording.
type line struct {
	TMS       float64         `json:"t_ms"`
	SS        string          `json:"ss"`
	Nstat     json.RawMessage `json:"nstat"`
	Somaxconn json.RawMessage `json:"somaxconn"`
	Metrics   string          `json:"metrics"`
	Ready     int             `json:"ready"`
	Proc      *struct {
		Tick    float64 `json:"clk_tck"`
		QuotaUS float64 `json:"cfs_quota_us"`
		EveryUS float64 `json:"cfs_period_us"`
		Procs   []struct {
			PID     int         `json:"pid"`
			Threads int         `json:"threads"`
			Comm    string      `json:"comm"`
			State   string      `json:"state"`
			User    int64       `json:"utime"`
			System  int64       `json:"stime"`
			FDs     *int64      `json:"fds"`
			FDsMost json.Number `json:"fds_max"`
		} `json:"procs"`
	} `json:"proc"`
}

type recording struct {
	name string
	truth
	at       []float64 // seconds
	pods     []model.Pod
	cpuLimit model.Value[float64]
}

func loadTruth(t *testing.T, path string) truth {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tr truth
	if err := json.Unmarshal(data, &tr); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tr
}

// load reads a recording; what it holds of processes is left out when asked.
func load(t *testing.T, path string, process bool) recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".jsonl")
	r := recording{name: filepath.Base(base), truth: loadTruth(t, base+".json"), cpuLimit: model.Unknown[float64]("not recorded")}
	var last *model.ProcessReading
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 8<<20)
	for scan.Scan() {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		r.add(t, l, process, &last)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recording) add(t *testing.T, l line, process bool, last **model.ProcessReading) {
	t.Helper()
	sockets, _ := parse.ListenSockets(l.SS)
	text := string(l.Nstat)
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(l.Nstat, &text); err != nil {
			t.Fatal(err)
		}
	}
	values, _ := parse.Nstat(text)
	if n := strings.Trim(string(l.Somaxconn), "\" \n"); n != "" {
		var v int64
		if err := json.Unmarshal([]byte(n), &v); err == nil {
			values["somaxconn"] = v
		}
	}
	counters := parse.CountersFrom(values, "not recorded")
	if v, ok := values["somaxconn"]; ok {
		counters.Somaxconn = model.Known(v)
	}
	up := model.Known(1000 + l.TMS/1000)
	p := model.Pod{
		Phase: "Running", Ready: true, Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK},
		Sample:    model.Sample{Seq: uint64(len(r.pods) + 1), Uptime: up, Sandbox: "recorded"},
		Listeners: model.GroupSockets(sockets), Counters: counters,
		Runtime: model.UnknownRuntime("not recorded"), Process: model.UnknownProcess("not recorded"),
	}
	for i := range p.Listeners {
		p.Listeners[i].Role = model.RoleApp
	}
	r.addProxy(&p, l)
	if l.Proc != nil && process {
		reading := model.ProcessReading{Uptime: up, PID: 1, Start: model.Known[int64](1), CPUsAllowed: model.Unknown[int64]("not recorded")}
		reading.OpenFDs, reading.MaxFDs = model.Unknown[int64]("not recorded"), model.Unknown[int64]("not recorded")
		var ticks int64
		var fullest float64 = -1
		for _, q := range l.Proc.Procs {
			n := q.User + q.System
			ticks += n
			reading.Omitted += max(0, q.Threads-1) // the state is the first thread's
			reading.Name = q.Comm
			reading.Threads = append(reading.Threads, model.ThreadReading{
				TID: q.PID, Name: q.Comm, State: q.State, Start: model.Known[int64](1), Ticks: model.Known(n),
				RunNS: model.Unknown[int64]("not recorded"), WaitNS: model.Unknown[int64]("not recorded"), Wchan: model.Unknown[string]("not recorded"),
			})
			most, err := q.FDsMost.Int64()
			if q.FDs != nil && err == nil && most > 0 && float64(*q.FDs)/float64(most) > fullest {
				fullest = float64(*q.FDs) / float64(most)
				reading.OpenFDs, reading.MaxFDs = model.Known(*q.FDs), model.Known(most)
			}
		}
		reading.Ticks = model.Known(ticks)
		p.Process = model.ProcessBetween(*last, reading)
		*last = &reading
		if l.Proc.QuotaUS > 0 && l.Proc.EveryUS > 0 {
			r.cpuLimit = model.Known(l.Proc.QuotaUS / l.Proc.EveryUS)
		}
	}
	r.at = append(r.at, l.TMS/1000)
	r.pods = append(r.pods, p)
}

// addProxy does what pkg/source does with a proxy's pod. One recording without a
// real proxy has the ports of one.
func (r *recording) addProxy(p *model.Pod, l line) {
	roles := map[uint16]model.Role{4143: model.RoleInbound, 4140: model.RoleOutbound, 4191: model.RoleAdmin}
	proxied := r.Proxy == "linkerd"
	for i := range p.Listeners {
		if role, ok := roles[p.Listeners[i].Port]; ok {
			p.Listeners[i].Role, proxied = role, true
		}
	}
	if !proxied {
		return
	}
	p.Proxy = model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true, Version: model.Unknown[string]("not read")}
	if l.Metrics != "" {
		if page, err := parse.ReadMetrics(bytes.NewReader([]byte(l.Metrics))); err == nil || page != nil {
			p.Runtime, p.Proxy.Version = linkerd.New().Runtime(page)
		}
	}
	if l.Ready != 0 {
		p.Runtime.Ready = model.Known(l.Ready == 200)
	}
	if r.Proxy == "" {
		return
	}
	c := corev1.Container{Name: "linkerd-proxy"}
	for k, v := range r.Env {
		c.Env = append(c.Env, corev1.EnvVar{Name: k, Value: v})
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	p.Knobs = linkerd.New().Knobs(pod, model.Unknown[int64]("not recorded"), *p)
}

// between cuts the samples of a time out, both ends included.
func (r *recording) between(from, to float64) diagnose.History {
	h := diagnose.History{}
	for i, at := range r.at {
		if at >= from-0.02 && at <= to+0.02 {
			pod := r.pods[i]
			pod.Process.CPULimit, pod.Proxy.CPULimit = r.cpuLimit, r.cpuLimit
			h.Samples = append(h.Samples, pod)
		}
	}
	return h
}

func recordings(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("BACKLOG_RECORDINGS")
	if dir == "" {
		dir = "testdata/series"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	return paths
}

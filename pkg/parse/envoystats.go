package parse

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// EnvoyDispatcherStats is the line of the bootstrap without which Envoy does not
// tell how busy its workers are.
const EnvoyDispatcherStats = "enable_dispatcher_stats: true"

// envoyStats is the dotted text of /stats. Its names are the same in every
// version, which those of /stats/prometheus are not.
type envoyStats struct {
	workers            model.Value[int64]
	uptime             model.Value[float64]
	busy, pollDelay    model.Value[float64] // seconds, all workers together
	requests, failures model.Value[int64]
}

// histogram of one worker: whether it was recorded in full detail, and its sum.
type histogram struct {
	sum  float64
	full bool
}

func readEnvoyStats(body []byte) (envoyStats, error) {
	const page = "/stats"
	fail := func(err error) (envoyStats, error) {
		i, f := model.Unknown[int64](err.Error()), model.Unknown[float64](err.Error())
		return envoyStats{workers: i, uptime: f, busy: f, pollDelay: f, requests: i, failures: i}, err
	}
	switch {
	case body == nil:
		return fail(fmt.Errorf("reading %s: it was not answered (Envoy before 1.25 has no histogram_buckets=detailed)", page))
	case len(body) > maxEnvoyStats:
		return fail(fmt.Errorf("reading %s: it is larger than %d MiB", page, maxEnvoyStats>>20))
	case len(bytes.TrimSpace(body)) == 0:
		return fail(fmt.Errorf("reading %s: it is empty", page))
	case body[len(body)-1] != '\n':
		// The last figure may be torn too: 62 of 6282.
		return fail(fmt.Errorf("reading %s: it ends in the middle of a line: %s", page, start(body)))
	}
	s := statsReader{loops: map[string]histogram{}, delays: map[string]histogram{}}
	for rest := string(body); rest != ""; {
		var line string
		line, rest = cutLine(rest)
		s.line(line)
	}
	if !s.uptime.IsKnown() && !s.workers.IsKnown() && len(s.loops) == 0 {
		return fail(fmt.Errorf("reading %s: it has none of Envoy's figures: starts with %s", page, start(body)))
	}
	return s.stats(), nil
}

func start(body []byte) string {
	return strconv.Quote(shorten(string(body[:min(len(body), 4*maxPageStart)]), maxPageStart))
}

// statsReader goes through the page line by line.
type statsReader struct {
	uptime, workers    model.Value[int64]
	loops, delays      map[string]histogram // by the worker's name
	open               map[string]histogram // that the next line belongs to
	worker             string
	requests, failures int64
	counted, failed    bool
	problem            error
}

func (s *statsReader) line(line string) {
	if totals, ok := strings.CutPrefix(line, "  totals="); ok {
		if s.open != nil {
			sum, err := sumOfBuckets(totals)
			if err != nil {
				s.problem = fmt.Errorf("reading /stats: histogram of %s: %w", s.worker, err)
			}
			s.open[s.worker] = histogram{sum: sum, full: err == nil}
		}
		s.open = nil
		return
	}
	s.open = nil
	if strings.HasPrefix(line, " ") {
		return
	}
	at := strings.LastIndex(line, ":")
	if strings.HasSuffix(line, "No recorded values") || at < 0 {
		at = strings.Index(line, ": ")
	}
	if at < 0 {
		return
	}
	name, value := line[:at], strings.TrimSpace(line[at+1:])
	switch {
	case name == "server.uptime":
		s.uptime = wholeOf(name, value)
	case name == "server.concurrency":
		s.workers = wholeOf(name, value)
		if n, ok := s.workers.Get(); ok && (n < 1 || n > maxWorkers) {
			s.workers = model.Unknown[int64](name + " is " + strconv.FormatInt(n, 10) + ", which is no number of workers")
		}
	case strings.HasPrefix(name, "http."):
		s.request(name, value)
	case strings.HasPrefix(name, "listener_manager.worker_"):
		s.histogram(name, value)
	}
}

// request adds up what all listeners counted, but for the admin port's own: that
// is this program's asking.
func (s *statsReader) request(name, value string) {
	n, ok := count(value)
	if !ok || strings.HasPrefix(name, "http.admin.") {
		return
	}
	switch {
	case strings.HasSuffix(name, ".downstream_rq_total"):
		s.counted, s.requests = true, addCounts(s.requests, n)
	case strings.HasSuffix(name, ".downstream_rq_5xx"):
		s.failed, s.failures = true, addCounts(s.failures, n)
	}
}

func addCounts(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (s *statsReader) histogram(name, value string) {
	rest := strings.TrimPrefix(name, "listener_manager.")
	worker, what, ok := strings.Cut(rest, ".")
	into := map[string]map[string]histogram{"dispatcher.loop_duration_us": s.loops, "dispatcher.poll_delay_us": s.delays}[what]
	if !ok || into == nil || !isDigits(strings.TrimPrefix(worker, "worker_")) || len(into) > maxWorkers {
		return
	}
	worker = strings.Clone(worker)
	switch value {
	case "": // totals follow
		into[worker] = histogram{}
		s.open, s.worker = into, worker
	case "No recorded values": // none was flushed yet
		into[worker] = histogram{full: true}
	default: // quantiles alone: this version knows no detailed buckets
		into[worker] = histogram{}
	}
}

func (s *statsReader) stats() envoyStats {
	got := envoyStats{workers: s.workers, uptime: model.Unknown[float64]("the page has no server.uptime")}
	if !s.workers.IsKnown() && s.workers.Reason() == "" {
		got.workers = model.Unknown[int64]("the page has no server.concurrency")
	}
	if n, ok := s.uptime.Get(); ok {
		got.uptime = model.Known(float64(n))
	} else if s.uptime.Reason() != "" {
		got.uptime = model.Unknown[float64](s.uptime.Reason())
	}
	got.busy, got.pollDelay = s.seconds(s.loops, "busy time"), s.seconds(s.delays, "poll delay")
	const left = "the page has no http.*.downstream_rq (Istio leaves them out unless it is told to keep them: proxyStatsMatcher)"
	got.requests, got.failures = model.Unknown[int64](left), model.Unknown[int64](left)
	if s.counted {
		got.requests = model.Known(s.requests)
	}
	if s.failed {
		got.failures = model.Known(s.failures)
	}
	return got
}

// seconds adds up one histogram of all workers. A page that was cut at the end of
// a line lacks some of them, and a sum over the others would be no less wrong than
// one that was made up.
func (s *statsReader) seconds(of map[string]histogram, what string) model.Value[float64] {
	if len(of) == 0 {
		return model.Unknown[float64]("Envoy does not report the " + what + " of its workers: its bootstrap needs " + EnvoyDispatcherStats)
	}
	if n, ok := s.workers.Get(); ok && n != int64(len(of)) {
		return model.Unknown[float64](fmt.Sprintf("the page has the %s of %d of %d workers", what, len(of), n))
	}
	sum := 0.0
	for _, h := range of {
		if !h.full {
			if s.problem != nil {
				return model.Unknown[float64](s.problem.Error())
			}
			return model.Unknown[float64]("the page has quantiles alone of the " + what + ": this version of Envoy does not give its buckets")
		}
		sum += h.sum
	}
	return model.Known(sum / 1e6)
}

// sumOfBuckets is the sum of a histogram from its buckets, "low,width:count, …":
// the middle of a bucket stands for what is in it. Envoy's own _sum is made the
// same way.
func sumOfBuckets(text string) (float64, error) {
	sum := 0.0
	for bucket := range strings.SplitSeq(text, ", ") {
		// A bucket holds a comma itself, without a blank behind it.
		edge, times, ok0 := strings.Cut(bucket, ":")
		low, width, ok1 := strings.Cut(edge, ",")
		a, err0 := strconv.ParseFloat(low, 64)
		b, err1 := strconv.ParseFloat(width, 64)
		n, ok2 := count(times)
		if !ok0 || !ok1 || !ok2 || errors.Join(err0, err1) != nil || !(a >= 0) || !(b >= 0) {
			return 0, fmt.Errorf("not a bucket: %s", strconv.Quote(shorten(bucket, maxErrorText)))
		}
		sum += (a + b/2) * float64(n)
	}
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return 0, errors.New("its buckets add up to no number")
	}
	return sum, nil
}

func wholeOf(name, value string) model.Value[int64] {
	n, ok := count(value)
	if !ok {
		return model.Unknown[int64](name + " is " + strconv.Quote(shorten(value, maxErrorText)) + ", which is no whole number")
	}
	return model.Known(n)
}

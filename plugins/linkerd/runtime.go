package linkerd

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// samples is what a metrics page is asked for here. Samples go by their own
// names: the proxy's tokio_rt counters are OpenMetrics, whose TYPE lines lack
// the _total of the sample.
type samples interface {
	Value(sample string, labels ...string) (float64, bool)
	Sum(sample string, labels ...string) (float64, bool)
	Label(sample, label string) (string, bool)
}

// Runtime reads a page of the proxy's admin port. Readiness is not on it.
//
// The local queue depth is taken alone: in all released versions the injection
// queue depth repeats it, so a sum would count every task twice.
func (Adapter) Runtime(page *parse.Metrics) (model.Runtime, model.Value[string]) {
	if page == nil {
		const reason = "the proxy's metrics were not read"
		return model.UnknownRuntime(reason), model.Unknown[string](reason)
	}
	return readRuntime(page)
}

func readRuntime(page samples) (model.Runtime, model.Value[string]) {
	version := proxyVersion(page)
	tokio := reader{page, tokioMissing(version)}
	process := reader{page, processMissing(page)}
	requests, failures := responses(page)
	return model.Runtime{
		Workers:     tokio.whole("tokio_rt_workers"),
		BusySeconds: tokio.float("tokio_rt_busy_seconds_total"),
		Parks:       tokio.whole("tokio_rt_park_total"),
		Polls:       tokio.whole("tokio_rt_polls_total"),
		Steals:      tokio.whole("tokio_rt_steal_total"),
		Spills:      tokio.whole("tokio_rt_overflow_total"),
		LocalQueue:  tokio.whole("tokio_rt_local_queue_depth"),
		CPUSeconds:  process.float("process_cpu_seconds_total"),
		OpenFDs:     process.whole("process_open_fds"),
		MaxFDs:      process.whole("process_max_fds"),
		Start:       process.float("process_start_time_seconds"),
		Clock:       clock(process),
		// kubert-prometheus-tokio books the figures on an interval of a second.
		RefreshEvery: model.Known(1.0),
		Requests:     requests,
		Failures:     failures,
	}, version
}

// responses are the inbound HTTP responses that the proxy counted, and those of
// them that it classified as failures. Requests for its own admin port are no
// traffic: whoever asks for metrics adds to them.
func responses(page samples) (requests, failures model.Value[int64]) {
	count := func(labels ...string) (int64, bool) {
		sum := func(more ...string) (float64, bool) {
			return page.Sum("response_total", slices.Concat(labels, []string{"direction", "inbound"}, more)...)
		}
		n, ok := sum()
		own, _ := sum("target_port", adminPort)
		n -= own
		// Where the port was moved: a request that came for somebody has a real address.
		for _, any := range []string{"0.0.0.0", "::"} {
			own, _ := sum("target_ip", any)
			counted, _ := sum("target_ip", any, "target_port", adminPort)
			n -= own - counted
		}
		if !ok || math.IsNaN(n) || n < 0 || n >= math.MaxInt64 || n != math.Trunc(n) {
			return 0, false
		}
		return int64(n), true
	}
	n, ok := count()
	if !ok || n == 0 {
		// A proxy that passes on nothing but opaque TCP counts none either.
		const none = "the proxy has counted no inbound HTTP response"
		return model.Unknown[int64](none), model.Unknown[int64](none)
	}
	failed, _ := count("classification", "failure")
	return model.Known(n), model.Known(failed)
}

// adminPort is the proxy's admin port unless somebody moves it.
const adminPort = "4191"

// clock is the process's own time at the scrape. process_clock_time_seconds has
// whole seconds only, too coarse for a window of a few; start and uptime have
// fractions. All three are reckoned when the page is asked for, so they move
// while the runtime stands still.
func clock(process reader) model.Value[float64] {
	start, ok0 := process.float("process_start_time_seconds").Get()
	uptime, ok1 := process.float("process_uptime_seconds_total").Get()
	if ok0 && ok1 {
		return model.Known(start + uptime)
	}
	return process.float("process_clock_time_seconds")
}

// proxyVersion is the proxy's own version, "2.366.0".
func proxyVersion(page samples) model.Value[string] {
	v, ok := page.Label("proxy_build_info", "version")
	switch {
	case !ok || v == "":
		return model.Unknown[string]("the metrics page has no proxy_build_info with a version")
	case len(v) > 64 || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) }):
		return model.Unknown[string]("proxy_build_info holds no version: " + quote(v))
	}
	return model.Known(v)
}

// tokioMissing says why a tokio_rt line may not be there.
func tokioMissing(version model.Value[string]) string {
	v, known := version.Get()
	switch {
	case known && before(v, proxyRuntimeMetrics):
		return "proxy " + v + " is older than " + proxyRuntimeMetrics + ", which added tokio_rt metrics"
	case !known:
		return "missing on the metrics page; proxies before " + proxyRuntimeMetrics + " have no tokio_rt metrics"
	}
	return "missing on the metrics page of proxy " + v
}

// processMissing says why a process_ line may not be there. The proxy reads most
// of them from /proc at each scrape, which needs a descriptor: when none is left
// it leaves them out of an answer that is otherwise good, so that open and
// maximal descriptors are never seen to meet. Start and clock need none.
func processMissing(page samples) string {
	_, start := page.Value("process_start_time_seconds")
	_, fds := page.Value("process_open_fds")
	if start && !fds {
		return "missing on an otherwise good metrics page, as when the proxy is out of file descriptors and cannot read /proc"
	}
	return "missing on the metrics page"
}

// reader turns samples into values; missing says why one may not be there.
type reader struct {
	page    samples
	missing string
}

func (r reader) float(name string) model.Value[float64] {
	v, ok := r.page.Value(name)
	switch {
	case !ok:
		return model.Unknown[float64](r.missing)
	case math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
		return model.Unknown[float64](name + " is " + strconv.FormatFloat(v, 'g', -1, 64) + ", which is no reading")
	}
	return model.Known(v)
}

func (r reader) whole(name string) model.Value[int64] {
	f := r.float(name)
	v, ok := f.Get()
	switch {
	case !ok:
		return model.Unknown[int64](f.Reason())
	case v != math.Trunc(v) || v >= math.MaxInt64:
		return model.Unknown[int64](name + " is " + strconv.FormatFloat(v, 'g', -1, 64) + ", which is no whole number")
	}
	return model.Known(int64(v))
}

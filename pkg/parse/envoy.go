package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// EnvoyPages are pages of Envoy's admin port; nil for one that was not answered.
type EnvoyPages struct {
	// ServerInfo is /server_info, Stats the dotted text of /stats with
	// histogram_buckets=detailed.
	ServerInfo, Stats []byte
	// Bootstrap is /config_dump?mask=…, of which two fields are used: when the
	// bootstrap was read and how often statistics are flushed. Static is
	// /config_dump?resource=static_listeners, Listeners is /listeners?format=json.
	Bootstrap, Static, Listeners []byte
}

// Bounds of the pages. A large mesh's /server_info has some hundred KB, and the
// statistics asked for at most 20 KB a worker.
const (
	maxEnvoyJSON  = 4 << 20
	maxEnvoyStats = 8 << 20
	// maxWorkers is more than any machine has CPUs.
	maxWorkers = 1 << 16
)

// EnvoyRuntime reads one look at Envoy's admin port. It is an error only when
// neither page that names the workers is Envoy's; whatever else is missing is
// unknown with its reason.
func EnvoyRuntime(pages EnvoyPages) (model.Runtime, model.Value[string], error) {
	info, infoErr := readEnvoyInfo(pages.ServerInfo)
	stats, statsErr := readEnvoyStats(pages.Stats)
	if infoErr != nil && statsErr != nil {
		return model.Runtime{}, model.Value[string]{}, errors.Join(infoErr, statsErr)
	}
	r := model.UnknownRuntime("Envoy does not report it")
	r.ClockBooked = true
	r.Workers, r.BusySeconds, r.PollDelaySeconds = stats.workers, stats.busy, stats.pollDelay
	r.Requests, r.Failures = stats.requests, stats.failures
	if !r.Workers.IsKnown() {
		r.Workers = info.concurrency
	}
	bootstrap, err := readEnvoyBootstrapDump(pages.Bootstrap)
	if err != nil {
		r.Start = model.Unknown[float64](err.Error())
		r.RefreshEvery = model.Unknown[float64](err.Error())
	} else {
		r.Start, r.RefreshEvery = bootstrap.start, bootstrap.flush
	}
	// Without a start the clock begins at the process's own: differences are all
	// that it is for.
	r.Clock = stats.uptime
	if uptime, ok := stats.uptime.Get(); ok {
		r.Clock = model.Known(r.Start.Or(0) + uptime)
	}
	r.Configured = envoyConfigured(pages)
	return r, info.version, nil
}

// envoyInfo is /server_info.
type envoyInfo struct {
	version     model.Value[string]
	concurrency model.Value[int64]
}

func readEnvoyInfo(body []byte) (envoyInfo, error) {
	const page = "/server_info"
	var raw struct {
		Version string `json:"version"`
		Options *struct {
			Concurrency *int64 `json:"concurrency"`
		} `json:"command_line_options"`
	}
	unknown := func(reason string) envoyInfo {
		return envoyInfo{model.Unknown[string](reason), model.Unknown[int64](reason)}
	}
	if err := envoyJSON(page, body, &raw); err != nil {
		return unknown(err.Error()), err
	}
	if raw.Options == nil {
		err := fmt.Errorf("reading %s: it has no command_line_options, so it is not Envoy's", page)
		return unknown(err.Error()), err
	}
	info := unknown(page + " does not tell")
	if v, ok := envoyVersion(raw.Version); ok {
		info.version = model.Known(v)
	}
	if n := raw.Options.Concurrency; n != nil && *n > 0 && *n <= maxWorkers {
		info.concurrency = model.Known(*n)
	}
	return info, nil
}

// envoyVersion takes the number out of "<commit>/1.40.0/Clean/RELEASE/BoringSSL".
// Istio's has its own words there: "<commit>/1.33.1-dev/Clean/RELEASE/BoringSSL".
func envoyVersion(text string) (string, bool) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 {
		return "", false
	}
	v := parts[1]
	major, _, dotted := strings.Cut(v, ".")
	if !dotted || !isDigits(major) || len(v) > 64 || strings.ContainsFunc(v, func(r rune) bool { return !strconv.IsPrint(r) || r == ' ' }) {
		return "", false
	}
	return v, true
}

// bootstrapDump is what /config_dump tells of the bootstrap where no more is
// asked for.
type bootstrapDump struct {
	start model.Value[float64] // Unix seconds
	flush model.Value[float64] // seconds
}

// defaultFlush is stats_flush_interval where it is not set.
const defaultFlush = 5.0

func readEnvoyBootstrapDump(body []byte) (bootstrapDump, error) {
	const page = "/config_dump"
	var raw struct {
		Configs []struct {
			Type      string    `json:"@type"`
			Updated   time.Time `json:"last_updated"`
			Bootstrap struct {
				Flush   string `json:"stats_flush_interval"`
				OnAdmin bool   `json:"stats_flush_on_admin"`
			} `json:"bootstrap"`
		} `json:"configs"`
	}
	if err := envoyJSON(page, body, &raw); err != nil {
		return bootstrapDump{}, err
	}
	for _, c := range raw.Configs {
		if !strings.HasSuffix(c.Type, ".BootstrapConfigDump") {
			continue
		}
		d := bootstrapDump{start: model.Unknown[float64](page + " does not tell when the bootstrap was read"), flush: model.Known(defaultFlush)}
		if !c.Updated.IsZero() {
			d.start = model.Known(float64(c.Updated.UnixMilli()) / 1000)
		}
		switch every, err := time.ParseDuration(c.Bootstrap.Flush); {
		case c.Bootstrap.OnAdmin:
			d.flush = model.Unknown[float64]("statistics are flushed whenever the admin port is asked (stats_flush_on_admin)")
		case c.Bootstrap.Flush == "":
		case err != nil || every <= 0:
			d.flush = model.Unknown[float64]("stats_flush_interval is " + strconv.Quote(shorten(c.Bootstrap.Flush, maxErrorText)))
		default:
			d.flush = model.Known(every.Seconds())
		}
		return d, nil
	}
	return bootstrapDump{}, fmt.Errorf("reading %s: it holds no bootstrap", page)
}

// envoyJSON reads a page that should be an object. What is no JSON is shown by
// its beginning.
func envoyJSON(page string, body []byte, into any) error {
	switch {
	case body == nil:
		return fmt.Errorf("reading %s: it was not answered", page)
	case len(body) > maxEnvoyJSON:
		return fmt.Errorf("reading %s: it is larger than %d MiB", page, maxEnvoyJSON>>20)
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 {
		return fmt.Errorf("reading %s: it is empty", page)
	}
	if trimmed[0] != '{' {
		return fmt.Errorf("reading %s: not a page of Envoy's admin port: starts with %s", page, strconv.Quote(shorten(string(trimmed[:min(len(trimmed), 4*maxPageStart)]), maxPageStart)))
	}
	if err := json.Unmarshal(trimmed, into); err != nil {
		return fmt.Errorf("reading %s: %s", page, harmless(err.Error()))
	}
	return nil
}

package parse

import (
	"net/url"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The pages, in the order in which they are asked for. The first is wanted each
// time: its figures and their clock (server.uptime) are flushed together, and so
// are of one moment. No page holds more of the configuration than ports and sizes.
const (
	envoyStatsPage = iota
	envoyInfoPage
	envoyBootstrapPage
	envoyStaticPage
	envoyListenersPage
)

// EnvoyPaths are the pages of Envoy's admin port; listeners adds those that tell of
// its listeners.
func EnvoyPaths(listeners bool) []string {
	const figures = `^(server\.(uptime|concurrency)|http\..+\.downstream_rq_(total|5xx)|` +
		`listener_manager\.worker_[0-9]+\.dispatcher\.(loop_duration|poll_delay)_us)$`
	paths := []string{
		envoyStatsPage: "/stats?histogram_buckets=detailed&filter=" + url.QueryEscape(figures),
		envoyInfoPage:  "/server_info",
		envoyBootstrapPage: "/config_dump?mask=last_updated,bootstrap.stats_flush_interval,bootstrap.stats_flush_on_admin," +
			"bootstrap.enable_dispatcher_stats",
		envoyStaticPage: "/config_dump?resource=static_listeners&mask=listener.name,listener.address,listener.additional_addresses," +
			"listener.tcp_backlog_size,listener.enable_reuse_port,listener.bind_to_port,listener.traffic_direction",
		envoyListenersPage: "/listeners?format=json",
	}
	if !listeners {
		return paths[:envoyStaticPage]
	}
	return paths
}

// EnvoySeldom is true of all pages but the figures: the rest changes with the
// process, or when a control plane adds a listener.
func EnvoySeldom(path string) bool {
	return slices.Index(EnvoyPaths(true), path) != envoyStatsPage
}

// ReadEnvoyPages reads the answers to EnvoyPaths; nil for one that was none.
func ReadEnvoyPages(bodies [][]byte) (model.Runtime, model.Value[string], error) {
	at := func(i int) []byte {
		if i < len(bodies) {
			return bodies[i]
		}
		return nil
	}
	return EnvoyRuntime(EnvoyPages{
		Stats: at(envoyStatsPage), ServerInfo: at(envoyInfoPage), Bootstrap: at(envoyBootstrapPage),
		Static: at(envoyStaticPage), Listeners: at(envoyListenersPage),
	})
}

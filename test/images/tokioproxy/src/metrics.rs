//! The /metrics page: Linkerd's `tokio_rt_*` and `process_*` by its own crates, and what
//! this program knows to be true (accepted connections, CPU time burned).

use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::version::Version;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: String,
}

/// What the proxy counts itself.
#[derive(Clone, Default)]
pub struct Metrics {
    accepted: Family<Direction, Counter>,
    /// Seconds of the thread CPU clock.
    burned: Counter<f64, AtomicU64>,
    forward_failed: Counter,
}

impl Metrics {
    /// The counter of accepted inbound connections.
    pub fn inbound(&self) -> Counter {
        self.accepted
            .get_or_create(&Direction {
                direction: "inbound",
            })
            .clone()
    }

    /// The counter of accepted outbound connections.
    pub fn outbound(&self) -> Counter {
        self.accepted
            .get_or_create(&Direction {
                direction: "outbound",
            })
            .clone()
    }

    pub fn add_burned(&self, spent: Duration) {
        self.burned.inc_by(spent.as_secs_f64());
    }

    pub fn add_forward_failed(&self) {
        self.forward_failed.inc();
    }
}

/// Builds the page and starts the task that refreshes the runtime's values. Like
/// Linkerd's it runs on the proxy's own runtime once a second, so the values stand still
/// when that runtime hangs. Must be called on it.
pub fn build(version: Version) -> (Arc<Registry>, Metrics) {
    let mut registry = Registry::default();

    let build = Family::<Build, Gauge>::default();
    build
        .get_or_create(&Build {
            version: version.to_string(),
        })
        .set(1);
    registry.register(
        "proxy_build_info",
        "Version that this test proxy plays",
        build,
    );

    if version.exports_runtime() {
        let sub = registry.sub_registry_with_prefix("tokio_rt");
        let runtime =
            kubert_prometheus_tokio::Runtime::register(sub, tokio::runtime::Handle::current());
        tokio::spawn(async move {
            let mut every = tokio::time::interval(Duration::from_secs(1));
            runtime.updated(&mut every).await;
        });
    }

    let metrics = Metrics::default();
    // Both directions show from the start, at 0.
    metrics.inbound();
    metrics.outbound();
    let own = registry.sub_registry_with_prefix("tokioproxy");
    own.register("accepted", "Connections accepted", metrics.accepted.clone());
    own.register_with_unit(
        "burned",
        "CPU time burned for connections",
        Unit::Seconds,
        metrics.burned.clone(),
    );
    own.register(
        "forward_failed",
        "Connections that could not be passed on",
        metrics.forward_failed.clone(),
    );

    let process = registry.sub_registry_with_prefix("process");
    if let Err(error) = kubert_prometheus_process::register(process) {
        tracing::warn!(target: "tokioproxy", %error, "Exporting no process metrics");
    }
    (Arc::new(registry), metrics)
}

/// The page as text; it ends with `# EOF`.
pub fn page(registry: &Registry) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    encode(&mut text, registry)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYPE, UNIT and sample names of the two shared prefixes, as recorded from
    /// Linkerd's proxy 2.366.0.
    const RECORDED: &str = include_str!("../testdata/linkerd-2.366.0-names.txt");

    /// Keeps what the recording holds: comment lines whole, samples without their value.
    fn names(page: &str) -> Vec<String> {
        let shared = |name: &str| name.starts_with("tokio_rt_") || name.starts_with("process_");
        page.lines()
            .filter_map(|line| match line.split_once(' ') {
                Some(("#", rest)) if rest.starts_with("HELP") => None,
                Some(("#", rest)) => shared(rest.split(' ').nth(1)?).then(|| line.to_string()),
                Some((name, _)) => shared(name).then(|| name.to_string()),
                None => None,
            })
            .collect()
    }

    fn page_of(version: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async { page(&build(version.parse().unwrap()).0).unwrap() })
    }

    #[test]
    fn same_names_types_and_units_as_recorded() {
        let want: Vec<&str> = RECORDED.lines().collect();
        assert_eq!(names(&page_of("2.366.0")), want);
    }

    #[test]
    fn says_what_it_plays_and_what_it_counts() {
        let page = page_of("2.366.0");
        for line in [
            "# TYPE proxy_build_info gauge",
            "proxy_build_info{version=\"2.366.0\"} 1",
            "tokioproxy_accepted_total{direction=\"inbound\"} 0",
            "tokioproxy_accepted_total{direction=\"outbound\"} 0",
            "tokioproxy_burned_seconds_total 0.0",
        ] {
            assert!(
                page.lines().any(|l| l == line),
                "no line {line:?} in\n{page}"
            );
        }
        assert!(page.ends_with("# EOF\n"));
    }

    #[test]
    fn old_versions_have_no_runtime_metrics() {
        assert!(!page_of("2.251.0").contains("tokio_rt_"));
    }
}

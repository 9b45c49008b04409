//! Log lines in the shape of Linkerd's proxy, on standard output:
//! `[     0.001402s]  INFO ThreadId(01) linkerd2_proxy::rt: …`, or JSON.

use std::fmt;
use std::time::Instant;

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Starts logging; `format` is the value of LINKERD2_PROXY_LOG_FORMAT.
pub fn init(format: Option<&str>) {
    let log = tracing_subscriber::fmt()
        .with_thread_ids(true)
        .with_ansi(false);
    if format.is_some_and(|f| f.eq_ignore_ascii_case("json")) {
        log.json().with_current_span(false).init();
    } else {
        log.with_timer(Uptime(Instant::now())).init();
    }
}

/// Time since start in seconds, which the plain format has in place of a date.
struct Uptime(Instant);

impl FormatTime for Uptime {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        let up = self.0.elapsed();
        write!(w, "[{:>6}.{:06}s]", up.as_secs(), up.subsec_micros())
    }
}

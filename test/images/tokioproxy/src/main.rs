//! A TCP proxy for tests on a real tokio runtime.
//!
//! It takes its workers, backlogs and addresses from the same variables and by the
//! same rules as Linkerd's proxy, writes the same start-up lines, and exports
//! `tokio_rt_*` and `process_*` with the very crates that Linkerd's proxy uses. What a
//! connection costs is settable (`TOKIOPROXY_BURN_US`) and counted, so a test knows the
//! true load that a busy ratio should show.

mod accept;
mod admin;
mod burn;
mod config;
mod connection;
mod log;
mod metrics;
mod signals;
mod version;
mod workers;

use std::process::ExitCode;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tracing::info;

use crate::config::Config;
use crate::version::Version;

/// EX_USAGE of sysexits.h: what Linkerd's proxy ends with on a malformed variable.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    log::init(env("LINKERD2_PROXY_LOG_FORMAT").as_deref());

    let config = Config::parse(&env);
    let version = config.as_ref().map_or(Version::DEFAULT, |c| c.version);
    info!(target: "linkerd2_proxy", "release {version} (tokioproxy) by test");
    let config = match config {
        Ok(config) => config,
        Err(problems) => {
            for problem in problems {
                tracing::error!(target: "linkerd_app::env", "{problem}");
            }
            eprintln!("Invalid configuration: invalid environment variable");
            return ExitCode::from(EXIT_USAGE);
        }
    };

    let bounds = workers::Bounds::parse(&env, version);
    let workers = bounds.workers(num_cpus::get());
    let runtime = match build_runtime(workers) {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("building the runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(Arc::new(config), workers)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// One worker is the main thread itself, with no thread called `proxy`; more are that
/// many threads called `proxy`, and the main thread waits.
fn build_runtime(workers: usize) -> std::io::Result<Runtime> {
    if workers <= 1 {
        info!(target: "linkerd2_proxy::rt", "Using single-threaded proxy runtime");
        return Builder::new_current_thread().enable_all().build();
    }
    info!(target: "linkerd2_proxy::rt", cores = %workers, "Using multi-threaded proxy runtime");
    Builder::new_multi_thread()
        .enable_all()
        .thread_name("proxy")
        .worker_threads(workers)
        .build()
}

/// Binds everything, starts the admin thread and both directions, and never returns
/// unless an address cannot be bound.
async fn run(config: Arc<Config>, workers: usize) -> Result<std::convert::Infallible, String> {
    let admin = accept::bind(&config.admin)?;
    let inbound = accept::bind(&config.inbound)?;
    let outbound = accept::bind(&config.outbound)?;
    for (what, listeners) in [
        ("Admin", &admin),
        ("Inbound", &inbound),
        ("Outbound", &outbound),
    ] {
        for listener in listeners {
            let addr = listener
                .local_addr()
                .map_err(|e| format!("reading the address of {what}: {e}"))?;
            info!(target: "linkerd2_proxy", "{what} interface on {addr}");
        }
    }

    let (registry, metrics) = metrics::build(config.version);
    let readiness = admin::Readiness::default();
    let runtime = tokio::runtime::Handle::current();
    let signals = signals::Signals {
        runtime,
        workers,
        stall: config.stall,
    };
    admin::start(admin, registry, readiness.clone(), signals)?;

    // Linkerd's proxy listens at once and accepts only when it has its identity: until
    // then connections pile up in the queues. The wait stands for that.
    tokio::time::sleep(config.ready_after).await;
    readiness.set();

    let handler = Arc::new(connection::Handler {
        burn: config.burn,
        metrics: metrics.clone(),
    });
    tokio::spawn(accept::serve(
        inbound,
        metrics.inbound(),
        handler.clone(),
        config.forward.clone(),
    ));
    tokio::spawn(accept::serve(outbound, metrics.outbound(), handler, None));
    std::future::pending().await
}

//! SIGTERM and SIGINT end the program at once; SIGUSR1 makes the proxy's runtime hang.

use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::signal::unix::{signal, SignalKind};
use tracing::{info, warn};

pub struct Signals {
    /// The proxy's runtime, and how many workers it has.
    pub runtime: Handle,
    pub workers: usize,
    /// How long SIGUSR1 blocks them.
    pub stall: Duration,
}

impl Signals {
    /// Serves signals for ever. It runs on the admin thread, so that a hanging proxy
    /// still ends at once.
    pub async fn serve(self) -> Result<(), String> {
        let listen = |kind, name| signal(kind).map_err(|e| format!("listening for {name}: {e}"));
        let mut term = listen(SignalKind::terminate(), "SIGTERM")?;
        let mut int = listen(SignalKind::interrupt(), "SIGINT")?;
        let mut usr1 = listen(SignalKind::user_defined1(), "SIGUSR1")?;
        loop {
            tokio::select! {
                _ = term.recv() => end("SIGTERM"),
                _ = int.recv() => end("SIGINT"),
                _ = usr1.recv() => self.stall_runtime(),
            }
        }
    }

    /// Blocks every worker in a sleep: a task for each, all until the same moment. Each
    /// worker that takes one is stuck and the others take the rest.
    fn stall_runtime(&self) {
        let (workers, millis) = (self.workers, self.stall.as_millis());
        warn!(target: "tokioproxy", workers, millis, "Stalling the proxy runtime");
        let until = Instant::now() + self.stall;
        for _ in 0..workers {
            self.runtime.spawn(async move {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            });
        }
    }
}

fn end(name: &str) {
    info!(target: "linkerd_proxy::signal", "received {name}, starting shutdown");
    std::process::exit(0);
}

//! Listening and accepting. Each direction has one accept task, as Linkerd's proxy has:
//! more workers speed up what follows accept, not accept itself.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::config::Listen;
use crate::connection::Handler;

/// Opens the listeners of one direction with exactly the backlog asked for.
pub fn bind(listen: &Listen) -> Result<Vec<TcpListener>, String> {
    let one = |addr: &SocketAddr| -> io::Result<TcpListener> {
        let socket = match addr {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // Without it a restart in the same namespace meets its own TIME_WAIT.
        socket.set_reuseaddr(true)?;
        socket.bind(*addr)?;
        // listen(2) takes an int; what is over somaxconn is cut by the kernel anyway.
        socket.listen(listen.backlog.min(i32::MAX as u32))
    };
    let each = listen.addrs.iter();
    each.map(|addr| one(addr).map_err(|error| format!("listening on {addr}: {error}")))
        .collect()
}

/// Accepts for ever, one task per connection.
pub async fn serve(
    listeners: Vec<TcpListener>,
    accepted: Counter,
    handler: Arc<Handler>,
    forward: Option<String>,
) {
    let mut first = 0;
    loop {
        match accept_any(&listeners, first).await {
            Ok(stream) => {
                accepted.inc();
                tokio::spawn(handler.clone().handle(stream, forward.clone()));
            }
            Err(error) => {
                // Out of descriptors the connection stays in the queue and accept fails
                // again at once. Linkerd's proxy spins here and logs millions of lines;
                // the pause only keeps the test's log short.
                tracing::warn!(target: "linkerd_app_core::serve", %error, "Server failed to accept connection");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        first += 1;
    }
}

/// The next connection of any listener, asking them in turn so that none starves.
async fn accept_any(listeners: &[TcpListener], first: usize) -> io::Result<TcpStream> {
    poll_fn(|cx| {
        for i in 0..listeners.len() {
            let listener = &listeners[(first + i) % listeners.len()];
            if let Poll::Ready(result) = listener.poll_accept(cx) {
                return Poll::Ready(result.map(|(stream, _)| stream));
            }
        }
        Poll::Pending
    })
    .await
}

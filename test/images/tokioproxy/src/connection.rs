//! What happens to an accepted connection: it burns its CPU time, then it is passed on
//! or answered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{copy_bidirectional, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::burn;
use crate::metrics::Metrics;

/// A request head may be this long and take this long; both protect the test, since
/// nothing here needs more.
const HEAD_LIMIT: usize = 8 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// What an injected Linkerd proxy allows for the connection to its app.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

pub struct Handler {
    /// CPU time that each connection burns, before anything is read from it.
    pub burn: Duration,
    pub metrics: Metrics,
}

impl Handler {
    pub async fn handle(self: Arc<Self>, mut stream: TcpStream, forward: Option<String>) {
        self.metrics.add_burned(burn::spin(self.burn));
        let _ = stream.set_nodelay(true);
        // A client that went away is the test's own doing, not worth a log line.
        let _ = match forward {
            Some(to) => self.pass_on(&mut stream, &to).await,
            None => answer(&mut stream, "200 OK", "ok").await,
        };
    }

    async fn pass_on(&self, client: &mut TcpStream, to: &str) -> io::Result<()> {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(to)).await {
            Ok(Ok(mut server)) => {
                let _ = server.set_nodelay(true);
                copy_bidirectional(client, &mut server).await.map(|_| ())
            }
            Ok(Err(_)) | Err(_) => {
                self.metrics.add_forward_failed();
                answer(client, "504 Gateway Timeout", "").await
            }
        }
    }
}

/// Reads one request head, answers it, and closes.
async fn answer(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let status = match timeout(HEAD_TIMEOUT, read_head(stream)).await {
        Err(_) => "408 Request Timeout",
        Ok(Ok(Head::Whole)) => status,
        Ok(Ok(Head::TooLong)) => "431 Request Header Fields Too Large",
        // Nobody is left to answer.
        Ok(Ok(Head::Ended)) => return Ok(()),
        Ok(Err(error)) => return Err(error),
    };
    let body = if status.starts_with("200") { body } else { "" };
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[derive(Debug, PartialEq)]
enum Head {
    Whole,
    TooLong,
    Ended,
}

async fn read_head(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Head> {
    let mut head = [0; HEAD_LIMIT];
    let mut len = 0;
    while len < HEAD_LIMIT {
        let n = stream.read(&mut head[len..]).await?;
        if n == 0 {
            return Ok(Head::Ended);
        }
        // The blank line may lie across two reads.
        let from = len.saturating_sub(3);
        len += n;
        if head[from..len].windows(4).any(|w| w == b"\r\n\r\n") {
            return Ok(Head::Whole);
        }
    }
    Ok(Head::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn head_of(chunks: &[&[u8]]) -> Head {
        let (mut client, mut server) = tokio::io::duplex(64 * 1024);
        let read = tokio::spawn(async move { read_head(&mut server).await.unwrap() });
        for chunk in chunks {
            client.write_all(chunk).await.unwrap();
            tokio::task::yield_now().await;
        }
        client.shutdown().await.unwrap();
        read.await.unwrap()
    }

    #[tokio::test]
    async fn a_head_ends_at_its_blank_line() {
        assert_eq!(
            head_of(&[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]).await,
            Head::Whole
        );
        assert_eq!(
            head_of(&[b"GET / HTTP/1.1\r\n\r", b"\n"]).await,
            Head::Whole
        );
        assert_eq!(head_of(&[b"GET / HTTP/1.1\r\n"]).await, Head::Ended);
        assert_eq!(head_of(&[]).await, Head::Ended);
        assert_eq!(head_of(&[&[b'x'; HEAD_LIMIT + 1]]).await, Head::TooLong);
    }
}

//! The admin port: /metrics, /env.json, /ready, /live.
//!
//! The listener belongs to the proxy's runtime and its connections are served by a
//! thread of their own called `admin`, as in Linkerd's proxy. So when the proxy's runtime
//! hangs no new connection is accepted, while one that is already open still answers,
//! with runtime values that stand still.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use flate2::write::GzEncoder;
use flate2::Compression;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::metrics;
use crate::signals::Signals;

type Reply = Response<Full<Bytes>>;

/// Whether the proxy accepts yet.
#[derive(Clone, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Starts the thread `admin`, which serves the listeners and the signals.
pub fn start(
    listeners: Vec<TcpListener>,
    registry: Arc<Registry>,
    readiness: Readiness,
    signals: Signals,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|e| format!("building the admin runtime: {e}"))?;
    let serve = move || {
        runtime.block_on(async move {
            for listener in listeners {
                tokio::spawn(accept(listener, registry.clone(), readiness.clone()));
            }
            if let Err(error) = signals.serve().await {
                eprintln!("{error}");
                std::process::exit(1);
            }
        })
    };
    let thread = std::thread::Builder::new()
        .name("admin".into())
        .spawn(serve);
    thread
        .map(|_| ())
        .map_err(|e| format!("starting the admin thread: {e}"))
}

async fn accept(listener: TcpListener, registry: Arc<Registry>, readiness: Readiness) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (registry, readiness) = (registry.clone(), readiness.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let response = reply(&request, &registry, &readiness);
                async move { Ok::<_, Infallible>(response) }
            });
            // A client that breaks off is none of our concern.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn reply<B>(request: &Request<B>, registry: &Registry, readiness: &Readiness) -> Reply {
    if request.method() != Method::GET {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "");
    }
    match request.uri().path() {
        "/live" => plain(StatusCode::OK, "live\n"),
        "/ready" if readiness.get() => plain(StatusCode::OK, "ready\n"),
        "/ready" => plain(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        "/env.json" => env_json(request.uri().query(), &|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        }),
        "/metrics" => match metrics::page(registry) {
            Ok(page) if takes_gzip(request) => zipped(&page),
            Ok(page) => plain(StatusCode::OK, &page),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        },
        _ => plain(StatusCode::NOT_FOUND, ""),
    }
}

/// The asked variables as one JSON object, null where unset. Unlike Linkerd's it gives
/// nothing when nothing is asked for.
fn env_json(query: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Reply {
    let query = query.unwrap_or("");
    if query.contains('=') {
        let error = "env.json query parameters may not contain key-value pairs";
        return json(
            StatusCode::BAD_REQUEST,
            serde_json::json!({"error": error, "status": 400}),
        );
    }
    // An empty name can be no variable, and getenv may refuse one with a NUL.
    let names = query
        .split('&')
        .filter(|name| !name.is_empty() && !name.contains('\0'));
    let values: BTreeMap<&str, Option<String>> = names.map(|name| (name, env(name))).collect();
    json(StatusCode::OK, serde_json::json!(values))
}

fn takes_gzip<B>(request: &Request<B>) -> bool {
    let values = request.headers().get_all(ACCEPT_ENCODING).iter();
    let mut codings = values
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|p| p == "q=0" || p == "q=0.0")
    })
}

fn zipped(page: &str) -> Reply {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    match gzip.write_all(page.as_bytes()).and_then(|()| gzip.finish()) {
        Ok(bytes) => {
            let mut reply = body(StatusCode::OK, "text/plain", bytes);
            reply.headers_mut().insert(
                CONTENT_ENCODING,
                "gzip".parse().expect("a valid header value"),
            );
            reply
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn plain(status: StatusCode, text: &str) -> Reply {
    body(status, "text/plain", text.as_bytes().to_vec())
}

fn json(status: StatusCode, value: serde_json::Value) -> Reply {
    body(status, "application/json", value.to_string().into_bytes())
}

fn body(status: StatusCode, content_type: &'static str, bytes: Vec<u8>) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from(bytes)));
    *reply.status_mut() = status;
    reply.headers_mut().insert(
        CONTENT_TYPE,
        content_type.parse().expect("a valid header value"),
    );
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    async fn text(reply: Reply) -> (u16, String) {
        let status = reply.status().as_u16();
        let bytes = reply.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn get(path: &str, accept: Option<&str>) -> Request<()> {
        let mut request = Request::get(path);
        if let Some(accept) = accept {
            request = request.header(ACCEPT_ENCODING, accept);
        }
        request.body(()).unwrap()
    }

    #[tokio::test]
    async fn env_json_gives_what_was_asked() {
        let env = |name: &str| (name == "SET").then(|| "a \"b\"".to_string());
        let ask = |query| text(env_json(query, &env));
        assert_eq!(
            ask(Some("SET&UNSET")).await,
            (200, r#"{"SET":"a \"b\"","UNSET":null}"#.into())
        );
        assert_eq!(ask(None).await, (200, "{}".into()));
        assert_eq!(ask(Some("")).await, (200, "{}".into()));
        assert_eq!(
            ask(Some("SET=1")).await,
            (400, r#"{"error":"env.json query parameters may not contain key-value pairs","status":400}"#.into())
        );
    }

    #[tokio::test]
    async fn ready_follows_the_proxy() {
        let (registry, readiness) = (Registry::default(), Readiness::default());
        let ask = |path| text(reply(&get(path, None), &registry, &readiness));
        assert_eq!(ask("/live").await, (200, "live\n".into()));
        assert_eq!(ask("/ready").await, (503, "not ready\n".into()));
        readiness.set();
        assert_eq!(ask("/ready").await, (200, "ready\n".into()));
        assert_eq!(ask("/nothing").await.0, 404);
    }

    #[test]
    fn gzip_only_when_asked() {
        let zipped = |accept| {
            let reply = reply(
                &get("/metrics", accept),
                &Registry::default(),
                &Readiness::default(),
            );
            reply.headers().contains_key(CONTENT_ENCODING)
        };
        assert!(!zipped(None));
        assert!(!zipped(Some("identity")));
        assert!(!zipped(Some("gzip;q=0")));
        assert!(zipped(Some("gzip")));
        assert!(zipped(Some("deflate, gzip;q=1.0")));
    }
}

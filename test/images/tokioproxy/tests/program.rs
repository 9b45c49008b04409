//! The program as a whole, on loopback and ports that the kernel picks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Long enough that only a real hang meets it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long we listen to silence that must last.
const SILENCE: Duration = Duration::from_millis(300);

struct Proxy {
    child: Child,
    log: Vec<String>,
    admin: SocketAddr,
    inbound: SocketAddr,
    outbound: SocketAddr,
}

fn command(env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokioproxy"));
    command.env_clear().envs(env.iter().copied());
    command.stdout(Stdio::piped());
    command
}

impl Proxy {
    fn start(env: &[(&str, &str)]) -> Proxy {
        let mut command = command(&[
            ("LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "127.0.0.1:0"),
            ("LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:0"),
            ("LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "127.0.0.1:0"),
        ]);
        let mut child = command.envs(env.iter().copied()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut log = Vec::new();
        // The outbound line is the last of the start.
        while !log
            .last()
            .is_some_and(|l: &String| l.contains("Outbound interface"))
        {
            log.push(lines.next().expect("the log ended early").unwrap());
        }
        // Keep reading: a full pipe would block the proxy.
        std::thread::spawn(move || lines.for_each(drop));
        let addr = |what: &str| {
            let mark = format!("{what} interface on ");
            let line = log.iter().find_map(|l| l.split_once(&mark));
            line.unwrap().1.parse().unwrap()
        };
        Proxy {
            admin: addr("Admin"),
            inbound: addr("Inbound"),
            outbound: addr("Outbound"),
            log,
            child,
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects, and the child has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// One sample of a fresh /metrics page.
    fn sample(&self, name: &str) -> f64 {
        sample(&Client::connect(self.admin).get("/metrics"), name)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sample(page: &str, name: &str) -> f64 {
    let line = page
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {page}"))
        .parse()
        .unwrap()
}

/// A connection that stays open.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(addr: SocketAddr) -> Client {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    fn ask(&mut self, path: &str) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        self.0.get_mut().write_all(head.as_bytes()).unwrap();
    }

    /// The body of the answer, after its status line.
    fn get(&mut self, path: &str) -> String {
        self.ask(path);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            if let Some(n) = line.strip_prefix("content-length: ") {
                length = n.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        let status = head.lines().next().unwrap_or_default();
        format!("{status}\n{}", String::from_utf8(body).unwrap())
    }

    /// Whether nothing comes for a while.
    fn is_silent(&mut self) -> bool {
        self.0.get_mut().set_read_timeout(Some(SILENCE)).unwrap();
        let got = self.0.fill_buf().map(|b| b.len());
        self.0.get_mut().set_read_timeout(Some(PATIENCE)).unwrap();
        matches!(got, Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
    }
}

#[test]
fn a_malformed_backlog_ends_it_with_64() {
    let out = command(&[("LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG", "4k")])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(64));
    let (stdout, stderr) = (
        String::from_utf8(out.stdout).unwrap(),
        String::from_utf8(out.stderr).unwrap(),
    );
    let want =
        "ERROR ThreadId(01) linkerd_app::env: LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=\"4k\" \
                is not valid: NotAnInteger(ParseIntError { kind: InvalidDigit })";
    assert!(stdout.contains(want), "{stdout}");
    assert_eq!(
        stderr,
        "Invalid configuration: invalid environment variable\n"
    );
}

#[test]
fn the_log_tells_the_runtime_in_linkerds_shape() {
    let proxy = Proxy::start(&[("LINKERD2_PROXY_CORES", "1500m")]);
    let line = |part: &str| proxy.log.iter().find(|l| l.contains(part)).unwrap();
    let warn = line("Ignoring invalid configuration");
    assert!(warn.ends_with("  WARN ThreadId(01) linkerd2_proxy::rt: Ignoring invalid configuration LINKERD2_PROXY_CORES=1500m"), "{warn}");
    let info = line("single-threaded");
    assert!(
        info.ends_with(
            "  INFO ThreadId(01) linkerd2_proxy::rt: Using single-threaded proxy runtime"
        ),
        "{info}"
    );
    let time = &info[..info.find(']').unwrap()];
    assert_eq!(time.len(), "[     0.001402s".len(), "{info}");
    assert!(
        time.starts_with("[     0.") && time.ends_with('s'),
        "{info}"
    );
}

#[test]
fn connections_are_answered_counted_and_paid_for() {
    let proxy = Proxy::start(&[("TOKIOPROXY_BURN_US", "2000")]);
    for _ in 0..20 {
        assert_eq!(
            Client::connect(proxy.inbound).get("/"),
            "HTTP/1.1 200 OK\nok"
        );
    }
    assert_eq!(
        Client::connect(proxy.outbound).get("/"),
        "HTTP/1.1 200 OK\nok"
    );
    assert_eq!(
        proxy.sample("tokioproxy_accepted_total{direction=\"inbound\"}"),
        20.0
    );
    assert_eq!(
        proxy.sample("tokioproxy_accepted_total{direction=\"outbound\"}"),
        1.0
    );
    let burned = proxy.sample("tokioproxy_burned_seconds_total");
    assert!(burned >= 21.0 * 0.002, "{burned}");
    assert!(
        burned <= proxy.sample("process_cpu_seconds_total") + 0.02,
        "{burned}"
    );
}

#[test]
fn inbound_is_passed_on_both_ways() {
    let app = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = app.local_addr().unwrap().to_string();
    let proxy = Proxy::start(&[("TOKIOPROXY_FORWARD", &to)]);
    let mut client = TcpStream::connect(proxy.inbound).unwrap();
    client.write_all(b"ping").unwrap();
    let (mut server, _) = app.accept().unwrap();
    let mut four = [0; 4];
    server.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"ping");
    server.write_all(b"pong").unwrap();
    client.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"pong");

    drop((app, server));
    assert!(Client::connect(proxy.inbound)
        .get("/")
        .starts_with("HTTP/1.1 504 "));
    assert_eq!(proxy.sample("tokioproxy_forward_failed_total"), 1.0);
}

#[test]
fn it_listens_but_does_not_accept_before_it_is_ready() {
    let proxy = Proxy::start(&[("TOKIOPROXY_READY_AFTER_MS", "3600000")]);
    assert_eq!(
        Client::connect(proxy.admin).get("/ready"),
        "HTTP/1.1 503 Service Unavailable\nnot ready\n"
    );
    let mut client = Client::connect(proxy.inbound);
    client.ask("/");
    assert!(client.is_silent());
    assert_eq!(
        proxy.sample("tokioproxy_accepted_total{direction=\"inbound\"}"),
        0.0
    );
}

/// With a hung runtime no new connection is accepted, on the admin port neither; an open
/// one answers, and the runtime's values stand still.
fn hang(env: &[(&str, &str)]) {
    let mut env = env.to_vec();
    env.push(("TOKIOPROXY_STALL_MS", "3600000"));
    let mut proxy = Proxy::start(&env);
    let mut open = Client::connect(proxy.admin);
    open.get("/live");

    proxy.signal(libc::SIGUSR1);
    // It hangs when the refresh, once a second, no longer comes.
    let polls = |client: &mut Client| sample(&client.get("/metrics"), "tokio_rt_polls_total");
    let mut still = 0;
    let mut last = polls(&mut open);
    for _ in 0..100 {
        std::thread::sleep(SILENCE);
        let now = polls(&mut open);
        still = if now == last { still + 1 } else { 0 };
        last = now;
        if still == 10 {
            break;
        }
    }
    assert_eq!(still, 10, "the values still move");

    for addr in [proxy.admin, proxy.inbound] {
        let mut fresh = Client::connect(addr);
        fresh.ask("/live");
        assert!(fresh.is_silent(), "{addr} answered a new connection");
    }
    proxy.signal(libc::SIGTERM);
    assert_eq!(
        proxy.child.wait().unwrap().code(),
        Some(0),
        "SIGTERM ends it even so"
    );
}

#[test]
fn a_hung_worker() {
    hang(&[]);
}

#[test]
fn two_hung_workers() {
    hang(&[("LINKERD2_PROXY_CORES", "2")]);
}

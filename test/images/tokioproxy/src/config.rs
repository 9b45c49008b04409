//! The settings, from environment variables. Those that Linkerd's proxy has carry its
//! names and rules; those of this program begin with `TOKIOPROXY_`.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::version::Version;

/// Looks one variable up; None when unset.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What Linkerd's proxy and Rust's standard library ask for when nothing is set.
const DEFAULT_BACKLOG: u32 = 128;

/// The addresses of one direction and the backlog that each of them asks for.
#[derive(Debug, PartialEq)]
pub struct Listen {
    pub addrs: Vec<SocketAddr>,
    pub backlog: u32,
}

#[derive(Debug, PartialEq)]
pub struct Config {
    pub inbound: Listen,
    pub outbound: Listen,
    pub admin: Listen,
    /// host:port that inbound connections are passed on to; None answers them here.
    pub forward: Option<String>,
    /// CPU time that each connection burns.
    pub burn: Duration,
    /// Time from start until the proxy accepts and /ready says 200.
    pub ready_after: Duration,
    /// How long SIGUSR1 blocks the workers.
    pub stall: Duration,
    pub version: Version,
}

impl Config {
    /// Reads all variables and returns every problem, not just the first, each in the
    /// words of Linkerd's proxy: `NAME="value" is not valid: reason`.
    pub fn parse(env: Env<'_>) -> Result<Config, Vec<String>> {
        let mut read = Reader {
            env,
            problems: Vec::new(),
        };

        let version = read
            .one("TOKIOPROXY_VERSION", Version::from_str)
            .unwrap_or(Version::DEFAULT);
        let mut backlog = |name| match version.reads_backlog() {
            true => read.one(name, parse_backlog).unwrap_or(DEFAULT_BACKLOG),
            false => DEFAULT_BACKLOG,
        };
        // The admin listener has no variable of its own and takes the inbound one.
        let inbound_backlog = backlog("LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG");
        let outbound_backlog = backlog("LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG");

        let inbound = read.addr("LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "0.0.0.0:4143");
        let outbound = match read.one("LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", parse_addrs) {
            Some(addrs) => addrs,
            None => read.addr("LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:4140"),
        };
        let admin = read.addr("LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "0.0.0.0:4191");

        let micros = read.one("TOKIOPROXY_BURN_US", u64::from_str).unwrap_or(0);
        let ready_after = read
            .one("TOKIOPROXY_READY_AFTER_MS", u64::from_str)
            .unwrap_or(0);
        let stall = read
            .one("TOKIOPROXY_STALL_MS", u64::from_str)
            .unwrap_or(5000);

        if !read.problems.is_empty() {
            return Err(read.problems);
        }
        Ok(Config {
            inbound: Listen {
                addrs: inbound,
                backlog: inbound_backlog,
            },
            outbound: Listen {
                addrs: outbound,
                backlog: outbound_backlog,
            },
            admin: Listen {
                addrs: admin,
                backlog: inbound_backlog,
            },
            forward: env("TOKIOPROXY_FORWARD").filter(|to| !to.is_empty()),
            burn: Duration::from_micros(micros),
            ready_after: Duration::from_millis(ready_after),
            stall: Duration::from_millis(stall),
            version,
        })
    }
}

struct Reader<'a> {
    env: Env<'a>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn one<T, E: Debug>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        let text = (self.env)(name)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.problems
                    .push(format!("{name}={text:?} is not valid: {reason:?}"));
                None
            }
        }
    }

    fn addr(&mut self, name: &str, default: &str) -> Vec<SocketAddr> {
        let parse = |text: &str| text.parse::<SocketAddr>();
        let set = self.one(name, parse).or_else(|| parse(default).ok());
        set.into_iter().collect()
    }
}

/// The reason prints as Linkerd's does: `NotAnInteger(ParseIntError { kind: InvalidDigit })`.
#[derive(Debug, PartialEq)]
struct NotAnInteger(#[allow(dead_code)] std::num::ParseIntError);

/// 0 and 4294967295 are valid; the kernel cuts what is over somaxconn.
fn parse_backlog(text: &str) -> Result<u32, NotAnInteger> {
    text.parse().map_err(NotAnInteger)
}

fn parse_addrs(text: &str) -> Result<Vec<SocketAddr>, std::net::AddrParseError> {
    text.split(',').map(|addr| addr.trim().parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN: &str = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG";
    const OUT: &str = "LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG";

    fn parse(set: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let find = |name: &str| {
            set.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| v.to_string())
        };
        Config::parse(&find)
    }

    #[test]
    fn unset_is_as_injected() {
        let config = parse(&[]).unwrap();
        assert_eq!(
            config.inbound,
            Listen {
                addrs: vec!["0.0.0.0:4143".parse().unwrap()],
                backlog: 128
            }
        );
        assert_eq!(
            config.outbound,
            Listen {
                addrs: vec!["127.0.0.1:4140".parse().unwrap()],
                backlog: 128
            }
        );
        assert_eq!(
            config.admin,
            Listen {
                addrs: vec!["0.0.0.0:4191".parse().unwrap()],
                backlog: 128
            }
        );
        assert_eq!(config.burn, Duration::ZERO);
        assert_eq!(config.stall, Duration::from_secs(5));
        assert_eq!(config.forward, None);
    }

    /// Each row: variables; backlog of inbound, outbound, admin.
    #[test]
    fn backlogs() {
        let rows: &[(&[(&str, &str)], [u32; 3])] = &[
            (&[(IN, "1024")], [1024, 128, 1024]),
            (&[(OUT, "1024")], [128, 1024, 128]),
            (&[(IN, "16"), (OUT, "32")], [16, 32, 16]),
            (&[(IN, "0")], [0, 128, 0]),
            (&[(IN, "4294967295")], [u32::MAX, 128, u32::MAX]),
            // Before 2.347 the variables are not read, so a malformed one is harmless.
            (&[(IN, "1024"), ("TOKIOPROXY_VERSION", "2.346.0")], [128; 3]),
            (&[(IN, "4k"), ("TOKIOPROXY_VERSION", "2.346.0")], [128; 3]),
        ];
        for (set, want) in rows {
            let config = parse(set).unwrap();
            let got = [
                config.inbound.backlog,
                config.outbound.backlog,
                config.admin.backlog,
            ];
            assert_eq!(got, *want, "{set:?}");
        }
    }

    /// The words are those that Linkerd's proxy 2.366 logged for the same values.
    #[test]
    fn a_malformed_backlog_names_variable_value_and_reason() {
        let rows = [
            (
                "4k",
                r#""4k" is not valid: NotAnInteger(ParseIntError { kind: InvalidDigit })"#,
            ),
            (
                "",
                r#""" is not valid: NotAnInteger(ParseIntError { kind: Empty })"#,
            ),
            (
                "-1",
                r#""-1" is not valid: NotAnInteger(ParseIntError { kind: InvalidDigit })"#,
            ),
            (
                "1024.0",
                r#""1024.0" is not valid: NotAnInteger(ParseIntError { kind: InvalidDigit })"#,
            ),
            (
                " 1024",
                r#"" 1024" is not valid: NotAnInteger(ParseIntError { kind: InvalidDigit })"#,
            ),
            (
                "4294967296",
                r#""4294967296" is not valid: NotAnInteger(ParseIntError { kind: PosOverflow })"#,
            ),
        ];
        for (value, want) in rows {
            assert_eq!(parse(&[(IN, value)]).unwrap_err(), [format!("{IN}={want}")]);
        }
        assert_eq!(
            parse(&[(IN, "x"), (OUT, "y")]).unwrap_err().len(),
            2,
            "all problems are told"
        );
    }

    #[test]
    fn addresses() {
        let config = parse(&[
            ("LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "[::]:4143"),
            ("LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "[::1]:9191"),
            (
                "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS",
                "127.0.0.1:4140,[::1]:4140",
            ),
            ("LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:1"),
        ])
        .unwrap();
        let text = |listen: &Listen| {
            listen
                .addrs
                .iter()
                .map(|a| a.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(text(&config.inbound), ["[::]:4143"]);
        assert_eq!(text(&config.admin), ["[::1]:9191"]);
        assert_eq!(
            text(&config.outbound),
            ["127.0.0.1:4140", "[::1]:4140"],
            "ADDRS beats ADDR"
        );

        let problems = parse(&[("LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "here")]).unwrap_err();
        assert!(
            problems[0].starts_with("LINKERD2_PROXY_INBOUND_LISTEN_ADDR=\"here\" is not valid"),
            "{problems:?}"
        );
    }
}

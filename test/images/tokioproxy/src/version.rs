//! The proxy version that the program plays, and what proxies of that age can do.

use std::fmt;
use std::str::FromStr;

/// A version of Linkerd's proxy, as in `proxy_build_info{version="2.366.0"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

impl Version {
    /// The version played unless `TOKIOPROXY_VERSION` says otherwise.
    pub const DEFAULT: Version = Version(2, 366, 0);

    /// `tokio_rt_*` exist since 2.252.0.
    pub fn exports_runtime(self) -> bool {
        self >= Version(2, 252, 0)
    }

    /// CORES_MIN, CORES_MAX and CORES_MAX_RATIO are read since 2.286.0; CORES always.
    pub fn reads_core_bounds(self) -> bool {
        self >= Version(2, 286, 0)
    }

    /// `*_TCP_LISTEN_BACKLOG` are read since 2.347.0; older proxies ignore them, even
    /// when malformed.
    pub fn reads_backlog(self) -> bool {
        self >= Version(2, 347, 0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl FromStr for Version {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str = "a version has the form 2.366.0";
        let mut parts = text
            .split('.')
            .map(|part| part.parse::<u32>().map_err(|_| SHAPE));
        let mut next = || parts.next().unwrap_or(Err(SHAPE));
        let version = Version(next()?, next()?, next()?);
        match parts.next() {
            None => Ok(version),
            Some(_) => Err(SHAPE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_begin_at_their_release() {
        let at = |text: &str| {
            let v: Version = text.parse().unwrap();
            (
                v.exports_runtime(),
                v.reads_core_bounds(),
                v.reads_backlog(),
            )
        };
        assert_eq!(at("2.251.0"), (false, false, false));
        assert_eq!(at("2.252.0"), (true, false, false));
        assert_eq!(at("2.285.9"), (true, false, false));
        assert_eq!(at("2.286.0"), (true, true, false));
        assert_eq!(at("2.346.1"), (true, true, false));
        assert_eq!(at("2.347.0"), (true, true, true));
        assert_eq!(at("2.366.0"), (true, true, true));
    }

    #[test]
    fn anything_but_three_numbers_is_refused() {
        for text in ["", "2", "2.366", "2.366.x", "2.366.0.1", "v2.366.0"] {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
    }
}

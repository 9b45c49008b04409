//! How many workers the runtime gets: the rules of Linkerd's proxy.

use tracing::warn;

use crate::config::Env;
use crate::version::Version;

/// The bounds that the environment sets; absent where unset or malformed.
#[derive(Debug, Default, PartialEq)]
pub struct Bounds {
    /// CORES_MIN, else CORES.
    min: Option<usize>,
    max: Option<usize>,
    /// In (0, 1].
    ratio: Option<f64>,
}

/// A malformed value is ignored with a warning that carries name and value as a field,
/// so the plain log shows `NAME=value` and the JSON log a key. Field names must be
/// known at compile time, hence a macro.
macro_rules! read {
    ($env:expr, $name:ident, $parse:expr) => {
        $env(stringify!($name)).and_then(|text| {
            let value = $parse(&text);
            if value.is_none() {
                warn!(target: "linkerd2_proxy::rt", $name = %text, "Ignoring invalid configuration");
            }
            value
        })
    };
}

impl Bounds {
    pub fn parse(env: Env<'_>, version: Version) -> Bounds {
        if !version.reads_core_bounds() {
            return Bounds {
                min: read!(env, LINKERD2_PROXY_CORES, whole),
                ..Bounds::default()
            };
        }
        Bounds {
            min: read!(env, LINKERD2_PROXY_CORES_MIN, whole)
                .or_else(|| read!(env, LINKERD2_PROXY_CORES, whole)),
            max: read!(env, LINKERD2_PROXY_CORES_MAX, whole),
            ratio: read!(env, LINKERD2_PROXY_CORES_MAX_RATIO, ratio),
        }
    }

    /// The number of workers when `available` CPUs may be used: MAX beats RATIO, MIN
    /// beats MAX, and `available` caps all. `f64::round` rounds half away from zero.
    pub fn workers(&self, available: usize) -> usize {
        let by_ratio = || {
            let share = (available as f64 * self.ratio?).round() as usize;
            (share > 0).then_some(share)
        };
        let max = self.max.or_else(by_ratio).unwrap_or(1);
        max.max(self.min.unwrap_or(1)).min(available)
    }
}

fn whole(text: &str) -> Option<usize> {
    text.parse().ok().filter(|n| *n > 0)
}

fn ratio(text: &str) -> Option<f64> {
    text.parse().ok().filter(|r| *r > 0.0 && *r <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: &str = "LINKERD2_PROXY_CORES_MIN";
    const MAX: &str = "LINKERD2_PROXY_CORES_MAX";
    const CORES: &str = "LINKERD2_PROXY_CORES";
    const RATIO: &str = "LINKERD2_PROXY_CORES_MAX_RATIO";

    fn bounds(set: &[(&str, &str)], version: &str) -> Bounds {
        let env = |name: &str| {
            let found = set.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| value.to_string())
        };
        Bounds::parse(&env, version.parse().unwrap())
    }

    /// Each row: variables, available CPUs, workers.
    #[test]
    fn the_formula() {
        let rows: &[(&[(&str, &str)], usize, usize)] = &[
            // Nothing set: one worker, however many CPUs.
            (&[], 8, 1),
            (&[(CORES, "2")], 8, 2),
            (&[(CORES, "8")], 2, 2),
            (&[(MIN, "1")], 8, 1),
            (&[(MIN, "2")], 8, 2),
            // MIN replaces CORES.
            (&[(CORES, "3"), (MIN, "2")], 8, 2),
            (&[(MAX, "2")], 8, 2),
            (&[(MAX, "2")], 1, 1),
            (&[(MIN, "1"), (MAX, "2")], 8, 2),
            // MIN beats MAX, MAX beats RATIO.
            (&[(MIN, "2"), (MAX, "1")], 8, 2),
            (&[(MAX, "1"), (RATIO, "1.0")], 8, 1),
            (&[(MIN, "2"), (MAX, "4")], 8, 4),
            (&[(MIN, "2"), (MAX, "4")], 3, 3),
            (&[(RATIO, "0.1")], 2, 1),
            (&[(RATIO, "0.5")], 2, 1),
            (&[(RATIO, "0.75")], 2, 2),
            (&[(RATIO, "1.0")], 2, 2),
            // Half away from zero: 3.5 -> 4, 2.5 -> 3.
            (&[(RATIO, "0.35")], 10, 4),
            (&[(RATIO, "0.5")], 5, 3),
            (&[(RATIO, "0.34")], 10, 3),
            // Rounded to 0: as if unset; MIN still holds.
            (&[(RATIO, "0.1")], 4, 1),
            (&[(MIN, "3"), (RATIO, "0.1")], 4, 3),
            // Ignored: out of range or not a number.
            (&[(RATIO, "1.5")], 8, 1),
            (&[(RATIO, "0")], 8, 1),
            (&[(RATIO, "-0.5")], 8, 1),
            (&[(RATIO, "NaN")], 8, 1),
            (&[(RATIO, "half")], 8, 1),
            (&[(MAX, "0")], 8, 1),
            (&[(MAX, "1500m")], 8, 1),
            (&[(MAX, "1.5")], 8, 1),
            (&[(CORES, "")], 8, 1),
            // A malformed MIN falls back to CORES, a malformed MAX to RATIO.
            (&[(CORES, "2"), (MIN, "1500m")], 8, 2),
            (&[(MAX, "1500m"), (RATIO, "0.5")], 8, 4),
        ];
        for (set, available, want) in rows {
            let got = bounds(set, "2.366.0").workers(*available);
            assert_eq!(got, *want, "{set:?} with {available} CPUs");
        }
    }

    #[test]
    fn proxies_before_2_286_know_cores_only() {
        let set = &[(MIN, "3"), (MAX, "4"), (RATIO, "1.0")];
        assert_eq!(bounds(set, "2.285.0").workers(8), 1);
        assert_eq!(bounds(&[(CORES, "2"), (MAX, "4")], "2.285.0").workers(8), 2);
        assert_eq!(bounds(set, "2.286.0").workers(8), 4);
    }
}

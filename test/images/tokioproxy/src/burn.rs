//! Burning a known amount of CPU time.

use std::time::Duration;

/// Spins until the calling thread has used `amount` of CPU time and returns what it
/// really used. The thread's CPU clock does not run while the thread is preempted or
/// throttled, so the sum is CPU time whatever else the machine does.
pub fn spin(amount: Duration) -> Duration {
    if amount.is_zero() {
        return Duration::ZERO;
    }
    let start = thread_cpu();
    loop {
        for _ in 0..256 {
            std::hint::spin_loop();
        }
        let spent = thread_cpu().saturating_sub(start);
        if spent >= amount {
            return spent;
        }
    }
}

/// CPU time of the calling thread.
fn thread_cpu() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec; the clock exists on every Linux kernel.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spends_at_least_what_was_asked_on_the_thread_clock() {
        let before = thread_cpu();
        let told = spin(Duration::from_millis(5));
        let spent = thread_cpu() - before;
        assert!(told >= Duration::from_millis(5), "{told:?}");
        assert!(spent >= told, "spent {spent:?}, told {told:?}");
    }

    #[test]
    fn nothing_asked_costs_nothing() {
        assert_eq!(spin(Duration::ZERO), Duration::ZERO);
    }
}

//! The axis of every record: host CLOCK_MONOTONIC in nanoseconds.

use std::sync::OnceLock;
use std::time::Duration;

/// Host CLOCK_MONOTONIC in nanoseconds, the same clock as Node's `process.hrtime`.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

static TSC_KHZ: OnceLock<u64> = OnceLock::new();

/// The host's TSC frequency in kHz if it has been measured already.
pub fn known_tsc_khz() -> Option<u64> {
    TSC_KHZ.get().copied()
}

/// The host's TSC frequency in kHz, measured once against CLOCK_MONOTONIC over 40 ms.
///
/// A guest under TCG reads the host's TSC, and its own calibration against the emulated PIT is racy; this value goes
/// on its command line as `tsc_early_khz`.
pub fn host_tsc_khz() -> u64 {
    *TSC_KHZ.get_or_init(|| {
        let (tsc_from, ns_from) = paired_sample();
        std::thread::sleep(Duration::from_millis(40));
        let (tsc_to, ns_to) = paired_sample();
        let ticks = u128::from(tsc_to.wrapping_sub(tsc_from));
        let khz = ticks * 1_000_000 / u128::from(ns_to.saturating_sub(ns_from).max(1));
        u64::try_from(khz).unwrap_or(0)
    })
}

/// Reads both clocks as close together as the best of several tries.
fn paired_sample() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..16 {
        let before = now_ns();
        // SAFETY: RDTSC exists on every x86-64 and reads a counter only.
        let tsc = unsafe { std::arch::x86_64::_rdtsc() };
        let after = now_ns();
        if after - before < best.0 {
            best = (after - before, tsc, before + (after - before) / 2);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_only_goes_forward_and_in_nanoseconds() {
        let before = now_ns();
        std::thread::sleep(Duration::from_millis(20));
        let passed = now_ns() - before;
        assert!((20_000_000..10_000_000_000).contains(&passed), "{passed}");
    }

    #[test]
    fn two_measurements_of_the_tsc_agree_within_the_half_percent_that_a_guest_clock_may_be_off() {
        let (tsc_from, ns_from) = paired_sample();
        std::thread::sleep(Duration::from_millis(60));
        let (tsc_to, ns_to) = paired_sample();
        let khz = (tsc_to - tsc_from) as f64 * 1e6 / (ns_to - ns_from) as f64;
        let ratio = host_tsc_khz() as f64 / khz;
        assert!((0.995..1.005).contains(&ratio), "{} kHz against {khz} kHz", host_tsc_khz());
    }
}

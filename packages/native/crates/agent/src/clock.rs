//! The guest's clock.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, the axis of everything that the agent tells, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The kernel never gives a negative monotonic time.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

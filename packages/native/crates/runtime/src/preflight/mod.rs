//! The KVM preflight: can this host run VMs, and does its hardware run the code of guest kernels?
//!
//! Opening `/dev/kvm` and halting once in real mode proves little: some nested hosts pass both and then emulate every instruction
//! that a guest kernel executes, so that a boot takes minutes or dies with `KVM_EXIT_INTERNAL_ERROR`. The last tier therefore runs
//! a paged 64-bit guest with the instructions kernels use, and looks at two independent signals: KVM's own `insn_emulation`
//! statistic, and the time per iteration against the same machine code called in this process.
//!
//! Everything runs in a thread of its own with a limit per tier; a guest or an ioctl that hangs cannot hang the caller. x86-64 only.

mod classify;
mod describe;
mod errno;
mod finding;
mod guest;
mod long_mode;
mod machine;
mod memory;
mod stats;
mod tiers;
mod watchdog;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use finding::{
    Counters, InsnEmulation, LoopEvidence, Outcome, Preflight, Signal, StoppedOn, Tier, TierId, Verdict,
};
use tiers::{Report, run_tiers};
use watchdog::{Answer, Watched};

/// What the preflight looks at.
#[derive(Debug, Clone)]
pub struct PreflightOptions {
    /// The KVM device. Default `/dev/kvm`.
    pub kvm_path: PathBuf,
}

impl Default for PreflightOptions {
    fn default() -> Self {
        Self { kvm_path: PathBuf::from("/dev/kvm") }
    }
}

/// Runs the tiers in order, stops at the first that fails, and says what the host is good for.
///
/// Never fails and never hangs: whatever goes wrong is the finding of a tier. Takes 0.03 to 0.3 s, and about 2 s at most, when
/// each tier just keeps its limit.
pub fn preflight(options: &PreflightOptions) -> Preflight {
    let started = Instant::now();
    let path = options.kvm_path.clone();
    let watched = Watched::spawn(move |reporter| run_tiers(&path, reporter));
    let mut tiers = Vec::with_capacity(TierId::ALL.len());
    let mut evidence = None;
    let mut failed: Option<TierId> = None;
    for id in TierId::ALL {
        let tier = match (&failed, &watched) {
            (Some(first), _) => Tier::not_run(id, *first),
            (None, Err(error)) => {
                Tier::failed(id, format!("The thread for the check could not be started: {error}."), None)
            }
            (None, Ok(watched)) => next_tier(id, watched, &mut evidence),
        };
        if tier.outcome == Outcome::Failed && failed.is_none() {
            failed = Some(id);
        }
        tiers.push(tier);
    }
    if let Ok(watched) = watched {
        watched.close();
    }
    let verdict = classify::verdict(&tiers, evidence.as_ref());
    Preflight { tiers, verdict, insn_emulation: evidence, duration_ms: milliseconds(started.elapsed()) }
}

fn next_tier(id: TierId, watched: &Watched<Report>, evidence: &mut Option<InsnEmulation>) -> Tier {
    let asked = Instant::now();
    let mut tier = match watched.next(limit(id)) {
        Answer::Given(report) => {
            *evidence = report.evidence;
            return report.tier;
        }
        Answer::Ended => Tier::failed(id, "The check ended without an answer.".to_owned(), None),
        Answer::Hung => Tier::failed(
            id,
            format!(
                "No answer from KVM within {} ms, nor after it was interrupted; the thread was left behind.",
                limit(id).as_millis()
            ),
            Some("Look at `sudo dmesg` for KVM errors; a reboot of the host clears a stuck KVM module.".to_owned()),
        ),
    };
    tier.duration_ms = milliseconds(asked.elapsed());
    tier
}

/// Far above what a working host needs (0.1 ms to 50 ms), for hosts that are busy with other work.
fn limit(id: TierId) -> Duration {
    Duration::from_millis(match id {
        TierId::Open | TierId::ApiVersion => 100,
        TierId::CreateVm => 300,
        TierId::RealModeHlt => 200,
        TierId::LongMode => 900,
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

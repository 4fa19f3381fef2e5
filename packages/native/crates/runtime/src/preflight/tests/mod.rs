//! Behaviour of the preflight: on this host's KVM, on things that are not KVM, and as pure functions over evidence.

mod host;
mod parts;
mod paths;
mod verdicts;

use kvm_bindings::KVM_INTERNAL_ERROR_EMULATION;

use super::classify::{statistic_signal, time_signal, verdict};
use super::describe::describe;
use super::machine::Stop;
use super::*;

pub(super) fn look_at(path: impl Into<PathBuf>) -> Preflight {
    preflight(&PreflightOptions { kvm_path: path.into() })
}

pub(super) fn counters(insn_emulation: u64) -> Option<Counters> {
    Some(Counters { insn_emulation: Some(insn_emulation), exits: Some(40), pf_taken: Some(8) })
}

pub(super) fn loop_of(iterations: u64, guest_ns: f64, host_ns: Option<f64>, emulated: Option<u64>) -> LoopEvidence {
    LoopEvidence {
        iterations,
        completed: true,
        ns_per_iteration: Some(guest_ns),
        host_ns_per_iteration: host_ns,
        before: emulated.and_then(|_| counters(2)),
        after: emulated.and_then(|count| counters(2 + count)),
    }
}

/// Evidence with its signals, as the long-mode tier computes them.
pub(super) fn evidence(plain: LoopEvidence, kernel: Option<LoopEvidence>, stops: &[(&str, Stop)]) -> InsnEmulation {
    let stopped_on = stops.iter().map(|(instructions, stop)| StoppedOn {
        instructions: (*instructions).to_owned(),
        exit: stop.to_string(),
        emulation_failure: stop.is_emulation_failure(),
    });
    InsnEmulation {
        statistic: statistic_signal([&plain].into_iter().chain(&kernel)),
        time: time_signal(&plain),
        stopped_on: stopped_on.collect(),
        plain,
        kernel,
    }
}

/// The verdict when all earlier tiers have passed.
pub(super) fn judge(evidence: &InsnEmulation, stop: Option<&Stop>) -> Verdict {
    let mut tiers: Vec<Tier> = TierId::ALL[..4].iter().map(|id| Tier::ok(*id, String::new())).collect();
    tiers.push(describe(evidence, stop));
    verdict(&tiers, Some(evidence))
}

pub(super) fn native_plain() -> LoopEvidence {
    loop_of(500_000, 13.4, Some(12.9), Some(0))
}

pub(super) fn native_kernel() -> LoopEvidence {
    loop_of(100_000, 420.0, None, Some(3))
}

pub(super) fn emulation_failure() -> Stop {
    Stop::InternalError { suberror: KVM_INTERNAL_ERROR_EMULATION }
}

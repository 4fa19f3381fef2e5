//! From evidence to a verdict: pure functions, since no single host shows all cases.

use super::finding::{InsnEmulation, LoopEvidence, Outcome, Signal, Tier, TierId, Verdict};

/// Fewer emulated instructions than this say nothing: a real host emulates a handful around a VM's start.
const LEAST_EMULATED: u64 = 1_000;

/// From this ratio of guest time to host time on, hardware is not running the code. Real hosts are near 1, nested ones too, since
/// the loop needs no exit and the best of several runs is taken; emulation measures in the hundreds.
const EMULATED_SLOWDOWN: f64 = 20.0;

/// What the host is good for. `Native` only if every tier ended well and no signal speaks against it.
pub(super) fn verdict(tiers: &[Tier], evidence: Option<&InsnEmulation>) -> Verdict {
    let passed = |id| tiers.iter().any(|tier| tier.id == id && tier.outcome == Outcome::Ok);
    if !passed(TierId::RealModeHlt) {
        return Verdict::Unusable;
    }
    match evidence {
        Some(evidence) if is_emulated(evidence) => Verdict::Emulated,
        Some(evidence) if is_complete(evidence) && passed(TierId::LongMode) => Verdict::Native,
        _ => Verdict::Unusable,
    }
}

/// Whether any signal says that KVM emulates guest kernel code. One is enough: each has its own way to be missing, and a false
/// `native` costs boots that take minutes or die.
pub(super) fn is_emulated(evidence: &InsnEmulation) -> bool {
    evidence.statistic == Signal::Emulated
        || evidence.time == Signal::Emulated
        || evidence.stopped_on.iter().any(|stopped| stopped.emulation_failure)
}

/// Whether both loops ran to their end with the right sums and no instruction stopped the guest.
pub(super) fn is_complete(evidence: &InsnEmulation) -> bool {
    evidence.plain.completed
        && evidence.kernel.as_ref().is_some_and(|kernel| kernel.completed)
        && evidence.stopped_on.is_empty()
}

/// The statistic: hardware emulates nothing in these loops (on hosts with shadow paging an `invlpg` in each 64th iteration), an
/// emulating host some instructions in every iteration.
pub(super) fn statistic_signal<'a>(loops: impl IntoIterator<Item = &'a LoopEvidence>) -> Signal {
    let mut signal = Signal::Missing;
    for evidence in loops {
        let Some(emulated) = evidence.emulated_instructions() else {
            continue;
        };
        if emulated >= LEAST_EMULATED.max(evidence.iterations) {
            return Signal::Emulated;
        }
        signal = Signal::Hardware;
    }
    signal
}

/// The time: only of a loop that the host process could run as well.
pub(super) fn time_signal(evidence: &LoopEvidence) -> Signal {
    match evidence.slowdown() {
        Some(ratio) if ratio >= EMULATED_SLOWDOWN => Signal::Emulated,
        Some(_) => Signal::Hardware,
        None => Signal::Missing,
    }
}

impl LoopEvidence {
    /// Instructions that KVM emulated during the loop; `None` where the statistic is missing.
    pub fn emulated_instructions(&self) -> Option<u64> {
        let before = self.before?.insn_emulation?;
        self.after?.insn_emulation?.checked_sub(before)
    }

    /// Guest time divided by host time of the same code; `None` when either is missing.
    pub fn slowdown(&self) -> Option<f64> {
        let host_ns = self.host_ns_per_iteration.filter(|ns| *ns > 0.0)?;
        Some(self.ns_per_iteration? / host_ns)
    }
}

//! The last tier's sentence and remedy, from its evidence.

use super::classify::{is_complete, is_emulated};
use super::finding::{InsnEmulation, LoopEvidence, Tier, TierId};
use super::machine::Stop;

/// The tier has failed unless hardware ran both loops to their end.
pub(super) fn describe(evidence: &InsnEmulation, stop: Option<&Stop>) -> Tier {
    if is_emulated(evidence) {
        let detail = format!(
            "KVM emulates guest kernel code instruction by instruction: {}{}.",
            pace(evidence),
            gave_up_on(evidence)
        );
        let remedy = "Linux boxes need `accel: 'tcg'` here (`auto` takes it); firmware-only boxes may use 'kvm'. For native speed \
                      use bare metal, or a VM whose provider gives nested VT-x or AMD-V.";
        return Tier::failed(TierId::LongMode, detail, Some(remedy.to_owned()));
    }
    match stop {
        None if is_complete(evidence) => {
            let detail = format!("Hardware runs guest kernel code, with the right sums: {}.", pace(evidence));
            Tier::ok(TierId::LongMode, detail)
        }
        None => failed_guest(&Stop::Unexpected("the loop was left early".to_owned())),
        Some(stop) => failed_guest(stop),
    }
}

/// A guest that ended in a way that says nothing about emulation.
pub(super) fn failed_guest(stop: &Stop) -> Tier {
    let remedy = match stop {
        Stop::Deadline => "The host may be overloaded: run the check again when it is quiet, or use `accel: 'tcg'`.",
        _ => "Look at `sudo dmesg` for KVM errors, and use `accel: 'tcg'` meanwhile.",
    };
    let detail = format!("A paged 64-bit guest did not complete its loop: {stop}.");
    Tier::failed(TierId::LongMode, detail, Some(remedy.to_owned()))
}

fn pace(evidence: &InsnEmulation) -> String {
    let plain = format!("plain code {}", loop_pace(&evidence.plain));
    match &evidence.kernel {
        Some(kernel) => format!("{plain}, kernel instructions {}", loop_pace(kernel)),
        None => plain,
    }
}

/// As in "ran 4000 iterations of 20668 ns (10 ns without KVM) with 21.0 emulated instructions each".
fn loop_pace(evidence: &LoopEvidence) -> String {
    let mut words = format!("ran {} iterations", evidence.iterations);
    if let Some(guest) = evidence.ns_per_iteration {
        words.push_str(&format!(" of {guest:.0} ns"));
    }
    if let Some(host) = evidence.host_ns_per_iteration {
        words.push_str(&format!(" ({host:.0} ns without KVM)"));
    }
    words.push_str(&match evidence.emulated_instructions() {
        Some(count) if evidence.iterations > 0 => {
            format!(" with {:.1} emulated instructions each", count as f64 / evidence.iterations as f64)
        }
        Some(count) => format!(" while KVM emulated {count} instructions"),
        None => " (this host has no insn_emulation statistic)".to_owned(),
    });
    words
}

/// Kinds of instructions that ended in the same way share its words.
fn gave_up_on(evidence: &InsnEmulation) -> String {
    let mut words = String::new();
    let mut exits: Vec<&str> = Vec::new();
    for stopped in &evidence.stopped_on {
        if exits.contains(&stopped.exit.as_str()) {
            continue;
        }
        exits.push(&stopped.exit);
        let same = evidence.stopped_on.iter().filter(|other| other.exit == stopped.exit);
        let kinds: Vec<&str> = same.map(|other| other.instructions.as_str()).collect();
        words.push_str(&format!("; it stopped on {} ({})", kinds.join(", "), stopped.exit));
    }
    words
}

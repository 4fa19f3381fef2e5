//! What the preflight found, as plain data.

use serde::Serialize;

/// The result of [`preflight`](super::preflight).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// All tiers, in the order of [`TierId::ALL`], also those that were not run.
    pub tiers: Vec<Tier>,
    /// What the host is good for.
    pub verdict: Verdict,
    /// What the long-mode tier measured; absent when it was not reached or ended before it measured anything.
    pub insn_emulation: Option<InsnEmulation>,
    /// Wall time of the whole check.
    pub duration_ms: f64,
}

/// What KVM on this host is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Hardware runs guest kernel code; the whole loop completed with the right sums.
    Native,
    /// Firmware-only guests run, but guest kernel code is emulated instruction by instruction.
    Emulated,
    /// No VM runs, or no finding says that one would.
    Unusable,
}

/// One step of the check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tier {
    /// Which step.
    pub id: TierId,
    /// How it ended.
    pub outcome: Outcome,
    /// One sentence of what was seen.
    pub detail: String,
    /// What to do about it, where something can be done.
    pub remedy: Option<String>,
    /// Wall time; 0 for a tier that was not run.
    pub duration_ms: f64,
}

impl Tier {
    pub(super) fn ok(id: TierId, detail: String) -> Self {
        Self { id, outcome: Outcome::Ok, detail, remedy: None, duration_ms: 0.0 }
    }

    pub(super) fn failed(id: TierId, detail: String, remedy: Option<String>) -> Self {
        Self { id, outcome: Outcome::Failed, detail, remedy, duration_ms: 0.0 }
    }

    pub(super) fn not_run(id: TierId, because: TierId) -> Self {
        let detail = format!("Not run, since {because} failed.");
        Self { id, outcome: Outcome::NotRun, detail, remedy: None, duration_ms: 0.0 }
    }
}

/// The steps, each of which needs the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TierId {
    /// The device opens for reading and writing.
    Open,
    /// `KVM_GET_API_VERSION` is 12.
    ApiVersion,
    /// `KVM_CREATE_VM` gives a VM.
    CreateVm,
    /// A real-mode guest executes one HLT.
    RealModeHlt,
    /// A paged 64-bit guest executes what kernels execute, and hardware does it.
    LongMode,
}

impl TierId {
    /// Every tier, in order.
    pub const ALL: [Self; 5] = [Self::Open, Self::ApiVersion, Self::CreateVm, Self::RealModeHlt, Self::LongMode];
}

impl std::fmt::Display for TierId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::ApiVersion => "api-version",
            Self::CreateVm => "create-vm",
            Self::RealModeHlt => "real-mode-hlt",
            Self::LongMode => "long-mode",
        })
    }
}

/// How a tier ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// What it asks is so.
    Ok,
    /// It is not so.
    Failed,
    /// An earlier tier failed.
    NotRun,
}

/// The evidence for or against instruction emulation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InsnEmulation {
    /// Unprivileged instructions only, which every emulator knows; the same machine code is timed on the host.
    pub plain: LoopEvidence,
    /// The loop with the instructions that only kernels use; absent when `plain` or a single instruction settled the matter.
    pub kernel: Option<LoopEvidence>,
    /// Instructions at which KVM gave up, each tried on its own.
    pub stopped_on: Vec<StoppedOn>,
    /// What KVM's `insn_emulation` statistic says.
    pub statistic: Signal,
    /// What the time per iteration says.
    pub time: Signal,
}

/// What one of two independent signals says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// The CPU executes the guest's code.
    Hardware,
    /// KVM emulates it.
    Emulated,
    /// It could not be read here.
    #[default]
    Missing,
}

/// One loop in the guest.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopEvidence {
    /// Iterations that completed with the right sum.
    pub iterations: u64,
    /// Whether all iterations that were planned did.
    pub completed: bool,
    /// Best time per iteration in the guest, over several runs; absent when none completed.
    pub ns_per_iteration: Option<f64>,
    /// Best time per iteration of the same machine code in this process; absent when it cannot run there.
    pub host_ns_per_iteration: Option<f64>,
    /// The vCPU's statistics before the loop; absent where the host has no `KVM_GET_STATS_FD` (before Linux 5.14).
    pub before: Option<Counters>,
    /// The same after it.
    pub after: Option<Counters>,
}

/// Some statistics of a vCPU, by the kernel's names; a name that the host's kernel lacks is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// Instructions that KVM emulated.
    pub insn_emulation: Option<u64>,
    /// VM exits.
    pub exits: Option<u64>,
    /// Faults of guest memory that KVM handled.
    pub pf_taken: Option<u64>,
}

/// An instruction at which the guest was stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoppedOn {
    /// The instructions that were being tried.
    pub instructions: String,
    /// How the run ended.
    pub exit: String,
    /// Whether the end is KVM saying that it could not emulate (`KVM_EXIT_INTERNAL_ERROR`, suberror 1).
    pub emulation_failure: bool,
}

//! Stopping a box: gently first, each step bounded, and the process is gone at the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use boxlab_protocol::{Empty, Request};
use serde::Serialize;
use serde_json::json;

use crate::counters;
use crate::fault::Exit;
use crate::machine::{Live, Machine};
use crate::plan::Boot;

/// The step that ended the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// It had ended before, or was never started.
    None,
    /// The agent powered the guest off.
    Agent,
    /// The guest followed the ACPI power button.
    Acpi,
    /// QEMU quit on request.
    Quit,
    /// SIGKILL.
    Kill,
}

/// How a box was stopped.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// The step that did it.
    pub by: Step,
    /// How the engine ended; absent when none was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// What of the record could not be written, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_problem: Option<String>,
}

/// QEMU answers `quit` and ends at once; more than this means that it hangs.
const QUIT_GRACE: Duration = Duration::from_secs(2);
/// For the late clock samples: they are a courtesy to the record.
const CLOCK_GRACE: Duration = Duration::from_millis(300);

/// Stops a box. In any state, any number of times; resolves when the engine is gone.
pub async fn stop(machine: &Arc<Machine>) -> Stopped {
    let stopped = |by, exit| {
        let record_problem = machine.record.first_error().map(|fault| fault.to_string());
        Stopped { by, exit, record_problem }
    };
    let Some(live) = machine.live() else {
        // Nothing runs yet; a boot that is about to start its engine finds itself killed.
        machine.kill();
        return stopped(Step::None, None);
    };
    if let Some(exit) = machine.exit() {
        return stopped(Step::None, Some(exit));
    }
    let ready = machine.state() == crate::machine::State::Running;
    machine.board.now("stop-begin");
    let mut by = Step::Kill;
    if ready {
        machine.stopping.store(true, Ordering::SeqCst);
        counters::last(machine, &live).await;
        for step in [Step::Agent, Step::Acpi, Step::Quit] {
            if attempt(machine, &live, step).await {
                by = step;
                break;
            }
        }
    }
    if by == Step::Kill {
        machine.kill();
    }
    let exit = machine.wait_exit().await;
    stopped(by, Some(exit))
}

/// True when the step ended the engine within its bound.
async fn attempt(machine: &Arc<Machine>, live: &Live, step: Step) -> bool {
    let grace = Duration::from_millis(live.plan.limits.stop_ms);
    let asked = async {
        match (step, &live.agent) {
            (Step::Agent, Some(agent)) => {
                drop(tokio::time::timeout(CLOCK_GRACE, agent.sample_clock(&machine.record)).await);
                agent.ask::<Empty>(&Request::Poweroff).await.is_ok()
            }
            // A boot sector or a bare guest listens to no power button.
            (Step::Acpi, None) if !matches!(live.plan.boot, Boot::Firmware) => {
                live.qmp.execute("system_powerdown", None).await.is_ok()
            }
            (Step::Quit, _) => live.qmp.execute("quit", None).await.is_ok(),
            _ => false,
        }
    };
    let bound = if step == Step::Quit { QUIT_GRACE } else { grace };
    let ended = async {
        // The reply may be lost in the end that it announces.
        let asked = asked.await;
        if asked || machine.exit().is_some() || step == Step::Agent && live.agent.is_some() {
            machine.wait_exit().await;
            return true;
        }
        false
    };
    tokio::select! {
        done = tokio::time::timeout(bound, ended) => done.unwrap_or(false),
        _ = machine.wait_exit() => true,
    }
}

/// Adds what a running engine's process has used to the record.
pub fn count(machine: &Machine, mark: Option<&str>) {
    if let Some(usage) = machine.usage() {
        let mut line = json!({ "atNs": crate::clock::now_ns(), "kind": "process", "values": usage });
        if let Some(mark) = mark {
            line["mark"] = json!(mark);
        }
        machine.record.counters(&line);
    }
}

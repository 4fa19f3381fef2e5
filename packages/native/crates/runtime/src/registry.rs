//! The boxes of this process, and true counts of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::Serialize;

use crate::machine::Machine;

static CREATED: AtomicU64 = AtomicU64::new(0);
static FAILED: AtomicU64 = AtomicU64::new(0);
static COMMANDS: AtomicU64 = AtomicU64::new(0);
static EXEC_ERRORS: AtomicU64 = AtomicU64::new(0);

fn boxes() -> &'static Mutex<HashMap<String, Weak<Machine>>> {
    static BOXES: OnceLock<Mutex<HashMap<String, Weak<Machine>>>> = OnceLock::new();
    BOXES.get_or_init(Mutex::default)
}

/// What this process has done, in BoxLite's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeMetrics {
    /// Boxes whose engine runs right now, counted by looking at the processes.
    pub num_running_boxes: u64,
    /// Boxes that were made.
    pub boxes_created_total: u64,
    /// Boxes whose boot failed, each once.
    pub boxes_failed_total: u64,
    /// Commands that were run in all boxes.
    pub total_commands_executed: u64,
    /// Commands that could not be run or were cut short.
    pub total_exec_errors: u64,
}

/// Counts a new box and remembers it.
pub fn created(machine: &Arc<Machine>) {
    CREATED.fetch_add(1, Ordering::Relaxed);
    let mut boxes = boxes().lock().unwrap_or_else(PoisonError::into_inner);
    boxes.retain(|_, known| known.strong_count() > 0);
    boxes.insert(machine.id.clone(), Arc::downgrade(machine));
}

/// Counts a failed boot.
pub fn failed() {
    FAILED.fetch_add(1, Ordering::Relaxed);
}

/// Counts a command.
pub fn executed(machine: &Machine) {
    COMMANDS.fetch_add(1, Ordering::Relaxed);
    machine.commands.fetch_add(1, Ordering::Relaxed);
}

/// Counts a command that could not be run or was cut short.
pub fn exec_failed(machine: &Machine) {
    EXEC_ERRORS.fetch_add(1, Ordering::Relaxed);
    machine.exec_errors.fetch_add(1, Ordering::Relaxed);
}

/// The boxes that are still known.
pub fn machines() -> Vec<Arc<Machine>> {
    let boxes = boxes().lock().unwrap_or_else(PoisonError::into_inner);
    let mut machines: Vec<Arc<Machine>> = boxes.values().filter_map(Weak::upgrade).collect();
    machines.sort_by(|one, other| one.id.cmp(&other.id));
    machines
}

/// See [`RuntimeMetrics`].
pub fn metrics() -> RuntimeMetrics {
    RuntimeMetrics {
        num_running_boxes: machines().iter().filter(|machine| machine.usage().is_some()).count() as u64,
        boxes_created_total: CREATED.load(Ordering::Relaxed),
        boxes_failed_total: FAILED.load(Ordering::Relaxed),
        total_commands_executed: COMMANDS.load(Ordering::Relaxed),
        total_exec_errors: EXEC_ERRORS.load(Ordering::Relaxed),
    }
}

/// Kills all boxes: the process ends.
pub fn kill_all() {
    for machine in machines() {
        machine.kill();
    }
}

/// Kills the boxes of an owner that ends.
pub fn kill_owner(owner: u64) {
    for machine in machines().into_iter().filter(|machine| machine.owner == owner) {
        machine.kill();
    }
}

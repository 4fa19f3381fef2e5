//! What runs a box. An engine makes a command line of a plan; everything else is common to all.

mod qemu;

use std::os::fd::RawFd;

use crate::plan::{Accel, BootPlan};

pub use qemu::Qemu;

/// The descriptors that an engine inherits, one for each channel.
#[derive(Debug, Clone, Copy)]
pub struct Channels {
    /// The control protocol.
    pub qmp: RawFd,
    /// What the first serial port prints: the writing end of a pipe.
    pub console: RawFd,
    /// The agent's port.
    pub agent: RawFd,
}

/// An engine with its accelerator.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// The arguments with which its program boots the plan. The machine must start stopped and speak QMP.
    fn arguments(&self, plan: &BootPlan, box_id: &str, channels: Channels) -> Vec<String>;

    /// The same machine for a person at a terminal: it starts at once, the console and the monitor are on the terminal,
    /// and nothing is inherited.
    fn by_hand(&self, plan: &BootPlan, box_id: &str) -> Vec<String>;

    /// What runs guest code.
    fn accel(&self) -> Accel;
}

/// The engine of a plan.
pub fn engine_of(plan: &BootPlan) -> Box<dyn Engine> {
    Box::new(Qemu::new(plan.engine.accel))
}

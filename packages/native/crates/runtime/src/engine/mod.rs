//! What runs a box. An engine makes a command line of a plan; everything else is common to all.

mod qemu;

use std::os::fd::RawFd;

use crate::plan::{Accel, BootPlan, Share};

pub use qemu::Qemu;

/// The descriptors that an engine inherits, one for each channel.
#[derive(Debug, Clone, Copy)]
pub struct Channels<'a> {
    /// The control protocol.
    pub qmp: RawFd,
    /// What the first serial port prints: the writing end of a pipe.
    pub console: RawFd,
    /// The agent's port.
    pub agent: RawFd,
    /// Of each share of the plan, connected to what serves it.
    pub shares: &'a [RawFd],
}

/// An engine with its accelerator.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// The arguments with which its program boots the plan. The machine must start stopped and speak QMP.
    fn arguments(&self, plan: &BootPlan, box_id: &str, channels: Channels<'_>) -> Vec<String>;

    /// The same machine for a person at a terminal: it starts at once, the console and the monitor are on the terminal,
    /// and nothing is inherited. What serves its shares listens at [`socket_by_hand`].
    fn by_hand(&self, plan: &BootPlan, box_id: &str) -> Vec<String>;

    /// What runs guest code.
    fn accel(&self) -> Accel;
}

/// Where what serves a share listens when a person boots the machine by hand.
pub fn socket_by_hand(box_id: &str, share: &Share) -> String {
    format!("/tmp/by-hand-{box_id}-{}.sock", share.id)
}

/// The engine of a plan.
pub fn engine_of(plan: &BootPlan) -> Box<dyn Engine> {
    Box::new(Qemu::new(plan.engine.accel))
}

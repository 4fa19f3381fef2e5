//! The boot plan: plain data in which everything is decided. Made in TypeScript, taken as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// What one boot is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BootPlan {
    /// The engine and its accelerator.
    pub engine: EnginePlan,
    /// QEMU's machine type, for example `q35`.
    pub machine: String,
    /// QEMU's CPU model, for example `host`.
    pub cpu_model: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Guest memory in MiB.
    pub memory_mib: u32,
    /// What the machine boots.
    pub boot: Boot,
    /// A firmware image in place of the engine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<PathBuf>,
    /// Disks in order.
    #[serde(default)]
    pub disks: Vec<Disk>,
    /// Folders of the host that the guest may mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// Other devices.
    pub devices: Devices,
    /// Whether the guest runs our agent.
    pub agent: bool,
    /// The mark that makes the box ready; absent where the harness will say so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Marks that the user wants set at the first appearance of a text on the console.
    #[serde(default)]
    pub console_marks: Vec<ConsoleMark>,
    /// KVM's counters go into the record at marks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// Events of QEMU's trace, which goes into the record. Needs a QEMU with the log backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
    /// Bounds.
    pub limits: Limits,
    /// SHA-256 of the inputs, by name (`kernel`, `initrd`, `firmware`, `disk:<id>`): parts of the fingerprint.
    #[serde(default)]
    pub digests: BTreeMap<String, String>,
}

/// The engine and its accelerator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnginePlan {
    /// The program.
    pub binary: PathBuf,
    /// What runs guest code.
    pub accel: Accel,
    /// What the user asked for: `auto`, `kvm` or `tcg`.
    pub asked: String,
    /// Why `accel` came of it.
    pub reason: String,
    /// Where KVM's device is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kvm_path: Option<PathBuf>,
}

/// What runs guest code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accel {
    /// The processor, through KVM.
    Kvm,
    /// QEMU's translator.
    Tcg,
}

impl Accel {
    /// QEMU's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// What a machine boots.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Boot {
    /// A kernel, loaded by the engine.
    Direct {
        /// A bzImage or a PVH vmlinux.
        kernel: PathBuf,
        /// The initramfs.
        initrd: PathBuf,
        /// The kernel's whole command line.
        cmdline: String,
    },
    /// Whatever the firmware finds on the disks.
    Firmware,
    /// A disk with a boot loader and an operating system, which listens to the power button.
    Image,
}

/// One disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// Its id in QEMU.
    pub id: String,
    /// The image file.
    pub path: PathBuf,
    /// `raw` or `qcow2`.
    pub format: String,
    /// The guest cannot write. Otherwise it writes to a throw-away layer, never to the file.
    pub readonly: bool,
    /// `virtio` (virtio-blk) or `ide`.
    #[serde(rename = "interface")]
    pub interface: DiskInterface,
}

/// How a disk is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskInterface {
    /// virtio-blk.
    Virtio,
    /// What the machine's firmware always knows.
    Ide,
}

/// A folder of the host that the guest mounts as `virtiofs`, and cannot write to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Share {
    /// Its id in QEMU, and the tag by which the guest mounts it: 36 bytes at most (virtio 1.2, 5.11.4).
    pub id: String,
    /// The folder.
    pub path: PathBuf,
    /// What serves it.
    pub daemon: ShareDaemon,
}

/// A virtiofsd.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShareDaemon {
    /// The program.
    pub binary: PathBuf,
    /// Its arguments without its socket, which the runtime adds.
    pub args: Vec<String>,
    /// It gets a mount namespace of its own in which everything is read-only, which takes CAP_SYS_ADMIN. Otherwise its
    /// arguments have to see to it that the guest cannot write.
    pub readonly_mounts: bool,
}

/// Devices beside the disks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Devices {
    /// virtio-rng.
    pub rng: bool,
    /// Network.
    pub net: Net,
    /// virtio-balloon.
    pub balloon: bool,
    /// Empty PCIe root ports.
    pub hotplug_ports: u32,
    /// Kicks of virtio queues go through an eventfd.
    pub ioeventfd: bool,
    /// Further QEMU arguments, as they are.
    pub extra: Vec<String>,
}

/// Network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Net {
    /// None.
    None,
    /// QEMU's user network: out to the host, nothing in.
    User,
}

/// A text whose first appearance on the console is a mark.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsoleMark {
    /// The mark's id, `user:…`.
    pub mark: String,
    /// The text.
    pub text: String,
}

/// Bounds in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// From the start of the engine to ready.
    pub boot_ms: u64,
    /// For each gentle step of a stop.
    pub stop_ms: u64,
}

impl BootPlan {
    /// Reads a plan from JSON.
    pub fn from_json(json: &str) -> Result<Self, Fault> {
        serde_json::from_str(json).map_err(|error| Fault::Plan(error.to_string()))
    }
}

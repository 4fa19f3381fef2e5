//! What the initramfs of an image box tells the agent: where the root is and who is its init.

use serde::{Deserialize, Serialize};

/// Where the agent finds it. An initramfs without it is that of a bare box.
pub const STAGE0_FILE: &str = "/boxlab/stage0.json";

/// The folder of files that go into the root before its init starts, as a tree.
pub const STAGE0_ROOT: &str = "/boxlab/root";

/// What the agent prints on the console as the last act of stage 0, followed by its CLOCK_MONOTONIC in nanoseconds.
pub const SWITCH_ROOT_MARKER: &str = "boxlab: switch-root ";

/// The work of stage 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stage0 {
    /// The root file system.
    pub root: Root,
    /// Writes go to memory and are thrown away; otherwise the root is mounted writable.
    pub overlay: bool,
    /// The kernel's modules, mounted where the root has none of this release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<Disk>,
    /// The image's init: an absolute path in the root. Without one the agent stays process 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<String>,
    /// The resident agent records the jobs of systemd, from the first one on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub record_jobs: bool,
}

/// Where the root file system is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Root {
    /// On a disk.
    Disk(Disk),
    /// In a folder of the host.
    Share(Share),
}

/// A folder of the host, shared as `virtiofs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Share {
    /// The tag of its device.
    pub tag: String,
}

/// A file system on a virtio disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disk {
    /// The disk's serial number, as the guest sees it in /sys/block/*/serial.
    pub serial: String,
    /// The kernel's name of the file system: `ext4`, `erofs`. Absent: by what is on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_on_a_disk_or_in_a_share_and_never_in_both() {
        let root = |json: &str| serde_json::from_str::<Root>(json).ok();
        let disk = Disk { serial: "r".to_owned(), filesystem: None };
        assert_eq!(root(r#"{"serial":"r"}"#), Some(Root::Disk(disk)));
        assert_eq!(root(r#"{"tag":"r"}"#), Some(Root::Share(Share { tag: "r".to_owned() })));
        assert_eq!(root(r#"{"serial":"r","tag":"r"}"#), None);
    }
}

//! What is behind the path.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::thread;

use super::super::errno::{Errno, create_vm_remedy, open_remedy};
use super::*;

/// Asserts that tier `index` failed and no later one ran; gives that tier.
fn failed_at(found: &Preflight, index: usize) -> &Tier {
    let outcomes: Vec<Outcome> = found.tiers.iter().map(|tier| tier.outcome).collect();
    let expected: Vec<Outcome> = (0..TierId::ALL.len())
        .map(|at| match at {
            at if at < index => Outcome::Ok,
            at if at == index => Outcome::Failed,
            _ => Outcome::NotRun,
        })
        .collect();
    assert_eq!(outcomes, expected, "{:?}", found.tiers);
    assert_eq!((found.verdict, &found.insn_emulation), (Verdict::Unusable, &None));
    &found.tiers[index]
}

/// A file in the temporary directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn file(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boxlab-preflight-{}-{name}", std::process::id()));
        File::create(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_path_that_does_not_exist_says_how_to_get_the_device() {
    let found = look_at("/nonexistent/kvm");
    let tier = failed_at(&found, 0);
    assert_eq!(tier.detail, "Opening /nonexistent/kvm failed with ENOENT (No such file or directory).");
    assert!(tier.remedy.as_ref().unwrap().contains("modprobe kvm_intel"));
    assert_eq!(found.tiers[1].detail, "Not run, since open failed.");
}

#[test]
fn a_device_that_may_not_be_opened_says_which_group_to_join() {
    let scratch = Scratch::file("unreadable");
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o000)).unwrap();
    let path = scratch.0.clone();
    let found = thread::spawn(move || {
        // The file-system identity is the thread's own and is inherited by its threads: root loses its override in them.
        // SAFETY: plain system call without pointers; it changes this short-lived thread only.
        unsafe { libc::setfsuid(65_534) };
        look_at(path)
    })
    .join()
    .unwrap();
    let tier = failed_at(&found, 0);
    assert!(tier.detail.ends_with("failed with EACCES (Permission denied)."), "{}", tier.detail);
    assert!(tier.remedy.as_ref().unwrap().contains("sudo usermod -aG kvm $USER"));
}

#[test]
fn a_regular_file_is_not_a_device() {
    let scratch = Scratch::file("regular");
    let found = look_at(&scratch.0);
    assert!(failed_at(&found, 0).detail.ends_with("opens, but it is not a character device."));
}

#[test]
fn a_directory_is_named_by_its_errno() {
    let found = look_at(std::env::temp_dir());
    assert!(failed_at(&found, 0).detail.contains("EISDIR (Is a directory)"));
}

#[test]
fn another_character_device_is_not_kvm() {
    let found = look_at("/dev/null");
    let tier = failed_at(&found, 1);
    assert!(tier.detail.starts_with("/dev/null is not KVM: KVM_GET_API_VERSION failed with ENOTTY"), "{}", tier.detail);
}

#[test]
fn a_path_with_a_nul_byte_is_an_invalid_argument() {
    assert!(failed_at(&look_at("/dev/k\0vm"), 0).detail.contains("EINVAL"));
}

#[test]
fn each_errno_of_the_device_has_words_and_a_remedy_of_its_own() {
    let of = |errno| (Errno(errno).to_string(), open_remedy("/dev/kvm", Errno(errno)).unwrap_or_default());
    assert!(of(libc::ENOENT).1.contains("--device /dev/kvm"));
    assert!(of(libc::EACCES).1.contains("log in again"));
    assert!(of(libc::EPERM).1.contains("DeviceAllow=/dev/kvm rw"));
    assert!(of(libc::EBUSY).1.contains("VirtualBox"));
    assert!(of(libc::ENODEV).1.contains("VT-x or AMD-V"));
    assert_eq!(of(libc::ENXIO).1, of(libc::ENODEV).1);
    assert_eq!(of(libc::ENODEV).0, "ENODEV (No such device)");
    assert_eq!(of(libc::EBUSY).0, "EBUSY (Device or resource busy)");
    assert_eq!(of(libc::ESTALE), ("errno 116 (Stale file handle)".to_owned(), String::new()));
    assert!(create_vm_remedy(Errno(libc::EBUSY)).unwrap().contains("VirtualBox"));
    assert!(create_vm_remedy(Errno(libc::ENOMEM)).unwrap().contains("memory"));
}

//! Making another file system the root, as switch_root(8) does.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::mount::mount_move;
use rustix::process::{chdir, chroot};

use super::StageFault;

/// Where the new root is mounted before it becomes the root.
pub const NEW_ROOT: &str = "/boxlab/new-root";

/// What moves into the new root, with everything below: the order does not matter.
const MOVED: [&str; 4] = ["/dev", "/proc", "/sys", "/run"];

/// Makes `new_root` the root of this process and of the mount namespace; gives the old one.
pub fn into(new_root: &Path) -> Result<OwnedFd, StageFault> {
    let step = |doing: &str| StageFault::step(doing.to_owned());
    let old_root = openat(CWD, "/", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let old_root = old_root.map_err(|errno| step("open the initramfs")(errno.into()))?;
    for source in MOVED {
        let target = new_root.join(&source[1..]);
        if !target.is_dir() {
            fs::create_dir(&target).map_err(StageFault::step(format!("make {source} in the root")))?;
        }
        mount_move(source, &target).map_err(|errno| StageFault::step(format!("move {source}"))(errno.into()))?;
    }
    let switched = || -> Result<(), Errno> {
        chdir(new_root)?;
        mount_move(".", "/")?;
        chroot(".")?;
        chdir("/")
    };
    switched().map_err(|errno| step("make the image's root the root")(errno.into()))?;
    Ok(old_root)
}

/// Removes what is left of the initramfs: it is memory. What cannot be removed stays.
pub fn empty(old_root: &OwnedFd) {
    if let Ok(facts) = fstat(old_root) {
        empty_folder(old_root, facts.st_dev);
    }
}

fn empty_folder(folder: &OwnedFd, device: u64) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if [&b"."[..], b".."].contains(&name.to_bytes()) {
            continue;
        }
        let Ok(facts) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        // Another device is something mounted, such as the lower half of the new root.
        if facts.st_dev != device {
            continue;
        }
        let is_folder = FileType::from_raw_mode(facts.st_mode) == FileType::Directory;
        if is_folder {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(below) = openat(folder, name, flags, Mode::empty()) {
                empty_folder(&below, device);
            }
        }
        let _ = unlinkat(folder, name, if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() });
    }
}

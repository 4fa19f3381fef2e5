//! The image's root file system, and what goes over it.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use boxlab_protocol::stage0::{Disk, Root, Stage0};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};

use super::{StageFault, disk, share};

const LOWER: &str = "/boxlab/lower";
const WRITES: &str = "/boxlab/writes";

/// Mounts the root, writable: over it a layer in memory, or itself.
pub fn mount_root(stage0: &Stage0, target: &Path) -> Result<(), StageFault> {
    if !stage0.overlay {
        return mount_source(&stage0.root, target, MountFlags::empty());
    }
    let lower = Path::new(LOWER);
    mount_source(&stage0.root, lower, MountFlags::RDONLY)?;
    let writes = Path::new(WRITES);
    // The kernel's own bound is half of the memory; what the guest writes beyond it is an error of its own.
    mounted("the layer for writes", "tmpfs", Path::new("tmpfs"), writes, MountFlags::empty(), "mode=0755")?;
    let (upper, work) = (writes.join("upper"), writes.join("work"));
    for folder in [&upper, &work] {
        fs::create_dir(folder).map_err(StageFault::step(format!("make {}", folder.display())))?;
    }
    // The root folder itself is the upper one's: it must look like the image's.
    let same = || -> io::Result<()> {
        let facts = fs::metadata(lower)?;
        chown(&upper, Some(facts.uid()), Some(facts.gid()))?;
        fs::set_permissions(&upper, Permissions::from_mode(facts.mode() & 0o7777))
    };
    same().map_err(StageFault::step("give the layer for writes the mode of the root"))?;
    let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    mounted("the writable root", "overlay", Path::new("overlay"), target, MountFlags::empty(), &options)
}

/// Programs that load modules: an image without any of them stays as it is.
const LOADERS: [&str; 5] =
    ["sbin/modprobe", "usr/sbin/modprobe", "bin/kmod", "lib/systemd/systemd", "usr/lib/systemd/systemd"];

/// Mounts the kernel's modules where programs look for them, unless the image brings those of this release itself.
pub fn mount_modules(modules: &Disk, root: &Path) -> Result<(), StageFault> {
    // A link is as good: what it leads to may be outside of the root as it is mounted here.
    if !LOADERS.iter().any(|path| root.join(path).symlink_metadata().is_ok()) {
        return Ok(());
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = if root.join("lib").exists() { "lib/modules" } else { "usr/lib/modules" };
    let target = root.join(folder).join(&release);
    if target.join("kernel").exists() {
        return Ok(());
    }
    mount_disk("the kernel's modules", modules, &target, MountFlags::RDONLY)?;
    // kmod-static-nodes.service starts where this file has content (ConditionFileNotEmpty=), and fails in an image that
    // has no kmod: without a kernel of its own it would not have started.
    let nodes = target.join("modules.devname");
    let has_kmod = ["bin/kmod", "usr/bin/kmod"].iter().any(|path| root.join(path).exists());
    if !has_kmod && nodes.exists() {
        mount_bind("/dev/null", &nodes).map_err(|errno| StageFault::step("hide modules.devname")(errno.into()))?;
    }
    Ok(())
}

/// A share is read-only whatever the flags say: the host's folder is nobody's to write to.
fn mount_source(root: &Root, target: &Path, flags: MountFlags) -> Result<(), StageFault> {
    match root {
        Root::Disk(disk) => mount_disk("the root", disk, target, flags),
        Root::Share(root) => share::mount("the root", &root.tag, target),
    }
}

fn mount_disk(what: &'static str, disk: &Disk, target: &Path, flags: MountFlags) -> Result<(), StageFault> {
    let node = disk::wait(&disk.serial)?;
    let filesystem = match &disk.filesystem {
        Some(known) => known.clone(),
        None => disk::filesystem(&node).map_err(StageFault::step(format!("mount {what}")))?.to_owned(),
    };
    mounted(what, &filesystem, &node, target, flags, "")
}

/// Mounts, on a folder that is made where it is not there.
pub(super) fn mounted(
    what: &'static str,
    filesystem: &str,
    source: &Path,
    target: &Path,
    flags: MountFlags,
    options: &str,
) -> Result<(), StageFault> {
    fs::create_dir_all(target).map_err(StageFault::step(format!("make {}", target.display())))?;
    let data = CString::new(options).unwrap_or_default();
    mount(source, target, filesystem, flags, &*data).map_err(|errno| StageFault::Mount {
        what,
        filesystem: filesystem.to_owned(),
        target: target.display().to_string(),
        error: errno.into(),
        hint: hint(errno),
    })
}

/// What the kernel means by an errno of mount(2).
fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::NODEV => "; this kernel does not know the file system: is its module among those that are loaded?",
        Errno::INVAL | Errno::UCLEAN => "; there is no such file system on the disk, or it is damaged",
        _ => "",
    }
}

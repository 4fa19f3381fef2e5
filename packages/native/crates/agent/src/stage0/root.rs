//! The image's root file system, and what goes over it.

use std::ffi::CString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use boxlab_protocol::stage0::{Disk, Root, Stage0};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::modules::Modules;
use super::{StageFault, disk, share};

const LOWER: &str = "/boxlab/lower";
const WRITES: &str = "/boxlab/writes";

/// Mounts the root, writable: over it a layer in memory, or itself. The kernel's modules are in it where the image wants
/// them; why they are not is told in `troubles`: a guest without them boots as well, with what is built in.
pub fn mount_root(stage0: &Stage0, target: &Path, troubles: &mut Vec<String>) -> Result<(), StageFault> {
    let mut told = |done: Result<(), StageFault>| troubles.extend(done.err().map(|fault| fault.to_string()));
    let wanted = |image: &Path| match &stage0.modules {
        Some(disk) => Modules::wanted(disk, image),
        None => Ok(None),
    };
    if !stage0.overlay {
        mount_source(&stage0.root, target, MountFlags::empty())?;
        told(wanted(target).and_then(|modules| modules.map_or(Ok(()), |modules| modules.mount(target))));
        return Ok(());
    }
    let lower = Path::new(LOWER);
    mount_source(&stage0.root, lower, MountFlags::RDONLY)?;
    let modules = wanted(lower).unwrap_or_else(|fault| {
        told(Err(fault));
        None
    });
    let layer = modules.as_ref().and_then(|modules| modules.layer(lower));
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
    // The image's own is the upper one of the two: what is in both is the image's.
    let lowers = [Some(lower), layer.as_deref()].into_iter().flatten().map(|path| path.display().to_string());
    let lowers = lowers.collect::<Vec<_>>().join(":");
    let options = format!("lowerdir={lowers},upperdir={},workdir={}", upper.display(), work.display());
    mounted("the writable root", "overlay", Path::new("overlay"), target, MountFlags::empty(), &options)?;
    if let Some(modules) = modules {
        told(if layer.is_some() { modules.settle(target) } else { modules.mount(target) });
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

/// Mounts a disk, on a folder that is made where it is not there.
pub(super) fn mount_disk(what: &'static str, disk: &Disk, target: &Path, flags: MountFlags) -> Result<(), StageFault> {
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

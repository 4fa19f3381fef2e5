//! The kernel's modules, for an image that can load modules and has none of this release.
//!
//! The disk has them below usr/lib/modules. As a layer under the image's own they are simply there, and the guest sees
//! no mount that a boot of its own would not have. An image with a /lib of its own, or whose root is no overlay, has
//! them mounted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use boxlab_protocol::stage0::Disk;
use rustix::mount::{MountFlags, mount_bind};

use super::StageFault;
use super::root::mount_disk;

/// Where the disk is mounted.
const PLACE: &str = "/boxlab/modules";
const FOLDER: &str = "usr/lib/modules";

/// Programs that load modules: an image without any of them stays as it is.
const LOADERS: [&str; 5] =
    ["sbin/modprobe", "usr/sbin/modprobe", "bin/kmod", "lib/systemd/systemd", "usr/lib/systemd/systemd"];

/// Modules that an image wants.
#[derive(Debug)]
pub struct Modules {
    release: String,
}

impl Modules {
    /// Mounts the disk where `image` wants its modules.
    pub fn wanted(disk: &Disk, image: &Path) -> Result<Option<Self>, StageFault> {
        // A link is as good: what it leads to may be outside of the root as it is mounted here.
        if !LOADERS.iter().any(|path| image.join(path).symlink_metadata().is_ok()) {
            return Ok(None);
        }
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        if ["lib/modules", FOLDER].iter().any(|folder| image.join(folder).join(&release).join("kernel").exists()) {
            return Ok(None);
        }
        mount_disk("the kernel's modules", disk, Path::new(PLACE), MountFlags::RDONLY)?;
        Ok(Some(Self { release }))
    }

    /// The layer that has them in place; `None` where the image has its libraries elsewhere, and a layer would hide what
    /// is there.
    pub fn layer(&self, image: &Path) -> Option<PathBuf> {
        let merged = |path: &str| image.join(path).symlink_metadata().is_ok_and(|facts| facts.is_symlink());
        let folder = |path: &str| image.join(path).symlink_metadata().is_ok_and(|facts| facts.is_dir());
        (merged("lib") && folder("usr") && folder("usr/lib")).then(|| PathBuf::from(PLACE))
    }

    /// Mounts them in the root.
    pub fn mount(&self, root: &Path) -> Result<(), StageFault> {
        let folder = if root.join("lib").exists() { "lib/modules" } else { FOLDER };
        let target = root.join(folder).join(&self.release);
        fs::create_dir_all(&target).map_err(StageFault::step(format!("make {}", target.display())))?;
        mount_bind(Path::new(PLACE).join(FOLDER).join(&self.release), &target)
            .map_err(|errno| StageFault::step("mount the kernel's modules")(errno.into()))?;
        match without_nodes(&target, root) {
            None => Ok(()),
            Some(nodes) => {
                mount_bind("/dev/null", &nodes).map_err(|errno| StageFault::step("hide modules.devname")(errno.into()))
            }
        }
    }

    /// Makes the root that has them as a layer look as if the image had brought them.
    pub fn settle(&self, root: &Path) -> Result<(), StageFault> {
        match without_nodes(&root.join(FOLDER).join(&self.release), root) {
            None => Ok(()),
            Some(nodes) => File::create(nodes).map(drop).map_err(StageFault::step("empty modules.devname")),
        }
    }
}

/// kmod-static-nodes.service starts where modules.devname has content (ConditionFileNotEmpty=), and fails in an image that
/// has no kmod: without a kernel of its own it would not have started.
fn without_nodes(modules: &Path, root: &Path) -> Option<PathBuf> {
    let nodes = modules.join("modules.devname");
    let has_kmod = ["bin/kmod", "usr/bin/kmod"].iter().any(|path| root.join(path).exists());
    (!has_kmod && nodes.exists()).then_some(nodes)
}

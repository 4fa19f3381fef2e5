//! Mounting a folder of the host by the tag of its virtio-fs device.

use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::StageFault;
use super::root::mounted;
use rustix::io::Errno;
use rustix::mount::MountFlags;

/// As for disks: devices appear within milliseconds of their driver.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for the share, and mounts it read-only.
pub fn mount(what: &'static str, tag: &str, target: &Path) -> Result<(), StageFault> {
    let begun = Instant::now();
    loop {
        match mounted(what, "virtiofs", Path::new(tag), target, MountFlags::RDONLY, "") {
            // fs/fuse/virtio_fs.c, virtio_fs_get_tree(): EINVAL means that no device has this tag.
            Err(StageFault::Mount { error, .. }) if is_absent(&error) => {
                if begun.elapsed() > LIMIT {
                    return Err(StageFault::NoShare { tag: tag.to_owned(), seconds: LIMIT.as_secs() });
                }
                sleep(PAUSE);
            }
            done => return done,
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

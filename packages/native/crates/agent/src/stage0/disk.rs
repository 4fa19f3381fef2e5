//! Finding a virtio disk by its serial number: names such as vda depend on the order of devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::StageFault;

/// Devices appear within milliseconds of their driver; this bounds a guest that has none.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits for the disk; gives its node.
pub fn wait(serial: &str) -> Result<PathBuf, StageFault> {
    let begun = Instant::now();
    loop {
        if let Some(name) = find(Path::new("/sys/block"), serial) {
            let node = Path::new("/dev").join(name);
            if node.exists() {
                return Ok(node);
            }
        }
        if begun.elapsed() > LIMIT {
            return Err(StageFault::NoDisk { serial: serial.to_owned(), seconds: LIMIT.as_secs() });
        }
        sleep(PAUSE);
    }
}

fn find(block: &Path, serial: &str) -> Option<std::ffi::OsString> {
    fs::read_dir(block).ok()?.flatten().find_map(|disk| {
        // drivers/block/virtio_blk.c, serial_show(): up to 20 bytes, without a line end.
        let found = fs::read_to_string(disk.path().join("serial")).ok()?;
        (found.trim_end() == serial).then(|| disk.file_name())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_by_its_serial_number_alone() {
        let block = tempfile::tempdir().unwrap();
        for (name, serial) in [("vda", Some("disk0")), ("vdb", Some("root\n")), ("loop0", None)] {
            fs::create_dir(block.path().join(name)).unwrap();
            if let Some(serial) = serial {
                fs::write(block.path().join(name).join("serial"), serial).unwrap();
            }
        }
        assert_eq!(find(block.path(), "root"), Some("vdb".into()));
        assert_eq!(find(block.path(), "roo"), None);
    }
}

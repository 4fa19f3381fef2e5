//! Finding a virtio disk by its serial number: names such as vda depend on the order of devices.

use std::fs::{self, File};
use std::io::{self, Read};
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

/// What is on a disk: the kernel's name of its file system, by the magic number of its superblock.
pub fn filesystem(node: &Path) -> io::Result<&'static str> {
    let mut disk = File::open(node)?;
    let mut start = vec![0; 0x1_0050];
    // A disk that is shorter has nothing there.
    let mut length = 0;
    while let Ok(more @ 1..) = disk.read(&mut start[length..]) {
        length += more;
    }
    let holds = |at: usize, magic: &[u8]| start.get(at..at + magic.len()) == Some(magic);
    // fs/ext4/ext4.h, fs/erofs/erofs_fs.h, fs/btrfs, fs/xfs/libxfs/xfs_format.h, fs/squashfs/squashfs_fs.h.
    let known: [(usize, &[u8], &'static str); 5] = [
        (0x438, &[0x53, 0xef], "ext4"),
        (0x400, &[0xe2, 0xe1, 0xf5, 0xe0], "erofs"),
        (0x1_0040, b"_BHRfS_M", "btrfs"),
        (0, b"XFSB", "xfs"),
        (0, b"hsqs", "squashfs"),
    ];
    if let Some((_, _, name)) = known.iter().find(|(at, magic, _)| holds(*at, magic)) {
        return Ok(name);
    }
    let partitions = holds(0x1fe, &[0x55, 0xaa]) || holds(0x200, b"EFI PART");
    Err(io::Error::other(match partitions {
        true => "the disk has partitions and boots by itself: `boot: 'image'`",
        false => "the disk holds no file system that is known (ext4, erofs, btrfs, xfs, squashfs)",
    }))
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
    fn a_file_system_is_known_by_its_magic_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let told = |at: usize, magic: &[u8]| {
            let mut bytes = vec![0; at];
            bytes.extend_from_slice(magic);
            fs::write(file.path(), bytes).unwrap();
            filesystem(file.path()).map_err(|error| error.to_string())
        };
        assert_eq!(told(0x438, &[0x53, 0xef]), Ok("ext4"));
        assert_eq!(told(0x400, &[0xe2, 0xe1, 0xf5, 0xe0]), Ok("erofs"));
        assert_eq!(told(0x1_0040, b"_BHRfS_M"), Ok("btrfs"));
        assert!(told(0x1fe, &[0x55, 0xaa]).unwrap_err().contains("boot: 'image'"));
        assert!(told(0, b"").unwrap_err().contains("no file system that is known"));
    }

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

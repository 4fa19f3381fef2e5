//! The files of one boot: put into the image's root before its init starts.

use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use boxlab_protocol::stage0::STAGE0_ROOT;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

/// Opens their tree, before the root is switched: afterwards paths are the image's.
pub fn open() -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(CWD, STAGE0_ROOT, flags, Mode::empty()) {
        Ok(tree) => Ok(Some(tree)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Puts a tree into the root of this process. Folders that are there keep their mode, files are replaced. The error
/// has the path that it is about.
pub fn put(tree: &OwnedFd) -> Result<(), (String, io::Error)> {
    put_folder(tree, Path::new("/"))
}

fn put_folder(folder: &OwnedFd, target: &Path) -> Result<(), (String, io::Error)> {
    let about = |error: io::Error| (target.display().to_string(), error);
    let entries = Dir::read_from(folder).map_err(|errno| about(errno.into()))?;
    for entry in entries {
        let entry = entry.map_err(|errno| about(errno.into()))?;
        let name = entry.file_name();
        if [&b"."[..], b".."].contains(&name.to_bytes()) {
            continue;
        }
        let path = target.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
        put_entry(folder, name, &path)?;
    }
    Ok(())
}

fn put_entry(folder: &OwnedFd, name: &CStr, path: &PathBuf) -> Result<(), (String, io::Error)> {
    let about = |error: io::Error| (path.display().to_string(), error);
    let facts = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| about(errno.into()))?;
    let mode = Permissions::from_mode(facts.st_mode & 0o7777);
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory => {
            if !path.is_dir() {
                fs::create_dir(path).and_then(|()| fs::set_permissions(path, mode)).map_err(about)?;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let below = openat(folder, name, flags, Mode::empty()).map_err(|errno| about(errno.into()))?;
            put_folder(&below, path)
        }
        FileType::Symlink => {
            let target = readlinkat(folder.as_fd(), name, Vec::new()).map_err(|errno| about(errno.into()))?;
            make_room(path).and_then(|()| symlink(std::ffi::OsStr::from_bytes(target.to_bytes()), path)).map_err(about)
        }
        _ => {
            let source = openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
            let mut source = fs::File::from(source.map_err(|errno| about(errno.into()))?);
            let copy = || -> io::Result<()> {
                make_room(path)?;
                let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
                io::copy(&mut source, &mut file)?;
                file.set_permissions(mode)
            };
            copy().map_err(about)
        }
    }
}

/// What is at a path goes, unless it is a folder: then the one who asked has to hear of it.
fn make_room(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_goes_over_what_is_there() {
        let scratch = tempfile::tempdir().unwrap();
        let (tree, root) = (scratch.path().join("tree"), scratch.path().join("root"));
        fs::create_dir_all(tree.join("etc/new")).unwrap();
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::set_permissions(root.join("etc"), Permissions::from_mode(0o711)).unwrap();
        fs::write(tree.join("etc/issue"), "ours").unwrap();
        fs::set_permissions(tree.join("etc/issue"), Permissions::from_mode(0o4750)).unwrap();
        symlink("/elsewhere", root.join("etc/issue")).unwrap();
        symlink("../x", tree.join("etc/new/link")).unwrap();
        let open = |path: &Path| OwnedFd::from(fs::File::open(path).unwrap());
        put_folder(&open(&tree), &root).unwrap();
        assert_eq!(fs::read_to_string(root.join("etc/issue")).unwrap(), "ours");
        assert_eq!(fs::metadata(root.join("etc/issue")).unwrap().permissions().mode() & 0o7777, 0o4750);
        assert_eq!(fs::metadata(root.join("etc")).unwrap().permissions().mode() & 0o7777, 0o711);
        assert_eq!(fs::read_link(root.join("etc/new/link")).unwrap(), Path::new("../x"));
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(tree.join("folder"), "a file").unwrap();
        let (path, _) = put_folder(&open(&tree), &root).unwrap_err();
        assert_eq!(path, root.join("folder").display().to_string());
    }
}

//! Files and folders as tar streams.

use std::fs::{self, Metadata};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::Stream;
use boxlab_protocol::{Empty, Reply};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, makedev, mknodat, utimensat};
use rustix::process::geteuid;
use tar::{Archive, Builder, Entry, EntryType, Header};
use tokio::io::AsyncWriteExt;
use tokio_util::io::SyncIoBridge;

use crate::console;
use crate::fault::Fault;
use crate::files::{Present, absolute, blocking, must_be_whole};
use crate::serve::{refuse, reply};

/// Files up to this size are read before their header is written, since files of the kernel tell a size of 0 or of a
/// page and hold another.
const SMALL_BYTES: u64 = 64 * 1024;

/// Sends a file (as one entry of its name) or a folder (`.` and what is in it, in the order of the names). An error in
/// the middle drops the stream, so that the archive has no end.
pub async fn read(mut stream: Stream, path: String) -> Result<(), FrameError> {
    // The path itself may be a link; links inside of a folder are sent as links.
    let found = blocking(|| {
        let path = absolute(path)?;
        let facts = fs::metadata(&path).map_err(Fault::path("read", &path))?;
        if facts.is_dir() {
            fs::read_dir(&path).map_err(Fault::path("read the folder", &path))?;
        }
        Ok((path, facts))
    });
    let (path, facts) = match found.await? {
        Ok(found) => found,
        Err(fault) => return refuse(stream, fault).await,
    };
    frame::write(&mut stream, &Reply::Ok(Empty {})).await?;
    let sent = blocking(move || {
        let mut builder = Builder::new(BufWriter::with_capacity(SMALL_BYTES as usize, SyncIoBridge::new(stream)));
        if facts.is_dir() {
            pack(&mut builder, &path, Path::new("."), &facts)?;
            pack_folder(&mut builder, &path, Path::new(""))?;
        } else {
            // A path that ends in no name, such as `..`, is a folder.
            pack(&mut builder, &path, Path::new(path.file_name().unwrap_or_default()), &facts)?;
        }
        builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)
    });
    sent.await??.into_inner().shutdown().await?;
    Ok(())
}

fn pack_folder(builder: &mut Builder<impl Write>, folder: &Path, name: &Path) -> io::Result<()> {
    let told = |error: io::Error| tell(folder, error);
    let mut entries = fs::read_dir(folder).map_err(told)?.collect::<Result<Vec<_>, _>>().map_err(told)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let facts = match fs::symlink_metadata(&path) {
            Ok(facts) => facts,
            // Gone since the folder was read, as processes in /proc go.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(tell(&path, error)),
        };
        pack(builder, &path, &name, &facts)?;
        if facts.is_dir() {
            pack_folder(builder, &path, &name)?;
        }
    }
    Ok(())
}

fn pack(builder: &mut Builder<impl Write>, path: &Path, name: &Path, facts: &Metadata) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_metadata(facts);
    let kind = facts.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(|error| tell(path, error))?;
        return builder.append_link(&mut header, name, target);
    }
    if kind.is_file() {
        return pack_file(builder, path, name, header);
    }
    header.set_size(0);
    match () {
        () if kind.is_dir() => {}
        // A socket is an address of a process; no archive format has it.
        () if kind.is_socket() => return Ok(()),
        () if kind.is_fifo() => header.set_entry_type(EntryType::Fifo),
        () => {
            let block = kind.is_block_device();
            header.set_entry_type(if block { EntryType::Block } else { EntryType::Char });
            header.set_device_major(rustix::fs::major(facts.rdev()))?;
            header.set_device_minor(rustix::fs::minor(facts.rdev()))?;
        }
    }
    builder.append_data(&mut header, name, io::empty())
}

fn pack_file(builder: &mut Builder<impl Write>, path: &Path, name: &Path, mut header: Header) -> io::Result<()> {
    let mut file = Present::open(path).map_err(|error| tell(path, error))?;
    let size = header.size()?;
    if size <= SMALL_BYTES {
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|error| tell(path, error))?;
        header.set_size(content.len() as u64);
        return builder.append_data(&mut header, name, content.as_slice());
    }
    // Exactly what the header says, also of a file that grows or shrinks meanwhile.
    builder.append_data(&mut header, name, file.chain(io::repeat(0)).take(size))
}

/// Puts the path into an error and onto the console: the stream can only break off.
fn tell(path: &Path, error: io::Error) -> io::Error {
    console::say(&format!("boxlab: cannot put {} into an archive: {error}", path.display()));
    error
}

/// Unpacks an archive into a folder.
pub async fn write(stream: Stream, path: String) -> Result<(), FrameError> {
    let (stream, unpacked) = blocking(move || {
        let mut from = SyncIoBridge::new(stream);
        let unpacked = absolute(path).and_then(|path| {
            unpack(&mut from, &path)?;
            // What follows the archive's end (a tar has padding there) belongs to it.
            io::copy(&mut from, &mut io::sink()).map_err(Fault::path("unpack into", &path))?;
            must_be_whole(&mut from, &path)
        });
        (from.into_inner(), unpacked)
    })
    .await?;
    match unpacked {
        Ok(()) => reply(stream, Ok(Empty {})).await,
        Err(fault) => refuse(stream, fault).await,
    }
}

fn unpack(from: &mut impl Read, folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder).map_err(Fault::path("make the folder", folder))?;
    let target = fs::canonicalize(folder).map_err(Fault::path("unpack into", folder))?;
    let mut archive = Archive::new(from);
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(true);
    archive.set_preserve_ownerships(geteuid().is_root());
    // Folders come last, the deepest first: a folder may be read-only, and what is put into it changes its time.
    let mut folders = Vec::new();
    for entry in archive.entries().map_err(Fault::path("read the archive for", folder))? {
        let mut entry = entry.map_err(Fault::path("read the archive for", folder))?;
        let path = inside(&entry, &target)?;
        match entry.header().entry_type() {
            EntryType::Directory => folders.push((path, entry)),
            EntryType::Fifo | EntryType::Char | EntryType::Block => make_node(&entry, &path, &target)?,
            _ => drop(entry.unpack_in(&target).map_err(Fault::path("unpack", &path))?),
        }
    }
    folders.sort_by(|(one, _), (other, _)| other.cmp(one));
    for (path, mut entry) in folders {
        // The folder itself is the caller's, and keeps its mode.
        if path == target {
            continue;
        }
        entry.unpack_in(&target).map_err(Fault::path("unpack", &path))?;
        if let Ok(seconds) = entry.header().mtime() {
            set_time(&path, seconds).map_err(Fault::path("set the time of", &path))?;
        }
    }
    Ok(())
}

/// Where an entry goes. A `..` is refused; a leading `/` means the folder, as other programs read it. The crate keeps
/// entries from leaving through links that came before them.
fn inside<R: Read>(entry: &Entry<'_, R>, target: &Path) -> Result<PathBuf, Fault> {
    let name = entry.path().map_err(Fault::path("read the archive for", target))?;
    let mut path = target.to_path_buf();
    for part in name.components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => return Err(Fault::Escape { entry: name.into(), target: target.into() }),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(path)
}

/// FIFOs and devices, which the crate would write as empty files.
fn make_node<R: Read>(entry: &Entry<'_, R>, path: &Path, target: &Path) -> Result<(), Fault> {
    let make = || {
        let parent = path.parent().unwrap_or(target);
        fs::create_dir_all(parent)?;
        if !fs::canonicalize(parent)?.starts_with(target) {
            return Ok(false);
        }
        let header = entry.header();
        let (major, minor) = (header.device_major()?.unwrap_or(0), header.device_minor()?.unwrap_or(0));
        let kind = match header.entry_type() {
            EntryType::Fifo => FileType::Fifo,
            EntryType::Block => FileType::BlockDevice,
            _ => FileType::CharacterDevice,
        };
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mode = Mode::from_raw_mode(header.mode()? & 0o7777);
        mknodat(CWD, path, kind, Mode::RUSR, makedev(major, minor))?;
        if geteuid().is_root() {
            let (uid, gid) = (header.uid()? as u32, header.gid()? as u32);
            std::os::unix::fs::lchown(path, Some(uid), Some(gid))?;
        }
        rustix::fs::chmod(path, mode)?;
        set_time(path, header.mtime()?)?;
        Ok(true)
    };
    match make().map_err(Fault::path("unpack", path))? {
        true => Ok(()),
        false => Err(Fault::Escape { entry: entry.path().unwrap_or_default().into(), target: target.into() }),
    }
}

fn set_time(path: &Path, seconds: u64) -> io::Result<()> {
    let time = Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

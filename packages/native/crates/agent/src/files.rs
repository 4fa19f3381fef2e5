//! Single files, read and written whole. The work is done in threads of its own: a disk may be slow, and a kernel
//! file may think before it answers.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::{Stream, touch};
use boxlab_protocol::{FileFacts, Reply};
use tokio::io::AsyncWriteExt;
use tokio_util::io::SyncIoBridge;

use crate::console;
use crate::fault::Fault;
use crate::serve::{refuse, reply};

/// The most that is read at once, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// The most that is written to a file of the kernel, in bytes: the longest value that a cgroup or sysfs file takes is
/// a page, and a policy or table is seldom longer than this.
const KERNEL_FILE_BYTES: usize = 1024 * 1024;

/// A path of a request, which must be absolute.
pub fn absolute(path: String) -> Result<PathBuf, Fault> {
    match path.starts_with('/') {
        true => Ok(PathBuf::from(path)),
        false => Err(Fault::RelativePath(path)),
    }
}

/// Runs work that blocks, in a thread.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, FrameError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| FrameError::Io(error.into()))
}

/// Tells what is at a path, of any kind.
pub async fn stat(stream: Stream, path: String) -> Result<(), FrameError> {
    let looked = blocking(|| {
        let path = absolute(path)?;
        fs::metadata(&path).map(|facts| facts_of(&facts)).map_err(Fault::path("look at", &path))
    });
    let looked = looked.await?;
    reply(stream, looked).await
}

/// Sends a file. An error in the middle drops the stream, so that it is no clean end.
pub async fn read(mut stream: Stream, path: String) -> Result<(), FrameError> {
    let opened = blocking(|| absolute(path).and_then(open_regular)).await?;
    let (path, mut file, facts) = match opened {
        Ok(opened) => opened,
        Err(fault) => return refuse(stream, fault).await,
    };
    frame::write(&mut stream, &Reply::Ok(facts)).await?;
    let sent = blocking(move || {
        let mut to = SyncIoBridge::new(stream);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => to.write_all(&chunk[..length])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    console::say(&format!("boxlab: cannot read {} to its end: {error}", path.display()));
                    return Err(error);
                }
            }
        }
        Ok(to.into_inner())
    });
    sent.await??.shutdown().await?;
    Ok(())
}

/// Opens a regular file and nothing else: a FIFO without a writer would wait, and a device may do anything.
fn open_regular(path: PathBuf) -> Result<(PathBuf, Present, FileFacts), Fault> {
    let facts = fs::metadata(&path).map_err(Fault::path("read", &path))?;
    must_be_regular(&path, &facts)?;
    let file = Present::open(&path).map_err(Fault::path("open", &path))?;
    let facts = file.0.metadata().map_err(Fault::path("read", &path))?;
    must_be_regular(&path, &facts)?;
    Ok((path, file, facts_of(&facts)))
}

/// What a file holds now. Some files of the kernel (/proc/kmsg) would rather wait for more than end.
pub struct Present(File);

impl Present {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).map(Self)
    }
}

impl Read for Present {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            read => read,
        }
    }
}

/// Receives a file. It appears with all its bytes or not at all.
pub async fn write(stream: Stream, path: String, mode: u32) -> Result<(), FrameError> {
    let (stream, written) = blocking(move || {
        let mut from = SyncIoBridge::new(stream);
        let written = absolute(path).and_then(|path| receive(&mut from, &path, mode));
        (from.into_inner(), written)
    })
    .await?;
    match written {
        Ok(facts) => reply(stream, Ok(facts)).await,
        Err(fault) => refuse(stream, fault).await,
    }
}

fn receive(from: &mut SyncIoBridge<Stream>, path: &Path, mode: u32) -> Result<FileFacts, Fault> {
    let there = match fs::metadata(path) {
        Ok(facts) => must_be_regular(path, &facts).map(|()| true)?,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(Fault::Path { doing: "write", path: path.into(), error }),
    };
    // Through a link to the file it names, which a rename over the link would leave as it was.
    let target = if there { fs::canonicalize(path).map_err(Fault::path("write", path))? } else { path.into() };
    // Of absolute paths only / has none above it, and that is a folder.
    let folder = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(Fault::path("make the folder", folder))?;
    let mut beside = match Beside::create(folder) {
        Ok(beside) => beside,
        // Where a file is and none can be made, it is the kernel that made it: /proc, /sys, a cgroup.
        Err(_) if there => return write_kernel_file(from, &target),
        Err(error) => return Err(Fault::Path { doing: "make a file in", path: folder.into(), error }),
    };
    let copied = copy(from, &mut beside.file);
    copied.map_err(Fault::path("write", path))?;
    must_be_whole(from, path)?;
    beside.file.set_permissions(PermissionsExt::from_mode(mode & 0o7777)).map_err(Fault::path("write", path))?;
    let facts = beside.file.metadata().map_err(Fault::path("read", path))?;
    beside.rename(&target).map_err(Fault::path("write", path))?;
    Ok(facts_of(&facts))
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok(()),
            length => to.write_all(&chunk[..length])?,
        }
    }
}

/// A host that let go in the middle did not send a file.
pub fn must_be_whole(from: &mut SyncIoBridge<Stream>, path: &Path) -> Result<(), Fault> {
    let stream: &mut Stream = from.as_mut();
    let touched = tokio::runtime::Handle::current().block_on(touch(stream));
    touched.map_err(|_| Fault::Torn(path.into()))
}

/// Files of the kernel take their value in one write.
fn write_kernel_file(from: &mut SyncIoBridge<Stream>, path: &Path) -> Result<FileFacts, Fault> {
    let mut value = Vec::new();
    from.take(KERNEL_FILE_BYTES as u64 + 1).read_to_end(&mut value).map_err(Fault::path("write", path))?;
    if value.len() > KERNEL_FILE_BYTES {
        return Err(Fault::KernelFile { path: path.into(), limit: KERNEL_FILE_BYTES });
    }
    must_be_whole(from, path)?;
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).map_err(Fault::path("open", path))?;
    file.write_all(&value).map_err(Fault::path("write", path))?;
    Ok(facts_of(&file.metadata().map_err(Fault::path("read", path))?))
}

/// A file on its way to its name; removed unless it gets there.
struct Beside {
    path: PathBuf,
    file: File,
    named: bool,
}

impl Beside {
    fn create(folder: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".boxlab-{}-{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                // Left by an agent with this process id before us.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => return file.map(|file| Self { path, file, named: false }),
            }
        }
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.named = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.named {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn must_be_regular(path: &Path, facts: &Metadata) -> Result<(), Fault> {
    match facts.is_file() {
        true => Ok(()),
        false => Err(Fault::NotAFile { path: path.into(), kind: kind(facts.file_type()) }),
    }
}

fn kind(file: FileType) -> &'static str {
    match () {
        () if file.is_dir() => "a folder",
        () if file.is_fifo() => "a FIFO",
        () if file.is_socket() => "a socket",
        () if file.is_char_device() => "a character device",
        () if file.is_block_device() => "a block device",
        () => "something else",
    }
}

fn facts_of(facts: &Metadata) -> FileFacts {
    FileFacts { size: facts.size(), mode: facts.mode() & 0o7777, uid: facts.uid(), gid: facts.gid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_would_wait_for_more_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let mut file = Present::open(&path).unwrap();
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"now").unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        assert_eq!(content, b"now");
        drop(writer);
    }

    #[test]
    fn only_absolute_paths_are_paths_of_the_guest() {
        assert_eq!(absolute("/a/b".into()).unwrap(), Path::new("/a/b"));
        for path in ["", "a", "./a", "~/a"] {
            assert!(matches!(absolute(path.into()), Err(Fault::RelativePath(_))), "{path}");
        }
    }
}

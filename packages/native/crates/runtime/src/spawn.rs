//! Starts engines and what serves them, all from one thread that lives as long as the process.
//!
//! PR_SET_PDEATHSIG fires when the *thread* that forked ends, so a process started from a worker would die with it at
//! the wrong time, or not at all. This thread never ends before its process does.

use std::io::{self, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::clock::now_ns;
use crate::process::Process;

/// What to start.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub binary: PathBuf,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Descriptors that it inherits under the numbers they have here; closed in this process afterwards.
    pub inherit: Vec<OwnedFd>,
    /// Where its own words go.
    pub words: PipeWriter,
    /// Its working directory.
    pub dir: PathBuf,
    /// Where it puts files of its own (QEMU's `snapshot=on` makes some, and leaves them when it is killed in that moment).
    pub aside: PathBuf,
    /// Everything that is mounted is read-only for it. Takes CAP_SYS_ADMIN and Linux 5.12.
    pub readonly_mounts: bool,
}

/// A started process.
#[derive(Debug)]
pub struct Launched {
    /// The process.
    pub process: Process,
    /// Host clock before the fork, in nanoseconds.
    pub fork_ns: u64,
}

type Job = Box<dyn FnOnce() + Send>;

/// Starts a process that dies with this one.
pub fn launch(launch: Launch) -> io::Result<Launched> {
    let (answer, answered) = channel();
    let job: Job = Box::new(move || {
        // The receiver waits below, so it is there.
        drop(answer.send(start(launch)));
    });
    let sent = spawner().lock().unwrap_or_else(PoisonError::into_inner).send(job);
    let lost = || io::Error::other("the thread that starts processes is gone");
    sent.map_err(|_| lost())?;
    answered.recv().map_err(|_| lost())?
}

fn spawner() -> &'static Mutex<Sender<Job>> {
    static SPAWNER: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (jobs, queue) = channel::<Job>();
        std::thread::Builder::new()
            .name("boxlab-spawn".to_owned())
            .spawn(move || queue.into_iter().for_each(|job| job()))
            .expect("the thread that starts processes can be started");
        Mutex::new(jobs)
    })
}

fn start(launch: Launch) -> io::Result<Launched> {
    let stderr = launch.words.try_clone()?;
    let fds: Vec<RawFd> = launch.inherit.iter().map(AsRawFd::as_raw_fd).collect();
    let owner = std::process::id();
    let mut command = Command::new(&launch.binary);
    command.args(&launch.argv).current_dir(&launch.dir).process_group(0).env("TMPDIR", &launch.aside);
    command.stdin(Stdio::null()).stdout(launch.words).stderr(stderr);
    // SAFETY: between fork and exec only async-signal-safe system calls are made, on values captured before.
    unsafe {
        command.pre_exec(move || die_with(owner, &fds));
    }
    if launch.readonly_mounts {
        // SAFETY: as above.
        unsafe {
            command.pre_exec(mounts_readonly);
        }
    }
    let fork_ns = now_ns();
    let child = command.spawn()?;
    let process = Process::of_child(child.id())?;
    Ok(Launched { process, fork_ns })
}

/// In the child: die with the owner, and keep the channels over exec.
fn die_with(owner: u32, fds: &[RawFd]) -> io::Result<()> {
    // SAFETY: prctl with these arguments only sets this process's parent-death signal.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // An owner that died between fork and prctl sends no signal any more.
    // SAFETY: getppid cannot fail.
    if unsafe { libc::getppid() }.unsigned_abs() != owner {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    for fd in fds {
        // SAFETY: clears CLOEXEC of a descriptor that this process owns.
        if unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// In the child: nothing that is mounted can be written to, from a mount namespace of its own on. What is mounted below
/// the root counts in, and nothing of it reaches other namespaces.
fn mounts_readonly() -> io::Result<()> {
    // SAFETY: unshare takes flags; this process has one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    // SAFETY: a C string, flags, and a structure of the size that is said, which the call only reads.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Why a program could not be started.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program".to_owned(),
        // EPERM is of the same kind, and is what a mount namespace of one's own is refused with.
        io::ErrorKind::PermissionDenied if error.raw_os_error() == Some(libc::EACCES) => {
            "it may not be executed".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Finds a program the way a shell does.
pub fn find_program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

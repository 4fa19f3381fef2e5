//! The first process of a bare box: what must be there before anything can be served.

use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::{io, mem};

use boxlab_protocol::Module;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::sethostname;

use crate::systemd::Recorder;
use crate::{console, modules, network, port};

/// What the box begins with.
#[derive(Debug, Default)]
pub struct Beginning {
    /// Modules, in order.
    pub modules: Vec<Module>,
    /// What went wrong, one sentence each.
    pub troubles: Vec<String>,
    /// Listens for devices since before the modules were loaded.
    pub uevents: Option<OwnedFd>,
    /// The console was not there before: what was printed was lost.
    pub console_came_late: bool,
    /// When stage 0 handed over to the image's init, on the guest's clock.
    pub switch_root_ns: Option<u64>,
    /// Why stage 0 came to no end.
    pub failure: Option<String>,
    /// Records the jobs of systemd.
    pub recorder: Option<Arc<Recorder>>,
}

/// Whose machine it will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// The agent's, for good.
    Ours,
    /// An image's init's: what that does itself is left to it.
    TheImages,
}

/// Sets the box up. Whatever fails is told in `troubles`, and the boot goes on.
pub fn begin(machine: Machine) -> Beginning {
    let mut troubles = Vec::new();
    for step in MOUNTS.iter().filter(|step| machine == Machine::Ours || step.early) {
        if let Err(error) = step.make() {
            troubles.push(format!("cannot mount {} on {}: {error}", step.kind, step.target));
        }
    }
    let console_came_late = console::attach().unwrap_or_else(|error| {
        troubles.push(format!("cannot open /dev/console: {error}"));
        false
    });
    for (link, target) in LINKS {
        match symlink(target, link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                troubles.push(format!("cannot link {link}: {error}"));
            }
            _ => {}
        }
    }
    if machine == Machine::Ours {
        if let Err(error) = sethostname(b"boxlab") {
            troubles.push(format!("cannot set the host name: {error}"));
        }
        if let Err(error) = network::raise_loopback() {
            troubles.push(format!("cannot bring up the interface lo: {error}"));
        }
    }
    let uevents = port::listen().map_err(|error| troubles.push(format!("cannot listen for devices: {error}"))).ok();
    let modules = modules::load_all(Path::new(modules::FOLDER), &mut troubles);
    if machine == Machine::Ours
        && let Err(error) = network::configure()
    {
        troubles.push(format!("cannot give eth0 its address: {error}"));
    }
    Beginning { modules, troubles, uevents, console_came_late, ..Beginning::default() }
}

struct Mount {
    kind: &'static str,
    target: &'static str,
    flags: MountFlags,
    data: &'static CStr,
    mode: u32,
    /// Needed before an image's init is there.
    early: bool,
}

/// In their order. The modes of the file systems that have no option for it are those of the folders below.
const MOUNTS: [Mount; 7] = {
    const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
    const SAFEST: MountFlags = SAFE.union(MountFlags::NOEXEC);
    const NODES: MountFlags = MountFlags::NOSUID.union(MountFlags::NOEXEC);
    [
        Mount { kind: "proc", target: "/proc", flags: SAFEST, data: c"", mode: 0o555, early: true },
        Mount { kind: "sysfs", target: "/sys", flags: SAFEST, data: c"", mode: 0o555, early: true },
        Mount {
            kind: "devtmpfs",
            target: "/dev",
            flags: MountFlags::NOSUID,
            data: c"mode=0755",
            mode: 0o755,
            early: true,
        },
        Mount {
            kind: "devpts",
            target: "/dev/pts",
            flags: NODES,
            data: c"gid=5,mode=620,ptmxmode=666",
            mode: 0o755,
            early: false,
        },
        Mount { kind: "tmpfs", target: "/dev/shm", flags: SAFE, data: c"mode=1777", mode: 0o1777, early: false },
        Mount { kind: "tmpfs", target: "/tmp", flags: SAFE, data: c"mode=1777", mode: 0o1777, early: false },
        Mount { kind: "tmpfs", target: "/run", flags: SAFE, data: c"mode=0755", mode: 0o755, early: true },
    ]
};

/// What shells and scripts expect in /dev, and devtmpfs does not make.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

impl Mount {
    fn make(&self) -> io::Result<()> {
        if let Err(error) = fs::create_dir(self.target) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
        } else {
            fs::set_permissions(self.target, PermissionsExt::from_mode(self.mode))?;
        }
        match mount(self.kind, self.target, self.kind, self.flags, self.data) {
            // A kernel that mounted it already did our work.
            Ok(()) | Err(Errno::BUSY) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Gives an image's init what the kernel would have given it: default dispositions and nothing blocked.
pub fn forget_signals() {
    // SAFETY: the default disposition runs no code of ours, and the set outlives the call.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Makes commands begin as under any init, whatever the agent was given: default dispositions, and no descriptor but
/// their own three. Only SIGPIPE stays ignored, until a command is started.
pub fn let_commands_inherit_nothing() {
    for signal in 1..=libc::SIGRTMAX() {
        if ![libc::SIGPIPE, libc::SIGKILL, libc::SIGSTOP].contains(&signal) {
            // SAFETY: no handler is installed yet, and the default disposition runs no code of ours.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    // Linux 5.11; before it, init has none to pass on, and the resident agent what it was started with.
    // SAFETY: it closes nothing, and marks what is open to be closed by the next exec.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

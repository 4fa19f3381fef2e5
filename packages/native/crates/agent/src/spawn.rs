//! From a request to a running process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use boxlab_protocol::Exec;
use rustix::fs::{Access, access};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Gid, Uid, ioctl_tiocsctty, setsid};
use rustix::stdio::stdin;
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use crate::descriptor::Descriptor;
use crate::fault::Fault;
use crate::pty;
use crate::reaper::{Reaper, Running};
use crate::users::{self, Identity};

/// What a command finds in its environment unless the request says otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The kernel's limit for pipes of root without a setting (fs/pipe.c). A large pipe saves a busy command from being
/// woken for each small piece.
const PIPE_BYTES: usize = 1024 * 1024;

/// A command that runs, and our ends of its streams.
#[derive(Debug)]
pub struct Spawned {
    /// The process.
    pub running: Running,
    /// Writes to its stdin, or types on its terminal.
    pub stdin: Descriptor,
    /// Reads its stdout, or its terminal.
    pub stdout: Descriptor,
    /// Reads its stderr; absent with a terminal.
    pub stderr: Option<Descriptor>,
}

/// Starts the command of a request.
pub fn spawn(exec: &Exec, reaper: &Reaper) -> Result<Spawned, Fault> {
    let program = exec.argv.first().ok_or(Fault::EmptyArgv)?;
    let identity = users::resolve(exec.user.as_deref())?;
    let ends = Ends::open(exec, &identity).map_err(|error| Fault::System { doing: "make the command's streams", error })?;

    let mut command = Command::new(program);
    command.args(&exec.argv[1..]).env_clear().env("PATH", PATH).env("HOME", &identity.home);
    command.env("TERM", if exec.pty.is_some() { "xterm" } else { "linux" });
    command.envs(exec.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(exec.cwd.as_deref().unwrap_or("/"));
    command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr);
    enter(&mut command, exec.pty.is_some(), exec.user.is_some().then_some(identity));

    let running = reaper.spawn(&mut command).map_err(|error| explain(error, exec, program))?;
    // The command holds the child's ends; an end of output needs them closed here.
    drop(command);
    let open = |fd| Descriptor::new(fd).map_err(|error| Fault::System { doing: "watch the command's streams", error });
    let [stdin, stdout] = match ends.ours {
        Ours::Terminal(master) => {
            let terminal = open(master)?;
            [terminal.clone(), terminal]
        }
        Ours::Pipes { stdin, stdout, stderr } => {
            return Ok(Spawned { running, stdin: open(stdin)?, stdout: open(stdout)?, stderr: Some(open(stderr)?) });
        }
    };
    Ok(Spawned { running, stdin, stdout, stderr: None })
}

/// The child's ends of the streams, and ours.
struct Ends {
    stdin: Stdio,
    stdout: Stdio,
    stderr: Stdio,
    ours: Ours,
}

enum Ours {
    Terminal(OwnedFd),
    Pipes { stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd },
}

impl Ends {
    fn open(exec: &Exec, identity: &Identity) -> io::Result<Self> {
        if let Some(size) = exec.pty {
            let pty = pty::open(size, identity)?;
            let (stdin, stdout) = (pty.slave.try_clone()?, pty.slave.try_clone()?);
            let ours = Ours::Terminal(pty.master);
            return Ok(Self { stdin: stdin.into(), stdout: stdout.into(), stderr: pty.slave.into(), ours });
        }
        let (theirs_in, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, theirs_out) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, theirs_err) = pipe_with(PipeFlags::CLOEXEC)?;
        for pipe in [&stdout, &stderr] {
            // A smaller pipe is slower and as right.
            let _ = fcntl_setpipe_size(pipe, PIPE_BYTES);
        }
        let ours = Ours::Pipes { stdin, stdout, stderr };
        Ok(Self { stdin: theirs_in.into(), stdout: theirs_out.into(), stderr: theirs_err.into(), ours })
    }
}

/// What the child does before it becomes the command. The standard library has given it its streams and its folder
/// and cleared its signal mask; its session, terminal and user are left.
fn enter(command: &mut Command, terminal: bool, identity: Option<Identity>) {
    let user = identity.map(|identity| {
        let groups: Vec<Gid> = identity.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid), groups)
    });
    let prepare = move || {
        setsid()?;
        if terminal {
            ioctl_tiocsctty(stdin())?;
        }
        if let Some((uid, gid, groups)) = &user {
            set_thread_groups(groups)?;
            set_thread_gid(*gid)?;
            set_thread_uid(*uid)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(prepare) };
}

/// Says which of the things that starting a command needs was missing: the kernel tells one errno for all.
fn explain(error: io::Error, exec: &Exec, program: &str) -> Fault {
    let cwd = exec.cwd.as_deref().unwrap_or("/");
    let not_a_folder = match std::fs::metadata(cwd) {
        Ok(facts) if facts.is_dir() => None,
        Ok(_) => Some(io::Error::from_raw_os_error(libc::ENOTDIR)),
        Err(error) => Some(error),
    };
    let command = program.to_owned();
    if let Some(error) = not_a_folder {
        return Fault::WorkingDirectory { path: cwd.to_owned(), error };
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Fault::Spawn { command, error };
    }
    if program.contains('/') {
        return match Path::new(cwd).join(program).exists() {
            true => Fault::NoInterpreter { command },
            false => Fault::CommandNotFound { command, place: String::new() },
        };
    }
    let folders = exec.env.iter().rev().find(|(name, _)| name == "PATH").map_or(PATH, |(_, value)| value);
    let found = folders.split(':').any(|folder| {
        let candidate = Path::new(cwd).join(folder).join(program);
        access(candidate.as_os_str().as_bytes(), Access::EXEC_OK).is_ok()
    });
    match found && !program.is_empty() {
        true => Fault::NoInterpreter { command },
        false => Fault::CommandNotFound { command, place: format!(" in PATH={folders}") },
    }
}

//! From a request to a running process.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use boxlab_protocol::Exec;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Gid, Uid};

use crate::descriptor::Descriptor;
use crate::fault::Fault;
use crate::launch::{Failure, Plan, Step, launch};
use crate::pty;
use crate::reaper::{Reaper, Running};
use crate::users::{self, Identity};

/// What a command finds in its environment unless the request says otherwise.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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
    let env = environment(exec, &identity);
    let path = env.iter().find(|(name, _)| *name == "PATH").map_or(PATH, |(_, value)| value);
    let cwd = exec.cwd.as_deref().unwrap_or("/");
    let ends = Ends::open(exec, &identity);
    let ends = ends.map_err(|error| Fault::System { doing: "make the command's streams", error })?;
    let plan = Plan {
        programs: programs(program, path)?,
        argv: exec.argv.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
        env: env.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect::<Result<_, _>>()?,
        cwd: text(cwd)?,
        stdio: ends.theirs,
        terminal: exec.pty.is_some(),
        user: exec.user.is_some().then(|| {
            let groups = identity.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
            (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid), groups)
        }),
    };
    let running = reaper.start_one(|| launch(&plan)).map_err(|failure| explain(failure, &plan, program, path, cwd))?;
    // An end of output needs the command's ends closed here.
    drop(plan);
    Ok(Spawned { running, stdin: ends.stdin, stdout: ends.stdout, stderr: ends.stderr })
}

/// The defaults, and what the request sets in their place or beside them.
fn environment<'a>(exec: &'a Exec, identity: &'a Identity) -> Vec<(&'a str, &'a str)> {
    let term = if exec.pty.is_some() { "xterm" } else { "linux" };
    let mut env = vec![("PATH", PATH), ("HOME", &identity.home), ("TERM", term)];
    for (name, value) in &exec.env {
        match env.iter_mut().find(|(there, _)| there == name) {
            Some((_, there)) => *there = value,
            None => env.push((name, value)),
        }
    }
    env
}

/// The files that a command's name can mean. A name with a slash means itself.
fn programs(program: &str, path: &str) -> Result<Vec<CString>, Fault> {
    match program {
        // No file has no name, though joined to a folder it would be the folder.
        "" => Ok(Vec::new()),
        _ if program.contains('/') => Ok(vec![text(program)?]),
        _ => path.split(':').map(|folder| text(&Path::new(folder).join(program).to_string_lossy())).collect(),
    }
}

fn text(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::Nul(text.to_owned()))
}

/// The command's ends of the streams, and ours.
struct Ends {
    theirs: [OwnedFd; 3],
    stdin: Descriptor,
    stdout: Descriptor,
    stderr: Option<Descriptor>,
}

impl Ends {
    fn open(exec: &Exec, identity: &Identity) -> io::Result<Self> {
        if let Some(size) = exec.pty {
            let pty = pty::open(size, identity)?;
            let theirs = [pty.slave.try_clone()?, pty.slave.try_clone()?, pty.slave];
            let terminal = Descriptor::new(pty.master)?;
            return Ok(Self { theirs, stdin: terminal.clone(), stdout: terminal, stderr: None });
        }
        let (their_stdin, stdin) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        let [stdin, stdout, stderr] = [Descriptor::new(stdin)?, Descriptor::new(stdout)?, Descriptor::new(stderr)?];
        Ok(Self { theirs: [their_stdin, their_stdout, their_stderr], stdin, stdout, stderr: Some(stderr) })
    }
}

/// Says what was missing, by its name.
fn explain(failure: Failure, plan: &Plan, program: &str, path: &str, cwd: &str) -> Fault {
    let command = program.to_owned();
    let error = io::Error::from(failure.errno);
    match (failure.step, failure.errno) {
        (Step::Folder, _) => Fault::WorkingDirectory { path: cwd.to_owned(), error },
        (Step::Program, Errno::NOENT) => {
            // Relative names are seen from the working directory.
            let there = |file: &CString| Path::new(cwd).join(file.to_string_lossy().as_ref()).exists();
            match plan.programs.iter().any(there) {
                true => Fault::NoInterpreter { command },
                false if program.contains('/') => Fault::CommandNotFound { command, place: String::new() },
                false => Fault::CommandNotFound { command, place: format!(" in PATH={path}") },
            }
        }
        (step, _) => Fault::Spawn { command, step, error },
    }
}

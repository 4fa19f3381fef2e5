//! Everything that the agent refuses, in the words that the host's user reads.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use boxlab_protocol::Refusal;

use crate::launch::Step;

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Host and agent come from different builds.
    #[error("the agent in the guest speaks protocol {ours} and the host protocol {theirs}; build both from one source")]
    Protocol {
        /// The agent's.
        ours: u32,
        /// The host's.
        theirs: u32,
    },
    /// An argv without a command.
    #[error("the argv is empty; its first element is the command")]
    EmptyArgv,
    /// The standard streams of a command did not all come.
    #[error("the command was not started: its {missing} (attached as {exec}) did not come within {seconds} s")]
    NotAttached {
        /// The command's id.
        exec: u64,
        /// The streams that are missing.
        missing: String,
        /// How long it waited.
        seconds: u64,
    },
    /// The user of a command is not in the guest.
    #[error(transparent)]
    User(#[from] crate::users::UserFault),
    /// The command is not there.
    #[error("the command {command} was not found{place}")]
    CommandNotFound {
        /// As it was asked for.
        command: String,
        /// Where it was looked for.
        place: String,
    },
    /// The file is there and the kernel still says that it is not.
    #[error("the command {command} is there, but the interpreter or loader that it names is not")]
    NoInterpreter {
        /// As it was asked for.
        command: String,
    },
    /// The command could not be started for another reason.
    #[error("the command {command} could not be started, {step} failed: {error}")]
    Spawn {
        /// As it was asked for.
        command: String,
        /// What failed.
        step: Step,
        /// What the kernel said.
        error: io::Error,
    },
    /// A text that no system call takes.
    #[error("{0:?} has a NUL in it, and no argument, variable or path of a command can")]
    Nul(String),
    /// The working directory of a command is not one.
    #[error("the working directory {path} of the command is not usable: {error}")]
    WorkingDirectory {
        /// As it was asked for.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The path is not absolute.
    #[error("the path {0:?} is not absolute; paths in the guest begin with /")]
    RelativePath(String),
    /// Not a regular file.
    #[error("{path} is {kind} and not a regular file")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is, with its article.
        kind: &'static str,
    },
    /// A kernel file takes one write, and this was more than one can carry.
    #[error("{path} is a file of the kernel, which takes one write of at most {limit} bytes")]
    KernelFile {
        /// The path.
        path: PathBuf,
        /// In bytes.
        limit: usize,
    },
    /// A path in a tar leads out of the folder that it is unpacked into.
    #[error("the tar entry {entry:?} leads out of {target}; nothing is written outside of it")]
    Escape {
        /// The entry's path.
        entry: PathBuf,
        /// The folder.
        target: PathBuf,
    },
    /// The host went away in the middle.
    #[error("the host ended the transfer to {0} before it was complete")]
    Torn(PathBuf),
    /// No one listens.
    #[error("nothing in the guest answers on port {port} of its loopback: {error}")]
    Dial {
        /// The port.
        port: u16,
        /// What the kernel said.
        error: io::Error,
    },
    /// The agent only serves a descriptor.
    #[error("this agent is not the one of a box and does not power its machine off")]
    NotOurMachine,
    /// systemd could not be asked.
    #[error(transparent)]
    Systemd(#[from] crate::systemd::BusError),
    /// Any other failure with a file.
    #[error("cannot {doing} {path}: {}", whole(error))]
    Path {
        /// A verb.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// Any other failure.
    #[error("cannot {doing}: {error}")]
    System {
        /// A verb and its object.
        doing: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

impl Fault {
    /// For `map_err`: a failure with a path.
    pub fn path(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Path { doing, path: path.into(), error }
    }

    fn errno(&self) -> Option<i32> {
        match self {
            Self::Spawn { error, .. }
            | Self::WorkingDirectory { error, .. }
            | Self::Dial { error, .. }
            | Self::Path { error, .. }
            | Self::System { error, .. } => {
                causes(error).find_map(|cause| cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error))
            }
            Self::CommandNotFound { .. } | Self::NoInterpreter { .. } => Some(libc::ENOENT),
            _ => None,
        }
    }
}

/// An error and what caused it, from the outside in.
fn causes(error: &io::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |&error| error.source())
}

/// The errors of archives keep their cause to themselves.
fn whole(error: &io::Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self { errno: fault.errno(), message: fault.to_string() }
    }
}

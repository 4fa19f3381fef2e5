//! What can go wrong with a box: the catalogue of messages. The TypeScript face makes typed errors of the codes.

use std::path::PathBuf;

use serde::Serialize;

/// One thing that went wrong. The text is the message that users read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// The engine's program could not be started.
    #[error("the engine `{binary}` could not be started: {reason}; install it or give its path in `engine`")]
    Spawn {
        /// The program.
        binary: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// What serves a folder to the guest could not be started.
    #[error(
        "`{binary}` could not be started to serve the folder {path} to the guest: {reason}; `format: 'ext4'` does without it"
    )]
    ShareSpawn {
        /// The program.
        binary: PathBuf,
        /// The folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// What serves a folder to the guest ended before what was waited for.
    #[error("virtiofsd, which serves the folder {path} to the guest, ended ({how}) while waiting for {waited}{words}")]
    ShareEnded {
        /// The folder.
        path: PathBuf,
        /// Its exit code or signal in words.
        how: String,
        /// What was waited for.
        waited: String,
        /// What it printed, or nothing.
        words: String,
    },
    /// The engine's process ended before what was waited for.
    #[error("the engine ended ({how}) while waiting for {waited}{words}")]
    EngineExited {
        /// Its exit code or signal in words.
        how: String,
        /// What was waited for.
        waited: String,
        /// What it printed, or nothing.
        words: String,
    },
    /// The guest's kernel panicked.
    #[error("the guest panicked while waiting for {waited}: {line}")]
    Panic {
        /// What was waited for.
        waited: String,
        /// The panic's first line on the console.
        line: String,
    },
    /// The guest restarted itself.
    #[error("the guest reset itself while waiting for {waited}; a box runs once, so the engine ended")]
    Reset {
        /// What was waited for.
        waited: String,
    },
    /// The guest powered itself off.
    #[error("the guest powered itself off while waiting for {waited}")]
    PoweredOff {
        /// What was waited for.
        waited: String,
    },
    /// A bound was reached.
    #[error("{waited} did not come within {limit_ms} ms{hint}")]
    Timeout {
        /// What was waited for.
        waited: String,
        /// The bound.
        limit_ms: u64,
        /// What is known, or nothing.
        hint: String,
    },
    /// The owner killed the box.
    #[error("the box was killed while waiting for {waited}")]
    Killed {
        /// What was waited for.
        waited: String,
    },
    /// The box is in no state to do that.
    #[error("the box is {state}; {need}")]
    State {
        /// Its state.
        state: &'static str,
        /// What the call needs.
        need: &'static str,
    },
    /// The accelerator that runs is not the one that was asked for.
    #[error("the engine runs {proved} although {asked} was asked for")]
    Accelerator {
        /// Asked for.
        asked: &'static str,
        /// Proved over QMP.
        proved: &'static str,
    },
    /// The record could not be written.
    #[error(
        "the record could not be written ({path}: {reason}), so it has a hole; free space there or set `record.dir`"
    )]
    Record {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The ledger of boots could not be read or written.
    #[error(
        "the ledger of boots at {path} cannot be used: {reason}; set BOXLAB_HOME to a folder that you can write to"
    )]
    Ledger {
        /// The file or folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The engine refused a QMP command, or its answer made no sense.
    #[error("the engine refused `{command}`: {reason}")]
    Qmp {
        /// The command.
        command: String,
        /// Its words.
        reason: String,
    },
    /// The plan is not one.
    #[error("the boot plan cannot be used: {0}")]
    Plan(String),
    /// The channel to the agent failed.
    #[error("the agent of the box cannot be reached: {0}")]
    Agent(String),
    /// The image's root could not be entered.
    #[error("the image does not boot: {reason}")]
    Stage0 {
        /// The agent's sentence.
        reason: String,
    },
    /// The agent could not do what it was asked.
    #[error("{message}")]
    Refused {
        /// The agent's sentence.
        message: String,
        /// The errno in the guest, if a system call failed.
        errno: Option<i32>,
    },
    /// A command ran longer than its limit.
    #[error("`{command}` was killed after its limit of {limit_ms} ms")]
    ExecTimeout {
        /// The command.
        command: String,
        /// The limit.
        limit_ms: u64,
    },
    /// A command was killed by its caller.
    #[error("`{command}` was killed by its caller")]
    ExecAborted {
        /// The command.
        command: String,
    },
    /// A file of the host's could not be read or written.
    #[error("{path}: {reason}")]
    HostFile {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
}

impl Fault {
    /// The error code in the public face.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Spawn { .. } => "ERR_BOX_SPAWN",
            Self::ShareSpawn { .. } | Self::ShareEnded { .. } => "ERR_BOX_SHARE",
            Self::EngineExited { .. } => "ERR_BOX_ENGINE_EXITED",
            Self::Panic { .. } => "ERR_BOX_PANIC",
            Self::Reset { .. } => "ERR_BOX_RESET",
            Self::PoweredOff { .. } => "ERR_BOX_POWERED_OFF",
            Self::Timeout { .. } => "ERR_BOX_TIMEOUT",
            Self::Killed { .. } => "ERR_BOX_KILLED",
            Self::State { .. } => "ERR_BOX_STATE",
            Self::Accelerator { .. } => "ERR_BOX_ACCELERATOR",
            Self::Record { .. } => "ERR_BOX_RECORD",
            Self::Ledger { .. } => "ERR_BOX_LEDGER",
            Self::Qmp { .. } => "ERR_BOX_QMP",
            Self::Plan(_) => "ERR_BOX_PLAN",
            Self::Agent(_) => "ERR_BOX_AGENT",
            Self::Stage0 { .. } => "ERR_BOX_STAGE0",
            Self::Refused { .. } => "ERR_BOX_REFUSED",
            Self::ExecTimeout { .. } => "ERR_BOX_EXEC_TIMEOUT",
            Self::ExecAborted { .. } => "ERR_BOX_EXEC_ABORTED",
            Self::HostFile { .. } => "ERR_BOX_HOST_FILE",
        }
    }
}

/// How an engine's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Its exit code, absent when a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "signal {signal}"),
            (Some(code), None) => write!(f, "exit code {code}"),
            (None, None) => f.write_str("for a reason that the system does not tell"),
        }
    }
}

/// A fault with the evidence: what the public error carries.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// See [`Fault::code`].
    pub code: &'static str,
    /// See [`Fault`].
    pub message: String,
    /// The errno in the guest, if a system call of the agent's failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The last mark of the boot that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_mark: Option<String>,
    /// Time since that mark, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<f64>,
    /// How the engine ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The last lines of the console.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub console_tail: String,
    /// The folder of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<PathBuf>,
}

impl From<&Fault> for Failure {
    fn from(fault: &Fault) -> Self {
        let errno = if let Fault::Refused { errno, .. } = fault { *errno } else { None };
        Self {
            code: fault.code(),
            message: fault.to_string(),
            errno,
            last_mark: None,
            since_ms: None,
            exit: None,
            console_tail: String::new(),
            record: None,
        }
    }
}

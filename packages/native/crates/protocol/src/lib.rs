//! What a boxlab host and the agent in the guest say to each other.
//!
//! One byte channel (a virtio-serial port) carries many flow-controlled streams ([`mux`]). The host opens every
//! stream; its first frame is a [`Request`]. After the reply, a stream carries raw bytes or further frames, as the
//! request says. A frame is a little-endian `u32` length and that many bytes of JSON ([`frame`]).

pub mod frame;
pub mod mux;
pub mod stage0;

use serde::{Deserialize, Serialize};

/// The version of this protocol. Host and agent are built together; a mismatch is refused at [`Request::Hello`].
pub const PROTOCOL_VERSION: u32 = 1;

/// The name of the virtio-serial port, as the guest sees it in `/sys/class/virtio-ports/*/name`.
pub const PORT_NAME: &str = "boxlab.agent.0";

/// What the agent prints on the console as its first act, followed by its CLOCK_MONOTONIC in nanoseconds.
pub const AGENT_UP_MARKER: &str = "boxlab: agent-up ";

/// What the agent prints on the console when it begins to serve the channel.
pub const AGENT_SERVING_MARKER: &str = "boxlab: agent-serving";

/// The first frame of a stream: what the host wants of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Request {
    /// Asks who answers. Reply: [`Reply`] of [`Hello`].
    Hello {
        /// The host's [`PROTOCOL_VERSION`].
        protocol: u32,
    },
    /// A stream of clock pings: each host frame [`Ping`] is answered by one [`Pong`], until the host ends it.
    Pings,
    /// Runs a command. Its standard streams are [`Request::Attach`] streams with the same id, opened by the host
    /// before the command starts. Replies: [`Reply`] of [`Started`], then [`Exited`]; the host may send
    /// [`Control`] frames. When the host drops this stream, the command's process group is killed.
    Exec(Exec),
    /// Carries one standard stream of a command as raw bytes.
    Attach {
        /// The id of the [`Exec`].
        exec: u64,
        /// Which stream.
        stream: Stdio,
    },
    /// Looks at whatever is at a path, through symbolic links. Reply: [`Reply`] of [`FileFacts`].
    Stat {
        /// Absolute path in the guest.
        path: String,
    },
    /// Reads a file. Reply: [`Reply`] of [`FileFacts`], then the bytes.
    ReadFile {
        /// Absolute path in the guest.
        path: String,
    },
    /// Writes a file (the host sends the bytes and ends its side). Reply at the end: [`Reply`] of [`FileFacts`].
    WriteFile {
        /// Absolute path in the guest; missing folders above it are made.
        path: String,
        /// Permission bits, for example 0o644.
        mode: u32,
    },
    /// Sends a file or folder as a tar stream. Reply: [`Reply`] of [`Empty`], then the bytes.
    ReadTar {
        /// Absolute path in the guest.
        path: String,
    },
    /// Unpacks a tar stream (the host sends it and ends its side). Reply at the end: [`Reply`] of [`Empty`].
    WriteTar {
        /// Absolute path of the folder in the guest; made when missing.
        path: String,
    },
    /// Connects to a TCP port on the guest's loopback. Reply: [`Reply`] of [`Empty`], then raw bytes both ways.
    Dial {
        /// The port.
        port: u16,
    },
    /// Asks systemd for all properties of a unit, or of the manager. Reply: [`Reply`] of an object.
    SystemdProperties {
        /// The unit's name; the manager when absent.
        unit: Option<String>,
    },
    /// Watches a unit. Replies: [`Reply`] of [`SystemdUnit`], now and at each change, until the host ends the stream.
    SystemdWatchUnit {
        /// Its name.
        name: String,
    },
    /// Watches the manager. Replies: [`Reply`] of [`SystemdManager`], in the same way.
    SystemdWatchManager,
    /// Asks for a text about systemd. Reply: [`Reply`] of [`Empty`], then the text.
    SystemdText {
        /// Which.
        what: SystemdText,
    },
    /// Powers the guest off. Reply: [`Reply`] of [`Empty`], as the last thing.
    Poweroff,
}

/// A text about systemd, in a form that people know it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SystemdText {
    /// The manager and all units in blocks, as `systemctl show --all` prints them: what a boot's analysis needs of it.
    Units,
    /// The same of the units that have a job.
    QueuedUnits,
    /// The jobs, as `systemctl list-jobs` prints them.
    Jobs,
    /// What the recorder of jobs has taken so far: a line of JSON for each D-Bus message.
    Recording,
}

/// A standard stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stdio {
    /// Host to guest.
    Stdin,
    /// Guest to host.
    Stdout,
    /// Guest to host; not used with a pty.
    Stderr,
}

/// A command to run in the guest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exec {
    /// Chosen by the host, unique on this channel.
    pub id: u64,
    /// The command and its arguments; never empty.
    pub argv: Vec<String>,
    /// Variables set on top of the agent's defaults (PATH, HOME, TERM).
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Working directory; `/` when absent.
    pub cwd: Option<String>,
    /// A user name or `uid[:gid]`, looked up in the guest's /etc/passwd; root when absent.
    pub user: Option<String>,
    /// Gives the command a terminal of this size; stdout then carries all its output.
    pub pty: Option<WindowSize>,
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
}

/// What the host tells a running command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Control {
    /// Sends a signal to the command's process group.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// Resizes the command's terminal.
    Resize(WindowSize),
}

/// An answer, or why there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply<T> {
    /// It worked.
    Ok(T),
    /// It did not.
    Err(Refusal),
}

/// Why the agent could not do what it was asked.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// One sentence that names the thing.
    pub message: String,
    /// The errno of the system call that failed, if one did.
    pub errno: Option<i32>,
}

/// An answer without content.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Empty {}

/// Who the agent is and what it found.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The agent's [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The agent's own version.
    pub version: String,
    /// The agent's process id: 1 in a bare box.
    pub pid: u32,
    /// `uname -r`.
    pub kernel: String,
    /// Guest CLOCK_MONOTONIC at the agent's first instruction of main, in nanoseconds.
    pub up_ns: u64,
    /// Guest CLOCK_MONOTONIC when it began to serve, in nanoseconds.
    pub serving_ns: u64,
    /// Modules it loaded, in order.
    pub modules: Vec<Module>,
    /// What went wrong on the way without stopping it, one sentence each.
    pub troubles: Vec<String>,
    /// Guest CLOCK_MONOTONIC when stage 0 handed over to the image's init, in nanoseconds; absent in a bare box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_root_ns: Option<u64>,
    /// Why stage 0 came to no end, as a sentence; the agent then serves from the initramfs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A kernel module that the agent loaded or could not load.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Module {
    /// The file's name.
    pub file: String,
    /// Time the system call took in the guest, in nanoseconds.
    pub took_ns: u64,
    /// Absent when it loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One clock question.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ping {
    /// Any number; it comes back.
    pub seq: u64,
}

/// One clock answer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    /// The number of the question.
    pub seq: u64,
    /// Guest CLOCK_MONOTONIC in nanoseconds.
    pub guest_ns: u64,
}

/// A command runs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Started {
    /// Its process id in the guest, also its process group.
    pub pid: u32,
}

/// A command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exited {
    /// Its exit code, absent when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From spawn to exit on the guest's clock, in nanoseconds.
    pub took_ns: u64,
    /// A process that it left behind still held an output stream, which was closed all the same.
    pub output_held: bool,
}

/// A file, as the guest's kernel tells.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFacts {
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// A unit's state, in the words of systemd (org.freedesktop.systemd1(5)); times in µs of CLOCK_MONOTONIC, 0 for never.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemdUnit {
    /// Its own name, whatever alias was asked for.
    pub id: String,
    /// `loaded`, `not-found`, `masked`, `bad-setting`, `error`.
    pub load_state: String,
    /// `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating`.
    pub active_state: String,
    /// The state of its kind.
    pub sub_state: String,
    /// `Type` of a service.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `Result`, of the kinds that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// A job for it is in the queue.
    pub has_job: bool,
    /// Its conditions were met when they were last looked at.
    pub condition_met: bool,
    /// When its conditions were looked at: its start job ran then.
    pub condition_us: u64,
    /// When it last began to start.
    pub inactive_exit_us: u64,
    /// When it was last started.
    pub active_enter_us: u64,
    /// When it last ended.
    pub inactive_enter_us: u64,
    /// How the last job for it ended that was seen to end: `done`, `failed`, `dependency`, `timeout`, `canceled`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_job: Option<String>,
    /// systemd has finished the boot.
    pub booted: bool,
}

/// The manager's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemdManager {
    /// `initializing`, `starting`, `running`, `degraded`, `maintenance`, `stopping`.
    pub state: String,
    /// Units that failed.
    pub failed: Vec<String>,
    /// Jobs in the queue.
    pub jobs: u64,
    /// Its stamps that are set (`Userspace`, `Finish`, …), in µs of CLOCK_MONOTONIC.
    pub times: std::collections::BTreeMap<String, u64>,
}

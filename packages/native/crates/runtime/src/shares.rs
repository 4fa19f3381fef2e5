//! Folders of the host that a guest mounts. Each is served by a virtiofsd, beside the engine and for as long as it.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::drain::Drained;
use crate::fault::{Exit, Fault};
use crate::plan::{BootPlan, Share};
use crate::process::{Process, wait_any};
use crate::record::Record;
use crate::spawn::{self, Launch, launch};
use crate::words::{self, SHARES_LOG};

/// How long an engine's end may take to be seen after its channel was closed in it: the memory of a large guest is freed
/// in between.
const ENGINE_GRACE: Duration = Duration::from_secs(1);
/// How long a daemon may take to end by itself after its engine. Less than whoever kills a box waits for all of it.
const DAEMON_GRACE: Duration = Duration::from_millis(200);

/// Both ends of what engine and daemon talk over (the vhost-user protocol).
#[derive(Debug)]
pub struct Connection {
    /// Connected.
    pub engine_end: UnixStream,
    /// virtiofsd wants to accept its one connection itself: this one waits for that.
    daemon_end: UnixListener,
}

impl Connection {
    fn new(id: &str, aside: &Path) -> io::Result<Self> {
        // Through a descriptor: an address has room for 107 bytes (unix(7)), and this folder may have a longer name.
        let folder = File::open(aside)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{id}.sock", folder.as_raw_fd()));
        let daemon_end = UnixListener::bind(&path)?;
        let engine_end = UnixStream::connect(&path);
        fs::remove_file(&path)?;
        Ok(Self { engine_end: engine_end?, daemon_end })
    }
}

/// How what served a folder ended although it should not have.
#[derive(Debug)]
pub struct ShareEnd {
    /// The folder.
    pub path: PathBuf,
    /// Its end.
    pub exit: Exit,
}

/// The daemons of one box. Dropped, they are killed and reaped.
#[derive(Debug)]
pub struct Shares {
    daemons: Vec<Daemon>,
    words: Option<Drained>,
}

#[derive(Debug)]
struct Daemon {
    path: PathBuf,
    process: Process,
    /// It ended before the engine did.
    is_early: bool,
}

impl Shares {
    /// Makes the connections of a plan's shares. Nothing of them is left in the folder.
    pub fn connect(plan: &BootPlan, aside: &Path) -> Result<Vec<Connection>, Fault> {
        let connections = plan.shares.iter().map(|share| Connection::new(&share.id, aside));
        let connections: io::Result<_> = connections.collect();
        connections.map_err(|error| Fault::HostFile { path: aside.to_owned(), reason: format!("no socket: {error}") })
    }

    /// Starts the daemons; gives the engine's ends of the connections.
    pub fn start(
        plan: &BootPlan,
        connections: Vec<Connection>,
        record: &Arc<Record>,
        aside: &Path,
    ) -> Result<(Self, Vec<OwnedFd>), Fault> {
        let mut shares = Self { daemons: Vec::new(), words: None };
        if plan.shares.is_empty() {
            return Ok((shares, Vec::new()));
        }
        let (heard, said) = io::pipe().map_err(|error| Fault::Plan(format!("no pipe: {error}")))?;
        shares.words = Some(words::listen(heard, SHARES_LOG, record)?);
        let mut engine_ends = Vec::new();
        for (share, Connection { engine_end, daemon_end }) in plan.shares.iter().zip(connections) {
            let Share { path, daemon, .. } = share;
            let started = || -> io::Result<Process> {
                let mut argv = daemon.args.clone();
                argv.push(format!("--fd={}", daemon_end.as_raw_fd()));
                let launched = launch(Launch {
                    binary: daemon.binary.clone(),
                    argv,
                    inherit: vec![daemon_end.into()],
                    words: said.try_clone()?,
                    dir: record.dir().to_owned(),
                    aside: aside.to_owned(),
                    readonly_mounts: daemon.readonly_mounts,
                })?;
                Ok(launched.process)
            };
            let process = started().map_err(|error| Fault::ShareSpawn {
                binary: daemon.binary.clone(),
                path: path.clone(),
                reason: spawn::words(&error),
            })?;
            shares.daemons.push(Daemon { path: path.clone(), process, is_early: false });
            engine_ends.push(engine_end.into());
        }
        Ok((shares, engine_ends))
    }

    /// Blocks until the engine has ended. A daemon that ends before it takes it along: the guest's files are gone then.
    pub fn wait(&mut self, engine: &Process) {
        let daemons = self.daemons.iter().map(|daemon| &daemon.process);
        wait_any(&std::iter::once(engine).chain(daemons).collect::<Vec<_>>());
        // An end of the engine's may be seen after the end of a daemon that it caused.
        if engine.wait_end(ENGINE_GRACE) {
            return;
        }
        for daemon in &mut self.daemons {
            daemon.is_early = daemon.process.wait_end(Duration::ZERO);
        }
        engine.kill();
    }

    /// Ends the daemons, whose engine is gone. Tells of the first one that ended as it should not: before the engine, or
    /// with a failure.
    pub fn end(mut self) -> Option<ShareEnd> {
        let mut first = None;
        for Daemon { path, process, is_early } in self.daemons.drain(..) {
            // With its channel it ends too, and with exit code 0; what it had forked is reaped by itself then.
            let by_itself = process.wait_end(DAEMON_GRACE);
            process.kill_group();
            let exit = process.reap();
            if is_early || by_itself && exit.code != Some(0) {
                first.get_or_insert(ShareEnd { path, exit });
            }
        }
        if let Some(words) = &self.words {
            words.wait();
        }
        first
    }
}

impl Drop for Shares {
    fn drop(&mut self) {
        for Daemon { process, .. } in self.daemons.drain(..) {
            process.kill_group();
            process.reap();
        }
    }
}

//! One box in this process, from its record folder to the end of its engine.

mod ends;
mod look;
mod race;

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;

use crate::agent::Agent;
use crate::board::{Board, Mark, Source};
use crate::console::Console;
use crate::counters::{self, Counters};
use crate::drain::Drained;
use crate::engine::{Channels, Engine, engine_of};
use crate::fault::{Exit, Failure, Fault};
use crate::fingerprint;
use crate::host::BootFile;
use crate::ledger::Turn;
use crate::plan::{Accel, BootPlan};
use crate::process::Process;
use crate::qmp::Qmp;
use crate::record::Record;
use crate::registry;
use crate::shares::{ShareEnd, Shares};
use crate::spawn::{self, Launch, find_program, launch};
use crate::words::{self, ENGINE_LOG};

/// The states of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing was started.
    Created,
    /// On its way to ready.
    Booting,
    /// Ready.
    Running,
    /// Ended as it should.
    Stopped,
    /// Ended otherwise.
    Failed,
}

impl State {
    /// The state's word in the public face.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Booting => "booting",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// What is asked for: a box that has not been planned yet.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoxOrder {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// The folder of its record, which must not hold one yet.
    pub record_dir: PathBuf,
    /// A folder, not there yet, for what the engine puts aside while it runs (the layers of disks that take writes).
    pub aside_dir: PathBuf,
    /// When the caller was asked for the box, on the host's clock.
    #[serde(default)]
    pub start_ns: u64,
    /// The same as a date.
    pub started_at: String,
    /// When the record stays: `always`, `on-failure` or `never`. The harness sees to it; a sweep reads it.
    pub keep: String,
    /// The most that each file of the record may have, in bytes.
    pub limit_bytes: u64,
    /// The test that asked for it.
    pub booted_by: Option<Value>,
    /// The environment that owns it: when that ends, it is killed.
    #[serde(skip)]
    pub owner: u64,
    /// Its place in the ledger, which it leaves when its engine is gone.
    #[serde(skip)]
    pub turn: Option<Arc<Turn>>,
}

/// One box.
#[derive(Debug)]
pub struct Machine {
    /// Its id.
    pub id: String,
    /// The environment that owns it: when that ends, it is killed.
    pub owner: u64,
    /// Its record.
    pub record: Arc<Record>,
    /// Its marks.
    pub board: Arc<Board>,
    pub(crate) file: Mutex<BootFile>,
    pub(crate) live: Mutex<Option<Arc<Live>>>,
    /// What reads KVM's counters of it, where that was asked for and can be done.
    pub(crate) counters: OnceCell<Counters>,
    state: watch::Sender<State>,
    exit: watch::Sender<Option<Exit>>,
    share_end: OnceLock<ShareEnd>,
    turn: Option<Arc<Turn>>,
    aside: PathBuf,
    killed: AtomicBool,
    pub(crate) stopping: AtomicBool,
    /// Commands that were run, and those of them that could not be or were cut short.
    pub commands: AtomicU64,
    /// See [`Machine::commands`].
    pub exec_errors: AtomicU64,
}

/// What exists while an engine runs.
#[derive(Debug)]
pub struct Live {
    pub(crate) plan: BootPlan,
    pub(crate) process: Process,
    pub(crate) qmp: Qmp,
    pub(crate) console: Console,
    pub(crate) words: Drained,
    pub(crate) agent: Option<Agent>,
}

impl Machine {
    /// Makes the record folder.
    pub fn create(order: BoxOrder) -> Result<Arc<Self>, Fault> {
        let record = Arc::new(Record::create(&order.record_dir, order.limit_bytes)?);
        let board = Arc::new(Board::new(Arc::clone(&record)));
        board.set(Mark::host("start", Source::Harness, order.start_ns));
        let machine = Arc::new(Self {
            file: Mutex::new(BootFile::new(&order)),
            id: order.id,
            owner: order.owner,
            turn: order.turn,
            aside: order.aside_dir,
            record,
            board,
            live: Mutex::new(None),
            counters: OnceCell::new(),
            state: watch::channel(State::Created).0,
            exit: watch::channel(None).0,
            share_end: OnceLock::new(),
            killed: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            commands: AtomicU64::new(0),
            exec_errors: AtomicU64::new(0),
        });
        machine.write_file();
        machine.board.now("folder-ready");
        registry::created(&machine);
        Ok(machine)
    }

    /// Boots the plan and waits until the box is ready. On any error the engine is gone when this returns.
    pub async fn boot(self: &Arc<Self>, plan: BootPlan) -> Result<(), Failure> {
        if self.state() != State::Created {
            let fault = Fault::State { state: self.state().name(), need: "a box boots once, from the state created" };
            return Err(self.failure(&fault));
        }
        if self.killed.load(Ordering::SeqCst) {
            return Err(self.fail(&Fault::Killed { waited: "its plan".to_owned() }).await);
        }
        self.state.send_replace(State::Booting);
        let waits = plan.ready.is_some();
        match self.boot_steps(plan).await {
            Ok(()) => {
                if waits {
                    self.running();
                }
                Ok(())
            }
            Err(fault) => Err(self.fail(&fault).await),
        }
    }

    /// The harness says that the box is ready, since its plan named no mark for that.
    pub fn become_ready(&self, at_ns: u64) {
        self.board.set(Mark::host("ready", Source::Harness, at_ns));
        self.running();
    }

    fn running(&self) {
        self.state.send_if_modified(|state| {
            let booting = *state == State::Booting;
            if booting {
                *state = State::Running;
            }
            booting
        });
        if let Some(turn) = &self.turn {
            turn.ready();
        }
    }

    async fn boot_steps(self: &Arc<Self>, plan: BootPlan) -> Result<(), Fault> {
        let limit_ms = plan.limits.boot_ms;
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        let ready = plan.ready.clone();
        let engine = engine_of(&plan);
        self.board.now("plan-begin");
        let live = self.launch(plan, engine.as_ref())?;
        let bound = Some((deadline, limit_ms));
        let begun = async {
            self.start_machine(&live, engine.accel()).await?;
            match &live.agent {
                Some(agent) => agent.greet(&self.record, &self.board).await,
                None => Ok(()),
            }
        };
        let waited = if live.agent.is_some() { "`agent-ready`" } else { "`vm-start`" };
        self.race(self.recorded(begun), waited, bound).await?;
        if let Some(ready) = &ready {
            let come = async { Ok(self.board.wait(ready).await) };
            let mark = self.race(self.recorded(come), &Self::waited(ready), bound).await?;
            if ready != "ready" {
                self.board.set(Mark { mark: "ready".to_owned(), source: Source::Runtime, detail: None, ..mark });
            }
        }
        if let Some(agent) = &live.agent {
            agent.sample_clock_soon(&self.record);
        }
        Ok(())
    }

    /// A boot that cannot be recorded cannot be judged: it fails, whatever the guest does.
    async fn recorded<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        tokio::select! {
            biased;
            fault = self.record.breaks() => Err(fault),
            done = work => done,
        }
    }

    fn launch(self: &Arc<Self>, plan: BootPlan, engine: &dyn Engine) -> Result<Arc<Live>, Fault> {
        let pair = || UnixStream::pair().map_err(|error| Fault::Plan(format!("no socket pair: {error}")));
        let ((qmp, qmp_end), (channel, channel_end)) = (pair()?, pair()?);
        let pipe = || std::io::pipe().map_err(|error| Fault::Plan(format!("no pipe: {error}")));
        let ((console, console_end), (heard, words)) = (pipe()?, pipe()?);
        let aside = self.aside.clone();
        std::fs::create_dir_all(&aside)
            .map_err(|error| Fault::HostFile { path: aside.clone(), reason: error.to_string() })?;
        let connections = Shares::connect(&plan, &aside)?;
        let share_ends: Vec<RawFd> = connections.iter().map(|connection| connection.engine_end.as_raw_fd()).collect();
        let channels = Channels {
            qmp: qmp_end.as_raw_fd(),
            console: console_end.as_raw_fd(),
            agent: channel_end.as_raw_fd(),
            shares: &share_ends,
        };
        let argv = engine.arguments(&plan, &self.id, channels);
        let binary = find_program(&plan.engine.binary).unwrap_or_else(|| plan.engine.binary.clone());
        let mut inherit: Vec<OwnedFd> = vec![qmp_end.into(), console_end.into()];
        if plan.agent {
            inherit.push(channel_end.into());
        }
        let console = Console::start(console, &self.record, &self.board, &plan.console_marks)?;
        let by_hand = engine.by_hand(&plan, &self.id);
        self.edit_file(|file| file.planned(&plan, &binary, &argv, &by_hand));
        // Before the fork: whoever finds an engine without an owner needs to know whose it was.
        self.write_file();
        self.board.now("plan-ready");
        let dir = self.record.dir().to_owned();
        let heard = words::listen(heard, ENGINE_LOG, &self.record)?;
        let (shares, engine_ends) = Shares::start(&plan, connections, &self.record, &aside)?;
        inherit.extend(engine_ends);
        let order = Launch { binary: binary.clone(), argv, inherit, words, dir, aside, readonly_mounts: false };
        let launched = launch(order).map_err(|error| Fault::Spawn { binary, reason: spawn::words(&error) })?;
        self.board.set(Mark::host("spawn", Source::Runtime, launched.fork_ns));
        let pid = launched.process.pid();
        self.edit_file(|file| file.spawned(pid));
        let qmp = Qmp::start(qmp, &self.record, &self.board)?;
        let agent = if plan.agent { Some(Agent::start(channel)?) } else { None };
        let live = Arc::new(Live { plan, process: launched.process, qmp, console, words: heard, agent });
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        self.watch_end(&live, shares)?;
        // A kill that came while the engine was being started found nothing to kill.
        if self.killed.load(Ordering::SeqCst) {
            live.process.kill();
        }
        Ok(live)
    }

    /// The reply to `qmp_capabilities` is the first proof that the engine's main loop runs; the greeting is not.
    async fn start_machine(self: &Arc<Self>, live: &Arc<Live>, asked: Accel) -> Result<(), Fault> {
        let (_, at_ns) = live.qmp.execute("qmp_capabilities", None).await?;
        self.board.set(Mark::host("qmp-ready", Source::Qmp, at_ns));
        let (_, at_ns) = live.qmp.execute("cont", None).await?;
        self.board.set(Mark::host("vm-start", Source::Qmp, at_ns));
        let (kvm, _) = live.qmp.execute("query-kvm", None).await?;
        let proved = if kvm["enabled"] == Value::Bool(true) { Accel::Kvm } else { Accel::Tcg };
        self.edit_file(|file| file.proved = Some(proved));
        if proved != asked {
            return Err(Fault::Accelerator { asked: asked.name(), proved: proved.name() });
        }
        if live.plan.counters {
            counters::start(self, live, proved);
        }
        // The fingerprints are off the path to ready.
        let (machine, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            let prints = fingerprint::take(&live.plan, &live.qmp).await;
            machine.edit_file(|file| file.fingerprinted(prints));
            machine.write_file();
        });
        Ok(())
    }

    pub(crate) fn edit_file(&self, edit: impl FnOnce(&mut BootFile)) {
        edit(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn write_file(&self) {
        // The lock is held over the write, so that an older state never replaces a newer one.
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        self.record.replace("boot.json", &file.to_json());
    }
}

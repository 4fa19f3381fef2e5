//! One box in this process, from its record folder to the end of its engine.

mod race;

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agent::{Agent, ClockSample};
use crate::board::{Board, Mark, Source};
use crate::clock::now_ns;
use crate::console::Console;
use crate::engine::{Channels, Engine, engine_of};
use crate::fault::{Exit, Failure, Fault};
use crate::fingerprint;
use crate::host::BootFile;
use crate::plan::{Accel, BootPlan};
use crate::process::{Process, Usage};
use crate::qmp::Qmp;
use crate::record::Record;
use crate::registry;
use crate::spawn::{Launch, find_program, launch};

/// How long a killed engine may take to be gone. SIGKILL is not refused; this bounds a sick host.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// For all pings of one call: each takes well under a millisecond.
const PING_LIMIT: Duration = Duration::from_secs(30);
/// Lines of the console that an error shows.
const TAIL_LINES: usize = 20;

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
    state: watch::Sender<State>,
    exit: watch::Sender<Option<Exit>>,
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
    pub(crate) agent: Option<Agent>,
}

impl Machine {
    /// Makes the record folder; `start_ns` is when the caller was asked for the box, on the host's clock, and
    /// `started_at` the same as a date.
    pub fn create(
        id: &str,
        name: Option<&str>,
        owner: u64,
        dir: &Path,
        start_ns: u64,
        started_at: &str,
    ) -> Result<Arc<Self>, Fault> {
        let record = Arc::new(Record::create(dir)?);
        let board = Arc::new(Board::new(Arc::clone(&record)));
        board.set(Mark::host("start", Source::Harness, start_ns));
        let machine = Arc::new(Self {
            id: id.to_owned(),
            owner,
            file: Mutex::new(BootFile::new(id, name, start_ns, started_at)),
            record,
            board,
            live: Mutex::new(None),
            state: watch::channel(State::Created).0,
            exit: watch::channel(None).0,
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
        if self.state() != State::Created || self.killed.load(Ordering::SeqCst) {
            let fault = Fault::State { state: self.state().name(), need: "a box boots once, from the state created" };
            return Err(self.failure(&fault));
        }
        self.state.send_replace(State::Booting);
        match self.boot_steps(plan).await {
            Ok(()) => {
                self.state.send_if_modified(|state| {
                    let booting = *state == State::Booting;
                    if booting {
                        *state = State::Running;
                    }
                    booting
                });
                Ok(())
            }
            Err(fault) => Err(self.fail(&fault).await),
        }
    }

    async fn boot_steps(self: &Arc<Self>, plan: BootPlan) -> Result<(), Fault> {
        let limit_ms = plan.limits.boot_ms;
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        let ready = plan.ready.clone();
        let engine = engine_of(&plan);
        self.board.now("plan-begin");
        let live = self.launch(plan, engine.as_ref())?;
        let steps = async {
            self.start_machine(&live, engine.accel()).await?;
            if let Some(agent) = &live.agent {
                agent.greet(&self.record, &self.board).await?;
            }
            let mark = self.board.wait(&ready).await;
            if ready != "ready" {
                self.board.set(Mark { mark: "ready".to_owned(), source: Source::Runtime, detail: None, ..mark });
            }
            Ok(())
        };
        self.race(steps, &format!("`{ready}`"), Some((deadline, limit_ms))).await?;
        if let Some(agent) = &live.agent {
            agent.sample_clock_soon(&self.record);
        }
        Ok(())
    }

    fn launch(self: &Arc<Self>, plan: BootPlan, engine: &dyn Engine) -> Result<Arc<Live>, Fault> {
        let pair = || UnixStream::pair().map_err(|error| Fault::Plan(format!("no socket pair: {error}")));
        let ((qmp, qmp_end), (channel, channel_end)) = (pair()?, pair()?);
        let (console, console_end) = std::io::pipe().map_err(|error| Fault::Plan(format!("no pipe: {error}")))?;
        let channels =
            Channels { qmp: qmp_end.as_raw_fd(), console: console_end.as_raw_fd(), agent: channel_end.as_raw_fd() };
        let argv = engine.arguments(&plan, &self.id, channels);
        let binary = find_program(&plan.engine.binary).unwrap_or_else(|| plan.engine.binary.clone());
        let mut inherit: Vec<OwnedFd> = vec![qmp_end.into(), console_end.into()];
        if plan.agent {
            inherit.push(channel_end.into());
        }
        let console = Console::start(console, &self.record, &self.board, &plan.console_marks)?;
        self.edit_file(|file| file.planned(&plan, &binary, &argv));
        // Before the fork: whoever finds an engine without an owner needs to know whose it was.
        self.write_file();
        self.board.now("plan-ready");
        let dir = self.record.dir().to_owned();
        let launched = launch(Launch { binary, argv, inherit, log: self.record.engine_log()?, dir })?;
        self.board.set(Mark::host("spawn", Source::Runtime, launched.fork_ns));
        let qmp = Qmp::start(qmp, &self.record, &self.board)?;
        let agent = if plan.agent { Some(Agent::start(channel)?) } else { None };
        let live = Arc::new(Live { plan, process: launched.process, qmp, console, agent });
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        self.watch_end(&live)?;
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
        // The fingerprints are off the path to ready.
        let (machine, live) = (Arc::clone(self), Arc::clone(live));
        tokio::spawn(async move {
            let prints = fingerprint::take(&live.plan, &live.qmp).await;
            machine.edit_file(|file| file.fingerprinted(prints));
            machine.write_file();
        });
        Ok(())
    }

    /// Reaps the engine in a thread of its own, so that no zombie stays whatever else happens.
    fn watch_end(self: &Arc<Self>, live: &Arc<Live>) -> Result<(), Fault> {
        let (machine, live) = (Arc::clone(self), Arc::clone(live));
        let run = move || {
            let exit = live.process.reap();
            let at_ns = now_ns();
            live.console.drain();
            machine.board.set(Mark::host("engine-exit", Source::Runtime, at_ns).with(json!(exit)));
            machine.ended(exit);
        };
        let spawned = std::thread::Builder::new().name("boxlab-reap".to_owned()).spawn(run);
        spawned.map(drop).map_err(|error| Fault::Plan(format!("no thread to wait for the engine: {error}")))
    }

    fn ended(&self, exit: Exit) {
        let wanted = self.stopping.load(Ordering::SeqCst) || self.board.find("guest-shutdown").is_some();
        let outcome = match (self.killed.load(Ordering::SeqCst), wanted) {
            (true, _) => "killed",
            (false, true) => "stopped",
            (false, false) => "failed",
        };
        self.edit_file(|file| file.ended(outcome, exit));
        self.state.send_if_modified(|state| {
            // A boot that fails says so itself, with its reason.
            let running = *state == State::Running;
            if running {
                *state = if outcome == "failed" { State::Failed } else { State::Stopped };
            }
            running
        });
        self.write_file();
        self.exit.send_replace(Some(exit));
    }

    /// Ends a boot: the engine is killed, the record says why, and the evidence goes into the failure.
    async fn fail(&self, fault: &Fault) -> Failure {
        let mut failure = self.failure(fault);
        self.end_engine().await;
        // The console is whole only now.
        failure.console_tail = self.console_tail();
        failure.exit = self.exit();
        self.edit_file(|file| file.failed(&failure, self.killed.load(Ordering::SeqCst)));
        self.state.send_replace(State::Failed);
        self.write_file();
        registry::failed();
        failure
    }

    /// Kills the engine if there is one, and returns when it is gone and its console is in the record.
    pub async fn end_engine(&self) {
        if let Some(live) = self.live() {
            live.process.kill();
            let mut exit = self.exit.subscribe();
            self.dies(&mut exit, KILL_GRACE).await;
        }
    }

    /// Keeps a failure of the harness (an image, an abort before the boot) in the record.
    pub fn note_failure(&self, code: &str, message: &str) {
        self.edit_file(|file| file.noted(code, message));
        self.state.send_replace(State::Failed);
        self.write_file();
        registry::failed();
    }

    /// Kills the box at once and returns when its process is gone. Safe to call in any state, any number of times.
    pub fn kill(&self) {
        // Whoever ended first has the say: a box that is stopped was not killed.
        if self.exit().is_none() {
            self.killed.store(true, Ordering::SeqCst);
        }
        if let Some(live) = self.live() {
            live.process.kill();
            live.process.wait_end(KILL_GRACE);
        }
    }

    /// Asks the agent for the guest's clock, `count` times.
    pub async fn pings(&self, count: u64) -> Result<Vec<ClockSample>, Fault> {
        let live = self.agent_of("a ping needs a running box with an agent")?;
        let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
        let bound = (Instant::now() + PING_LIMIT, PING_LIMIT.as_millis() as u64);
        self.race(agent.pings(count), "the agent to answer pings", Some(bound)).await
    }

    /// Waits for a mark, at most `limit_ms`.
    pub async fn wait_mark(&self, mark: &str, limit_ms: u64) -> Result<Mark, Fault> {
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        self.race(async { Ok(self.board.wait(mark).await) }, &format!("`{mark}`"), Some((deadline, limit_ms))).await
    }

    /// Its state.
    pub fn state(&self) -> State {
        *self.state.borrow()
    }

    /// How its engine ended, once it did.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Resolves when the engine has ended.
    pub async fn wait_exit(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        let ended = exit.wait_for(Option::is_some).await;
        ended.ok().and_then(|exit| *exit).unwrap_or(Exit { code: None, signal: None })
    }

    /// Its engine's process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        if self.exit().is_some() { None } else { self.live().map(|live| live.process.pid()) }
    }

    /// What its engine's process has used; `None` when none runs.
    pub fn usage(&self) -> Option<Usage> {
        if self.exit().is_some() { None } else { self.live().and_then(|live| live.process.usage()) }
    }

    /// The accelerator that QMP proved.
    pub fn proved(&self) -> Option<Accel> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).proved
    }

    /// boot.json as it stands.
    pub fn boot_json(&self) -> Value {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).to_json()
    }

    /// The last lines of the console.
    pub fn console_tail(&self) -> String {
        self.live().map_or_else(String::new, |live| live.console.tail(TAIL_LINES))
    }

    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The agent of a running box, or why there is none to ask.
    pub(crate) fn agent_of(&self, need: &'static str) -> Result<Arc<Live>, Fault> {
        match (self.live(), self.state()) {
            (Some(live), State::Running | State::Booting) if live.agent.is_some() => Ok(live),
            (Some(_), State::Running) => Err(Fault::State { state: "running without an agent", need }),
            (_, state) => Err(Fault::State { state: state.name(), need }),
        }
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

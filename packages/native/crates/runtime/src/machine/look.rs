//! What is known of a box: nothing in here changes it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{Live, Machine, State};
use crate::agent::ClockSample;
use crate::board::Mark;
use crate::fault::{Exit, Fault};
use crate::plan::Accel;
use crate::process::Usage;

/// For all pings of one call: each takes well under a millisecond.
const PING_LIMIT: Duration = Duration::from_secs(30);
/// The engine prints some hundred lines.
const MAP_LIMIT: Duration = Duration::from_secs(10);
/// Lines of the console that an error shows.
const TAIL_LINES: usize = 20;

impl Machine {
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
            // The box went without anybody waiting for something: the next one who asks hears why.
            (Some(_), State::Failed) if self.exit().is_some() => Err(self.why_ended("the next call")),
            (_, state) => Err(Fault::State { state: state.name(), need }),
        }
    }

    /// How many bytes of the console are in the record.
    pub fn console_length(&self) -> u64 {
        self.live().map_or(0, |live| live.console.length())
    }

    /// Waits until more than `length` bytes of the console are in the record, at most `limit_ms`.
    pub async fn wait_console(&self, length: u64, limit_ms: u64) -> Result<u64, Fault> {
        let live =
            self.live().ok_or(Fault::State { state: self.state().name(), need: "it has a console once it boots" })?;
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        let more = async { Ok(live.console.beyond(length).await) };
        self.race(more, "more on the console", Some((deadline, limit_ms))).await
    }

    /// Asks the agent for the guest's clock, `count` times.
    pub async fn pings(&self, count: u64) -> Result<Vec<ClockSample>, Fault> {
        let live = self.agent_of("a ping needs a running box with an agent")?;
        let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
        let bound = (Instant::now() + PING_LIMIT, PING_LIMIT.as_millis() as u64);
        self.race(agent.pings(count), "the agent to answer pings", Some(bound)).await
    }

    /// The machine's memory map with the owners of its regions as HMP prints it, and what its PCI functions are, which is
    /// null on a machine without PCI.
    pub async fn memory_map(&self) -> Result<(String, Value), Fault> {
        let need = "the memory map needs a running box";
        let live = self.live().ok_or(Fault::State { state: self.state().name(), need })?;
        let asked = async {
            let words = Some(serde_json::json!({ "command-line": "info mtree -f -o" }));
            let (mtree, _) = live.qmp.execute("human-monitor-command", words).await?;
            let pci = live.qmp.execute("query-pci", None).await.map_or(Value::Null, |(pci, _)| pci);
            Ok((mtree.as_str().unwrap_or_default().to_owned(), pci))
        };
        let bound = (Instant::now() + MAP_LIMIT, MAP_LIMIT.as_millis() as u64);
        self.race(asked, "the memory map", Some(bound)).await
    }

    /// Waits for a mark, at most `limit_ms`.
    pub async fn wait_mark(&self, mark: &str, limit_ms: u64) -> Result<Mark, Fault> {
        let deadline = Instant::now() + Duration::from_millis(limit_ms);
        self.race(async { Ok(self.board.wait(mark).await) }, &Self::waited(mark), Some((deadline, limit_ms))).await
    }
}

//! What systemd of the guest says about itself, asked through the agent.

use std::sync::Arc;
use std::time::Duration;

use boxlab_protocol::mux::{Stream, touch};
use boxlab_protocol::{Empty, Request, SystemdText};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::agent::reply;
use crate::fault::Fault;
use crate::machine::Machine;

const NEED: &str = "systemd is asked through the agent of a running box";

/// All properties of a unit, or of the manager: one JSON object.
pub async fn properties(machine: &Arc<Machine>, unit: Option<String>, limit_ms: u64) -> Result<Value, Fault> {
    let live = machine.agent_of(NEED)?;
    let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
    let deadline = Instant::now() + Duration::from_millis(limit_ms);
    let asked = async { Ok(agent.ask(&Request::SystemdProperties { unit }).await?.0) };
    machine.race(asked, "systemd's properties", Some((deadline, limit_ms))).await
}

/// A text about systemd, whole.
pub async fn text(machine: &Arc<Machine>, what: SystemdText, limit_ms: u64) -> Result<Vec<u8>, Fault> {
    let live = machine.agent_of(NEED)?;
    let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
    let deadline = Instant::now() + Duration::from_millis(limit_ms);
    let asked = async {
        let torn = |error: String| Fault::Agent(format!("systemd's words could not be read to their end: {error}"));
        let (_, mut stream): (Empty, _) = agent.ask(&Request::SystemdText { what }).await?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text).await.map_err(|error| torn(error.to_string()))?;
        // The end of a stream is not yet the end of the text: an agent that dies ends it too.
        touch(&mut stream).await.map_err(|error| torn(error.to_string()))?;
        Ok(text)
    };
    machine.race(asked, "systemd's words", Some((deadline, limit_ms))).await
}

/// A watch of a unit or of the manager. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    machine: Arc<Machine>,
    stream: Mutex<Option<Stream>>,
}

impl Watch {
    /// Begins to watch a unit, or without a name the manager.
    pub async fn begin(machine: &Arc<Machine>, unit: Option<String>) -> Result<Self, Fault> {
        let live = machine.agent_of(NEED)?;
        let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
        let request = match unit {
            Some(name) => Request::SystemdWatchUnit { name },
            None => Request::SystemdWatchManager,
        };
        let stream = machine.race(agent.open(&request), "systemd", None).await?;
        Ok(Self { machine: Arc::clone(machine), stream: Mutex::new(Some(stream)) })
    }

    /// The state, at once the first time and then whenever it has changed. Bounded by its caller alone.
    pub async fn next(&self) -> Result<Value, Fault> {
        let mut slot = self.stream.lock().await;
        let Some(stream) = slot.as_mut() else { return Err(Fault::Agent("the watch was ended".to_owned())) };
        let next = self.machine.race(reply(stream), "a change of systemd's", None).await;
        if next.is_err() {
            *slot = None;
        }
        next
    }
}

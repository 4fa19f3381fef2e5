//! The host's end of the agent channel.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::atomic::{AtomicU64, Ordering};

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::{self, Opener, Stream};
use boxlab_protocol::{Hello, PROTOCOL_VERSION, Ping, Pong, Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::net::UnixStream;
use tokio::sync::{Mutex, MutexGuard};

use crate::board::{Board, Mark, Source};
use crate::clock::now_ns;
use crate::fault::Fault;
use crate::record::Record;

/// Clock questions at one go: the one with the shortest way there and back has the smallest error.
const CLOCK_PINGS: u64 = 8;

/// The agent of one box.
#[derive(Debug, Clone)]
pub struct Agent {
    opener: Opener,
    next_id: std::sync::Arc<AtomicU64>,
    opening: std::sync::Arc<Mutex<()>>,
}

/// One exchange of clocks, in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockSample {
    /// Host clock before the question was sent.
    pub host_send_ns: u64,
    /// The guest's answer.
    pub guest_ns: u64,
    /// Host clock when the answer was read.
    pub host_recv_ns: u64,
}

impl Agent {
    /// Starts the channel. What is sent before the guest listens waits in the engine.
    pub fn start(stream: StdStream) -> Result<Self, Fault> {
        let prepared = stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream));
        let stream = prepared.map_err(|error| Fault::Agent(error.to_string()))?;
        let (opener, drive) = mux::host(stream);
        tokio::spawn(drive);
        Ok(Self { opener, next_id: std::sync::Arc::new(AtomicU64::new(1)), opening: std::sync::Arc::default() })
    }

    /// An id that no other command on this channel has.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The turn to open several streams that belong together. Without it, commands that have some of theirs could each
    /// wait for the rest of them for ever, where streams are scarce.
    pub async fn opening(&self) -> MutexGuard<'_, ()> {
        self.opening.lock().await
    }

    /// Opens a stream and says what it is for.
    pub async fn open(&self, request: &Request) -> Result<Stream, Fault> {
        let mut stream = self.opener.open().await.map_err(|error| Fault::Agent(error.to_string()))?;
        frame::write(&mut stream, request).await.map_err(agent_fault)?;
        Ok(stream)
    }

    /// Opens a stream and waits for its first reply.
    pub async fn ask<T: DeserializeOwned>(&self, request: &Request) -> Result<(T, Stream), Fault> {
        let mut stream = self.open(request).await?;
        let reply = reply(&mut stream).await?;
        Ok((reply, stream))
    }

    /// Waits for the agent's first word, keeps it, and sets `agent-up` (guest's clock) and `agent-ready`.
    pub async fn greet(&self, record: &Record, board: &Board) -> Result<(), Fault> {
        let (hello, _): (Hello, _) = self.ask(&Request::Hello { protocol: PROTOCOL_VERSION }).await?;
        let at_ns = now_ns();
        board.set(Mark::guest("agent-up", Source::Agent, hello.up_ns));
        if let Some(switch_root_ns) = hello.switch_root_ns {
            board.set(Mark::guest("switch-root", Source::Agent, switch_root_ns));
        }
        record.replace("guest/agent.json", &hello);
        if let Some(reason) = hello.failure {
            return Err(Fault::Stage0 { reason });
        }
        board.set(Mark::host("agent-ready", Source::Agent, at_ns).with(json!({ "servingGuestNs": hello.serving_ns })));
        Ok(())
    }

    /// Asks for the guest's clock a few times.
    pub async fn pings(&self, count: u64) -> Result<Vec<ClockSample>, Fault> {
        let mut stream = self.open(&Request::Pings).await?;
        let mut samples = Vec::new();
        for seq in 0..count {
            let host_send_ns = now_ns();
            frame::write(&mut stream, &Ping { seq }).await.map_err(agent_fault)?;
            let pong: Pong = frame::read(&mut stream).await.map_err(agent_fault)?;
            samples.push(ClockSample { host_send_ns, guest_ns: pong.guest_ns, host_recv_ns: now_ns() });
        }
        Ok(samples)
    }

    /// Keeps a few clock exchanges in the record.
    pub async fn sample_clock(&self, record: &Record) -> Result<(), Fault> {
        for sample in self.pings(CLOCK_PINGS).await? {
            record.clock(&sample);
        }
        Ok(())
    }

    /// The same, without anybody waiting for it.
    pub fn sample_clock_soon(&self, record: &std::sync::Arc<Record>) {
        let (agent, record) = (self.clone(), std::sync::Arc::clone(record));
        tokio::spawn(async move {
            // A box that ends meanwhile has no late samples.
            drop(agent.sample_clock(&record).await);
        });
    }
}

/// Reads a reply; a refusal of the agent's is a fault.
pub async fn reply<T: DeserializeOwned>(stream: &mut Stream) -> Result<T, Fault> {
    match frame::read(stream).await.map_err(agent_fault)? {
        Reply::Ok(value) => Ok(value),
        Reply::Err(refusal) => Err(Fault::Refused { message: refusal.message, errno: refusal.errno }),
    }
}

/// A channel that failed.
pub fn agent_fault(error: FrameError) -> Fault {
    Fault::Agent(error.to_string())
}

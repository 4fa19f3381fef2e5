//! Where a command meets its standard streams, which come as streams of their own, in any order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use boxlab_protocol::Stdio;
use boxlab_protocol::mux::Stream;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::fault::Fault;

/// How long a command waits for its streams.
const MEETING: Duration = Duration::from_secs(10);

/// How long a stream waits for its command: longer, so that a command that gives up can tell what it lacked.
const OFFER: Duration = Duration::from_secs(15);

/// The streams that wait for their commands, and the commands that wait for their streams.
#[derive(Debug, Default)]
pub struct Attachments {
    slots: Mutex<HashMap<u64, Slot>>,
}

#[derive(Debug, Default)]
struct Slot {
    streams: HashMap<Stdio, Waiting>,
    came: Arc<Notify>,
}

/// A stream, and who is told when it is taken (by the end of the sender).
#[derive(Debug)]
struct Waiting {
    stream: Stream,
    _taken: oneshot::Sender<()>,
}

/// The standard streams of a command.
#[derive(Debug)]
pub struct Attached {
    /// Host to guest.
    pub stdin: Stream,
    /// Guest to host.
    pub stdout: Stream,
    /// Guest to host; absent with a terminal.
    pub stderr: Option<Stream>,
}

impl Attachments {
    fn slots(&self) -> MutexGuard<'_, HashMap<u64, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a stream for its command; drops it, which resets it, when the command does not come.
    pub async fn offer(&self, exec: u64, which: Stdio, stream: Stream) {
        let (taken, until_taken) = oneshot::channel();
        {
            let mut slots = self.slots();
            let slot = slots.entry(exec).or_default();
            slot.streams.insert(which, Waiting { stream, _taken: taken });
            slot.came.notify_one();
        }
        if timeout(OFFER, until_taken).await.is_err() {
            self.slots().remove(&exec);
        }
    }

    /// Waits for the streams of a command.
    pub async fn collect(&self, exec: u64, terminal: bool) -> Result<Attached, Fault> {
        let came = Arc::clone(&self.slots().entry(exec).or_default().came);
        let all = async {
            loop {
                if let Some(attached) = self.take(exec, terminal) {
                    return attached;
                }
                came.notified().await;
            }
        };
        timeout(MEETING, all).await.map_err(|_| {
            let there = self.slots().remove(&exec).unwrap_or_default().streams;
            let missing = [Stdio::Stdin, Stdio::Stdout, Stdio::Stderr]
                .into_iter()
                .filter(|which| !(there.contains_key(which) || terminal && *which == Stdio::Stderr))
                .map(|which| format!("{which:?}").to_lowercase())
                .collect::<Vec<_>>()
                .join(" and ");
            Fault::NotAttached { exec, missing, seconds: MEETING.as_secs() }
        })
    }

    fn take(&self, exec: u64, terminal: bool) -> Option<Attached> {
        let mut slots = self.slots();
        let there = &slots.get(&exec)?.streams;
        let complete = there.contains_key(&Stdio::Stdin)
            && there.contains_key(&Stdio::Stdout)
            && (terminal || there.contains_key(&Stdio::Stderr));
        if !complete {
            return None;
        }
        let mut streams = slots.remove(&exec)?.streams;
        Some(Attached {
            stdin: streams.remove(&Stdio::Stdin)?.stream,
            stdout: streams.remove(&Stdio::Stdout)?.stream,
            stderr: if terminal { None } else { Some(streams.remove(&Stdio::Stderr)?.stream) },
        })
    }
}

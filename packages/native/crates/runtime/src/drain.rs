//! Waiting for a reader to come to the end of its stream, with a bound.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a reader may go on after its engine has ended. What the engine wrote takes a moment; a process that the
/// engine left behind may hold the stream open for ever.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Held by a reader; dropped at its end.
pub type Reading = Sender<Infallible>;

/// Tells when a reader has ended.
#[derive(Debug)]
pub struct Drained(Mutex<Receiver<Infallible>>);

/// A reader's part and the part of those who wait for it.
pub fn drain() -> (Reading, Drained) {
    let (reading, ended) = channel();
    (reading, Drained(Mutex::new(ended)))
}

impl Drained {
    /// Blocks until the reader has ended, or its time is over: false then.
    pub fn wait(&self) -> bool {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(ended.recv_timeout(DRAIN_LIMIT), Err(RecvTimeoutError::Disconnected))
    }
}

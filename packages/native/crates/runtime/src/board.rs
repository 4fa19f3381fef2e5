//! The marks of one boot: set once each per source, kept in order, waited for without polling.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::clock::now_ns;
use crate::record::Record;

/// Where a mark comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// This runtime.
    Runtime,
    /// The TypeScript harness.
    Harness,
    /// A text on the console.
    Console,
    /// A QMP reply or event.
    Qmp,
    /// The agent in the guest.
    Agent,
    /// systemd in the guest, by its own stamps.
    Systemd,
}

/// Whose clock a time is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Host CLOCK_MONOTONIC.
    Host,
    /// Guest CLOCK_MONOTONIC, or printk's stamp.
    Guest,
}

/// One thing that became true at one instant.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// Its id in the vocabulary, or `user:…`.
    pub mark: String,
    /// Where it comes from.
    pub source: Source,
    /// Whose clock `at_ns` is of.
    pub clock: Clock,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// By how much the time may be off, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

impl Mark {
    /// A mark on the host's clock.
    pub fn host(mark: &str, source: Source, at_ns: u64) -> Self {
        Self { mark: mark.to_owned(), source, clock: Clock::Host, at_ns, error_ns: None, detail: None }
    }

    /// A mark on the guest's clock.
    pub fn guest(mark: &str, source: Source, at_ns: u64) -> Self {
        Self { clock: Clock::Guest, ..Self::host(mark, source, at_ns) }
    }

    /// The same mark with an error bar.
    pub fn within(self, error_ns: u64) -> Self {
        Self { error_ns: Some(error_ns), ..self }
    }

    /// The same mark with more about it.
    pub fn with(self, detail: Value) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

/// All marks of one boot.
#[derive(Debug)]
pub struct Board {
    record: Arc<Record>,
    marks: Mutex<Vec<Mark>>,
    count: watch::Sender<usize>,
}

impl Board {
    /// A board without marks.
    pub fn new(record: Arc<Record>) -> Self {
        Self { record, marks: Mutex::default(), count: watch::channel(0).0 }
    }

    /// Sets a mark, keeps it in the record, and wakes who waits for it.
    pub fn set(&self, mark: Mark) {
        self.record.mark(&mark);
        let count = {
            let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
            marks.push(mark);
            marks.len()
        };
        self.count.send_replace(count);
    }

    /// Sets a mark of the runtime's at this instant.
    pub fn now(&self, mark: &str) {
        self.set(Mark::host(mark, Source::Runtime, now_ns()));
    }

    /// The first appearance of a mark on the host's clock.
    pub fn find(&self, mark: &str) -> Option<Mark> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().find(|one| one.mark == mark && one.clock == Clock::Host).cloned()
    }

    /// The last mark that was set, of any source, on the host's clock.
    pub fn last(&self) -> Option<Mark> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.iter().rev().find(|one| one.clock == Clock::Host).cloned()
    }

    /// All marks from an index on, in the order in which they were set.
    pub fn since(&self, index: usize) -> Vec<Mark> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.get(index..).unwrap_or_default().to_vec()
    }

    /// Waits for a mark, without a bound of its own: callers race it.
    pub async fn wait(&self, mark: &str) -> Mark {
        let mut changed = self.count.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(found) = self.find(mark) {
                return found;
            }
            // The sender lives in self, so this cannot fail.
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until there are more marks than `index`, or the time is over.
    pub async fn wait_beyond(&self, index: usize, limit: Duration) {
        let mut changed = self.count.subscribe();
        // Either way the caller looks at the marks next.
        drop(tokio::time::timeout(limit, changed.wait_for(|count| *count > index)).await);
    }
}

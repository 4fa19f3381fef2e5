//! Everything that is waited for races with the end of the box; and when the box has ended, this tells why.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Machine;
use crate::board::{Clock, Mark};
use crate::clock::now_ns;
use crate::console::PANIC_TEXT;
use crate::fault::{Exit, Failure, Fault};
use crate::shares::ShareEnd;
use crate::words::{ENGINE_LOG, SHARES_LOG};

/// How long an engine whose guest panicked may take to end by itself, so that the whole oops is on the console.
const PANIC_GRACE: Duration = Duration::from_millis(500);

/// Marks that tell of the end, not of how far the boot came.
const AFTERMATH: [&str; 4] = ["engine-exit", "guest-panic", "guest-reset", "guest-shutdown"];

impl Machine {
    /// Runs a future against the end of the engine, a panic of the guest, and a deadline.
    pub async fn race<T>(
        &self,
        work: impl Future<Output = Result<T, Fault>>,
        waited: &str,
        deadline: Option<(Instant, u64)>,
    ) -> Result<T, Fault> {
        let bound = async {
            match deadline {
                Some((deadline, limit_ms)) => {
                    tokio::time::sleep_until(deadline).await;
                    limit_ms
                }
                None => std::future::pending().await,
            }
        };
        let mut exit = self.exit.subscribe();
        // How long the end may take to become known, and what to say when it does not come.
        // What is there already counts, also when the box ended right after it.
        let (grace, otherwise) = tokio::select! {
            biased;
            done = work => match done {
                // A channel that breaks because the engine ended has that end as its reason.
                Err(broken @ (Fault::Qmp { .. } | Fault::Agent(_))) => (Duration::from_millis(200), Some(broken)),
                done => return done,
            },
            _ = exit.wait_for(Option::is_some) => (Duration::ZERO, None),
            _ = self.board.wait("guest-panic") => (PANIC_GRACE, None),
            limit_ms = bound => return Err(self.timeout(waited, limit_ms)),
        };
        let ended = self.dies(&mut self.exit.subscribe(), grace).await;
        if let (false, Some(broken)) = (ended, otherwise) {
            return Err(broken);
        }
        Err(self.why_ended(waited))
    }

    pub(super) async fn dies(&self, exit: &mut watch::Receiver<Option<Exit>>, grace: Duration) -> bool {
        tokio::time::timeout(grace, exit.wait_for(Option::is_some)).await.is_ok()
    }

    fn timeout(&self, waited: &str, limit_ms: u64) -> Fault {
        let hint = match self.board.last() {
            Some(mark) => {
                let since_ms = now_ns().saturating_sub(mark.at_ns) / 1_000_000;
                format!("; the last mark was `{}`, {since_ms} ms before", mark.mark)
            }
            None => String::new(),
        };
        Fault::Timeout { waited: waited.to_owned(), limit_ms, hint }
    }

    /// What a mark means to the one who waits for it.
    pub fn waited(mark: &str) -> String {
        match mark.strip_prefix("user:console:") {
            Some(text) => format!("'{text}' on the console"),
            None => format!("`{mark}`"),
        }
    }

    /// Why the engine is gone, or why its guest is of no use any more.
    pub fn why_ended(&self, waited: &str) -> Fault {
        let waited = waited.to_owned();
        if self.killed.load(Ordering::SeqCst) {
            return Fault::Killed { waited };
        }
        if self.board.find("guest-panic").is_some() {
            // The mark may have been set before its line was whole.
            let line = self.live().and_then(|live| live.console.last_line_with(PANIC_TEXT));
            return Fault::Panic { waited, line: line.unwrap_or_else(|| "pvpanic told so".to_owned()) };
        }
        if self.board.find("guest-reset").is_some() {
            return Fault::Reset { waited };
        }
        if self.board.find("guest-shutdown").is_some() {
            return Fault::PoweredOff { waited };
        }
        if let Some(ShareEnd { path, exit }) = self.share_end.get() {
            let (path, how) = (path.clone(), exit.to_string());
            return Fault::ShareEnded { path, how, waited, words: self.words_of(SHARES_LOG) };
        }
        let how = self.exit().map_or_else(|| "unknown".to_owned(), |exit| exit.to_string());
        Fault::EngineExited { how, waited, words: self.words_of(ENGINE_LOG) }
    }

    fn words_of(&self, log: &str) -> String {
        let log = std::fs::read(self.record.dir().join(log)).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let tail = &lines[lines.len().saturating_sub(3)..];
        if tail.is_empty() { String::new() } else { format!("; it said: {}", tail.join(" | ")) }
    }

    /// A fault with what this box knows about its circumstances.
    pub fn failure(&self, fault: &Fault) -> Failure {
        let told = |mark: &Mark| mark.clock == Clock::Host && !AFTERMATH.contains(&mark.mark.as_str());
        let last = self.board.since(0).into_iter().rfind(told);
        let mut failure = Failure::from(fault);
        failure.since_ms = last.as_ref().map(|mark| now_ns().saturating_sub(mark.at_ns) as f64 / 1e6);
        failure.last_mark = last.map(|mark| mark.mark);
        failure.exit = self.exit();
        failure.console_tail = self.console_tail();
        failure.record = Some(self.record.dir().to_owned());
        failure
    }
}

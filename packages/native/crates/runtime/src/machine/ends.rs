//! How a box ends: by itself, by a failed boot, by a kill.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Live, Machine, State};
use crate::board::{Mark, Source};
use crate::clock::now_ns;
use crate::fault::{Exit, Failure, Fault};
use crate::registry;
use crate::shares::Shares;

/// How long a killed engine may take to be gone. SIGKILL is not refused; this bounds a sick host.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// How long an engine that is gone may take to be reaped and its last words to be written.
const REAP_GRACE: Duration = Duration::from_millis(500);

impl Machine {
    /// Reaps the engine, and what served it, in a thread of its own, so that no zombie stays whatever else happens.
    pub(super) fn watch_end(self: &Arc<Self>, live: &Arc<Live>, mut shares: Shares) -> Result<(), Fault> {
        let (machine, live) = (Arc::clone(self), Arc::clone(live));
        let run = move || {
            shares.wait(&live.process);
            let exit = live.process.reap();
            let at_ns = now_ns();
            // Before the end is told: whoever hears of it may ask why.
            if let Some(end) = shares.end() {
                let _ = machine.share_end.set(end);
            }
            live.console.drain();
            live.words.wait();
            // What cannot be removed now is for the next sweep.
            drop(std::fs::remove_dir_all(&machine.aside));
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
        self.edit_file(|file| {
            file.ended(outcome, exit);
            file.truncated(&self.record.truncated());
        });
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
        self.leave_turn();
    }

    /// Ends a boot: the engine is killed, the record says why, and the evidence goes into the failure.
    pub(super) async fn fail(&self, fault: &Fault) -> Failure {
        let mut failure = self.failure(fault);
        self.end_engine().await;
        // The console is whole only now.
        failure.console_tail = self.console_tail();
        failure.exit = self.exit();
        self.edit_file(|file| file.failed(&failure, self.killed.load(Ordering::SeqCst)));
        self.failed();
        failure
    }

    /// Ends the box because the harness says so: an image that could not be made, a wait strategy that failed.
    pub async fn give_up(&self, code: &str, message: &str) {
        self.end_engine().await;
        self.edit_file(|file| file.gave_up(code, message, self.killed.load(Ordering::SeqCst)));
        self.failed();
    }

    fn failed(&self) {
        self.state.send_replace(State::Failed);
        self.write_file();
        self.leave_turn();
        registry::failed();
    }

    fn leave_turn(&self) {
        if let Some(turn) = &self.turn {
            turn.leave();
        }
    }

    /// Kills the engine if there is one, and returns when it is gone and its console is in the record.
    pub async fn end_engine(&self) {
        if let Some(live) = self.live() {
            live.process.kill();
            let mut exit = self.exit.subscribe();
            self.dies(&mut exit, KILL_GRACE).await;
        }
    }

    /// Kills the box at once and returns when its process is gone. Safe to call in any state, any number of times.
    pub fn kill(&self) {
        // Whoever ended first has the say: a box that is stopped was not killed.
        if self.exit().is_none() {
            self.killed.store(true, Ordering::SeqCst);
        }
        if self.state() == State::Created {
            // Nothing may ever come back to this box: the thread that makes its plan may be what ends.
            self.edit_file(|file| file.ended_before_it_began());
            self.write_file();
            self.leave_turn();
        }
        if let Some(live) = self.live() {
            live.process.kill();
            live.process.wait_end(KILL_GRACE);
            // Whoever ends right after this must have reaped: a child that its parent left is a zombie for as long as
            // it takes PID 1 to look, and some PID 1 of a container never does.
            let deadline = Instant::now() + REAP_GRACE;
            while self.exit().is_none() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
}

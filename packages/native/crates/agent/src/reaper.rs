//! The one place that waits for processes: for commands, and in a bare box for every orphan.
//!
//! Commands are started and reaped on the one thread of the runtime, with no await between a start and its
//! registration, so that no exit can come before somebody waits for it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::clock;

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// Or the signal that ended it.
    pub signal: Option<i32>,
    /// When that was seen, on the guest's clock.
    pub at_ns: u64,
}

/// A process that runs.
#[derive(Debug)]
pub struct Running {
    /// Its id.
    pub pid: Pid,
    /// When it was started, on the guest's clock.
    pub since_ns: u64,
    /// Its end.
    pub ended: oneshot::Receiver<Ended>,
}

/// Starts processes and waits for them.
#[derive(Debug, Default)]
pub struct Reaper {
    waiting: Mutex<HashMap<Pid, oneshot::Sender<Ended>>>,
}

impl Reaper {
    /// Begins to reap on the current runtime.
    pub fn start() -> io::Result<Arc<Self>> {
        let mut children = signal(SignalKind::child())?;
        let reaper = Arc::new(Self::default());
        let reaps = Arc::clone(&reaper);
        tokio::spawn(async move {
            loop {
                reaps.reap();
                if children.recv().await.is_none() {
                    return;
                }
            }
        });
        Ok(reaper)
    }

    /// Starts a process with `launch`, which must not await, and waits for it. Nobody else may.
    pub fn start_one<E>(&self, launch: impl FnOnce() -> Result<Pid, E>) -> Result<Running, E> {
        let since_ns = clock::monotonic_ns();
        let pid = launch()?;
        let (tell, ended) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, tell);
        Ok(Running { pid, since_ns, ended })
    }

    /// Takes every process that has ended; several may share one SIGCHLD.
    fn reap(&self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let at_ns = clock::monotonic_ns();
            let Some(ended) = ended(status, at_ns) else { continue };
            if let Some(tell) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid) {
                // Whoever asked may have gone.
                let _ = tell.send(ended);
            }
        }
    }
}

fn ended(status: WaitStatus, at_ns: u64) -> Option<Ended> {
    let (code, signal) = (status.exit_status(), status.terminating_signal());
    (code.is_some() || signal.is_some()).then_some(Ended { code, signal, at_ns })
}

//! Running commands.

use std::sync::Arc;

use boxlab_protocol::WindowSize;
use boxlab_runtime::exec::Running;
use boxlab_runtime::machine::Machine;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::convert::{fault_error, on_runtime, to_json};
use crate::stream::NativeStream;

/// A running command.
#[napi]
#[derive(Debug)]
pub struct NativeExec {
    machine: Arc<Machine>,
    running: Arc<Running>,
}

impl NativeExec {
    pub(crate) fn new(machine: Arc<Machine>, running: Running) -> Self {
        Self { machine, running: Arc::new(running) }
    }
}

#[napi]
impl NativeExec {
    /// Its process id in the guest.
    #[napi(getter)]
    pub fn pid(&self) -> u32 {
        self.running.pid
    }

    /// Its standard input.
    #[napi]
    pub fn stdin(&self) -> NativeStream {
        NativeStream::new(&self.machine, &self.running.stdin)
    }

    /// Its standard output.
    #[napi]
    pub fn stdout(&self) -> NativeStream {
        NativeStream::new(&self.machine, &self.running.stdout)
    }

    /// Its standard error; null with a terminal.
    #[napi]
    pub fn stderr(&self) -> Option<NativeStream> {
        self.running.stderr.as_ref().map(|stream| NativeStream::new(&self.machine, stream))
    }

    /// Resolves with the JSON of its exit.
    #[napi]
    pub async fn wait(&self) -> Result<String> {
        let running = Arc::clone(&self.running);
        let end = on_runtime(async move { running.wait().await }).await?;
        to_json(&end.map_err(|fault| fault_error(&self.machine, &fault))?)
    }

    /// Sends a signal to its process group.
    #[napi]
    pub fn signal(&self, signal: i32) {
        self.running.signal(signal);
    }

    /// Tells its terminal a new size.
    #[napi]
    pub fn resize(&self, rows: u16, cols: u16) {
        self.running.resize(WindowSize { rows, cols });
    }

    /// Kills its process group.
    #[napi]
    pub fn kill(&self) {
        self.running.kill();
    }
}

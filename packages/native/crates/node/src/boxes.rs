//! Boxes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boxlab_protocol::SystemdText;
use boxlab_runtime::board::{Mark, Source};
use boxlab_runtime::exec::ExecRequest;
use boxlab_runtime::fault::{Failure, Fault};
use boxlab_runtime::machine::{BoxOrder, Machine};
use boxlab_runtime::plan::BootPlan;
use boxlab_runtime::stream::ByteStream;
use boxlab_runtime::systemd::Watch;
use boxlab_runtime::{counters, exec, files, stop, systemd};
use napi::bindgen_prelude::{BigInt, Buffer, Env, Error, Result};
use napi_derive::napi;

use crate::Owner;
use crate::convert::{failure_error, fault_error, ns_of, on_runtime, to_json};
use crate::exec::NativeExec;
use crate::ledger::NativeTurn;
use crate::stream::NativeStream;
use crate::systemd::NativeWatch;

/// One box.
#[napi]
#[derive(Debug)]
pub struct NativeBox {
    machine: Arc<Machine>,
}

impl NativeBox {
    /// Runs a future on the runtime and turns its fault into an error with what the box knows.
    async fn run<T, F>(&self, work: impl FnOnce(Arc<Machine>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = std::result::Result<T, Fault>> + Send + 'static,
    {
        let done = on_runtime(work(Arc::clone(&self.machine))).await?;
        done.map_err(|fault| fault_error(&self.machine, &fault))
    }
}

#[napi]
impl NativeBox {
    /// Makes the record folder.
    #[napi(constructor)]
    pub fn new(env: Env, order_json: String, start_ns: BigInt, turn: Option<&NativeTurn>) -> Result<Self> {
        let order: BoxOrder = serde_json::from_str(&order_json)
            .map_err(|error| Error::from_reason(format!("the order cannot be read: {error}")))?;
        let owner = env.get_instance_data::<Owner>()?.map_or(0, |owner| u64::from(owner.0));
        let turn = turn.map(NativeTurn::share);
        let made = Machine::create(BoxOrder { start_ns: ns_of(&start_ns), owner, turn, ..order });
        Ok(Self { machine: made.map_err(|fault| failure_error(&Failure::from(&fault)))? })
    }

    /// Sets a mark of the harness's.
    #[napi]
    pub fn mark(&self, mark: String, at_ns: BigInt) {
        self.machine.board.set(Mark::host(&mark, Source::Harness, ns_of(&at_ns)));
    }

    /// Boots; resolves when ready.
    #[napi]
    pub async fn boot(&self, plan_json: String) -> Result<()> {
        let plan = BootPlan::from_json(&plan_json).map_err(|fault| fault_error(&self.machine, &fault))?;
        let machine = Arc::clone(&self.machine);
        let booted = on_runtime(async move { machine.boot(plan).await }).await?;
        booted.map_err(|failure| failure_error(&failure))
    }

    /// Stops; resolves with the JSON of how, when the engine is gone.
    #[napi]
    pub async fn stop(&self) -> Result<String> {
        let stopped = self.run(|machine| async move { Ok(stop::stop(&machine).await) }).await?;
        to_json(&stopped)
    }

    /// Kills at once; the process is gone when this returns.
    #[napi]
    pub fn kill(&self) {
        self.machine.kill();
    }

    /// The box is ready, says the harness.
    #[napi]
    pub fn become_ready(&self, at_ns: BigInt) {
        self.machine.become_ready(ns_of(&at_ns));
    }

    /// Ends the box because the harness says that its boot failed; resolves when the engine is gone.
    #[napi]
    pub async fn give_up(&self, code: String, message: String) -> Result<()> {
        let machine = Arc::clone(&self.machine);
        on_runtime(async move { machine.give_up(&code, &message).await }).await
    }

    /// Its state in a word.
    #[napi]
    pub fn state(&self) -> &'static str {
        self.machine.state().name()
    }

    /// Its engine's process id while it runs.
    #[napi]
    pub fn pid(&self) -> Option<u32> {
        self.machine.pid()
    }

    /// The JSON of its marks from an index on.
    #[napi]
    pub fn marks(&self, since: u32) -> Result<String> {
        to_json(&self.machine.board.since(since as usize))
    }

    /// The JSON of boot.json as it stands.
    #[napi]
    pub fn boot_json(&self) -> Result<String> {
        to_json(&self.machine.boot_json())
    }

    /// The last lines of the console.
    #[napi]
    pub fn console_tail(&self) -> String {
        self.machine.console_tail()
    }

    /// The JSON of what its engine's process has used, or null.
    #[napi]
    pub fn usage(&self) -> Result<Option<String>> {
        self.machine.usage().as_ref().map(to_json).transpose()
    }

    /// Keeps what its engine's process has used in the record.
    #[napi]
    pub fn count(&self, mark: Option<String>) {
        stop::count(&self.machine, mark.as_deref());
    }

    /// Reads KVM's counters into the record; resolves when they are there.
    #[napi]
    pub async fn count_kvm(&self) -> Result<()> {
        self.run(|machine| async move { counters::now(&machine).await }).await
    }

    /// Resolves with the memory map as HMP prints it, and the JSON of what the PCI functions are.
    #[napi]
    pub async fn memory_map(&self) -> Result<Vec<String>> {
        let (mtree, pci) = self.run(|machine| async move { machine.memory_map().await }).await?;
        Ok(vec![mtree, to_json(&pci)?])
    }

    /// How many commands ran, and how many of them failed to run or were cut short.
    #[napi]
    pub fn commands(&self) -> (u32, u32) {
        let load = |count: &std::sync::atomic::AtomicU64| {
            u32::try_from(count.load(std::sync::atomic::Ordering::Relaxed)).unwrap_or(u32::MAX)
        };
        (load(&self.machine.commands), load(&self.machine.exec_errors))
    }

    /// Resolves with the JSON of a mark.
    #[napi]
    pub async fn wait_mark(&self, mark: String, timeout_ms: u32) -> Result<String> {
        let found =
            self.run(move |machine| async move { machine.wait_mark(&mark, u64::from(timeout_ms)).await }).await?;
        to_json(&found)
    }

    /// Resolves when there are more marks than `index`, or the time is over.
    #[napi]
    pub async fn wait_beyond(&self, index: u32, timeout_ms: u32) -> Result<()> {
        let machine = Arc::clone(&self.machine);
        let limit = Duration::from_millis(u64::from(timeout_ms));
        on_runtime(async move { machine.board.wait_beyond(index as usize, limit).await }).await
    }

    /// How many bytes of the console are in the record.
    #[napi]
    pub fn console_length(&self) -> f64 {
        self.machine.console_length() as f64
    }

    /// Resolves with that number when it is more than `length`.
    #[napi]
    pub async fn wait_console(&self, length: i64, timeout_ms: u32) -> Result<f64> {
        let length = u64::try_from(length).unwrap_or(0);
        let wait = move |machine: Arc<Machine>| async move { machine.wait_console(length, timeout_ms.into()).await };
        Ok(self.run(wait).await? as f64)
    }

    /// Resolves with the JSON of how the engine ended.
    #[napi]
    pub async fn wait_exit(&self) -> Result<String> {
        let exit = self.run(|machine| async move { Ok(machine.wait_exit().await) }).await?;
        to_json(&exit)
    }

    /// Starts a command.
    #[napi]
    pub async fn exec(&self, request_json: String) -> Result<NativeExec> {
        let request: ExecRequest = serde_json::from_str(&request_json)
            .map_err(|error| Error::from_reason(format!("the command cannot be read: {error}")))?;
        let running = self.run(|machine| async move { exec::exec(&machine, request).await }).await?;
        Ok(NativeExec::new(Arc::clone(&self.machine), running))
    }

    /// Resolves with the JSON of what is at a path of the guest.
    #[napi]
    pub async fn stat(&self, path: String, limit_ms: u32) -> Result<String> {
        let facts = self.run(move |machine| async move { files::stat(&machine, &path, limit_ms.into()).await }).await?;
        to_json(&facts)
    }

    /// Reads a file of the guest.
    #[napi]
    pub async fn read_file(&self, path: String, limit_ms: u32) -> Result<Buffer> {
        let bytes = self.run(move |machine| async move { files::read(&machine, &path, limit_ms.into()).await }).await?;
        Ok(Buffer::from(bytes))
    }

    /// Writes a file of the guest.
    #[napi]
    pub async fn write_file(&self, path: String, bytes: Buffer, mode: u32, limit_ms: u32) -> Result<()> {
        let bytes = bytes.to_vec();
        self.run(move |machine| async move { files::write(&machine, &path, &bytes, mode, limit_ms.into()).await }).await
    }

    /// Copies a file or folder into the guest.
    #[napi]
    pub async fn copy_in(&self, from: String, to: String, limit_ms: u32) -> Result<()> {
        self.run(
            move |machine| async move { files::copy_in(&machine, &PathBuf::from(from), &to, limit_ms.into()).await },
        )
        .await
    }

    /// Copies a file or folder out of the guest.
    #[napi]
    pub async fn copy_out(&self, from: String, to: String, limit_ms: u32) -> Result<()> {
        self.run(
            move |machine| async move { files::copy_out(&machine, &from, &PathBuf::from(to), limit_ms.into()).await },
        )
        .await
    }

    /// Connects to a TCP port on the guest's loopback.
    #[napi]
    pub async fn dial(&self, port: u16, limit_ms: u32) -> Result<NativeStream> {
        let stream: ByteStream =
            self.run(move |machine| async move { files::dial(&machine, port, limit_ms.into()).await }).await?;
        Ok(NativeStream::new(&self.machine, &Arc::new(stream)))
    }

    /// Resolves with the JSON of all properties of a unit, or of systemd's manager.
    #[napi]
    pub async fn systemd_properties(&self, unit: Option<String>, limit_ms: u32) -> Result<String> {
        let ask =
            move |machine: Arc<Machine>| async move { systemd::properties(&machine, unit, limit_ms.into()).await };
        to_json(&self.run(ask).await?)
    }

    /// Resolves with a text about systemd.
    #[napi]
    pub async fn systemd_text(&self, what: String, limit_ms: u32) -> Result<Buffer> {
        let what: SystemdText = serde_json::from_value(what.into())
            .map_err(|error| Error::from_reason(format!("there is no such text: {error}")))?;
        let text = self.run(move |machine| async move { systemd::text(&machine, what, limit_ms.into()).await }).await?;
        Ok(Buffer::from(text))
    }

    /// Begins to watch a unit, or systemd's manager.
    #[napi]
    pub async fn systemd_watch(&self, unit: Option<String>) -> Result<NativeWatch> {
        let watch = self.run(|machine| async move { Watch::begin(&machine, unit).await }).await?;
        Ok(NativeWatch::new(&self.machine, watch))
    }

    /// Sets a mark on the guest's clock, of systemd's own words.
    #[napi]
    pub fn systemd_mark(&self, mark: String, at_us: BigInt) {
        self.machine.board.set(Mark::guest(&mark, Source::Systemd, ns_of(&at_us) * 1000));
    }

    /// Resolves with the JSON of clock exchanges.
    #[napi]
    pub async fn pings(&self, count: u32) -> Result<String> {
        let samples = self.run(move |machine| async move { machine.pings(u64::from(count)).await }).await?;
        to_json(&samples)
    }
}

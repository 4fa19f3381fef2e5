//! What concerns the host and no box.

use std::path::PathBuf;

use boxlab_runtime::preflight::{PreflightOptions, preflight};
use boxlab_runtime::{clock, fingerprint, registry};
use napi::bindgen_prelude::{Error, Result};
use napi_derive::napi;

use crate::convert::{on_runtime, to_json};

/// The version that the TypeScript face must be of.
#[napi]
pub fn native_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The host's TSC frequency in kHz, measured once.
#[napi]
pub fn host_tsc_khz() -> u32 {
    u32::try_from(clock::host_tsc_khz()).unwrap_or(0)
}

/// The JSON of the runtime's counts.
#[napi]
pub fn runtime_metrics() -> Result<String> {
    to_json(&registry::metrics())
}

/// The JSON of the ids of boxes whose engine runs.
#[napi]
pub fn running_boxes() -> Result<String> {
    let machines = registry::machines();
    let running = machines.iter().filter(|machine| machine.usage().is_some());
    to_json(&running.map(|machine| machine.id.clone()).collect::<Vec<_>>())
}

/// Resolves with the JSON of what KVM can do here.
#[napi]
pub async fn kvm_preflight(kvm_path: String) -> Result<String> {
    aside(move || to_json(&preflight(&PreflightOptions { kvm_path: PathBuf::from(kvm_path) }))).await
}

/// Resolves with the SHA-256 of a file, remembered while the file stays as it is.
#[napi]
pub async fn file_sha256(path: String) -> Result<String> {
    let unreadable = format!("{path} cannot be read");
    aside(move || fingerprint::file_sha256(&PathBuf::from(path)).ok_or_else(|| Error::from_reason(unreadable))).await
}

/// Runs what takes long in a thread of the runtime's: a process that exits waits for those of Node's pool.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = on_runtime(async move { boxlab_runtime::tokio_runtime().spawn_blocking(work).await }).await?;
    done.map_err(|error| Error::from_reason(error.to_string()))?
}

//! What concerns the host and no box.

use std::path::PathBuf;

use boxlab_runtime::preflight::{PreflightOptions, preflight};
use boxlab_runtime::{clock, fingerprint, registry};
use napi::bindgen_prelude::{AsyncTask, Error, Result, Task};
use napi_derive::napi;

use crate::convert::to_json;

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

/// A preflight in Node's thread pool.
#[derive(Debug)]
pub struct PreflightTask(PathBuf);

impl Task for PreflightTask {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        to_json(&preflight(&PreflightOptions { kvm_path: self.0.clone() }))
    }

    fn resolve(&mut self, _env: napi::Env, output: String) -> Result<String> {
        Ok(output)
    }
}

/// Resolves with the JSON of what KVM can do here.
#[napi]
pub fn kvm_preflight(kvm_path: String) -> AsyncTask<PreflightTask> {
    AsyncTask::new(PreflightTask(PathBuf::from(kvm_path)))
}

/// A digest in Node's thread pool.
#[derive(Debug)]
pub struct DigestTask(PathBuf);

impl Task for DigestTask {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        let unreadable = || Error::from_reason(format!("{} cannot be read", self.0.display()));
        fingerprint::file_sha256(&self.0).ok_or_else(unreadable)
    }

    fn resolve(&mut self, _env: napi::Env, output: String) -> Result<String> {
        Ok(output)
    }
}

/// Resolves with the SHA-256 of a file, remembered while the file stays as it is.
#[napi]
pub fn file_sha256(path: String) -> AsyncTask<DigestTask> {
    AsyncTask::new(DigestTask(PathBuf::from(path)))
}

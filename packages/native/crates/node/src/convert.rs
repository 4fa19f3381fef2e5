//! Faults to errors, futures to the runtime's threads.

use boxlab_runtime::fault::{Failure, Fault};
use boxlab_runtime::machine::Machine;
use napi::bindgen_prelude::{BigInt, Error, Result};
use serde::Serialize;

/// Marks the message of an error as the JSON of a failure; see `src/errors.ts`.
const PREFIX: &str = "boxlab:";

/// An error of a failure.
pub(crate) fn failure_error(failure: &Failure) -> Error {
    let json = serde_json::to_string(failure).unwrap_or_else(|error| error.to_string());
    Error::from_reason(format!("{PREFIX}{json}"))
}

/// An error of a fault, with what the box knows.
pub(crate) fn fault_error(machine: &Machine, fault: &Fault) -> Error {
    failure_error(&machine.failure(fault))
}

/// Runs a future on the runtime's own threads, which outlive this environment.
pub(crate) async fn on_runtime<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let joined = boxlab_runtime::tokio_runtime().spawn(work).await;
    joined.map_err(|error| Error::from_reason(format!("the runtime failed: {error}")))
}

/// The JSON of a value.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::from_reason(error.to_string()))
}

/// Nanoseconds of a BigInt.
pub(crate) fn ns_of(value: &BigInt) -> u64 {
    value.get_u64().1
}

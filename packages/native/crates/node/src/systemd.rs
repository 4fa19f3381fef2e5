//! systemd of the guest.

use std::sync::{Arc, Mutex, PoisonError};

use boxlab_runtime::machine::Machine;
use boxlab_runtime::systemd::Watch;
use napi::bindgen_prelude::{Error, Result};
use napi_derive::napi;

use crate::convert::{fault_error, on_runtime, to_json};

/// A watch of a unit or of the manager.
#[napi]
#[derive(Debug)]
pub struct NativeWatch {
    machine: Arc<Machine>,
    watch: Mutex<Option<Arc<Watch>>>,
}

impl NativeWatch {
    pub(crate) fn new(machine: &Arc<Machine>, watch: Watch) -> Self {
        Self { machine: Arc::clone(machine), watch: Mutex::new(Some(Arc::new(watch))) }
    }
}

#[napi]
impl NativeWatch {
    /// Resolves with the JSON of the next state.
    #[napi]
    pub async fn next(&self) -> Result<String> {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let watch = watch.ok_or_else(|| Error::from_reason("the watch was ended"))?;
        let next = on_runtime(async move { watch.next().await }).await?;
        to_json(&next.map_err(|fault| fault_error(&self.machine, &fault))?)
    }

    /// Ends it; a state that is being waited for still comes.
    #[napi]
    pub fn end(&self) {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

//! Byte streams.

use std::sync::Arc;

use boxlab_runtime::machine::Machine;
use boxlab_runtime::stream::ByteStream;
use napi::bindgen_prelude::{Buffer, Result};
use napi_derive::napi;

use crate::convert::{fault_error, on_runtime};

/// One stream of bytes to or from the guest.
#[napi]
#[derive(Debug)]
pub struct NativeStream {
    machine: Arc<Machine>,
    stream: Arc<ByteStream>,
}

impl NativeStream {
    pub(crate) fn new(machine: &Arc<Machine>, stream: &Arc<ByteStream>) -> Self {
        Self { machine: Arc::clone(machine), stream: Arc::clone(stream) }
    }
}

#[napi]
impl NativeStream {
    /// The next bytes, or null at the end.
    #[napi]
    pub async fn read(&self) -> Result<Option<Buffer>> {
        let stream = Arc::clone(&self.stream);
        let read = on_runtime(async move { stream.read().await }).await?;
        Ok(read.map_err(|fault| fault_error(&self.machine, &fault))?.map(Buffer::from))
    }

    /// Writes all of it.
    #[napi]
    pub async fn write(&self, bytes: Buffer) -> Result<()> {
        let (stream, bytes) = (Arc::clone(&self.stream), bytes.to_vec());
        let written = on_runtime(async move { stream.write(&bytes).await }).await?;
        written.map_err(|fault| fault_error(&self.machine, &fault))
    }

    /// Ends the writing side.
    #[napi]
    pub async fn end(&self) -> Result<()> {
        let stream = Arc::clone(&self.stream);
        let ended = on_runtime(async move { stream.end().await }).await?;
        ended.map_err(|fault| fault_error(&self.machine, &fault))
    }
}

//! What the engine says on its own standard output and error, into the record's engine.log.

use std::io::PipeReader;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::drain::{Drained, drain};
use crate::fault::Fault;
use crate::record::Record;

/// Takes an engine's words until it ends.
pub fn listen(pipe: PipeReader, record: &Arc<Record>) -> Result<Drained, Fault> {
    let mut log = record.engine_log()?;
    let opened = Receiver::from_owned_fd(pipe.into());
    let mut pipe = opened.map_err(|error| Fault::Plan(format!("no pipe for the engine's words: {error}")))?;
    let (reading, drained) = drain();
    let record = Arc::clone(record);
    tokio::spawn(async move {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            record.append(&mut log, &buffer[..length]);
        }
        drop(reading);
    });
    Ok(drained)
}

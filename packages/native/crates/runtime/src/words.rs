//! What the engine, or what serves it, says on its own standard output and error: into a log of the record.

use std::io::PipeReader;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::drain::{Drained, drain};
use crate::fault::Fault;
use crate::record::Record;

/// The words of the engine.
pub const ENGINE_LOG: &str = "engine.log";
/// The words of those who serve folders to the guest; only where there are some.
pub const SHARES_LOG: &str = "virtiofsd.log";

/// Takes the words of a process until it ends.
pub fn listen(pipe: PipeReader, log: &'static str, record: &Arc<Record>) -> Result<Drained, Fault> {
    let mut log = record.log(log)?;
    let opened = Receiver::from_owned_fd(pipe.into());
    let mut pipe = opened.map_err(|error| Fault::Plan(format!("no pipe for a process's words: {error}")))?;
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

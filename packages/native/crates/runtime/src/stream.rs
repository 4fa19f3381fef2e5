//! A stream of bytes to or from the guest: a command's standard stream, or a connection to a port.

use std::sync::Arc;

use boxlab_protocol::mux::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::Mutex;

use crate::fault::Fault;
use crate::machine::Machine;

/// The most that one read gives.
const CHUNK_BYTES: usize = 64 * 1024;

/// One stream. Reading and writing at the same time is fine; two reads at the same time take turns. A stream that has
/// come to its end is let go of at once, not when its last handle is collected.
#[derive(Debug)]
pub struct ByteStream {
    machine: Arc<Machine>,
    reader: Mutex<Option<Reader>>,
    writer: Mutex<Option<WriteHalf<Stream>>>,
    two_way: bool,
}

#[derive(Debug)]
struct Reader {
    half: ReadHalf<Stream>,
    // What is given away has its exact size: whoever collects many small pieces holds no more than their bytes.
    chunk: Vec<u8>,
}

impl ByteStream {
    /// Wraps a connection of the channel to `machine`, whose sides end apart.
    pub fn two_way(machine: Arc<Machine>, stream: Stream) -> Self {
        Self::new(machine, stream, true)
    }

    /// Wraps a command's standard stream: its end is the end of both sides.
    pub fn one_way(machine: Arc<Machine>, stream: Stream) -> Self {
        Self::new(machine, stream, false)
    }

    fn new(machine: Arc<Machine>, stream: Stream, two_way: bool) -> Self {
        let (half, writer) = tokio::io::split(stream);
        let reader = Reader { half, chunk: vec![0; CHUNK_BYTES] };
        Self { machine, reader: Mutex::new(Some(reader)), writer: Mutex::new(Some(writer)), two_way }
    }

    /// The next bytes, or `None` at the end of the stream. The end of the box is an error, not an end of stream.
    pub async fn read(&self) -> Result<Option<Vec<u8>>, Fault> {
        let mut slot = self.reader.lock().await;
        let Some(Reader { half, chunk }) = slot.as_mut() else { return Ok(None) };
        let read = async {
            let length = half.read(chunk).await.map_err(|error| Fault::Agent(error.to_string()))?;
            Ok((length > 0).then(|| chunk[..length].to_vec()))
        };
        let got = self.machine.race(read, "bytes from the guest", None).await?;
        if got.is_none() {
            if self.machine.exit().is_some() {
                return Err(self.machine.why_ended("bytes from the guest"));
            }
            *slot = None;
            if !self.two_way {
                self.writer.lock().await.take();
            }
        }
        Ok(got)
    }

    /// Writes all of it; resolves when it is on its way, which the guest's reading paces.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut writer = self.writer.lock().await;
        let Some(writer) = writer.as_mut() else {
            return Err(Fault::Agent("the stream was ended before this write".to_owned()));
        };
        let write = async {
            writer.write_all(bytes).await.map_err(|error| Fault::Agent(error.to_string()))?;
            writer.flush().await.map_err(|error| Fault::Agent(error.to_string()))
        };
        self.machine.race(write, "the guest to take bytes", None).await
    }

    /// Ends the writing side; the guest reads an end of file. Again is no error.
    pub async fn end(&self) -> Result<(), Fault> {
        if let Some(mut writer) = self.writer.lock().await.take() {
            // The other side may have closed already; then there is nothing to end.
            drop(writer.shutdown().await);
        }
        Ok(())
    }

    /// Lets go of the stream, whatever its state; what is being written or read ends first.
    pub async fn close(&self) {
        self.writer.lock().await.take();
        self.reader.lock().await.take();
    }
}

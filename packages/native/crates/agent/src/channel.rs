//! The byte channel below the multiplexer, with one write for everything that a turn of it has to say.
//!
//! The multiplexer writes header and body of each frame apart and flushes each frame. On a virtio port every write is
//! an exit to the host and an interrupt back, which for a short command were more than the command.

use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use boxlab_protocol::mux::{self, Stream};
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};

/// The most that the kernel takes in one write to a virtio port (drivers/char/virtio_console.c), in bytes.
const WRITE_BYTES: usize = 32 * 1024;

/// As many, for the many small reads of frame headers.
const READ_BYTES: usize = 32 * 1024;

/// Calls `accept` for each stream of the host until the channel ends.
pub async fn serve<T>(channel: T, accept: impl FnMut(Stream))
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let channel = Channel(Arc::new(Mutex::new(Inner { channel, unsent: Vec::with_capacity(2 * WRITE_BYTES) })));
    let ours = Channel(Arc::clone(&channel.0));
    let mut serving = pin!(mux::serve(BufReader::with_capacity(READ_BYTES, channel), accept));
    std::future::poll_fn(|cx| {
        let served = serving.as_mut().poll(cx);
        // What does not go out now goes when the channel wakes this task. An error comes back with the next write
        // of the multiplexer, or is the end that it reads.
        let _ = ours.inner().poll_send(cx, 0);
        served
    })
    .await;
}

/// The channel, held by the multiplexer and by `serve`, which run in one task.
#[derive(Debug)]
struct Channel<T>(Arc<Mutex<Inner<T>>>);

#[derive(Debug)]
struct Inner<T> {
    channel: T,
    unsent: Vec<u8>,
}

impl<T> Channel<T> {
    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: AsyncWrite + Unpin> Inner<T> {
    /// Sends until at most `leave` bytes are unsent.
    fn poll_send(&mut self, cx: &mut Context<'_>, leave: usize) -> Poll<io::Result<()>> {
        let mut sent = 0;
        let result = loop {
            let rest = &self.unsent[sent..];
            if rest.len() <= leave {
                break Poll::Ready(Ok(()));
            }
            match Pin::new(&mut self.channel).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => sent += length,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        self.unsent.drain(..sent);
        result
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Channel<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner().channel).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Channel<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.inner();
        if inner.unsent.len() >= WRITE_BYTES {
            ready!(inner.poll_send(cx, WRITE_BYTES - 1))?;
        }
        inner.unsent.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    /// Does nothing: `serve` sends at the end of the turn.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_send(cx, 0)
    }
}

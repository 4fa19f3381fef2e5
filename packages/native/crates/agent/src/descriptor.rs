//! Any pollable descriptor (port, pipe, terminal) as a tokio reader and writer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A non-blocking descriptor. Its clones are the same descriptor.
#[derive(Debug, Clone)]
pub struct Descriptor(Arc<AsyncFd<OwnedFd>>);

impl Descriptor {
    /// Makes it non-blocking. A virtio port must have its host already: tokio remembers a hang-up for ever.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        // SAFETY: an OwnedFd is open and one and the same descriptor for as long as it lives, and nothing here can take
        // it out of the AsyncFd.
        let watched = unsafe { AsyncFd::register(fd)? };
        Ok(Self(Arc::new(watched)))
    }

    /// Waits until something can be read, or the other side is gone.
    pub async fn readable(&self, mut drain: impl FnMut(BorrowedFd<'_>) -> io::Result<()>) -> io::Result<()> {
        self.0.async_io(tokio::io::Interest::READABLE, |fd| drain(fd.as_fd())).await
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

impl AsyncRead for Descriptor {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(cx))?;
            let room = buf.initialize_unfilled();
            if let Ok(read) = guard.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut *room)?)) {
                buf.advance(read?);
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Descriptor {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(cx))?;
            if let Ok(written) = guard.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), buf)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

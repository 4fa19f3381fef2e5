//! Many flow-controlled streams over one byte channel (yamux). The host opens streams, the agent accepts them.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, ConnectionError, Mode};

/// One stream of the channel; an ordinary tokio reader and writer, also when it is split between two tasks.
#[derive(Debug)]
pub struct Stream {
    inner: Compat<yamux::Stream>,
    wakers: Arc<BothWakers>,
    /// The place among [`OPEN_AT_ONCE`] that a stream of the host's takes until it is dropped.
    _place: Option<OwnedSemaphorePermit>,
}

/// Reading a yamux stream also sends (window updates), through a queue that remembers one waker only: of two tasks
/// that share a stream, the earlier would sleep for ever. So whatever wakes the stream wakes both.
#[derive(Debug, Default)]
struct BothWakers {
    reader: Mutex<Option<Waker>>,
    writer: Mutex<Option<Waker>>,
}

impl Wake for BothWakers {
    fn wake(self: Arc<Self>) {
        for slot in [&self.reader, &self.writer] {
            if let Some(waker) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                waker.wake();
            }
        }
    }
}

impl Stream {
    fn new(stream: yamux::Stream) -> Self {
        Self { inner: stream.compat(), wakers: Arc::default(), _place: None }
    }

    fn poll_with<T>(
        &mut self,
        slot: impl FnOnce(&BothWakers) -> &Mutex<Option<Waker>>,
        cx: &Context<'_>,
        poll: impl FnOnce(Pin<&mut Compat<yamux::Stream>>, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        *slot(&self.wakers).lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        let both = Waker::from(Arc::clone(&self.wakers));
        poll(Pin::new(&mut self.inner), &mut Context::from_waker(&both))
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_with(|wakers| &wakers.reader, cx, |inner, cx| inner.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_with(|wakers| &wakers.writer, cx, |inner, cx| inner.poll_write(cx, buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(|wakers| &wakers.writer, cx, |inner, cx| inner.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(|wakers| &wakers.writer, cx, |inner, cx| inner.poll_shutdown(cx))
    }
}

/// Streams that the host opens at once; one more waits. Three or four belong to one command.
const OPEN_AT_ONCE: usize = 2048;

/// What the multiplexer takes. A stream beyond it would end the channel, and a dropped stream counts until the
/// multiplexer has seen to it: hence the distance to [`OPEN_AT_ONCE`].
const MAX_STREAMS: usize = 4096;

fn config(streams: usize) -> Config {
    let mut config = Config::default();
    // The most that slow readers can make either side hold, over all streams of a channel. It comes first: each setting
    // is held against the other at once.
    config.set_max_connection_receive_window(Some(streams * 256 * 1024));
    config.set_max_num_streams(streams);
    config
}

/// Writes nothing, which has two uses: it acknowledges a stream, and it fails where the other side dropped the stream
/// in the middle. A read alone tells the same end for that as for the end of what was sent.
pub async fn touch(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    tokio::io::AsyncWriteExt::write(stream, &[]).await.map(drop)
}

/// The host's end: opens streams.
#[derive(Debug, Clone)]
pub struct Opener {
    asks: mpsc::Sender<oneshot::Sender<Result<Stream, ConnectionError>>>,
    places: Arc<Semaphore>,
}

/// The channel ended.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the channel to the agent has ended")]
pub struct ChannelEnded;

impl Opener {
    /// Opens a stream; the other side learns of it with the first bytes. Waits while too many are open.
    pub async fn open(&self) -> Result<Stream, ChannelEnded> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| ChannelEnded)?;
        let (answer, answered) = oneshot::channel();
        self.asks.send(answer).await.map_err(|_| ChannelEnded)?;
        let stream = answered.await.map_err(|_| ChannelEnded)?.map_err(|_| ChannelEnded)?;
        Ok(Stream { _place: Some(place), ..stream })
    }
}

/// Runs the host's end: the opener, and the future that moves the bytes until the channel ends.
pub fn host<T>(channel: T) -> (Opener, impl Future<Output = ()> + Send)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (asks, mut asked) = mpsc::channel::<oneshot::Sender<Result<Stream, ConnectionError>>>(16);
    let mut connection = Connection::new(channel.compat(), config(MAX_STREAMS), Mode::Client);
    let mut waiting: Option<oneshot::Sender<Result<Stream, ConnectionError>>> = None;
    let drive = poll_fn(move |cx| {
        loop {
            if waiting.is_none()
                && let Poll::Ready(Some(next)) = asked.poll_recv(cx)
            {
                waiting = Some(next);
            }
            if let Some(answer) = waiting.take() {
                match connection.poll_new_outbound(cx) {
                    Poll::Ready(stream) => {
                        // A caller that went away drops the stream, which resets it.
                        drop(answer.send(stream.map(Stream::new)));
                        continue;
                    }
                    Poll::Pending => waiting = Some(answer),
                }
            }
            match connection.poll_next_inbound(cx) {
                // The agent opens none; one that comes all the same is dropped, which resets it.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    });
    (Opener { asks, places: Arc::new(Semaphore::new(OPEN_AT_ONCE)) }, drive)
}

/// Runs the agent's end: calls `serve` for each stream the host opens, until the channel ends.
pub async fn serve<T>(channel: T, mut serve: impl FnMut(Stream))
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // One stream beyond the limit ends the whole channel, so the accepting side never is the first to say no.
    let mut connection = Connection::new(channel.compat(), config(2 * MAX_STREAMS), Mode::Server);
    while let Some(Ok(stream)) = poll_fn(|cx| connection.poll_next_inbound(cx)).await {
        serve(Stream::new(stream));
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn streams_are_independent_and_byte_exact() {
        let (left, right) = tokio::io::duplex(1000);
        let (opener, drive) = host(left);
        tokio::spawn(drive);
        tokio::spawn(serve(right, |stream| {
            tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(stream);
                tokio::io::copy(&mut from, &mut to).await.unwrap();
                to.shutdown().await.unwrap();
            });
        }));
        // A stream that nobody reads holds up no other.
        let stalled = opener.open().await.unwrap();
        let mut tasks = Vec::new();
        for seed in 0..8u8 {
            let opener = opener.clone();
            tasks.push(tokio::spawn(async move {
                let sent: Vec<u8> = (0..300_000u32).map(|i| (i as u8).wrapping_mul(seed)).collect();
                let (mut from, mut to) = tokio::io::split(opener.open().await.unwrap());
                let expected = sent.clone();
                tokio::spawn(async move {
                    to.write_all(&sent).await.unwrap();
                    to.shutdown().await.unwrap();
                });
                let mut got = Vec::new();
                from.read_to_end(&mut got).await.unwrap();
                assert!(got == expected);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        drop(stalled);
    }

    #[tokio::test]
    async fn more_streams_than_may_be_open_wait_for_their_turn_and_the_channel_lives() {
        let (left, right) = tokio::io::duplex(1 << 16);
        let (opener, drive) = host(left);
        tokio::spawn(drive);
        tokio::spawn(serve(right, |mut stream| {
            tokio::spawn(async move {
                touch(&mut stream).await.unwrap();
                let mut byte = [0];
                while stream.read(&mut byte).await.unwrap_or(0) > 0 {}
            });
        }));
        let mut open = Vec::new();
        for round in 0..3 * OPEN_AT_ONCE {
            let mut stream = opener.open().await.unwrap();
            stream.write_all(b"x").await.unwrap();
            open.push(stream);
            if open.len() == OPEN_AT_ONCE {
                let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), opener.open()).await;
                assert!(waiting.is_err(), "round {round}");
                open.drain(..OPEN_AT_ONCE / 2);
            }
        }
    }

    #[tokio::test]
    async fn opening_after_the_channel_ended_is_an_error() {
        let (left, right) = tokio::io::duplex(1000);
        let (opener, drive) = host(left);
        drop(right);
        drive.await;
        assert!(opener.open().await.is_err());
    }
}

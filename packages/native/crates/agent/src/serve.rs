//! The channel: what each stream of the host asks for, and who does it.

use std::sync::Arc;

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::{Stream, touch};
use boxlab_protocol::{Hello, Module, PROTOCOL_VERSION, Ping, Pong, Refusal, Reply, Request};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::attach::Attachments;
use crate::fault::Fault;
use crate::reaper::Reaper;
use crate::systemd::Recorder;
use crate::{archive, channel, clock, dial, exec, files, power, systemd};

/// What lives as long as the agent.
#[derive(Debug)]
pub struct Agent {
    /// CLOCK_MONOTONIC at the start of main, in nanoseconds.
    pub up_ns: u64,
    /// It is the agent of a box, and not of a descriptor on somebody's machine.
    pub owns_machine: bool,
    /// What was loaded.
    pub modules: Vec<Module>,
    /// What went wrong.
    pub troubles: Vec<String>,
    /// When stage 0 handed over to the image's init.
    pub switch_root_ns: Option<u64>,
    /// Why stage 0 came to no end.
    pub failure: Option<String>,
    /// Records the jobs of systemd, where that was asked for.
    pub recorder: Option<Arc<Recorder>>,
    /// Starts and waits for processes.
    pub reaper: Arc<Reaper>,
}

/// What lives as long as a channel.
#[derive(Debug)]
pub struct Session {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Streams on their way to their commands.
    pub attachments: Attachments,
    serving_ns: u64,
}

/// Serves a channel until the host goes away. Commands that still run then see the end of their streams and are
/// killed.
pub async fn serve<T>(channel: T, agent: Arc<Agent>)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let serving_ns = clock::monotonic_ns();
    let session = Arc::new(Session { agent, attachments: Attachments::default(), serving_ns });
    channel::serve(channel, |stream| {
        let session = Arc::clone(&session);
        tokio::spawn(async move {
            // A stream that fails concerns nobody but the one who opened it, and he sees its end.
            let _ = answer(stream, &session).await;
        });
    })
    .await;
}

async fn answer(mut stream: Stream, session: &Session) -> Result<(), FrameError> {
    let request = frame::read(&mut stream).await?;
    // The multiplexer lets the host open a limited number of streams that were never written to from here, and some
    // streams only carry bytes to the guest.
    touch(&mut stream).await?;
    match request {
        Request::Hello { protocol } if protocol != PROTOCOL_VERSION => {
            refuse(stream, Fault::Protocol { ours: PROTOCOL_VERSION, theirs: protocol }).await
        }
        Request::Hello { .. } => reply(stream, Ok(hello(session))).await,
        Request::Pings => pings(stream).await,
        Request::Exec(exec) => exec::run(stream, exec, session).await,
        Request::Attach { exec, stream: which } => {
            session.attachments.offer(exec, which, stream).await;
            Ok(())
        }
        Request::Stat { path } => files::stat(stream, path).await,
        Request::ReadFile { path } => files::read(stream, path).await,
        Request::WriteFile { path, mode } => files::write(stream, path, mode).await,
        Request::ReadTar { path } => archive::read(stream, path).await,
        Request::WriteTar { path } => archive::write(stream, path).await,
        Request::Dial { port } => dial::run(stream, port).await,
        Request::SystemdProperties { unit } => systemd::properties(stream, unit).await,
        Request::SystemdWatchUnit { name } => systemd::watch_unit(stream, name).await,
        Request::SystemdWatchManager => systemd::watch_manager(stream).await,
        Request::SystemdText { what } => systemd::text(stream, what, session.agent.recorder.clone()).await,
        Request::Poweroff => power::off(stream, session).await,
    }
}

/// Sends the one answer of a stream and ends it.
pub async fn reply<T: Serialize>(mut stream: Stream, answer: Result<T, Fault>) -> Result<(), FrameError> {
    match answer {
        Ok(value) => frame::write(&mut stream, &Reply::Ok(value)).await?,
        Err(fault) => frame::write(&mut stream, &Reply::<T>::Err(fault.into())).await?,
    }
    stream.shutdown().await?;
    Ok(())
}

/// Sends a refusal, and takes what the host is still sending, so that it comes to read the refusal.
pub async fn refuse(mut stream: Stream, fault: Fault) -> Result<(), FrameError> {
    frame::write(&mut stream, &Reply::<()>::Err(Refusal::from(fault))).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

fn hello(session: &Session) -> Hello {
    Hello {
        protocol: PROTOCOL_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        up_ns: session.agent.up_ns,
        serving_ns: session.serving_ns,
        modules: session.agent.modules.clone(),
        troubles: session.agent.troubles.clone(),
        switch_root_ns: session.agent.switch_root_ns,
        failure: session.agent.failure.clone(),
    }
}

async fn pings(mut stream: Stream) -> Result<(), FrameError> {
    while let Some(Ping { seq }) = frame::read_or_end(&mut stream).await? {
        frame::write(&mut stream, &Pong { seq, guest_ns: clock::monotonic_ns() }).await?;
    }
    stream.shutdown().await?;
    Ok(())
}

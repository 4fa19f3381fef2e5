//! What systemd of the guest says about itself, asked over its private socket: that is there before any message bus,
//! and takes connections of root alone (systemd, src/core/dbus.c, bus_init_private()).
//!
//! A watch subscribes first and looks then, so that no change falls in between; each change is one frame for the host,
//! which decides what it means.

mod bus;
mod json;
mod recorder;
mod show;
mod watch;
mod wire;

use std::sync::Arc;

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::Stream;
use boxlab_protocol::{Empty, Reply, SystemdText};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fault::Fault;
use crate::files::blocking;
use crate::serve::{refuse, reply};
use bus::Systemd;

pub use bus::BusError;
pub use recorder::Recorder;

/// Sends one of the texts.
pub async fn text(mut stream: Stream, what: SystemdText, recorder: Option<Arc<Recorder>>) -> Result<(), FrameError> {
    let made = match what {
        SystemdText::Units => show::units(false).await,
        SystemdText::QueuedUnits => show::units(true).await,
        SystemdText::Jobs => show::jobs().await,
        SystemdText::Recording => match recorder {
            // It takes a while, and the agent has other things to do.
            Some(recorder) => Ok(blocking(move || recorder.lines()).await?),
            None => Err(BusError::NoRecorder),
        },
    };
    match made {
        Ok(text) => {
            frame::write(&mut stream, &Reply::Ok(Empty {})).await?;
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await?;
            Ok(())
        }
        Err(error) => refuse(stream, Fault::Systemd(error)).await,
    }
}

/// Sends every property of the manager, or of a unit, as one JSON object.
pub async fn properties(stream: Stream, unit: Option<String>) -> Result<(), FrameError> {
    let found = async {
        let mut systemd = Systemd::connect().await?;
        let Some(name) = unit else { return systemd.manager().await };
        let unit = systemd.unit(&name).await?;
        let mut all = systemd.common(&unit).await?;
        all.extend(systemd.special(&unit).await?);
        Ok(all)
    };
    let found = found.await.map_err(Fault::Systemd);
    reply(stream, found).await
}

/// Sends the state of a unit, and again at each change, until the host ends the stream.
pub async fn watch_unit(stream: Stream, name: String) -> Result<(), FrameError> {
    send_changes(stream, async move |changes| watch::unit(&name, changes).await).await
}

/// Sends the state of the manager, and again when it may have changed, until the host ends the stream.
pub async fn watch_manager(stream: Stream) -> Result<(), FrameError> {
    send_changes(stream, async |changes| watch::manager(changes).await).await
}

/// The host's side of a watch.
struct Changes {
    stream: tokio::io::WriteHalf<Stream>,
    last: Option<Vec<u8>>,
}

impl Changes {
    /// Sends a state that is another than the last.
    async fn send<T: serde::Serialize>(&mut self, state: &T) -> Result<(), BusError> {
        let json = serde_json::to_vec(state).map_err(BusError::other)?;
        if self.last.as_ref() == Some(&json) {
            return Ok(());
        }
        self.last = Some(json);
        frame::write(&mut self.stream, &Reply::Ok(state)).await.map_err(BusError::other)
    }
}

async fn send_changes(
    stream: Stream,
    watch: impl AsyncFnOnce(&mut Changes) -> Result<(), BusError>,
) -> Result<(), FrameError> {
    let (mut reader, writer) = tokio::io::split(stream);
    let mut changes = Changes { stream: writer, last: None };
    let mut nothing = [0; 1];
    let ended = tokio::select! {
        // The host sends nothing: this is its end.
        _ = reader.read(&mut nothing) => return Ok(()),
        ended = watch(&mut changes) => ended,
    };
    let stream = reader.unsplit(changes.stream);
    match ended {
        Ok(()) => refuse(stream, Fault::Systemd(BusError::Ended)).await,
        Err(error) => refuse(stream, Fault::Systemd(error)).await,
    }
}

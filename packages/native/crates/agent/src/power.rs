//! The end of the guest.

use std::path::Path;
use std::time::Duration;

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::Stream;
use boxlab_protocol::{Empty, Reply};
use rustix::system::{RebootCommand, reboot};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::console;
use crate::fault::Fault;
use crate::files::blocking;
use crate::serve::{Session, refuse};

/// How long the host may take to see the answer.
const ANSWER: Duration = Duration::from_millis(500);

/// Answers, and powers the guest off.
pub async fn off(mut stream: Stream, session: &Session) -> Result<(), FrameError> {
    if !session.agent.owns_machine {
        return refuse(stream, Fault::NotOurMachine).await;
    }
    frame::write(&mut stream, &Reply::Ok(Empty {})).await?;
    stream.shutdown().await?;
    // The answer is in the multiplexer's queue now. The host ends its side when it has read it.
    let _ = timeout(ANSWER, tokio::io::copy(&mut stream, &mut tokio::io::sink())).await;
    if std::process::id() != 1 && Path::new("/run/systemd/system").is_dir() {
        // systemd's own request for poweroff.target (systemd(1), SIGNALS).
        // SAFETY: kill(2) touches no memory.
        if unsafe { libc::kill(1, libc::SIGRTMIN() + 4) } == 0 {
            return Ok(());
        }
    }
    blocking(|| {
        rustix::fs::sync();
        if let Err(error) = reboot(RebootCommand::PowerOff) {
            console::say(&format!("boxlab: cannot power off: {error}"));
        }
    })
    .await
}

//! The guest side of a box: init of a bare box, and the server of the host's channel.
//!
//! As process 1 it sets the guest up, finds the virtio port of the host and serves it for as long as the guest lives.
//! `boxlab-agent @serve-fd N` serves an open descriptor, once, and changes nothing in the system around it.

mod archive;
mod attach;
mod channel;
mod clock;
mod console;
mod descriptor;
mod dial;
mod exec;
mod fault;
mod files;
mod init;
mod launch;
mod modules;
mod port;
mod power;
mod pty;
mod reaper;
mod serve;
mod spawn;
mod users;

use std::env;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use boxlab_protocol::AGENT_UP_MARKER;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::descriptor::Descriptor;
use crate::reaper::Reaper;
use crate::serve::{Agent, serve};

/// Before a port that failed or was left is opened again.
const AGAIN: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    let up_ns = clock::monotonic_ns();
    if std::process::id() == 1 {
        console::say(&format!("{AGENT_UP_MARKER}{up_ns}"));
    }
    console::announce_panics();
    init::let_commands_inherit_nothing();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let run = match (std::process::id(), descriptor_number(&arguments)) {
        // The kernel hands to init what it does not know of its command line: for us that means nothing.
        (1, _) => bare_box(up_ns),
        (_, Some(number)) => serve_descriptor(number, up_ns),
        (_, None) => {
            console::say("boxlab-agent is process 1 of a box, or serves a descriptor: boxlab-agent @serve-fd N");
            return ExitCode::from(2);
        }
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::say(&format!("boxlab: agent failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The N of `@serve-fd N`, which is none of the standard streams.
fn descriptor_number(arguments: &[String]) -> Option<RawFd> {
    match arguments {
        [mode, number] if mode == "@serve-fd" => number.parse().ok().filter(|number| *number > 2),
        _ => None,
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn bare_box(up_ns: u64) -> io::Result<()> {
    let beginning = init::begin();
    if beginning.console_came_late {
        console::say(&format!("{AGENT_UP_MARKER}{up_ns}"));
    }
    runtime()?.block_on(async {
        let (modules, troubles) = (beginning.modules, beginning.troubles);
        let agent = Arc::new(Agent { up_ns, modules, troubles, reaper: Reaper::start()? });
        let ports = port::Ports::new(beginning.uevents);
        loop {
            let path = ports.find().await;
            match port::open(&path).await {
                Ok(channel) => serve(channel, Arc::clone(&agent)).await,
                Err(error) => console::say(&format!("boxlab: cannot open {}: {error}", path.display())),
            }
            sleep(AGAIN).await;
        }
    })
}

fn serve_descriptor(number: RawFd, up_ns: u64) -> io::Result<()> {
    // SAFETY: it is above the standard streams, nothing else here knows of it, and whoever started us gave it to us.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    runtime()?.block_on(async {
        let agent = Agent { up_ns, modules: Vec::new(), troubles: Vec::new(), reaper: Reaper::start()? };
        serve(Descriptor::new(fd)?, Arc::new(agent)).await;
        Ok(())
    })
}

//! The guest side of a box: init of a bare box, and the server of the host's channel.
//!
//! As process 1 it sets the guest up, finds the virtio port of the host and serves it for as long as the guest lives.
//! `boxlab-agent @resident` does the same beside another init, without setting anything up. `boxlab-agent @serve-fd N`
//! serves an open descriptor, once, and leaves the machine around it alone.

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
mod network;
mod port;
mod power;
mod pty;
mod reaper;
mod serve;
mod spawn;
mod stage0;
mod systemd;
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
use crate::init::{Beginning, Machine};
use crate::port::Ports;
use crate::reaper::Reaper;
use crate::serve::{Agent, serve};
use crate::stage0::Resident;
use crate::systemd::Recorder;

/// Before a port that failed or was left is opened again.
const AGAIN: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    let up_ns = clock::monotonic_ns();
    if std::process::id() == 1 {
        console::say(&format!("{AGENT_UP_MARKER}{up_ns}"));
    }
    console::announce_panics();
    init::let_commands_inherit_nothing();
    let run = match Mode::of(&env::args().skip(1).collect::<Vec<_>>()) {
        Some(Mode::Init) => serve_port(up_ns, begin(up_ns)),
        Some(Mode::Resident(None)) => {
            serve_port(up_ns, Beginning { uevents: port::listen().ok(), ..Beginning::default() })
        }
        Some(Mode::Resident(Some(number))) => stay(number),
        Some(Mode::Descriptor(number)) => serve_descriptor(up_ns, number),
        None => {
            console::say("boxlab-agent runs as process 1 of a box, or as: boxlab-agent @resident | @serve-fd N");
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

/// What the agent is asked to be.
enum Mode {
    Init,
    /// Beside another init; with the descriptor of what stage 0 left for it.
    Resident(Option<RawFd>),
    Descriptor(RawFd),
}

impl Mode {
    fn of(arguments: &[String]) -> Option<Self> {
        match arguments {
            // The kernel hands to init what it does not know of its command line: for us that means nothing.
            _ if std::process::id() == 1 => Some(Self::Init),
            [mode] if mode == "@resident" => Some(Self::Resident(None)),
            [mode, number] if mode == "@resident" => {
                number.parse().ok().filter(|number| *number > 2).map(|number| Self::Resident(Some(number)))
            }
            // None of the standard streams.
            [mode, number] if mode == "@serve-fd" => {
                number.parse().ok().filter(|number| *number > 2).map(Self::Descriptor)
            }
            _ => None,
        }
    }
}

/// Sets the box up. Where an image's init takes over, this process becomes that and nothing comes back.
fn begin(up_ns: u64) -> Beginning {
    let asked = stage0::asked();
    let has_init = matches!(&asked, Some(Ok(stage0)) if stage0.init.is_some());
    let mut beginning = init::begin(if has_init { Machine::TheImages } else { Machine::Ours });
    if beginning.console_came_late {
        console::say(&format!("{AGENT_UP_MARKER}{up_ns}"));
    }
    let entered = match &asked {
        None => {
            tell_resolver(&mut beginning);
            return beginning;
        }
        Some(Err(fault)) => Err(fault.to_string()),
        Some(Ok(stage0)) => stage0::enter(stage0, &mut beginning.troubles).map_err(|fault| fault.to_string()),
    };
    let record_jobs = matches!(&asked, Some(Ok(stage0)) if stage0.record_jobs);
    let init = asked.and_then(Result::ok).and_then(|stage0| stage0.init);
    beginning.failure = match (entered, init) {
        (Ok(()), None) => {
            tell_resolver(&mut beginning);
            None
        }
        (Ok(()), Some(init)) => {
            let (modules, troubles) = (beginning.modules.clone(), beginning.troubles.clone());
            let resident = Resident { up_ns, modules, troubles, record_jobs, ..Resident::default() };
            let Err(error) = stage0::hand_over(&init, resident);
            Some(format!("the image's init {init} cannot be started: {error}"))
        }
        (Err(fault), _) => Some(fault),
    };
    if let Some(failure) = &beginning.failure {
        console::say(&format!("boxlab: stage 0 failed: {failure}"));
    }
    beginning
}

fn tell_resolver(beginning: &mut Beginning) {
    if let Err(error) = network::name_resolver() {
        beginning.troubles.push(format!("cannot write /etc/resolv.conf: {error}"));
    }
}

/// Goes on beside the image's init.
fn stay(number: RawFd) -> io::Result<()> {
    // Otherwise it is called `exe`, as what it was executed by.
    rustix::thread::set_name(c"boxlab-agent")?;
    let Resident { up_ns, switch_root_ns, modules, troubles, record_jobs } = stage0::taken_over(number)?;
    // Before all else: the image's init is being executed now.
    let recorder = if record_jobs { Some(Recorder::start()?) } else { None };
    let uevents = port::listen().ok();
    let switch_root_ns = Some(switch_root_ns);
    serve_port(up_ns, Beginning { modules, troubles, uevents, switch_root_ns, recorder, ..Beginning::default() })
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn serve_port(up_ns: u64, beginning: Beginning) -> io::Result<()> {
    runtime()?.block_on(async {
        let Beginning { modules, troubles, uevents, switch_root_ns, failure, recorder, .. } = beginning;
        let reaper = Reaper::start()?;
        let owns_machine = true;
        let agent = Agent { up_ns, owns_machine, modules, troubles, switch_root_ns, failure, recorder, reaper };
        let agent = Arc::new(agent);
        let ports = Ports::new(uevents);
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

fn serve_descriptor(up_ns: u64, number: RawFd) -> io::Result<()> {
    // SAFETY: it is above the standard streams, nothing else here knows of it, and whoever started us gave it to us.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    runtime()?.block_on(async {
        let Beginning { modules, troubles, switch_root_ns, failure, recorder, .. } = Beginning::default();
        let reaper = Reaper::start()?;
        let owns_machine = false;
        let agent = Agent { up_ns, owns_machine, modules, troubles, switch_root_ns, failure, recorder, reaper };
        serve(Descriptor::new(fd)?, Arc::new(agent)).await;
        Ok(())
    })
}

//! A command from its start to its exit: streams, controls, and the end of everything it started.

use std::time::Duration;

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::Stream;
use boxlab_protocol::{Control, Exec, Exited, Reply, Started};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::descriptor::Descriptor;
use crate::pty;
use crate::serve::{Session, refuse};
use crate::spawn::spawn;

/// What is taken from a stream at once, in bytes, and the most of it: most streams carry little or nothing, and
/// hundreds of commands may run.
const CHUNK_BYTES: usize = 4 * 1024;
const LARGE_CHUNK_BYTES: usize = 64 * 1024;

/// The kernel's limit for the pipes of users without the right to more (fs/pipe.c).
const PIPE_BYTES: usize = 1024 * 1024;

/// How long an output may be silent after the exit before whoever still holds it is left alone.
const HELD: Duration = Duration::from_millis(200);

/// How long an output that was read empty is let fill again. Without it a command that writes small pieces wakes the
/// agent for each; with it only what follows within this time waits for it, and never beyond the exit.
const FILL: Duration = Duration::from_millis(1);

/// How long a killed command may keep its streams.
const KILLED: Duration = Duration::from_secs(5);

/// Runs a command until its exit, or until the host lets go of `stream`.
pub async fn run(mut stream: Stream, exec: Exec, session: &Session) -> Result<(), FrameError> {
    let terminal = exec.pty.is_some();
    let attached = match session.attachments.collect(exec.id, terminal).await {
        Ok(attached) => attached,
        Err(fault) => return refuse(stream, fault).await,
    };
    let spawned = match spawn(&exec, &session.agent.reaper) {
        Ok(spawned) => spawned,
        Err(fault) => return refuse(stream, fault).await,
    };
    let mut group = Group { leader: spawned.running.pid, over: false };
    let started = Started { pid: spawned.running.pid.as_raw_nonzero().get().unsigned_abs() };
    frame::write(&mut stream, &Reply::Ok(started)).await?;

    let (from_host, mut to_host) = tokio::io::split(stream);
    let screen = terminal.then(|| spawned.stdout.clone());
    let (exited, was_exited) = watch::channel(false);
    let since_ns = spawned.running.since_ns;
    let exit = async {
        let ended = spawned.running.ended.await;
        exited.send_replace(true);
        ended
    };
    let output = pump(spawned.stdout, attached.stdout, was_exited.clone());
    let errors = async {
        match spawned.stderr.zip(attached.stderr) {
            Some((from, to)) => pump(from, to, was_exited).await,
            None => false,
        }
    };
    let work = async { tokio::join!(exit, output, errors) };
    let input = async {
        feed(attached.stdin, spawned.stdin, terminal).await;
        // Its end is no end of the command.
        std::future::pending::<()>().await;
    };
    let work = async {
        tokio::select! {
            done = work => done,
            () = input => unreachable!("input never ends"),
        }
    };
    tokio::pin!(work);
    tokio::select! {
        (ended, output_held, errors_held) = &mut work => {
            // What it left behind may stay.
            group.over = true;
            // The reaper lives as long as the agent.
            let Ok(ended) = ended else { return Ok(()) };
            let took_ns = ended.at_ns - since_ns;
            let output_held = output_held || errors_held;
            frame::write(&mut to_host, &Exited { code: ended.code, signal: ended.signal, took_ns, output_held }).await?;
            to_host.shutdown().await?;
        }
        () = control(from_host, &group, screen.as_ref()) => {
            group.signal(libc::SIGKILL);
            // The host may still want the output until here; it is not waited for beyond this.
            let _ = timeout(KILLED, work).await;
        }
    }
    Ok(())
}

/// A command's process group, which dies when this is dropped before the command was over.
struct Group {
    leader: Pid,
    over: bool,
}

impl Group {
    fn signal(&self, signal: i32) {
        // SAFETY: kill(2) touches no memory. The group's number is not given to another while a process of the group
        // is left, and a group without processes is an error that says so.
        unsafe { libc::kill(-self.leader.as_raw_nonzero().get(), signal) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            self.signal(libc::SIGKILL);
        }
    }
}

/// Does what the host says until it lets go.
async fn control(mut from: impl tokio::io::AsyncRead + Unpin, group: &Group, screen: Option<&Descriptor>) {
    loop {
        match frame::read_or_end(&mut from).await {
            Ok(Some(Control::Signal { signal })) => group.signal(signal),
            // A terminal that is closing has no size to set.
            Ok(Some(Control::Resize(size))) => drop(screen.map(|screen| pty::resize(screen, size))),
            Ok(None) | Err(_) => return,
        }
    }
}

/// Carries an output to the host until its end. Gives whether it had to be closed on somebody who still held it.
async fn pump(mut from: Descriptor, mut to: Stream, mut exited: watch::Receiver<bool>) -> bool {
    let mut chunk = vec![0; CHUNK_BYTES];
    let held = loop {
        let silence = async {
            // The sender lives as long as the command is waited for.
            let _ = exited.wait_for(|exited| *exited).await;
            sleep(HELD).await;
        };
        let read = tokio::select! {
            biased;
            read = from.read(&mut chunk) => read,
            () = silence => break true,
        };
        // A terminal whose last user is gone reads as an error (EIO).
        let Ok(length @ 1..) = read else { break false };
        if to.write_all(&chunk[..length]).await.is_err() {
            // The host wants no more of it: our end closes, and the command learns it from its next write.
            return false;
        }
        if length < chunk.len() {
            let _ = timeout(FILL, exited.wait_for(|exited| *exited)).await;
        }
        if grow(&mut chunk, length) {
            // A busy command then runs on while its output is carried. A smaller pipe is slower and as right, and a
            // terminal is none.
            let _ = fcntl_setpipe_size(&from, PIPE_BYTES);
        }
    };
    let _ = to.shutdown().await;
    held
}

/// Carries the input from the host to the command until either ends.
async fn feed(mut from: Stream, mut to: Descriptor, terminal: bool) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut last = None;
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        last = Some(chunk[length - 1]);
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
        grow(&mut chunk, length);
    }
    if terminal {
        let _ = to.write_all(&pty::end_of_input(&to, last)).await;
    }
}

/// Makes room for more once a read has filled what there was, and gives whether it did.
fn grow(chunk: &mut Vec<u8>, read: usize) -> bool {
    let full = read == chunk.len() && read < LARGE_CHUNK_BYTES;
    if full {
        *chunk = vec![0; LARGE_CHUNK_BYTES];
    }
    full
}

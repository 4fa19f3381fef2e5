//! Commands in the guest, with their limits kept on this side.

use std::sync::Arc;
use std::time::Duration;

use boxlab_protocol::frame;
use boxlab_protocol::mux::Stream;
use boxlab_protocol::{Control, Exec, Exited, Request, Started, Stdio, WindowSize};
use serde::Deserialize;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::agent::{agent_fault, reply};
use crate::fault::Fault;
use crate::machine::Machine;
use crate::registry;
use crate::stream::ByteStream;

/// A command to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecRequest {
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// Variables on top of the agent's defaults.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: Option<String>,
    /// User name or `uid[:gid]`.
    pub user: Option<String>,
    /// A terminal of this size.
    pub pty: Option<WindowSize>,
    /// The command's process group is killed after this time.
    pub timeout_ms: u64,
}

/// What a running command can be told.
#[derive(Debug)]
enum Order {
    Control(Control),
    Kill,
}

/// How a command ended.
pub type End = Result<Exited, Fault>;

/// A running command.
#[derive(Debug)]
pub struct Running {
    /// Its process id in the guest.
    pub pid: u32,
    /// Its standard input.
    pub stdin: Arc<ByteStream>,
    /// Its standard output, or with a terminal all its output.
    pub stdout: Arc<ByteStream>,
    /// Its standard error; none with a terminal.
    pub stderr: Option<Arc<ByteStream>>,
    orders: mpsc::UnboundedSender<Order>,
    end: watch::Receiver<Option<End>>,
}

impl Running {
    /// Resolves when it has ended: its exit, or why there is none.
    pub async fn wait(&self) -> End {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone()) {
            Some(end) => end,
            None => Err(Fault::Agent("the wait for the command was given up".to_owned())),
        }
    }

    /// Sends a signal to its process group.
    pub fn signal(&self, signal: i32) {
        // A command that has ended takes no signals.
        drop(self.orders.send(Order::Control(Control::Signal { signal })));
    }

    /// Tells its terminal a new size.
    pub fn resize(&self, size: WindowSize) {
        drop(self.orders.send(Order::Control(Control::Resize(size))));
    }

    /// Kills its process group; [`Running::wait`] then says so.
    pub fn kill(&self) {
        drop(self.orders.send(Order::Kill));
    }
}

/// Starts a command; resolves when it runs.
pub async fn exec(machine: &Arc<Machine>, request: ExecRequest) -> Result<Running, Fault> {
    registry::executed(machine);
    let started = start(machine, request).await;
    if started.is_err() {
        registry::exec_failed(machine);
    }
    started
}

async fn start(machine: &Arc<Machine>, request: ExecRequest) -> Result<Running, Fault> {
    let live = machine.agent_of("a command needs a running box with an agent")?;
    let Some(agent) = &live.agent else { return Err(Fault::Agent("the box has none".to_owned())) };
    let limit_ms = request.timeout_ms;
    let deadline = Instant::now() + Duration::from_millis(limit_ms);
    let command = request.argv.first().cloned().unwrap_or_default();
    let id = agent.next_id();
    let pty = request.pty.is_some();
    let ExecRequest { argv, env, cwd, user, pty: size, .. } = request;
    // All four streams are on their way before the first answer is waited for: one round trip in all.
    let open = async {
        let turn = agent.opening().await;
        let stdin = agent.open(&Request::Attach { exec: id, stream: Stdio::Stdin }).await?;
        let stdout = agent.open(&Request::Attach { exec: id, stream: Stdio::Stdout }).await?;
        let stderr = match pty {
            true => None,
            false => Some(agent.open(&Request::Attach { exec: id, stream: Stdio::Stderr }).await?),
        };
        let request = Request::Exec(Exec { id, argv, env, cwd, user, pty: size });
        let mut control = agent.open(&request).await?;
        drop(turn);
        let started: Started = reply(&mut control).await?;
        Ok((stdin, stdout, stderr, started, control))
    };
    let waited = format!("`{command}` to start");
    let (stdin, stdout, stderr, started, control) = machine.race(open, &waited, Some((deadline, limit_ms))).await?;
    let wrap = |stream| Arc::new(ByteStream::one_way(Arc::clone(machine), stream));
    let (stdin, stdout, stderr) = (wrap(stdin), wrap(stdout), stderr.map(wrap));
    let (orders, taken) = mpsc::unbounded_channel();
    let (ended, end) = watch::channel(None);
    let (watcher, input) = (Arc::clone(machine), Arc::clone(&stdin));
    tokio::spawn(async move {
        let outcome = watch_command(&watcher, control, taken, &command, (deadline, limit_ms)).await;
        if outcome.is_err() {
            registry::exec_failed(&watcher);
        }
        ended.send_replace(Some(outcome));
        // Nobody reads it any more. The outputs end by themselves, for those who still read them.
        input.close().await;
    });
    Ok(Running { pid: started.pid, stdin, stdout, stderr, orders, end })
}

/// Waits for the end of a command. Leaving drops the control stream, on which the agent kills the process group.
async fn watch_command(
    machine: &Machine,
    mut control: Stream,
    mut orders: mpsc::UnboundedReceiver<Order>,
    command: &str,
    (deadline, limit_ms): (Instant, u64),
) -> End {
    let waited = format!("`{command}` to end");
    loop {
        let next = async {
            tokio::select! {
                exited = frame::read::<Exited>(&mut control) => exited.map(Ok).map_err(agent_fault),
                Some(order) = orders.recv() => Ok(Err(order)),
                () = tokio::time::sleep_until(deadline) => {
                    Err(Fault::ExecTimeout { command: command.to_owned(), limit_ms })
                }
            }
        };
        match machine.race(next, &waited, None).await? {
            Ok(exited) => return Ok(exited),
            Err(Order::Kill) => return Err(Fault::ExecAborted { command: command.to_owned() }),
            Err(Order::Control(order)) => frame::write(&mut control, &order).await.map_err(agent_fault)?,
        }
    }
}

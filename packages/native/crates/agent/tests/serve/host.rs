//! The host's side: starts the agent on one end of a socket pair and asks it things over the other.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use boxlab_protocol::frame;
use boxlab_protocol::mux::{self, Opener, Stream};
use boxlab_protocol::{Exec, Exited, Hello, PROTOCOL_VERSION, Refusal, Reply, Request, Started, Stdio as Which};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Where the agent finds its end; high enough to be nobody else's.
const FD: i32 = 100;

/// An agent that serves.
pub struct Guest {
    pub opener: Opener,
    channel: JoinHandle<()>,
    agent: Child,
}

/// What a command did.
#[derive(Debug)]
pub struct Output {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exited: Exited,
}

/// A command that runs, with its streams.
pub struct Running {
    pub control: Stream,
    pub stdin: Stream,
    pub stdout: Stream,
    pub stderr: Option<Stream>,
    pub pid: u32,
}

impl Guest {
    pub fn start() -> Self {
        let (ours, theirs) = StdStream::pair().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_boxlab-agent"));
        command.args(["@serve-fd", &FD.to_string()]).stdin(Stdio::null());
        // SAFETY: dup2 is a system call and nothing else.
        unsafe {
            command.pre_exec(move || match libc::dup2(theirs.as_raw_fd(), FD) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            })
        };
        let agent = command.spawn().unwrap();
        drop(command);
        ours.set_nonblocking(true).unwrap();
        let (opener, drive) = mux::host(UnixStream::from_std(ours).unwrap());
        let channel = tokio::spawn(drive);
        Self { opener, channel, agent }
    }

    /// Starts it and waits until it serves.
    pub async fn settled() -> Self {
        let guest = Self::start();
        let (_, hello) = guest.answer::<Hello>(&Request::Hello { protocol: PROTOCOL_VERSION }).await;
        hello.unwrap();
        guest
    }

    /// Opens a stream and asks.
    pub async fn ask(&self, request: &Request) -> Stream {
        let mut stream = self.opener.open().await.unwrap();
        frame::write(&mut stream, request).await.unwrap();
        stream
    }

    /// Asks and reads the answer.
    pub async fn answer<T: DeserializeOwned>(&self, request: &Request) -> (Stream, Result<T, Refusal>) {
        let mut stream = self.ask(request).await;
        let answer = answer(&mut stream).await;
        (stream, answer)
    }

    /// Starts a command.
    pub async fn begin(&self, exec: Exec) -> Result<Running, Refusal> {
        let (id, terminal) = (exec.id, exec.pty.is_some());
        let stdin = self.ask(&Request::Attach { exec: id, stream: Which::Stdin }).await;
        let stdout = self.ask(&Request::Attach { exec: id, stream: Which::Stdout }).await;
        let stderr = match terminal {
            true => None,
            false => Some(self.ask(&Request::Attach { exec: id, stream: Which::Stderr }).await),
        };
        let mut control = self.ask(&Request::Exec(exec)).await;
        let Started { pid } = answer(&mut control).await?;
        Ok(Running { control, stdin, stdout, stderr, pid })
    }

    /// Runs a command to its end.
    pub async fn run(&self, exec: Exec, input: &[u8]) -> Result<Output, Refusal> {
        Ok(self.begin(exec).await?.finish(input).await)
    }

    /// Goes away as a host that is killed, and gives whether the agent then ended well.
    pub async fn leave(&mut self) -> bool {
        self.channel.abort();
        loop {
            if let Some(status) = self.agent.try_wait().unwrap() {
                return status.success();
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// The agent's peak memory, in KiB.
    pub fn peak_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.agent.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Descriptors that the agent holds.
    pub fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.agent.id())).unwrap().count()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.agent.kill();
        self.agent.wait().unwrap();
    }
}

impl Running {
    /// Sends the input, takes the output, and waits for the exit.
    pub async fn finish(mut self, input: &[u8]) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let feed = async {
            // A command need not take its input.
            let _ = self.stdin.write_all(input).await;
            let _ = self.stdin.shutdown().await;
        };
        let errors = async {
            if let Some(stream) = &mut self.stderr {
                stream.read_to_end(&mut stderr).await.unwrap();
            }
        };
        let exit = frame::read::<Exited>(&mut self.control);
        let (_, output, _, exited) = tokio::join!(feed, self.stdout.read_to_end(&mut stdout), errors, exit);
        output.unwrap();
        Output { stdout, stderr, exited: exited.unwrap() }
    }
}

/// Reads an answer.
pub async fn answer<T: DeserializeOwned>(stream: &mut Stream) -> Result<T, Refusal> {
    match frame::read::<Reply<T>>(stream).await.unwrap() {
        Reply::Ok(value) => Ok(value),
        Reply::Err(refusal) => Err(refusal),
    }
}

/// A command by its argv.
pub fn exec(id: u64, argv: &[&str]) -> Exec {
    Exec { id, argv: argv.iter().map(|&part| part.to_owned()).collect(), ..Exec::default() }
}

/// A command for the shell.
pub fn shell(id: u64, text: &str) -> Exec {
    exec(id, &["sh", "-c", text])
}

/// For tests that change users, owners or kernel files.
pub fn must_be_root() {
    assert!(rustix::process::geteuid().is_root(), "this test gives things to other users: run the tests as root");
}

/// A process that is dead and waits for whoever inherited it does not run.
pub fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Until none of them runs.
pub async fn gone(pids: &[u32]) {
    while pids.iter().copied().any(runs) {
        sleep(Duration::from_millis(5)).await;
    }
}

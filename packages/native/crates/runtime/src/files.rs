//! Files of the guest: whole ones, and trees as tar streams. Each transfer has a limit, in milliseconds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use boxlab_protocol::mux::{Stream, touch};
use boxlab_protocol::{Empty, FileFacts, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::io::SyncIoBridge;

use crate::agent::{Agent, reply};
use crate::fault::Fault;
use crate::machine::{Live, Machine};
use crate::stream::ByteStream;

const NEED: &str = "files need a running box with an agent";

/// Looks at what is at a path of the guest, of any kind.
pub async fn stat(machine: &Arc<Machine>, path: &str, limit_ms: u64) -> Result<FileFacts, Fault> {
    let live = machine.agent_of(NEED)?;
    let request = Request::Stat { path: path.to_owned() };
    let work = async { Ok(agent(&live)?.ask(&request).await?.0) };
    machine.race(work, &format!("a look at {path}"), until(limit_ms)).await
}

/// Reads a file of the guest.
pub async fn read(machine: &Arc<Machine>, path: &str, limit_ms: u64) -> Result<Vec<u8>, Fault> {
    let live = machine.agent_of(NEED)?;
    let work = async {
        let request = Request::ReadFile { path: path.to_owned() };
        let (facts, mut stream): (FileFacts, _) = agent(&live)?.ask(&request).await?;
        let mut bytes = Vec::with_capacity(usize::try_from(facts.size).unwrap_or(0).min(1 << 28));
        stream.read_to_end(&mut bytes).await.map_err(|error| Fault::Agent(error.to_string()))?;
        whole(&mut stream, path).await?;
        if (bytes.len() as u64) < facts.size {
            return Err(torn(path));
        }
        Ok(bytes)
    };
    machine.race(work, &format!("the content of {path}"), until(limit_ms)).await
}

/// Writes a file of the guest; missing folders above it are made.
pub async fn write(machine: &Arc<Machine>, path: &str, bytes: &[u8], mode: u32, limit_ms: u64) -> Result<(), Fault> {
    let live = machine.agent_of(NEED)?;
    let work = async {
        let mut stream = agent(&live)?.open(&Request::WriteFile { path: path.to_owned(), mode }).await?;
        // A refusal closes the stream under the write; the reply below then says why.
        let sent = stream.write_all(bytes).await;
        drop(stream.shutdown().await);
        let written: FileFacts = reply(&mut stream).await?;
        sent.map_err(|error| Fault::Agent(error.to_string()))?;
        if written.size != bytes.len() as u64 {
            return Err(Fault::Agent(format!("{path} has {} of {} bytes", written.size, bytes.len())));
        }
        Ok(())
    };
    machine.race(work, &format!("{path} to be written"), until(limit_ms)).await
}

/// Copies a file or a folder of the host's into the guest, under the path `to`.
pub async fn copy_in(machine: &Arc<Machine>, from: &Path, to: &str, limit_ms: u64) -> Result<(), Fault> {
    let live = machine.agent_of(NEED)?;
    let fault = |error: &std::io::Error| Fault::HostFile { path: from.to_owned(), reason: error.to_string() };
    let folder = std::fs::metadata(from).map_err(|error| fault(&error))?.is_dir();
    let (target, name) = if folder { (Path::new(to), Path::new("")) } else { split(to)? };
    let work = async {
        let request = Request::WriteTar { path: target.to_string_lossy().into_owned() };
        let stream = agent(&live)?.open(&request).await?;
        let (from, name) = (from.to_owned(), name.to_owned());
        let packed = blocking(move || pack(stream, &from, &name, folder)).await?;
        let (mut stream, sent) = packed;
        let _: Empty = reply(&mut stream).await?;
        sent.map_err(|error| fault(&error))
    };
    machine.race(work, &format!("{} to be copied to {to}", from.display()), until(limit_ms)).await
}

/// Copies a file or a folder of the guest's to the host, under the path `to`.
pub async fn copy_out(machine: &Arc<Machine>, from: &str, to: &Path, limit_ms: u64) -> Result<(), Fault> {
    let live = machine.agent_of(NEED)?;
    let work = async {
        let (_, stream): (Empty, _) = agent(&live)?.ask(&Request::ReadTar { path: from.to_owned() }).await?;
        let target = to.to_owned();
        let (mut stream, unpacked) = blocking(move || unpack(stream, &target)).await?;
        whole(&mut stream, from).await?;
        unpacked
    };
    machine.race(work, &format!("{from} to be copied to {}", to.display()), until(limit_ms)).await
}

/// Connects to a TCP port on the guest's loopback.
pub async fn dial(machine: &Arc<Machine>, port: u16, limit_ms: u64) -> Result<ByteStream, Fault> {
    let live = machine.agent_of("a connection needs a running box with an agent")?;
    let work = async { agent(&live)?.ask::<Empty>(&Request::Dial { port }).await };
    let (_, stream) = machine.race(work, &format!("a connection to port {port}"), until(limit_ms)).await?;
    Ok(ByteStream::two_way(Arc::clone(machine), stream))
}

/// The deadline of a transfer that begins now.
fn until(limit_ms: u64) -> Option<(Instant, u64)> {
    Some((Instant::now() + Duration::from_millis(limit_ms), limit_ms))
}

fn agent(live: &Live) -> Result<&Agent, Fault> {
    live.agent.as_ref().ok_or_else(|| Fault::Agent("the box has none".to_owned()))
}

/// The end of a stream is not yet the end of what was read: the agent drops the stream where it cannot read on.
async fn whole(stream: &mut Stream, path: &str) -> Result<(), Fault> {
    touch(stream).await.map_err(|_| torn(path))
}

fn torn(path: &str) -> Fault {
    Fault::Agent(format!("{path} could not be read to its end; the console tells why"))
}

fn split(to: &str) -> Result<(&Path, &Path), Fault> {
    let path = Path::new(to);
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, Path::new(name))),
        _ => Err(Fault::Refused { message: format!("`{to}` is no path of a file in the guest"), errno: None }),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::Agent(error.to_string()))
}

fn pack(stream: Stream, from: &Path, name: &Path, folder: bool) -> (Stream, std::io::Result<()>) {
    let mut bridge = SyncIoBridge::new(stream);
    let packed = (|| {
        let mut tar = tar::Builder::new(&mut bridge);
        tar.follow_symlinks(false);
        if folder {
            tar.append_dir_all(name, from)?;
        } else {
            tar.append_file(name, &mut std::fs::File::open(from)?)?;
        }
        tar.finish()
    })();
    let ended = bridge.shutdown();
    (bridge.into_inner(), packed.and(ended))
}

/// Unpacks what the agent sends: a folder begins with an entry `.`, a file is one entry of its name. The guest is not
/// trusted: no entry may leave the target (`unpack_in` sees to that).
fn unpack(stream: Stream, to: &Path) -> (Stream, Result<(), Fault>) {
    let mut bridge = SyncIoBridge::new(stream);
    let unpacked = unpack_entries(&mut bridge, to).and_then(|()| std::io::copy(&mut bridge, &mut std::io::sink()));
    let fault = |error: std::io::Error| Fault::HostFile { path: to.to_owned(), reason: error.to_string() };
    (bridge.into_inner(), unpacked.map(drop).map_err(fault))
}

fn unpack_entries(from: &mut SyncIoBridge<Stream>, to: &Path) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(from);
    let mut folder = false;
    for entry in archive.entries()? {
        let mut entry = entry?;
        entry.set_preserve_permissions(true);
        folder |= entry.path()?.as_ref() == Path::new(".");
        if folder {
            std::fs::create_dir_all(to)?;
            entry.unpack_in(to)?;
        } else {
            std::fs::create_dir_all(to.parent().unwrap_or(to))?;
            entry.unpack(to)?;
        }
    }
    Ok(())
}

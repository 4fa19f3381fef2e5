//! Connections to servers in the guest.

use std::net::{Ipv4Addr, Ipv6Addr};

use boxlab_protocol::frame::{self, FrameError};
use boxlab_protocol::mux::{Stream, touch};
use boxlab_protocol::{Empty, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::fault::Fault;
use crate::serve::refuse;

/// The most that is taken at once from either side, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Connects the stream to a port of the guest's loopback, and carries both directions until both have ended.
pub async fn run(mut stream: Stream, port: u16) -> Result<(), FrameError> {
    let server = match connect(port).await {
        Ok(server) => server,
        Err(error) => return refuse(stream, Fault::Dial { port, error }).await,
    };
    // What the two say may be small and urgent.
    server.set_nodelay(true)?;
    frame::write(&mut stream, &Reply::Ok(Empty {})).await?;
    let (mut from_server, mut to_server) = server.into_split();
    let (mut from_host, mut to_host) = tokio::io::split(stream);
    let host_ended = Notify::new();
    let there = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let length @ 1.. = from_host.read(&mut chunk).await? {
            to_server.write_all(&chunk[..length]).await?;
        }
        host_ended.notify_one();
        to_server.shutdown().await
    };
    let back = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = tokio::select! {
                read = from_server.read(&mut chunk) => read?,
                // A host that dropped the stream, and did not end its side of it, takes no write. Without asking,
                // a server that says nothing would keep its connection for ever.
                () = host_ended.notified() => {
                    touch(&mut to_host).await?;
                    continue;
                }
            };
            if read == 0 {
                return to_host.shutdown().await;
            }
            to_host.write_all(&chunk[..read]).await?;
        }
    };
    // An error of either direction ends both, and the dropped stream tells the host.
    tokio::try_join!(there, back)?;
    Ok(())
}

/// 127.0.0.1, or ::1 for a server that listens there only.
async fn connect(port: u16) -> std::io::Result<TcpStream> {
    match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(server) => Ok(server),
        Err(error) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error),
    }
}

//! Connections to servers in the guest.

use std::time::Duration;

use boxlab_protocol::{Empty, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::host::Guest;

async fn dialled(guest: &Guest, address: &str) -> (boxlab_protocol::mux::Stream, TcpStream) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stream, empty) = guest.answer::<Empty>(&Request::Dial { port }).await;
    empty.unwrap();
    (stream, listener.accept().await.unwrap().0)
}

#[tokio::test]
async fn either_side_may_end_first_and_still_hear_the_other() {
    let guest = Guest::start();
    let (mut host, mut server) = dialled(&guest, "127.0.0.1").await;
    let mut text = String::new();
    host.write_all(b"question").await.unwrap();
    host.shutdown().await.unwrap();
    server.read_to_string(&mut text).await.unwrap();
    server.write_all(b", answer").await.unwrap();
    server.shutdown().await.unwrap();
    host.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "question, answer");

    let (mut host, mut server) = dialled(&guest, "127.0.0.1").await;
    let mut text = String::new();
    server.write_all(b"greeting").await.unwrap();
    server.shutdown().await.unwrap();
    host.read_to_string(&mut text).await.unwrap();
    host.write_all(b", thanks").await.unwrap();
    host.shutdown().await.unwrap();
    server.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "greeting, thanks");
}

#[tokio::test]
async fn megabytes_pass_both_ways_at_once() {
    let guest = Guest::start();
    let (host, mut server) = dialled(&guest, "127.0.0.1").await;
    tokio::spawn(async move {
        let (mut from, mut to) = server.split();
        tokio::io::copy(&mut from, &mut to).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let sent: Vec<u8> = (0..5_000_000u32).map(|i| (i % 241) as u8).collect();
    let (mut from, mut to) = tokio::io::split(host);
    let copy = sent.clone();
    tokio::spawn(async move {
        to.write_all(&copy).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    from.read_to_end(&mut got).await.unwrap();
    assert!(got == sent);
}

#[tokio::test]
async fn a_server_on_the_other_loopback_is_found_too() {
    let guest = Guest::start();
    let (mut host, mut server) = dialled(&guest, "::1").await;
    server.write_all(b"6").await.unwrap();
    assert_eq!(host.read_u8().await.unwrap(), b'6');
}

#[tokio::test]
async fn a_port_without_a_server_is_refused_by_its_number() {
    let guest = Guest::start();
    let port = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let (_, refused) = guest.answer::<Empty>(&Request::Dial { port }).await;
    let refused = refused.unwrap_err();
    assert!(refused.message.contains(&port.to_string()), "{refused}");
    assert_eq!(refused.errno, Some(libc::ECONNREFUSED));
}

#[tokio::test]
async fn letting_go_of_the_stream_closes_the_connection_of_a_silent_server() {
    let guest = Guest::settled().await;
    let before = guest.descriptors();
    let (host, _server) = dialled(&guest, "127.0.0.1").await;
    assert_eq!(guest.descriptors(), before + 1);
    drop(host);
    let closed = async {
        while guest.descriptors() > before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(2), closed).await.unwrap();
}

#[tokio::test]
async fn a_server_that_resets_its_connection_ends_the_stream() {
    let guest = Guest::start();
    let (mut host, server) = dialled(&guest, "127.0.0.1").await;
    // Closing with a linger of zero sends a reset.
    server.set_zero_linger().unwrap();
    drop(server);
    let mut rest = Vec::new();
    timeout(Duration::from_secs(2), host.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.is_empty());
}

//! The agent without a VM: the real binary, driven over a socket pair by the host's side of the protocol.

mod commands;
mod dial;
mod files;
mod host;
mod limits;
mod tars;

use std::time::Instant;

use boxlab_protocol::{Empty, Hello, PROTOCOL_VERSION, Ping, Pong, Request, frame};
use host::Guest;
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn the_agent_tells_who_it_is() {
    let guest = Guest::start();
    let (_, hello) = guest.answer::<Hello>(&Request::Hello { protocol: PROTOCOL_VERSION }).await;
    let hello = hello.unwrap();
    assert_eq!(hello.protocol, PROTOCOL_VERSION);
    assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(hello.kernel, std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim());
    assert!(hello.up_ns > 0 && hello.serving_ns > hello.up_ns, "{hello:?}");
    assert!(hello.modules.is_empty() && hello.troubles.is_empty());
}

#[tokio::test]
async fn another_protocol_is_refused_with_both_versions() {
    let guest = Guest::start();
    let (_, hello) = guest.answer::<Hello>(&Request::Hello { protocol: 4711 }).await;
    let message = hello.unwrap_err().message;
    assert!(message.contains("4711") && message.contains(&PROTOCOL_VERSION.to_string()), "{message}");
}

#[tokio::test]
async fn an_agent_that_only_serves_a_descriptor_leaves_the_machine_running() {
    let guest = Guest::start();
    let (_, refused) = guest.answer::<Empty>(&Request::Poweroff).await;
    assert!(refused.unwrap_err().message.contains("does not power its machine off"));
}

#[tokio::test]
async fn pings_come_back_in_order_with_a_clock_that_goes_forward() {
    let guest = Guest::start();
    let mut stream = guest.ask(&Request::Pings).await;
    let mut before_ns = 0;
    let begun = Instant::now();
    for seq in 0..1000 {
        frame::write(&mut stream, &Ping { seq }).await.unwrap();
        let pong = frame::read::<Pong>(&mut stream).await.unwrap();
        assert_eq!(pong.seq, seq);
        assert!(pong.guest_ns > before_ns);
        before_ns = pong.guest_ns;
    }
    println!("1000 pings in {:?}", begun.elapsed());
    stream.shutdown().await.unwrap();
    assert!(frame::read_or_end::<Pong>(&mut stream).await.unwrap().is_none());
}

#[tokio::test]
async fn a_stream_that_says_nonsense_ends_and_harms_no_other() {
    let guest = Guest::start();
    let mut nonsense = guest.opener.open().await.unwrap();
    nonsense.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(frame::read_or_end::<Hello>(&mut nonsense).await.unwrap().is_none());
    let (_, hello) = guest.answer::<Hello>(&Request::Hello { protocol: PROTOCOL_VERSION }).await;
    hello.unwrap();
}

//! Many, much, and slow.

use std::time::{Duration, Instant};

use boxlab_protocol::{Exited, Hello, PROTOCOL_VERSION, Request, frame};
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};

use crate::host::{Guest, exec, gone, shell};

const HUNDRED_MB: usize = 100_000_000;

#[tokio::test]
async fn a_hundred_megabytes_come_byte_exact_through_bounded_memory() {
    let guest = Guest::settled().await;
    let before_kib = guest.peak_kib();
    let begun = Instant::now();
    let mut command = guest.begin(shell(1, &format!("seq 1 14000000 | head -c {HUNDRED_MB}"))).await.unwrap();
    let mut expected = Vec::new();
    let (mut next, mut total) = (1u64, 0);
    let mut chunk = vec![0; 256 * 1024];
    loop {
        let length = command.stdout.read(&mut chunk).await.unwrap();
        if length == 0 {
            break;
        }
        while expected.len() < length {
            expected.extend_from_slice(format!("{next}\n").as_bytes());
            next += 1;
        }
        assert!(expected[..length] == chunk[..length], "differs in the {length} bytes after {total}");
        expected.drain(..length);
        total += length;
    }
    assert_eq!(total, HUNDRED_MB);
    let exited = frame::read::<Exited>(&mut command.control).await.unwrap();
    assert_eq!((exited.code, exited.output_held), (Some(0), false));
    let (took, peak_kib) = (begun.elapsed(), guest.peak_kib());
    println!("100 MB in {took:?}; the agent's peak memory went from {before_kib} to {peak_kib} KiB");
    assert!(peak_kib < 24 * 1024, "{peak_kib} KiB");
}

#[tokio::test]
async fn an_output_that_nobody_reads_stops_its_command_and_nothing_else() {
    let guest = Guest::start();
    let mut command = guest.begin(exec(1, &["cat", "/dev/zero"])).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    let held_kib = guest.peak_kib();
    for id in 2..12 {
        let output = timeout(Duration::from_secs(5), guest.run(exec(id, &["echo", "hi"]), b"")).await.unwrap().unwrap();
        assert_eq!(output.stdout, b"hi\n");
    }
    sleep(Duration::from_millis(300)).await;
    assert!(guest.peak_kib() < held_kib + 2048, "{held_kib} to {} KiB", guest.peak_kib());
    // And it goes on when it is read again.
    let mut chunk = vec![0; 1024 * 1024];
    for _ in 0..20 {
        command.stdout.read_exact(&mut chunk).await.unwrap();
    }
    drop(command);
}

#[tokio::test]
async fn two_hundred_commands_at_once_all_come_home() {
    let guest = Guest::settled().await;
    let before = guest.descriptors();
    let begun = Instant::now();
    let runs = (0..200).map(|id| guest.run(exec(id, &["true"]), b""));
    for output in timeout(Duration::from_secs(60), futures_of(runs)).await.unwrap() {
        assert_eq!(output.unwrap().exited.code, Some(0));
    }
    println!("200 commands at once in {:?}; peak memory {} KiB", begun.elapsed(), guest.peak_kib());
    sleep(Duration::from_millis(300)).await;
    assert_eq!(guest.descriptors(), before);
}

#[tokio::test]
async fn commands_that_stay_silent_keep_no_stream_from_being_opened() {
    let mut guest = Guest::start();
    let runs = (0..120).map(|id| guest.begin(exec(id, &["sleep", "1000"])));
    let running = timeout(Duration::from_secs(60), futures_of(runs)).await.unwrap();
    let hello = guest.answer::<Hello>(&Request::Hello { protocol: PROTOCOL_VERSION });
    timeout(Duration::from_secs(5), hello).await.unwrap().1.unwrap();
    let pids: Vec<_> = running.iter().map(|command| command.as_ref().unwrap().pid).collect();
    assert!(timeout(Duration::from_secs(5), guest.leave()).await.unwrap());
    timeout(Duration::from_secs(10), gone(&pids)).await.unwrap();
}

#[tokio::test]
async fn a_thousand_commands_in_a_row_leave_nothing() {
    let guest = Guest::start();
    guest.run(exec(0, &["true"]), b"").await.unwrap();
    let (descriptors, peak_kib) = (guest.descriptors(), guest.peak_kib());
    let begun = Instant::now();
    for id in 1..1000 {
        assert_eq!(guest.run(exec(id, &["true"]), b"").await.unwrap().exited.code, Some(0));
    }
    println!("a command takes {:?} from end to end", begun.elapsed() / 999);
    assert_eq!(guest.descriptors(), descriptors);
    assert!(guest.peak_kib() < peak_kib + 4096, "{peak_kib} to {} KiB", guest.peak_kib());
}

/// All of them at once, in one task.
async fn futures_of<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |cx| {
        for (future, done) in &mut waiting {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *done = Some(value);
            }
        }
        match waiting.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(waiting.drain(..).filter_map(|(_, done)| done).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

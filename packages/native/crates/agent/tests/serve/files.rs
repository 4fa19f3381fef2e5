//! Single files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use boxlab_protocol::{FileFacts, Refusal, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::host::{Guest, answer, must_be_root};

async fn read(guest: &Guest, path: &Path) -> Result<(FileFacts, Vec<u8>), Refusal> {
    let (mut stream, facts) =
        guest.answer::<FileFacts>(&Request::ReadFile { path: path.to_str().unwrap().into() }).await;
    let facts = facts?;
    let mut content = Vec::new();
    stream.read_to_end(&mut content).await.unwrap();
    Ok((facts, content))
}

async fn stat(guest: &Guest, path: &str) -> Result<FileFacts, Refusal> {
    guest.answer::<FileFacts>(&Request::Stat { path: path.to_owned() }).await.1
}

async fn write(guest: &Guest, path: &Path, mode: u32, content: &[u8]) -> Result<FileFacts, Refusal> {
    let mut stream = guest.ask(&Request::WriteFile { path: path.to_str().unwrap().into(), mode }).await;
    stream.write_all(content).await.unwrap();
    stream.shutdown().await.unwrap();
    answer(&mut stream).await
}

fn some_bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 253) as u8).collect()
}

#[tokio::test]
async fn a_file_comes_back_as_it_was_written() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/c");
    for length in [0, 1, 65_536, 5_000_001] {
        let content = some_bytes(length);
        let facts = write(&guest, &path, 0o751, &content).await.unwrap();
        assert_eq!((facts.size, facts.mode, facts.uid), (length as u64, 0o751, 0));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
        let (facts, read) = read(&guest, &path).await.unwrap();
        assert_eq!((facts.size, facts.mode), (length as u64, 0o751));
        assert!(read == content);
    }
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "something was left beside it");
}

#[tokio::test]
async fn files_of_the_kernel_are_read_to_their_end() {
    let guest = Guest::start();
    let (facts, content) = read(&guest, Path::new("/proc/cpuinfo")).await.unwrap();
    assert_eq!(facts.size, 0);
    assert!(content.starts_with(b"processor") && content.ends_with(b"\n"));
    let (_, content) = read(&guest, Path::new("/sys/kernel/mm/transparent_hugepage/enabled")).await.unwrap();
    assert_eq!(content, fs::read("/sys/kernel/mm/transparent_hugepage/enabled").unwrap());
}

#[tokio::test]
async fn files_of_the_kernel_take_their_value_in_place() {
    must_be_root();
    let guest = Guest::start();
    let path = Path::new("/proc/sys/kernel/threads-max");
    let value = fs::read(path).unwrap();
    write(&guest, path, 0o644, &value).await.unwrap();
    assert_eq!(fs::read(path).unwrap(), value);
    let refused = write(&guest, path, 0o644, b"nonsense\n").await.unwrap_err();
    assert_eq!(refused.errno, Some(libc::EINVAL), "{refused}");
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_by_what_it_is() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let cases =
        [(fifo.as_path(), "a FIFO"), (folder.path(), "a folder"), (Path::new("/dev/zero"), "a character device")];
    for (path, kind) in cases {
        let expected = format!("{} is {kind} and not a regular file", path.display());
        let asked = timeout(Duration::from_secs(5), read(&guest, path)).await.unwrap();
        assert_eq!(asked.unwrap_err().message, expected);
        assert_eq!(write(&guest, path, 0o644, b"x").await.unwrap_err().message, expected);
    }
    let missing = read(&guest, Path::new("/no/such/file")).await.unwrap_err();
    assert!(missing.message.contains("/no/such/file"), "{missing}");
    assert_eq!(missing.errno, Some(libc::ENOENT));
    let relative = read(&guest, Path::new("etc/passwd")).await.unwrap_err();
    assert!(relative.message.contains("\"etc/passwd\" is not absolute"), "{relative}");
}

#[tokio::test]
async fn writing_goes_through_a_link_to_its_file() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "old").unwrap();
    symlink("file", &link).unwrap();
    write(&guest, &link, 0o600, b"new").await.unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[tokio::test]
async fn a_write_that_breaks_off_leaves_the_old_file() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    let request = Request::WriteFile { path: path.to_str().unwrap().into(), mode: 0o644 };
    let mut stream = guest.ask(&request).await;
    stream.write_all(&some_bytes(100_000)).await.unwrap();
    drop(stream);
    sleep(Duration::from_millis(200)).await;
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().ino()), (b"old".to_vec(), inode));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left beside it");
}

#[tokio::test]
async fn a_large_file_into_a_wrong_place_is_refused_and_not_stuck() {
    let guest = Guest::start();
    let refused = write(&guest, Path::new("/etc/passwd/x"), 0o644, &some_bytes(5_000_000)).await.unwrap_err();
    assert!(refused.message.contains("/etc/passwd"), "{refused}");
}

#[tokio::test]
async fn anything_at_a_path_is_looked_at_and_nothing_is_opened() {
    let guest = Guest::settled().await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let missing = stat(&guest, &path("none")).await.unwrap_err();
    assert_eq!(missing.errno, Some(libc::ENOENT));
    assert!(missing.message.contains(&path("none")), "{missing}");
    std::fs::write(path("file"), "12345").unwrap();
    assert_eq!(stat(&guest, &path("file")).await.unwrap().size, 5);
    std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    stat(&guest, &path("socket")).await.unwrap();
    stat(&guest, folder.path().to_str().unwrap()).await.unwrap();
    symlink(path("none"), path("dangling")).unwrap();
    stat(&guest, &path("dangling")).await.unwrap_err();
    assert!(stat(&guest, "file").await.unwrap_err().message.contains("absolute"));
}

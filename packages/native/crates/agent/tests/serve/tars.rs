//! Folders as tar streams.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use boxlab_protocol::{Empty, Refusal, Request};
use tar::{Archive, Builder, EntryType, Header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::host::{Guest, answer, must_be_root};

async fn read(guest: &Guest, path: &Path) -> Result<Vec<u8>, Refusal> {
    let (mut stream, empty) = guest.answer::<Empty>(&Request::ReadTar { path: path.to_str().unwrap().into() }).await;
    empty?;
    let mut archive = Vec::new();
    stream.read_to_end(&mut archive).await.unwrap();
    Ok(archive)
}

async fn write(guest: &Guest, path: &Path, archive: &[u8]) -> Result<(), Refusal> {
    let mut stream = guest.ask(&Request::WriteTar { path: path.to_str().unwrap().into() }).await;
    stream.write_all(archive).await.unwrap();
    stream.shutdown().await.unwrap();
    answer::<Empty>(&mut stream).await.map(|_| ())
}

fn names(archive: &[u8]) -> Vec<String> {
    let mut archive = Archive::new(archive);
    archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
}

#[tokio::test]
async fn a_folder_goes_out_and_in_again_as_it_was() {
    must_be_root();
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to/here"));
    let long = "long/".repeat(40) + "name";
    fs::create_dir_all(from.join(&long).parent().unwrap()).unwrap();
    fs::create_dir(from.join("empty")).unwrap();
    fs::write(from.join(&long), "deep").unwrap();
    fs::write(from.join("big"), vec![7; 1_000_000]).unwrap();
    fs::write(from.join("tool"), "#!/bin/sh\n").unwrap();
    chown(from.join("tool"), Some(1234), Some(5678)).unwrap();
    fs::set_permissions(from.join("tool"), PermissionsExt::from_mode(0o4755)).unwrap();
    symlink("../outside", from.join("link")).unwrap();
    lchown(from.join("link"), Some(1234), None).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(from.join("fifo")).status().unwrap().success());
    let _socket = UnixListener::bind(from.join("socket")).unwrap();
    fs::set_permissions(from.join("empty"), PermissionsExt::from_mode(0o1555)).unwrap();
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["tool", "empty", "long"] {
        fs::File::open(from.join(name)).unwrap().set_modified(then).unwrap();
    }

    let archive = read(&guest, &from).await.unwrap();
    assert_eq!(names(&archive)[..4], [".", "big", "empty", "fifo"]);
    assert!(!names(&archive).contains(&"socket".to_owned()));
    write(&guest, &to, &archive).await.unwrap();

    assert_eq!(fs::read(to.join(&long)).unwrap(), b"deep");
    assert_eq!(fs::read(to.join("big")).unwrap(), vec![7; 1_000_000]);
    let tool = fs::metadata(to.join("tool")).unwrap();
    assert_eq!((tool.mode() & 0o7777, tool.uid(), tool.gid(), tool.mtime()), (0o4755, 1234, 5678, 1_000_000_000));
    let empty = fs::metadata(to.join("empty")).unwrap();
    assert_eq!((empty.mode() & 0o7777, empty.mtime()), (0o1555, 1_000_000_000));
    assert_eq!(fs::metadata(to.join("long")).unwrap().mtime(), 1_000_000_000);
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("../outside"));
    assert_eq!(fs::symlink_metadata(to.join("link")).unwrap().uid(), 1234);
    assert!(fs::symlink_metadata(to.join("fifo")).unwrap().file_type().is_fifo());
}

#[tokio::test]
async fn a_file_is_one_entry_of_its_name() {
    let guest = Guest::start();
    let archive = read(&guest, Path::new("/etc/hostname")).await.unwrap();
    assert_eq!(names(&archive), ["hostname"]);
    let missing = read(&guest, Path::new("/no/such")).await.unwrap_err();
    assert!(missing.message.contains("/no/such"), "{missing}");
}

#[tokio::test]
async fn files_of_the_kernel_have_the_size_that_they_have() {
    let guest = Guest::start();
    let archive = read(&guest, Path::new("/proc/sys/kernel/random")).await.unwrap();
    let mut archive = Archive::new(archive.as_slice());
    let mut sizes = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.path().unwrap().display().to_string(), entry.size())
    });
    assert!(sizes.any(|(name, size)| name == "boot_id" && size == 37));
}

#[tokio::test]
async fn the_mode_of_the_folder_that_is_unpacked_into_stays() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::create_dir(&from).unwrap();
    fs::write(from.join("x"), "x").unwrap();
    fs::set_permissions(&from, PermissionsExt::from_mode(0o700)).unwrap();
    let to = folder.path().join("to");
    fs::create_dir(&to).unwrap();
    fs::set_permissions(&to, PermissionsExt::from_mode(0o1777)).unwrap();
    write(&guest, &to, &read(&guest, &from).await.unwrap()).await.unwrap();
    assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o1777);
}

/// An archive whose names nobody checks, as an attacker writes them.
fn hostile(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, link) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(if *kind == EntryType::Regular { 4 } else { 0 });
        header.set_cksum();
        builder.append(&header, if *kind == EntryType::Regular { &b"evil"[..] } else { b"" }).unwrap();
    }
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn no_entry_leaves_the_folder() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let outside = folder.path().to_str().unwrap();
    let target = folder.path().join("target");
    let cases: &[&[(&str, EntryType, &str)]] = &[
        &[("../evil", EntryType::Regular, "")],
        &[("a/../../evil", EntryType::Regular, "")],
        &[("out", EntryType::Symlink, outside), ("out/evil", EntryType::Regular, "")],
        &[("out", EntryType::Symlink, ".."), ("out/evil", EntryType::Regular, "")],
        &[("out", EntryType::Symlink, ".."), ("out/evil", EntryType::Fifo, "")],
        &[("out", EntryType::Symlink, ".."), ("out/evil/", EntryType::Directory, "")],
        &[("stolen", EntryType::Link, "../secret")],
    ];
    for entries in cases {
        let refused = write(&guest, &target, &hostile(entries)).await.unwrap_err();
        assert!(refused.message.contains("target"), "{refused}");
        assert!(!folder.path().join("evil").exists(), "{entries:?}");
        fs::remove_dir_all(&target).unwrap();
    }
    write(&guest, &target, &hostile(&[("/rooted", EntryType::Regular, "")])).await.unwrap();
    assert_eq!(fs::read(target.join("rooted")).unwrap(), b"evil");
    assert!(!Path::new("/rooted").exists());
}

#[tokio::test]
async fn what_is_no_archive_is_refused() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let refused = write(&guest, folder.path(), &[b'x'; 4096]).await.unwrap_err();
    assert!(refused.message.contains("archive"), "{refused}");
    let mut torn = hostile(&[("whole", EntryType::Regular, "")]);
    torn.truncate(514);
    let refused = write(&guest, folder.path(), &torn).await.unwrap_err();
    assert!(refused.message.contains("whole") && refused.message.contains("failed to write entire file"), "{refused}");
    fs::create_dir(folder.path().join("taken")).unwrap();
    fs::write(folder.path().join("taken/x"), "").unwrap();
    let refused = write(&guest, folder.path(), &hostile(&[("taken", EntryType::Regular, "")])).await.unwrap_err();
    assert!(refused.message.contains("Is a directory"), "{refused}");
    assert_eq!(refused.errno, Some(libc::EISDIR));
}

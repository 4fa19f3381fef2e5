//! The record folder: written while things happen, so that it outlives any end of its writer.
//!
//! The format is `packages/probes/schema/record-v1.schema.json`. Each line goes out in one write, so a reader sees
//! whole lines and at most one torn tail. Each file has a bound: what comes after it is not kept, and boot.json says so.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

use crate::fault::Fault;

/// QEMU's trace, from the folder of the record, which is where an engine runs.
pub const TRACE_LOG: &str = "trace/qemu.log";

/// The version of the format.
pub const RECORD_VERSION: u32 = 1;

/// An open record.
#[derive(Debug)]
pub struct Record {
    dir: PathBuf,
    limit_bytes: u64,
    marks: Mutex<Bounded>,
    qmp: Mutex<Bounded>,
    counters: Mutex<Bounded>,
    clock: Mutex<Bounded>,
    truncated: Mutex<Vec<&'static str>>,
    first_error: watch::Sender<Option<Fault>>,
}

/// A file of a record that is only added to, up to a bound.
#[derive(Debug)]
pub struct Bounded {
    name: &'static str,
    file: File,
    length: u64,
    limit_bytes: u64,
    full: bool,
}

/// The two files of the console, which one thread owns.
#[derive(Debug)]
pub struct ConsoleFiles {
    bytes: Bounded,
    index: Bounded,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexLine {
    offset: u64,
    length: usize,
    at_ns: u64,
}

impl Record {
    /// Makes the folder, which must not hold a record yet, and its files. None of them grows beyond `limit_bytes`.
    pub fn create(dir: &Path, limit_bytes: u64) -> Result<Self, Fault> {
        let file = |name| Bounded::create(dir, name, limit_bytes);
        let made = || -> IoResult<Self> {
            std::fs::create_dir_all(dir.join("guest"))?;
            std::fs::create_dir_all(dir.join("trace"))?;
            Ok(Self {
                dir: dir.to_owned(),
                limit_bytes,
                marks: Mutex::new(file("marks.jsonl")?),
                qmp: Mutex::new(file("qmp.jsonl")?),
                counters: Mutex::new(file("counters.jsonl")?),
                clock: Mutex::new(file("guest/clock.jsonl")?),
                truncated: Mutex::default(),
                first_error: watch::channel(None).0,
            })
        };
        made().map_err(|error| record_fault(dir, &error))
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The files that the console thread writes.
    pub fn console_files(&self) -> Result<ConsoleFiles, Fault> {
        Ok(ConsoleFiles { bytes: self.open("console.bin")?, index: self.open("console.idx.jsonl")? })
    }

    /// A new file for the words of a process.
    pub fn log(&self, name: &'static str) -> Result<Bounded, Fault> {
        self.open(name)
    }

    fn open(&self, name: &'static str) -> Result<Bounded, Fault> {
        let opened = Bounded::create(&self.dir, name, self.limit_bytes);
        opened.map_err(|error| record_fault(&self.dir.join(name), &error))
    }

    /// Adds a line to marks.jsonl.
    pub fn mark(&self, line: &impl Serialize) {
        self.line(&self.marks, line);
    }

    /// Adds a line to qmp.jsonl.
    pub fn qmp(&self, line: &impl Serialize) {
        self.line(&self.qmp, line);
    }

    /// Adds a line to counters.jsonl.
    pub fn counters(&self, line: &impl Serialize) {
        self.line(&self.counters, line);
    }

    /// Adds a line to guest/clock.jsonl.
    pub fn clock(&self, line: &impl Serialize) {
        self.line(&self.clock, line);
    }

    /// Adds what one read of the console gave.
    pub fn console(&self, files: &mut ConsoleFiles, bytes: &[u8], at_ns: u64) {
        let offset = files.bytes.length;
        let kept = self.append(&mut files.bytes, bytes);
        if kept > 0
            && let Some(line) = self.json(files.index.name, &IndexLine { offset, length: kept, at_ns })
        {
            self.append(&mut files.index, &line);
        }
    }

    /// Adds bytes to a file of its own; gives how many were kept.
    pub fn append(&self, file: &mut Bounded, bytes: &[u8]) -> usize {
        if file.full {
            return 0;
        }
        let room = usize::try_from(file.limit_bytes - file.length).unwrap_or(usize::MAX);
        // A line is whole or not there; of bytes the beginning is kept.
        let whole = file.name.ends_with(".jsonl");
        let kept = if bytes.len() <= room { bytes.len() } else { if whole { 0 } else { room } };
        if kept < bytes.len() {
            file.full = true;
            self.truncated.lock().unwrap_or_else(PoisonError::into_inner).push(file.name);
        }
        match file.file.write_all(&bytes[..kept]) {
            Ok(()) => file.length += kept as u64,
            Err(error) => {
                // A file with a hole in it would be a lie: nothing more goes in.
                file.full = true;
                self.failed(file.name, &error);
                return 0;
            }
        }
        kept
    }

    /// Writes a whole file beside its place and renames it in.
    pub fn replace(&self, name: &str, content: &impl Serialize) {
        let write = || -> IoResult<()> {
            let path = self.dir.join(name);
            let beside = self.dir.join(format!("{name}.new"));
            let mut json = serde_json::to_vec_pretty(content)?;
            json.push(b'\n');
            std::fs::write(&beside, json)?;
            std::fs::rename(&beside, &path)
        };
        if let Err(error) = write() {
            self.failed(name, &error);
        }
    }

    /// The files that were cut at their bound, in the order in which it was reached.
    pub fn truncated(&self) -> Vec<&'static str> {
        self.truncated.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What could not be written first, if anything: a record with a hole says so.
    pub fn first_error(&self) -> Option<Fault> {
        self.first_error.borrow().clone()
    }

    /// Resolves when something could not be written.
    pub async fn breaks(&self) -> Fault {
        let mut first = self.first_error.subscribe();
        let broken = first.wait_for(Option::is_some).await.ok().and_then(|fault| fault.clone());
        match broken {
            Some(fault) => fault,
            // The sender lives in self, so this is not reached.
            None => std::future::pending().await,
        }
    }

    fn line(&self, file: &Mutex<Bounded>, line: &impl Serialize) {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(json) = self.json(file.name, line) {
            self.append(&mut file, &json);
        }
    }

    fn json(&self, name: &str, line: &impl Serialize) -> Option<Vec<u8>> {
        match serde_json::to_vec(line) {
            Ok(mut json) => {
                json.push(b'\n');
                Some(json)
            }
            Err(error) => {
                self.failed(name, &error.into());
                None
            }
        }
    }

    /// Remembers the first failure to write. A folder that is gone was removed by its owner: nobody will read it.
    fn failed(&self, name: &str, error: &Error) {
        if error.kind() == ErrorKind::NotFound && !self.dir.exists() {
            return;
        }
        let fault = record_fault(&self.dir.join(name), error);
        self.first_error.send_if_modified(|first| {
            let news = first.is_none();
            first.get_or_insert(fault);
            news
        });
    }
}

impl ConsoleFiles {
    /// Bytes of the console that are kept.
    pub fn length(&self) -> u64 {
        self.bytes.length
    }
}

impl Bounded {
    fn create(dir: &Path, name: &'static str, limit_bytes: u64) -> IoResult<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(dir.join(name))?;
        Ok(Self { name, file, length: 0, limit_bytes, full: false })
    }
}

fn record_fault(path: &Path, error: &Error) -> Fault {
    Fault::Record { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::now_ns;

    fn record(limit_bytes: u64) -> Record {
        let dir = std::env::temp_dir().join(format!("boxlab-record-{}-{}", std::process::id(), now_ns()));
        Record::create(&dir, limit_bytes).unwrap()
    }

    fn read(record: &Record, name: &str) -> String {
        std::fs::read_to_string(record.dir.join(name)).unwrap()
    }

    #[test]
    fn bytes_are_kept_up_to_the_bound_and_lines_only_whole() {
        let record = record(24);
        let mut files = record.console_files().unwrap();
        for _ in 0..4 {
            record.console(&mut files, b"0123456789", 7);
        }
        for _ in 0..4 {
            record.mark(&json!("0123456789"));
        }
        assert_eq!(read(&record, "console.bin"), "012345678901234567890123");
        assert_eq!(read(&record, "marks.jsonl"), "\"0123456789\"\n");
        // The index has a bound of its own, which one line of it is longer than here.
        assert_eq!(record.truncated(), ["console.idx.jsonl", "console.bin", "marks.jsonl"]);
        assert!(record.first_error().is_none());
        std::fs::remove_dir_all(&record.dir).unwrap();
    }

    #[test]
    fn the_first_failure_to_write_is_kept_and_nothing_follows_it_into_that_file() {
        let record = record(1 << 20);
        let full =
            Bounded { file: OpenOptions::new().append(true).open("/dev/full").unwrap(), ..record.open("x").unwrap() };
        let mut full = full;
        assert_eq!(record.append(&mut full, b"lost"), 0);
        full.file = OpenOptions::new().append(true).open("/dev/null").unwrap();
        assert_eq!(record.append(&mut full, b"after the hole"), 0);
        let message = record.first_error().unwrap().to_string();
        assert!(message.contains("/x: No space left on device"), "{message}");
        std::fs::remove_dir_all(&record.dir).unwrap();
    }
}

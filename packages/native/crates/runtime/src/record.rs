//! The record folder: written while things happen, so that it outlives any end of its writer.
//!
//! The format is `packages/probes/schema/record-v1.schema.json`. Each line goes out in one write, so a reader sees
//! whole lines and at most one torn tail.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::fault::Fault;

/// The version of the format.
pub const RECORD_VERSION: u32 = 1;

/// An open record.
#[derive(Debug)]
pub struct Record {
    dir: PathBuf,
    marks: Mutex<File>,
    qmp: Mutex<File>,
    counters: Mutex<File>,
    clock: Mutex<File>,
    first_error: Mutex<Option<Fault>>,
}

/// The two files of the console, which one thread owns.
#[derive(Debug)]
pub struct ConsoleFiles {
    bytes: File,
    index: File,
    offset: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexLine {
    offset: u64,
    length: usize,
    at_ns: u64,
}

impl Record {
    /// Makes the folder, which must not hold a record yet, and its files.
    pub fn create(dir: &Path) -> Result<Self, Fault> {
        let made = || -> std::io::Result<Self> {
            std::fs::create_dir_all(dir.join("guest"))?;
            std::fs::create_dir_all(dir.join("trace"))?;
            Ok(Self {
                dir: dir.to_owned(),
                marks: Mutex::new(fresh(&dir.join("marks.jsonl"))?),
                qmp: Mutex::new(fresh(&dir.join("qmp.jsonl"))?),
                counters: Mutex::new(fresh(&dir.join("counters.jsonl"))?),
                clock: Mutex::new(fresh(&dir.join("guest/clock.jsonl"))?),
                first_error: Mutex::new(None),
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
        let open = || -> std::io::Result<ConsoleFiles> {
            Ok(ConsoleFiles {
                bytes: fresh(&self.dir.join("console.bin"))?,
                index: fresh(&self.dir.join("console.idx.jsonl"))?,
                offset: 0,
            })
        };
        open().map_err(|error| record_fault(&self.dir, &error))
    }

    /// Where the engine's own words go.
    pub fn engine_log(&self) -> Result<File, Fault> {
        fresh(&self.dir.join("engine.log")).map_err(|error| record_fault(&self.dir, &error))
    }

    /// Adds a line to marks.jsonl.
    pub fn mark(&self, line: &impl Serialize) {
        self.append(&self.marks, "marks.jsonl", line);
    }

    /// Adds a line to qmp.jsonl.
    pub fn qmp(&self, line: &impl Serialize) {
        self.append(&self.qmp, "qmp.jsonl", line);
    }

    /// Adds a line to counters.jsonl.
    pub fn counters(&self, line: &impl Serialize) {
        self.append(&self.counters, "counters.jsonl", line);
    }

    /// Adds a line to guest/clock.jsonl.
    pub fn clock(&self, line: &impl Serialize) {
        self.append(&self.clock, "guest/clock.jsonl", line);
    }

    /// Writes a whole file beside its place and renames it in.
    pub fn replace(&self, name: &str, content: &impl Serialize) {
        let write = || -> std::io::Result<()> {
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

    /// What could not be written first, if anything: a record with a hole says so.
    pub fn first_error(&self) -> Option<Fault> {
        self.first_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn append(&self, file: &Mutex<File>, name: &str, line: &impl Serialize) {
        let write = || -> std::io::Result<()> {
            let mut json = serde_json::to_vec(line)?;
            json.push(b'\n');
            file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&json)
        };
        if let Err(error) = write() {
            self.failed(name, &error);
        }
    }

    /// Remembers the first failure to write.
    pub fn failed(&self, name: &str, error: &std::io::Error) {
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| record_fault(&self.dir.join(name), error));
    }
}

impl ConsoleFiles {
    /// Adds what one read gave.
    pub fn append(&mut self, bytes: &[u8], at_ns: u64) -> std::io::Result<()> {
        self.bytes.write_all(bytes)?;
        let mut line = serde_json::to_vec(&IndexLine { offset: self.offset, length: bytes.len(), at_ns })?;
        line.push(b'\n');
        self.index.write_all(&line)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

fn fresh(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(path)
}

fn record_fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault::Record { path: path.to_owned(), reason: error.to_string() }
}

//! The ledger: all processes of one user share a folder in which every box has a file that its process holds locked.
//!
//! The lock (`flock`) is the proof of life: the kernel lets go of it when the process ends, in whatever way, so an entry
//! is stale exactly when its lock can be had. No pid is looked up, so it works across containers that share the folder.
//! `ledger.lock` is held for each look at the folder, well under a millisecond.

mod capacity;
mod decide;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::clock::now_ns;
use crate::fault::Fault;

pub use capacity::default_memory_mib;
pub use decide::{Answer, Entry, Limits, Short, Stand, Want, decide};

/// How long another process may take for its look at the folder. It takes microseconds; one that was stopped (SIGSTOP)
/// in the middle must not stop all others for ever.
const LOCK_LIMIT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_micros(500);

/// What is asked of the ledger.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// What is wanted.
    pub want: Want,
    /// The box's id, or a word for who wants the host alone.
    pub id: String,
    /// What a person calls it.
    pub label: Option<String>,
    /// Guest memory in MiB.
    #[serde(default)]
    pub memory_mib: u64,
    /// Virtual CPUs.
    #[serde(default)]
    pub cpus: u64,
}

/// A place in the ledger: waiting, then let in, until it is left or its process ends.
#[derive(Debug)]
pub struct Turn {
    dir: PathBuf,
    path: PathBuf,
    limits: Limits,
    held: Mutex<Option<(File, Entry)>>,
}

/// What came of asking for one's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Absent when it is its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Short>,
    /// Who has what it waits for.
    pub holders: Vec<Entry>,
    /// Who is before it in the queue.
    pub ahead: Vec<Entry>,
}

impl Turn {
    /// Queues up. Does not wait: [`Turn::ask`] tells when it is its turn.
    pub fn queue(dir: &Path, claim: Claim, limits: Limits) -> Result<Self, Fault> {
        std::fs::create_dir_all(dir).map_err(|error| ledger_fault(dir, &error))?;
        let folder = Folder::lock(dir)?;
        let seq = folder.entries()?.last().map_or(1, |entry| entry.seq + 1);
        let Claim { want, id, label, memory_mib, cpus } = claim;
        let (pid, process) = (std::process::id(), process_word().to_owned());
        let entry = Entry { seq, want, stand: Stand::Waiting, id, label, memory_mib, cpus, pid, process };
        // The number comes first and with all its digits, so that the names sort as the entries came.
        let path = dir.join(format!("{seq:020}.json"));
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
            file.try_lock()?;
            put(&mut file, &entry)?;
            Ok(file)
        };
        let file = open().map_err(|error| ledger_fault(&path, &error))?;
        Ok(Self { dir: dir.to_owned(), path, limits, held: Mutex::new(Some((file, entry))) })
    }

    /// Asks whether it is its turn, and takes it if so. Asked again once it has it, it has it still.
    pub fn ask(&self) -> Result<Asked, Fault> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let none = Asked { why: None, holders: Vec::new(), ahead: Vec::new() };
        let Some((file, entry)) = held.as_mut() else { return Ok(none) };
        if entry.stand != Stand::Waiting {
            return Ok(none);
        }
        let folder = Folder::lock(&self.dir)?;
        let entries = folder.entries()?;
        let Some(me) = entries.iter().position(|one| one.seq == entry.seq) else {
            let gone = std::io::Error::other("its entry was removed by somebody");
            return Err(ledger_fault(&self.path, &gone));
        };
        match decide(&entries, me, &self.limits) {
            Answer::Go => {
                entry.stand = if entry.want == Want::Box { Stand::Booting } else { Stand::Running };
                put(file, entry).map_err(|error| ledger_fault(&self.path, &error))?;
                Ok(none)
            }
            Answer::Wait { why, holders, ahead } => {
                let these = |list: Vec<usize>| list.into_iter().map(|index| entries[index].clone()).collect();
                Ok(Asked { why: Some(why), holders: these(holders), ahead: these(ahead) })
            }
        }
    }

    /// The box is ready: its CPUs are free for the next boot.
    pub fn ready(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, entry)) = held.as_mut() else { return };
        entry.stand = Stand::Running;
        // Under the lock, so that nobody reads half of it. Where that fails, others wait for longer than they need to.
        drop(Folder::lock(&self.dir).map(|_folder| put(file, entry)));
    }

    /// Gives back what it has. Again is no error.
    pub fn leave(&self) {
        if let Some((file, _)) = self.held.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Without its lock the file is stale, so this may fail.
            drop(std::fs::remove_file(&self.path));
            drop(file);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Who stands in a ledger, in the order in which they came. A folder that is not there has nobody.
pub fn entries(dir: &Path) -> Result<Vec<Entry>, Fault> {
    if dir.is_dir() { Folder::lock(dir)?.entries() } else { Ok(Vec::new()) }
}

/// The folder while nobody else may change it.
struct Folder<'dir> {
    dir: &'dir Path,
    _lock: File,
}

impl<'dir> Folder<'dir> {
    fn lock(dir: &'dir Path) -> Result<Self, Fault> {
        let path = dir.join("ledger.lock");
        let fault = |error: &std::io::Error| ledger_fault(&path, error);
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(|error| fault(&error))?;
        let deadline = Instant::now() + LOCK_LIMIT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { dir, _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOCK_PAUSE),
                Err(error) => return Err(fault(&std::io::Error::from(error))),
            }
        }
    }

    /// The entries of living processes; those of dead ones are removed.
    fn entries(&self) -> Result<Vec<Entry>, Fault> {
        let mut names: Vec<PathBuf> = std::fs::read_dir(self.dir)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
            .map_err(|error| ledger_fault(self.dir, &error))?;
        names.retain(|path| path.extension().is_some_and(|end| end == "json"));
        names.sort();
        Ok(names.iter().filter_map(|path| living(path)).collect())
    }
}

/// Reads an entry whose process lives. Its file may vanish at any time: who leaves does not ask for the folder's lock.
fn living(path: &Path) -> Option<Entry> {
    let mut file = File::open(path).ok()?;
    match file.try_lock() {
        Ok(()) => {
            drop(std::fs::remove_file(path));
            None
        }
        Err(_) => {
            let mut text = String::new();
            file.read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        }
    }
}

fn put(file: &mut File, entry: &Entry) -> std::io::Result<()> {
    let json = serde_json::to_vec(entry)?;
    file.seek(SeekFrom::Start(0))?;
    file.set_len(0)?;
    file.write_all(&json)
}

/// A word that no other process has.
fn process_word() -> &'static str {
    static WORD: OnceLock<String> = OnceLock::new();
    WORD.get_or_init(|| format!("{}-{}", std::process::id(), now_ns()))
}

fn ledger_fault(path: &Path, error: &std::io::Error) -> Fault {
    Fault::Ledger { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("boxlab-ledger-{}-{}", std::process::id(), now_ns())))
        }

        fn queue(&self, id: &str, memory_mib: u64) -> Turn {
            let claim = Claim { want: Want::Box, id: id.to_owned(), label: None, memory_mib, cpus: 1 };
            let limits = Limits { max_memory_mib: 1000, max_boxes: None, max_booting_cpus: 2 };
            Turn::queue(&self.0, claim, limits).unwrap()
        }

        fn names(&self) -> Vec<String> {
            entries(&self.0).unwrap().into_iter().map(|entry| entry.id).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn turns_are_had_in_order_and_given_back() {
        let scratch = Scratch::new();
        assert_eq!(scratch.names(), [""; 0]);
        let (first, second, third) = (scratch.queue("a", 600), scratch.queue("b", 600), scratch.queue("c", 100));
        assert_eq!(first.ask().unwrap().why, None);
        let asked = second.ask().unwrap();
        assert_eq!((asked.why, asked.holders[0].id.as_str()), (Some(Short::Memory), "a"));
        let asked = third.ask().unwrap();
        assert_eq!((asked.why, asked.ahead[0].id.as_str()), (Some(Short::Queue), "b"));
        first.leave();
        first.leave();
        assert_eq!(third.ask().unwrap().why, Some(Short::Queue));
        assert_eq!(second.ask().unwrap().why, None);
        assert_eq!(second.ask().unwrap().why, None, "who has it has it still");
        assert_eq!(third.ask().unwrap().why, None);
        second.ready();
        let stands: Vec<Stand> = entries(&scratch.0).unwrap().into_iter().map(|entry| entry.stand).collect();
        assert_eq!(stands, [Stand::Running, Stand::Booting]);
        drop(third);
        assert_eq!(scratch.names(), ["b"]);
    }

    #[test]
    fn an_entry_without_a_process_is_gone_at_the_next_look() {
        let scratch = Scratch::new();
        let turn = scratch.queue("a", 1000);
        turn.ask().unwrap();
        let file = scratch.0.join("00000000000000000001.json");
        let left = std::fs::read(&file).unwrap();
        turn.leave();
        std::fs::write(&file, left).unwrap();
        let next = scratch.queue("b", 1000);
        assert_eq!(next.ask().unwrap().why, None);
        assert_eq!(scratch.names(), ["b"]);
    }

    #[test]
    fn what_is_no_entry_holds_nobody_up() {
        let scratch = Scratch::new();
        let turn = scratch.queue("a", 10);
        std::fs::write(scratch.0.join("00000000000000000009.json"), "not an entry").unwrap();
        std::fs::write(scratch.0.join("README"), "somebody's own").unwrap();
        assert_eq!(turn.ask().unwrap().why, None);
        assert!(scratch.0.join("README").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let claim = Claim { want: Want::Box, id: "a".into(), label: None, memory_mib: 1, cpus: 1 };
        let limits = Limits { max_memory_mib: 1, max_boxes: None, max_booting_cpus: 1 };
        let fault = Turn::queue(Path::new("/dev/null/ledger"), claim, limits).unwrap_err();
        assert!(fault.to_string().contains("/dev/null/ledger"), "{fault}");
        assert_eq!(fault.code(), "ERR_BOX_LEDGER");
    }
}

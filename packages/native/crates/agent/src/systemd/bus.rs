//! A connection to systemd, and the few questions that are asked over it.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::sleep;

use super::json::{Properties, to_json};
use super::wire::{Peer, Signal};

/// Where PID 1 listens.
pub const SOCKET: &str = "/run/systemd/private";
pub const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
pub const MANAGER: &str = "org.freedesktop.systemd1.Manager";
pub const UNIT: &str = "org.freedesktop.systemd1.Unit";
pub const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// Before a socket that is not there yet, or whose owner executes itself again, is tried once more.
const AGAIN: Duration = Duration::from_millis(5);

/// Why systemd could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// Another init runs.
    #[error("systemd is not this guest's init: {0}")]
    NotSystemd(String),
    /// It said no.
    #[error("systemd refused: {0}")]
    Refused(String),
    /// It said goodbye.
    #[error("systemd ended the conversation")]
    Ended,
    /// The box was booted without it.
    #[error("nothing records the jobs of this guest's systemd: boot the box with `record: {{ jobs: true }}`")]
    NoRecorder,
    /// The conversation failed.
    #[error("systemd does not answer: {0}")]
    Other(String),
}

impl BusError {
    pub fn other(error: impl std::fmt::Display) -> Self {
        Self::Other(error.to_string())
    }
}

/// A connection to PID 1.
#[derive(Debug)]
pub struct Systemd {
    pub peer: Peer,
}

/// A unit that is loaded.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Its object.
    pub path: String,
    kind: String,
}

impl Systemd {
    /// Connects, and waits for the socket while systemd starts. An init that is no systemd is an error.
    pub async fn connect() -> Result<Self, BusError> {
        loop {
            match Peer::connect(Path::new(SOCKET)).await {
                Ok(peer) => return Ok(Self { peer }),
                Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused].contains(&error.kind()) => {
                    another_init()?;
                    sleep(AGAIN).await;
                }
                Err(error) => return Err(BusError::other(format!("cannot connect to {SOCKET}: {error}"))),
            }
        }
    }

    /// From now on systemd tells of changes.
    pub async fn subscribe(&mut self) -> Result<(), BusError> {
        self.peer.call::<()>(MANAGER_PATH, MANAGER, "Subscribe", &()).await
    }

    /// Waits for a signal that matters, and takes all that came with it: one look answers them all.
    pub async fn changes(&mut self, mut matters: impl FnMut(&Signal) -> bool) -> Result<(), BusError> {
        while !matters(&self.peer.signal().await?) {}
        for signal in self.peer.ready() {
            matters(&signal);
        }
        Ok(())
    }

    /// All properties of the manager.
    pub async fn manager(&mut self) -> Result<Map<String, Value>, BusError> {
        self.all(MANAGER_PATH, MANAGER).await
    }

    /// The ids of units that failed.
    pub async fn failed(&mut self) -> Result<Vec<String>, BusError> {
        // a(ssssssouso): the first of each is the id.
        type Path = zbus::OwnedObjectPath;
        type Row = (String, String, String, String, String, String, Path, u32, String, Path);
        let rows: Vec<Row> = self.peer.call(MANAGER_PATH, MANAGER, "ListUnitsFiltered", &(vec!["failed"],)).await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// A unit by any of its names; loaded if it was not.
    pub async fn unit(&mut self, name: &str) -> Result<Unit, BusError> {
        let path: zbus::OwnedObjectPath = self.peer.call(MANAGER_PATH, MANAGER, "LoadUnit", &(name,)).await?;
        let kind = name.rsplit_once('.').map_or("", |(_, kind)| kind);
        Ok(Unit { path: path.to_string(), kind: kind.to_owned() })
    }

    /// What every unit has.
    pub async fn common(&mut self, unit: &Unit) -> Result<Map<String, Value>, BusError> {
        self.all(&unit.path, UNIT).await
    }

    /// What a unit of its kind has: `Type` and `Result` of a service, for example.
    pub async fn special(&mut self, unit: &Unit) -> Result<Map<String, Value>, BusError> {
        let mut letters = unit.kind.chars();
        let Some(first) = letters.next() else { return Ok(Map::new()) };
        // service: org.freedesktop.systemd1.Service
        let interface = format!("org.freedesktop.systemd1.{}{}", first.to_ascii_uppercase(), letters.as_str());
        self.all(&unit.path, &interface).await
    }

    async fn all(&mut self, path: &str, interface: &str) -> Result<Map<String, Value>, BusError> {
        let properties: Properties = self.peer.call(path, PROPERTIES, "GetAll", &(interface,)).await?;
        Ok(properties.into_iter().map(|(name, value)| (name, to_json(&value))).collect())
    }
}

/// An error when process 1 is known and no systemd: its socket will never come.
fn another_init() -> Result<(), BusError> {
    let name = std::fs::read_to_string("/proc/1/comm").unwrap_or_default();
    let program = std::fs::read_link("/proc/1/exe").unwrap_or_default();
    let is_systemd = program.file_name().is_some_and(|file| file.to_string_lossy().starts_with("systemd"));
    // Until process 1 has executed the image's init it is ours.
    let is_agent = program == Path::new("/init") || program.to_string_lossy().contains("deleted");
    if is_systemd || (is_agent && std::process::id() != 1) {
        return Ok(());
    }
    Err(BusError::NotSystemd(format!("process 1 is {} ({})", name.trim_end(), program.display())))
}

//! QMP over an inherited descriptor: one line of JSON each way, every line kept in the record with its time.
//!
//! Format: QEMU's docs/interop/qmp-spec (7.2). Own code in place of a crate, since the record needs each line as it
//! was, with the time of its read.

use std::collections::HashMap;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;

use crate::board::{Board, Mark, Source};
use crate::clock::now_ns;
use crate::fault::Fault;
use crate::record::Record;

/// A reply: what QEMU returned, or its error's description.
type Answer = Result<Value, String>;

/// Who waits for which reply, and gets it with the time of its read. `None` once the engine has ended.
type Pending = Option<HashMap<u64, oneshot::Sender<(Answer, u64)>>>;

/// The client of one engine.
#[derive(Debug, Clone)]
pub struct Qmp {
    record: Arc<Record>,
    writer: Arc<tokio::sync::Mutex<OwnedWriteHalf>>,
    pending: Arc<Mutex<Pending>>,
    next: Arc<AtomicU64>,
}

impl Qmp {
    /// Starts to listen. Sets `engine-main` at QEMU's first byte, and marks for the events that are some.
    pub fn start(stream: StdStream, record: &Arc<Record>, board: &Arc<Board>) -> Result<Self, Fault> {
        let prepared = stream.set_nonblocking(true).and_then(|()| UnixStream::from_std(stream));
        let stream = prepared.map_err(|error| Fault::Qmp { command: "connect".into(), reason: error.to_string() })?;
        let (reader, writer) = stream.into_split();
        let qmp = Self {
            record: Arc::clone(record),
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            pending: Arc::new(Mutex::new(Some(HashMap::new()))),
            next: Arc::new(AtomicU64::new(1)),
        };
        tokio::spawn(qmp.clone().listen(reader, Arc::clone(board)));
        Ok(qmp)
    }

    /// Runs a command; gives what it returned and when its reply was read (host clock, ns). Ends with an error when
    /// the engine ends.
    pub async fn execute(&self, command: &str, arguments: Option<Value>) -> Result<(Value, u64), Fault> {
        let fault = |reason: String| Fault::Qmp { command: command.to_owned(), reason };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        match self.pending.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(pending) => pending.insert(id, answer),
            None => return Err(fault("the engine has ended".to_owned())),
        };
        let mut message = json!({ "execute": command, "id": id });
        if let Some(arguments) = arguments {
            message["arguments"] = arguments;
        }
        self.record.qmp(&json!({ "atNs": now_ns(), "dir": "out", "message": message }));
        let mut line = message.to_string();
        line.push('\n');
        let written = self.writer.lock().await.write_all(line.as_bytes()).await;
        written.map_err(|error| fault(error.to_string()))?;
        let (answer, at_ns) = answered.await.map_err(|_| fault("the engine has ended".to_owned()))?;
        Ok((answer.map_err(fault)?, at_ns))
    }

    async fn listen(self, mut reader: OwnedReadHalf, board: Arc<Board>) {
        let mut lines = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        let mut first = true;
        while let Ok(length @ 1..) = reader.read(&mut buffer).await {
            let at_ns = now_ns();
            if first {
                board.set(Mark::host("engine-main", Source::Qmp, at_ns));
                first = false;
            }
            lines.extend_from_slice(&buffer[..length]);
            while let Some(end) = memchr::memchr(b'\n', &lines) {
                let line: Vec<u8> = lines.drain(..=end).collect();
                self.take(&line, at_ns, &board);
            }
        }
        // Dropping the senders ends every wait.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn take(&self, line: &[u8], at_ns: u64, board: &Board) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.record.qmp(&json!({ "atNs": at_ns, "dir": "in", "message": String::from_utf8_lossy(line) }));
            return;
        };
        self.record.qmp(&json!({ "atNs": at_ns, "dir": "in", "message": message }));
        if let Some(id) = message["id"].as_u64() {
            let answer = match message.get("error") {
                Some(error) => Err(error["desc"].as_str().unwrap_or("no reason given").to_owned()),
                None => Ok(message["return"].clone()),
            };
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(waiting) = pending.as_mut().and_then(|pending| pending.remove(&id)) {
                // Who asked may have given up.
                drop(waiting.send((answer, at_ns)));
            }
        } else if let Some(mark) = event_mark(&message) {
            board.set(Mark::host(mark, Source::Qmp, at_ns).with(message["data"].clone()));
        }
    }
}

/// The mark that an event sets (qapi/run-state.json).
fn event_mark(message: &Value) -> Option<&'static str> {
    match (message["event"].as_str()?, message["data"]["reason"].as_str()) {
        ("GUEST_PANICKED", _) => Some("guest-panic"),
        ("RESET", _) | ("SHUTDOWN", Some("guest-reset")) => Some("guest-reset"),
        ("SHUTDOWN", Some("guest-shutdown")) => Some("guest-shutdown"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_the_guest_are_marks_and_those_of_the_host_are_not() {
        let mark = |text: &str| event_mark(&serde_json::from_str(text).unwrap());
        let shutdown = |reason: &str| format!(r#"{{"event":"SHUTDOWN","data":{{"guest":true,"reason":"{reason}"}}}}"#);
        assert_eq!(mark(&shutdown("guest-reset")), Some("guest-reset"));
        assert_eq!(mark(&shutdown("guest-shutdown")), Some("guest-shutdown"));
        assert_eq!(mark(&shutdown("host-qmp-quit")), None);
        assert_eq!(mark(r#"{"event":"GUEST_PANICKED","data":{"action":"shutdown"}}"#), Some("guest-panic"));
        assert_eq!(mark(r#"{"event":"RESUME"}"#), None);
        assert_eq!(mark(r#"{"return":{},"id":1}"#), None);
    }
}

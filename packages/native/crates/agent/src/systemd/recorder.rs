//! Takes down what PID 1 says of its jobs, from before the first one runs: a thread that was there before PID 1 connects as
//! soon as its socket is, asks once, and then only reads. What came is kept as it came, with the time of the read(2); it is
//! decoded when somebody wants it, so that the boot pays for no more than the reading.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::bus::{MANAGER, MANAGER_PATH, PROPERTIES, SOCKET};
use super::wire::{self, Message};
use crate::clock::monotonic_ns;

/// The socket comes some milliseconds before the first job is run, and is to be caught in between.
const PAUSE: Duration = Duration::from_micros(500);
/// After so many tries (half a minute) nobody is in a hurry any more: this init may be no systemd at all.
const EAGER_TRIES: u64 = 60_000;
const PATIENT_PAUSE: Duration = Duration::from_millis(20);
const CHUNK_BYTES: usize = 64 * 1024;
/// A boot has 1 MB; a guest that reloads itself for hours shall not lose its memory to us.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// What was taken down.
#[derive(Debug, Default)]
pub struct Recorder {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    pieces: Vec<Piece>,
    bytes: usize,
}

#[derive(Debug, Clone)]
enum Piece {
    Connected { start_us: u64, at_us: u64, tries: u64 },
    Read { at_us: u64, bytes: Vec<u8> },
    Closed { at_us: u64, why: String },
}

impl Recorder {
    /// Starts to look for the socket.
    pub fn start() -> io::Result<Arc<Self>> {
        Self::start_at(Path::new(SOCKET))
    }

    fn start_at(socket: &Path) -> io::Result<Arc<Self>> {
        let calls = [
            (MANAGER_PATH, MANAGER, "ListJobs", None),
            (MANAGER_PATH, MANAGER, "ListUnits", None),
            (MANAGER_PATH, PROPERTIES, "GetAll", Some(MANAGER)),
        ];
        let beginning = wire::beginning(&calls).map_err(io::Error::other)?;
        let recorder = Arc::new(Self::default());
        let (own, socket) = (Arc::clone(&recorder), socket.to_owned());
        thread::Builder::new().name("boxlab-jobs".to_owned()).spawn(move || own.run(&socket, &beginning))?;
        Ok(recorder)
    }

    /// systemd ends the conversation when it executes itself again or is another one after switch-root; then the next begins.
    fn run(&self, socket: &Path, beginning: &[u8]) {
        loop {
            let start_us = now_us();
            let (mut stream, tries) = connected(socket);
            let at_us = now_us();
            let begun = stream.write_all(beginning);
            self.keep(Piece::Connected { start_us, at_us, tries });
            let why = match begun.and_then(|()| self.read(&mut stream)) {
                Ok(true) => "end of file".to_owned(),
                Ok(false) => {
                    let why = format!("the recording is longer than {} MiB", MOST_BYTES / 1024 / 1024);
                    self.keep(Piece::Closed { at_us: now_us(), why });
                    return;
                }
                Err(error) => error.to_string(),
            };
            self.keep(Piece::Closed { at_us: now_us(), why });
        }
    }

    /// Reads to the end; false where there is no more room.
    fn read(&self, stream: &mut UnixStream) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = match stream.read(&mut chunk) {
                Ok(0) => return Ok(true),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let at_us = now_us();
            if self.keep(Piece::Read { at_us, bytes: chunk[..length].to_vec() }) > MOST_BYTES {
                return Ok(false);
            }
        }
    }

    fn keep(&self, piece: Piece) -> usize {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Piece::Read { bytes, .. } = &piece {
            kept.bytes += bytes.len();
        }
        kept.pieces.push(piece);
        kept.bytes
    }

    /// All that was taken down up to now: a line of JSON each for the beginning of a conversation, a message, and the end.
    /// Times in µs of CLOCK_MONOTONIC, of the read that made a message whole.
    pub fn lines(&self) -> String {
        // A copy: what comes meanwhile must be read, and stamped, at once.
        let pieces = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pieces.clone();
        let mut lines = Lines::default();
        for piece in pieces {
            match piece {
                Piece::Connected { start_us, at_us, tries } => {
                    lines.conversation = Some(Conversation::default());
                    let header = json!({ "version": 1, "startUs": start_us, "connectedUs": at_us, "tries": tries });
                    lines.put(&json!({ "header": header }));
                }
                Piece::Read { at_us, bytes } => lines.take(at_us, &bytes),
                Piece::Closed { at_us, why } => lines.put(&json!({ "closed": { "t": at_us, "why": why } })),
            }
        }
        lines.text
    }
}

#[derive(Default)]
struct Lines {
    text: String,
    /// None after something that is no message: what follows cannot be told apart any more.
    conversation: Option<Conversation>,
}

#[derive(Default)]
struct Conversation {
    bytes: Vec<u8>,
    authenticated: bool,
}

impl Lines {
    fn put(&mut self, value: &Value) {
        self.text.push_str(&value.to_string());
        self.text.push('\n');
    }

    fn take(&mut self, at_us: u64, bytes: &[u8]) {
        let Some(mut conversation) = self.conversation.take() else { return };
        conversation.bytes.extend_from_slice(bytes);
        if !conversation.authenticated {
            let Some((answers, length)) = wire::answers(&conversation.bytes) else {
                self.conversation = Some(conversation);
                return;
            };
            self.put(&json!({ "t": at_us, "auth": answers }));
            conversation.authenticated = true;
            conversation.bytes.drain(..length);
        }
        let mut from = 0;
        loop {
            let rest = &conversation.bytes[from..];
            let length = match wire::length_of(rest) {
                Ok(Some(length)) if rest.len() >= length => length,
                Ok(_) => break,
                Err(error) => return self.put(&json!({ "closed": { "t": at_us, "why": error.to_string() } })),
            };
            match wire::parse(&rest[..length]).and_then(|message| line(at_us, &message, length)) {
                Ok(line) => self.put(&line),
                Err(error) => self.put(&json!({ "t": at_us, "unreadable": error.to_string(), "len": length })),
            }
            from += length;
        }
        conversation.bytes.drain(..from);
        self.conversation = Some(conversation);
    }
}

fn line(at_us: u64, message: &Message, length: usize) -> Result<Value, super::BusError> {
    let Message { kind, serial, reply_serial, path, interface, member, sender, signature, .. } = message;
    let kind = match *kind {
        wire::CALL => "call",
        wire::RETURN => "return",
        wire::ERROR => "error",
        wire::SIGNAL => "signal",
        _ => "unknown",
    };
    let mut line = Map::new();
    line.insert("t".to_owned(), at_us.into());
    line.insert("type".to_owned(), kind.into());
    line.insert("serial".to_owned(), (*serial).into());
    if *reply_serial > 0 {
        line.insert("reply_serial".to_owned(), (*reply_serial).into());
    }
    let texts = [("path", path), ("interface", interface), ("member", member), ("sender", sender), ("sig", signature)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        line.insert(name.to_owned(), text.as_str().into());
    }
    line.insert("body".to_owned(), message.arguments()?);
    line.insert("len".to_owned(), length.into());
    Ok(line.into())
}

/// By its path each time: PID 1 mounts another /run over the one that was there before it.
fn connected(socket: &Path) -> (UnixStream, u64) {
    for tries in 1.. {
        if let Ok(stream) = UnixStream::connect(socket) {
            return (stream, tries);
        }
        thread::sleep(if tries < EAGER_TRIES { PAUSE } else { PATIENT_PAUSE });
    }
    unreachable!("the numbers do not end")
}

fn now_us() -> u64 {
    monotonic_ns() / 1000
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    const ANSWERS: &[u8] = b"OK 1234\r\nAGREE_UNIX_FD\r\n";

    /// A message of which no more is asked than that it is one: a call.
    fn message(argument: &str) -> Vec<u8> {
        let bytes = wire::beginning(&[("/o", "a.b", "Say", Some(argument))]).unwrap();
        let handshake = wire::beginning(&[]).unwrap().len();
        bytes[handshake..].to_vec()
    }

    fn taken(chunks: &[&[u8]]) -> Vec<Value> {
        let recorder = Recorder::default();
        recorder.keep(Piece::Connected { start_us: 1, at_us: 2, tries: 3 });
        for (chunk, at_us) in chunks.iter().zip(10..) {
            recorder.keep(Piece::Read { at_us, bytes: chunk.to_vec() });
        }
        recorder.lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_is_said_first_is_longer_than_what_pid_1_would_leave_unread() {
        let calls = [
            (MANAGER_PATH, MANAGER, "ListJobs", None),
            (MANAGER_PATH, MANAGER, "ListUnits", None),
            (MANAGER_PATH, PROPERTIES, "GetAll", Some(MANAGER)),
        ];
        assert!(wire::beginning(&calls).unwrap().len() > 256);
    }

    #[test]
    fn a_message_has_the_time_of_the_read_that_made_it_whole_wherever_it_was_cut() {
        let whole = [ANSWERS, &message("one"), &message("two")].concat();
        let first = ANSWERS.len() + message("one").len();
        for cut in 1..whole.len() {
            let lines = taken(&[&whole[..cut], &whole[cut..]]);
            assert_eq!(lines.len(), 4, "{cut}");
            assert_eq!(lines[0], json!({ "header": { "version": 1, "startUs": 1, "connectedUs": 2, "tries": 3 } }));
            assert_eq!(
                lines[1],
                json!({ "t": if cut < ANSWERS.len() { 11 } else { 10 }, "auth": ["OK 1234", "AGREE_UNIX_FD"] })
            );
            assert_eq!(lines[2]["t"], json!(if cut < first { 11 } else { 10 }), "{cut}");
            assert_eq!((&lines[2]["body"], &lines[3]["body"]), (&json!(["one"]), &json!(["two"])));
            assert_eq!(lines[3]["t"], json!(11));
        }
    }

    #[test]
    fn what_is_no_message_ends_the_conversation_and_says_so() {
        let lines = taken(&[&[ANSWERS, b"B and more than sixteen bytes"].concat(), &message("lost")]);
        assert_eq!(lines.len(), 3);
        assert!(lines[2]["closed"]["why"].as_str().unwrap().contains("byte order"), "{lines:?}");
    }

    #[test]
    fn it_begins_again_when_pid_1_has_executed_itself_anew() {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("private");
        // It looks before there is anything to find.
        let recorder = Recorder::start_at(&socket).unwrap();
        thread::sleep(Duration::from_millis(5));
        let listener = UnixListener::bind(&socket).unwrap();
        for word in ["before", "after"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = [0; 1024];
            assert!(stream.read(&mut read).unwrap() > 256);
            stream.write_all(&[ANSWERS, &message(word)].concat()).unwrap();
        }
        let begun = Instant::now();
        let lines = loop {
            let lines: Vec<Value> = recorder.lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            if lines.iter().filter(|line| line.get("closed").is_some()).count() == 2 {
                break lines;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{lines:?}");
            thread::sleep(Duration::from_millis(2));
        };
        let words: Vec<_> = lines.iter().filter_map(|line| line["body"][0].as_str()).collect();
        assert_eq!(words, ["before", "after"]);
        assert_eq!(lines[3]["closed"]["why"], "end of file");
        assert!(lines[4]["header"]["connectedUs"].as_u64() >= lines[3]["closed"]["t"].as_u64());
    }
}

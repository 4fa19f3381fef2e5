//! D-Bus messages over a socket of PID 1's, one peer to the other without a bus (D-Bus specification 0.43).
//!
//! zbus has the wire format; its own connection takes no signal of systemd's private socket, whose sender field holds
//! `org.freedesktop.systemd1` where a bus would have put a unique name.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use zbus::wire::serialized::{Context, Data};
use zbus::wire::{DynamicType, LE, Type, to_bytes, to_bytes_for_signature};
use zbus::{ObjectPath, OwnedVariant, Structure, Variant};

use super::bus::BusError;
use super::json::to_json;

/// The longest message that the specification allows is 128 MiB; what systemd tells of one object is far below this.
const MOST_BYTES: usize = 16 * 1024 * 1024;
const FIXED_BYTES: usize = 16;

/// Message types, and the header fields that matter here.
pub const CALL: u8 = 1;
pub const RETURN: u8 = 2;
pub const ERROR: u8 = 3;
pub const SIGNAL: u8 = 4;
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const REPLY_SERIAL: u8 = 5;
const SENDER: u8 = 7;
const SIGNATURE: u8 = 8;

/// What a client says first: it is EXTERNAL with the hex of the digits of our uid, 0.
const HANDSHAKE: &[u8] = b"\0AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";

/// Byte order, type, flags, version, length of the body, serial number, fields.
type Header<'a> = (u8, u8, u8, u8, u32, u32, Vec<(u8, Variant<'a>)>);
type OwnedHeader = (u8, u8, u8, u8, u32, u32, Vec<(u8, OwnedVariant)>);

/// Something that the peer told unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The object that it is about.
    pub path: String,
    /// Its name.
    pub member: String,
    body: Vec<u8>,
}

impl Signal {
    /// What it says.
    pub fn arguments<T: DeserializeOwned + Type>(&self) -> Result<T, BusError> {
        decode(&self.body)
    }
}

/// A conversation with a peer.
#[derive(Debug)]
pub struct Peer {
    stream: UnixStream,
    read: Vec<u8>,
    serial: u32,
    signals: VecDeque<Signal>,
}

/// A message with the header fields that matter here; a text that it does not have is empty.
#[derive(Debug, Default)]
pub struct Message {
    pub kind: u8,
    pub serial: u32,
    pub reply_serial: u32,
    pub path: String,
    pub interface: String,
    pub member: String,
    pub sender: String,
    pub signature: String,
    pub body: Vec<u8>,
}

impl Message {
    /// Its arguments, whatever they are.
    pub fn arguments(&self) -> Result<Value, BusError> {
        if self.body.is_empty() {
            return Ok(Value::Array(Vec::new()));
        }
        let data = Data::new(&*self.body, context());
        // Arguments lie in the body as the fields of a structure do.
        let signature = format!("({})", self.signature);
        let (fields, _) =
            data.deserialize_for_dynamic_signature::<_, Structure<'_>>(&*signature).map_err(BusError::other)?;
        Ok(fields.fields().iter().map(to_json).collect())
    }
}

impl Peer {
    /// Connects and says who it is. An error of the system's is one of connecting.
    pub async fn connect(socket: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket).await?;
        // All of it goes at once and the answers are waited for: a message that PID 1 reads in one piece with BEGIN it
        // leaves unread until more comes.
        stream.write_all(HANDSHAKE).await?;
        let mut answer = Vec::new();
        while answers(&answer).is_none() {
            if answer.starts_with(b"REJECTED") || answer.len() > 4096 {
                return Err(io::Error::other(format!(
                    "it refused us: {}",
                    String::from_utf8_lossy(&answer).trim_end()
                )));
            }
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
        }
        Ok(Self { stream, read: Vec::new(), serial: 0, signals: VecDeque::new() })
    }

    /// Calls a method and waits for what it returns. Signals that come first are kept.
    pub async fn call<T: DeserializeOwned + Type>(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        arguments: &(impl serde::Serialize + DynamicType),
    ) -> Result<T, BusError> {
        let serial = self.send(path, interface, member, arguments).await?;
        self.answer(serial).await
    }

    /// Sends a call; what it returns is waited for by its serial number. PID 1 answers in the order of the calls.
    pub async fn send(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        arguments: &(impl serde::Serialize + DynamicType),
    ) -> Result<u32, BusError> {
        self.serial += 1;
        let message = encode(self.serial, path, interface, member, arguments)?;
        self.stream.write_all(&message).await.map_err(BusError::other)?;
        Ok(self.serial)
    }

    /// Waits for what a call returns: the calls that were sent are waited for in their order.
    pub async fn answer<T: DeserializeOwned + Type>(&mut self, serial: u32) -> Result<T, BusError> {
        loop {
            let message = self.next().await?;
            match message.kind {
                RETURN if message.reply_serial == serial => return decode(&message.body),
                ERROR if message.reply_serial == serial => {
                    let words = decode::<String>(&message.body).unwrap_or_else(|_| "no reason given".to_owned());
                    return Err(BusError::Refused(words));
                }
                _ => self.keep(message),
            }
        }
    }

    /// Waits for a signal.
    pub async fn signal(&mut self) -> Result<Signal, BusError> {
        loop {
            if let Some(signal) = self.signals.pop_front() {
                return Ok(signal);
            }
            let message = self.next().await?;
            self.keep(message);
        }
    }

    /// The signals that are there already.
    pub fn ready(&mut self) -> Vec<Signal> {
        self.signals.drain(..).collect()
    }

    fn keep(&mut self, message: Message) {
        if message.kind == SIGNAL {
            let Message { path, member, body, .. } = message;
            self.signals.push_back(Signal { path, member, body });
        }
    }

    async fn next(&mut self) -> Result<Message, BusError> {
        loop {
            if let Some(length) = length_of(&self.read)?
                && self.read.len() >= length
            {
                let bytes: Vec<u8> = self.read.drain(..length).collect();
                return parse(&bytes);
            }
            if self.stream.read_buf(&mut self.read).await.map_err(BusError::other)? == 0 {
                return Err(BusError::Ended);
            }
        }
    }
}

/// The first bytes of a conversation with the calls that need no answer to come first. Sent in one piece, it has to be longer
/// than 256 bytes: that much PID 1 reads with BEGIN, and leaves it unread until more comes (sd-bus, bus-socket.c,
/// bus_socket_read_auth()).
pub fn beginning(calls: &[(&str, &str, &str, Option<&str>)]) -> Result<Vec<u8>, BusError> {
    let mut bytes = HANDSHAKE.to_vec();
    for ((path, interface, member, argument), serial) in calls.iter().zip(1..) {
        bytes.extend(match argument {
            Some(text) => encode(serial, path, interface, member, &(text,))?,
            None => encode(serial, path, interface, member, &())?,
        });
    }
    Ok(bytes)
}

/// The answers to the handshake, and what follows them; `None` while they are not whole.
pub fn answers(bytes: &[u8]) -> Option<(Vec<String>, usize)> {
    let mut lines = Vec::new();
    let mut from = 0;
    while lines.len() < 2 {
        let length = bytes[from..].windows(2).position(|two| two == b"\r\n")?;
        lines.push(String::from_utf8_lossy(&bytes[from..from + length]).into_owned());
        from += length + 2;
    }
    Some((lines, from))
}

fn context() -> Context {
    Context::new(LE, 0)
}

fn encode(
    serial: u32,
    path: &str,
    interface: &str,
    member: &str,
    arguments: &(impl serde::Serialize + DynamicType),
) -> Result<Vec<u8>, BusError> {
    let signature = arguments.signature();
    let body = to_bytes_for_signature(context(), &signature, arguments).map_err(BusError::other)?;
    let path = ObjectPath::try_from(path).map_err(BusError::other)?;
    let fields =
        vec![(PATH, Variant::from(path)), (INTERFACE, Variant::from(interface)), (MEMBER, Variant::from(member))];
    let length = u32::try_from(body.len()).map_err(BusError::other)?;
    let header: Header<'_> = (b'l', CALL, 0, 1, length, serial, fields);
    let mut message = to_bytes(context(), &header).map_err(BusError::other)?.to_vec();
    if !body.is_empty() {
        // The signature of a message is of its arguments, one after the other. A field of that kind zbus would write with
        // the brackets of a structure, so it is put here: its code, and a variant of the type `g`.
        let inner = signature.to_string_no_parens();
        message.resize(message.len().next_multiple_of(8), 0);
        message.extend([SIGNATURE, 1, b'g', 0, u8::try_from(inner.len()).map_err(BusError::other)?]);
        message.extend_from_slice(inner.as_bytes());
        message.push(0);
        let fields = u32::try_from(message.len() - FIXED_BYTES).map_err(BusError::other)?;
        message[FIXED_BYTES - 4..FIXED_BYTES].copy_from_slice(&fields.to_le_bytes());
    }
    message.resize(message.len().next_multiple_of(8), 0);
    message.extend_from_slice(&body);
    Ok(message)
}

/// The length of the message that begins here, once that can be known.
pub fn length_of(bytes: &[u8]) -> Result<Option<usize>, BusError> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let (Some(body), Some(fields)) = (number(4), number(12)) else { return Ok(None) };
    if bytes[0] != b'l' {
        return Err(BusError::Other("systemd speaks in another byte order".to_owned()));
    }
    let length = (FIXED_BYTES + fields as usize).next_multiple_of(8) + body as usize;
    if length > MOST_BYTES {
        return Err(BusError::Other(format!("systemd sent a message of {length} bytes")));
    }
    Ok(Some(length))
}

/// Reads one whole message.
pub fn parse(bytes: &[u8]) -> Result<Message, BusError> {
    let data = Data::new(bytes, context());
    let (header, used): (OwnedHeader, usize) = data.deserialize().map_err(BusError::other)?;
    let (_, kind, _, _, _, serial, fields) = header;
    let mut message = Message { kind, serial, ..Message::default() };
    for (code, value) in &fields {
        match (code, &**value) {
            (&REPLY_SERIAL, Variant::U32(serial)) => message.reply_serial = *serial,
            (&PATH, Variant::ObjectPath(path)) => message.path = path.as_str().to_owned(),
            (&INTERFACE, Variant::Str(interface)) => message.interface = interface.as_str().to_owned(),
            (&MEMBER, Variant::Str(member)) => message.member = member.as_str().to_owned(),
            (&SENDER, Variant::Str(sender)) => message.sender = sender.as_str().to_owned(),
            (&SIGNATURE, Variant::Signature(signature)) => message.signature = signature.to_string_no_parens(),
            _ => {}
        }
    }
    message.body = bytes.get(used.next_multiple_of(8)..).unwrap_or_default().to_vec();
    Ok(message)
}

fn decode<T: DeserializeOwned + Type>(body: &[u8]) -> Result<T, BusError> {
    let data = Data::new(body, context());
    Ok(data.deserialize().map_err(BusError::other)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_these_bytes() {
        let bytes = encode(7, "/o", "a.b", "M", &("x",)).unwrap();
        assert_eq!(length_of(&bytes).unwrap(), Some(bytes.len()));
        assert_eq!(&bytes[..12], [b'l', 1, 0, 1, 6, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(&bytes[bytes.len() - 6..], [1, 0, 0, 0, b'x', 0]);
        let message = parse(&bytes).unwrap();
        assert_eq!((message.kind, message.path.as_str(), message.member.as_str()), (CALL, "/o", "M"));
        assert_eq!(decode::<String>(&message.body).unwrap(), "x");
        // Several arguments are one after the other, without the brackets of a structure.
        let several = parse(&encode(8, "/o", "a.b", "M", &("x", 7u32)).unwrap()).unwrap();
        assert_eq!((several.signature.as_str(), several.body.len()), ("su", 12));
        assert_eq!(several.arguments().unwrap(), serde_json::json!(["x", 7]));
        let raw = encode(8, "/o", "a.b", "M", &("x", "y")).unwrap();
        assert!(raw.windows(4).any(|four| four == b"\x02ss\0"), "{raw:?}");
        let empty = encode(1, "/o", "a.b", "M", &()).unwrap();
        assert_eq!(empty.len() % 8, 0);
    }

    #[test]
    fn a_message_is_not_taken_before_it_is_whole() {
        let bytes = encode(1, "/org/x", "a.b", "Long", &(vec!["some", "words"],)).unwrap();
        for cut in 0..FIXED_BYTES {
            assert_eq!(length_of(&bytes[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(length_of(&bytes[..FIXED_BYTES]).unwrap(), Some(bytes.len()));
        let mut endless = bytes;
        endless[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(length_of(&endless).is_err());
    }

    #[tokio::test]
    async fn signals_between_a_call_and_its_return_are_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("private");
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let peer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"BEGIN\r\n") {
                assert!(stream.read_buf(&mut read).await.unwrap() > 0);
            }
            assert!(read.starts_with(b"\0AUTH EXTERNAL 30\r\n"));
            stream.write_all(b"OK 1234\r\nAGREE_UNIX_FD\r\n").await.unwrap();
            let mut read = Vec::new();
            while length_of(&read).unwrap().is_none_or(|length| read.len() < length) {
                assert!(stream.read_buf(&mut read).await.unwrap() > 0);
            }
            let sender = (7, Variant::from("org.freedesktop.systemd1"));
            let signal: Header<'_> = (
                b'l',
                SIGNAL,
                1,
                1,
                0,
                1,
                vec![(PATH, ObjectPath::try_from("/u").unwrap().into()), (MEMBER, "Changed".into()), sender],
            );
            let fields = vec![(REPLY_SERIAL, Variant::from(1u32)), (SIGNATURE, zbus::Signature::U32.into())];
            let answer: Header<'_> = (b'l', RETURN, 1, 1, 4, 2, fields);
            for (header, body) in [(signal, &[][..]), (answer, &[42, 0, 0, 0][..])] {
                let mut bytes = to_bytes(context(), &header).unwrap().to_vec();
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend_from_slice(body);
                for byte in bytes {
                    stream.write_all(&[byte]).await.unwrap();
                }
            }
        });
        let mut systemd = Peer::connect(&socket).await.unwrap();
        assert_eq!(systemd.call::<u32>("/m", "a.b", "Ask", &()).await.unwrap(), 42);
        let signal = systemd.signal().await.unwrap();
        assert_eq!((signal.path.as_str(), signal.member.as_str()), ("/u", "Changed"));
        peer.await.unwrap();
        assert!(matches!(systemd.signal().await, Err(BusError::Ended)));
    }
}

//! Frames: a little-endian `u32` length and that many bytes of JSON.

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest frame either side takes. Requests with a large environment are the largest that occur.
pub const MAX_FRAME_BYTES: u32 = 4 * 1024 * 1024;

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The channel failed.
    #[error("the channel failed: {0}")]
    Io(#[from] std::io::Error),
    /// The other side sent something that is not a frame of ours.
    #[error("the frame is not what was expected: {0}")]
    Json(#[from] serde_json::Error),
    /// The frame is longer than [`MAX_FRAME_BYTES`].
    #[error("a frame of {0} bytes is longer than {MAX_FRAME_BYTES}")]
    TooLong(u64),
    /// The stream ended where a frame was expected.
    #[error("the stream ended before the answer")]
    Ended,
}

/// Writes one frame and flushes it.
pub async fn write<T: Serialize>(to: &mut (impl AsyncWrite + Unpin), value: &T) -> Result<(), FrameError> {
    let json = serde_json::to_vec(value)?;
    let length = u32::try_from(json.len()).ok().filter(|length| *length <= MAX_FRAME_BYTES);
    let length = length.ok_or(FrameError::TooLong(json.len() as u64))?;
    // One write, so that a frame is one packet on the channel below.
    let mut bytes = Vec::with_capacity(4 + json.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&json);
    to.write_all(&bytes).await?;
    to.flush().await?;
    Ok(())
}

/// Reads one frame; `None` when the stream ends cleanly before it.
pub async fn read_or_end<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> Result<Option<T>, FrameError> {
    let mut length = [0; 4];
    let got = from.read(&mut length).await?;
    if got == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[got..]).await.map_err(ended)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong(u64::from(length)));
    }
    let mut json = vec![0; length as usize];
    from.read_exact(&mut json).await.map_err(ended)?;
    Ok(Some(serde_json::from_slice(&json)?))
}

/// Reads one frame that must come.
pub async fn read<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> Result<T, FrameError> {
    read_or_end(from).await?.ok_or(FrameError::Ended)
}

fn ended(error: std::io::Error) -> FrameError {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => FrameError::Ended,
        _ => FrameError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Control, Reply, Request, Started, WindowSize};

    #[tokio::test]
    async fn a_frame_survives_any_split_of_its_bytes() {
        let mut whole = Vec::new();
        let request = Request::Attach { exec: 7, stream: crate::Stdio::Stdout };
        write(&mut whole, &request).await.unwrap();
        for split in 0..=whole.len() {
            let (head, tail) = whole.split_at(split);
            let mut reader = head.chain(tail);
            let read: Request = read(&mut reader).await.unwrap();
            assert!(matches!(read, Request::Attach { exec: 7, stream: crate::Stdio::Stdout }));
        }
    }

    #[tokio::test]
    async fn a_torn_frame_is_an_end_and_not_a_hang() {
        let mut whole = Vec::new();
        write(&mut whole, &Control::Resize(WindowSize { rows: 1, cols: 2 })).await.unwrap();
        for cut in 1..whole.len() {
            let result = read::<Control>(&mut &whole[..cut]).await;
            assert!(matches!(result, Err(FrameError::Ended)), "cut at {cut}: {result:?}");
        }
        assert!(read_or_end::<Control>(&mut &whole[..0]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_length_beyond_the_cap_is_refused_before_memory_is_taken() {
        let bytes = u32::MAX.to_le_bytes();
        assert!(
            matches!(read::<Control>(&mut &bytes[..]).await, Err(FrameError::TooLong(n)) if n == u64::from(u32::MAX))
        );
    }

    #[test]
    fn requests_and_replies_have_the_shape_the_other_side_reads() {
        let json = serde_json::to_string(&Request::Dial { port: 80 }).unwrap();
        assert_eq!(json, r#"{"op":"dial","port":80}"#);
        let json = serde_json::to_string(&Reply::Ok(Started { pid: 9 })).unwrap();
        assert_eq!(json, r#"{"ok":{"pid":9}}"#);
    }
}

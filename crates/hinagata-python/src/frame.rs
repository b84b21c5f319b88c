//! Frames: a length (u32, little endian) and that many bytes of JSON.

use serde::Serialize;

/// Maximum bytes of a frame, excluding the length.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// Bytes of the length.
const LENGTH: usize = 4;

/// A frame that cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The frame has, or announces, this many bytes.
    TooLarge(usize),
    /// The message cannot be written as JSON.
    NotJson,
}

/// Encodes `message` as a frame.
///
/// # Errors
/// The message exceeds [`MAX_FRAME_BYTES`] or cannot be written as JSON.
pub fn encode_frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; LENGTH];
    serde_json::to_writer(&mut bytes, message).map_err(|_| FrameError::NotJson)?;
    let size = bytes.len() - LENGTH;
    let length = u32::try_from(size).ok().filter(|_| size <= MAX_FRAME_BYTES);
    let length = length.ok_or(FrameError::TooLarge(size))?;
    bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Assembles frames from chunks of any size.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Where the unread bytes start.
    start: usize,
}

impl FrameReader {
    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The content of the next complete frame.
    ///
    /// # Errors
    /// A frame announces more than [`MAX_FRAME_BYTES`] bytes. The stream cannot be read further.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = &self.bytes[self.start..];
        let Some((length, body)) = rest.split_first_chunk::<LENGTH>() else { return Ok(None) };
        let size = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if size > MAX_FRAME_BYTES {
            return Err(FrameError::TooLarge(size));
        }
        if body.len() < size {
            return Ok(None);
        }
        let from = self.start + LENGTH;
        self.start = from + size;
        Ok(Some(&self.bytes[from..self.start]))
    }

    /// Whether a frame has started and is not complete.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.start < self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn all(frames: &mut FrameReader) -> Vec<Value> {
        let mut found = Vec::new();
        while let Some(bytes) = frames.next_frame().expect("is small enough") {
            found.push(serde_json::from_slice(bytes).expect("is JSON"));
        }
        found
    }

    #[test]
    fn an_oversized_frame_is_rejected_by_its_length() {
        let mut frames = FrameReader::default();
        frames.push(&u32::MAX.to_le_bytes());
        assert_eq!(frames.next_frame(), Err(FrameError::TooLarge(u32::MAX as usize)));
    }

    #[test]
    fn an_oversized_message_is_not_encoded() {
        let message = "x".repeat(MAX_FRAME_BYTES);
        assert_eq!(encode_frame(&message), Err(FrameError::TooLarge(MAX_FRAME_BYTES + 2)));
    }

    #[test]
    fn a_partial_frame_is_incomplete() {
        let mut frames = FrameReader::default();
        assert!(!frames.is_incomplete());
        frames.push(&[9, 0]);
        assert_eq!(frames.next_frame(), Ok(None));
        assert!(frames.is_incomplete());
    }

    proptest! {
        #[test]
        fn frames_survive_any_split(texts in prop::collection::vec(".{0,40}", 0..6), cuts in prop::collection::vec(1_usize..20, 1..80)) {
            let sent: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|message| encode_frame(message).expect("is small")).collect();
            let (mut frames, mut found, mut rest) = (FrameReader::default(), Vec::new(), &bytes[..]);
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                frames.push(piece);
                found.extend(all(&mut frames));
                rest = after;
            }
            prop_assert_eq!(found, sent);
            prop_assert!(!frames.is_incomplete());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = FrameReader::default();
            frames.push(&bytes);
            while let Ok(Some(_)) = frames.next_frame() {}
        }
    }
}

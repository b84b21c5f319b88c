//! FrameReader: a length (u32, little endian) and that many bytes of JSON.

use serde::Serialize;

/// Most bytes of a frame, the length not counted.
pub const MAX_FRAME_BYTES: usize = 8 << 20;

/// Bytes of the length.
const LENGTH: usize = 4;

/// A frame that cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// It has, or announces, so many bytes.
    TooLarge(usize),
    /// It cannot be written as JSON.
    NotJson,
}

/// The frame that holds `message`.
///
/// # Errors
/// When it is larger than [`MAX_FRAME_BYTES`], or no JSON.
pub fn encode_frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; LENGTH];
    serde_json::to_writer(&mut bytes, message).map_err(|_| FrameError::NotJson)?;
    let size = bytes.len() - LENGTH;
    let length = u32::try_from(size).ok().filter(|_| size <= MAX_FRAME_BYTES);
    let length = length.ok_or(FrameError::TooLarge(size))?;
    bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Puts frames together from whatever pieces they arrive in.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// Where the bytes start that were not handed out yet.
    start: usize,
}

impl FrameReader {
    /// Takes bytes as they come.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The content of the next frame that is complete.
    ///
    /// # Errors
    /// When a frame announces more than [`MAX_FRAME_BYTES`] bytes: there is no way on from there.
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

    /// Whether a frame has begun and not ended.
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
    fn a_frame_that_announces_too_much_is_refused_before_it_arrives() {
        let mut frames = FrameReader::default();
        frames.push(&u32::MAX.to_le_bytes());
        assert_eq!(frames.next_frame(), Err(FrameError::TooLarge(u32::MAX as usize)));
    }

    #[test]
    fn a_message_that_is_too_large_is_not_sent() {
        let message = "x".repeat(MAX_FRAME_BYTES);
        assert_eq!(encode_frame(&message), Err(FrameError::TooLarge(MAX_FRAME_BYTES + 2)));
    }

    #[test]
    fn half_a_frame_is_told_from_none() {
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
        fn whatever_arrives_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = FrameReader::default();
            frames.push(&bytes);
            while let Ok(Some(_)) = frames.next_frame() {}
        }
    }
}

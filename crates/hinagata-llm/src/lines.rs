//! Lines and events of streamed responses, independent of how the bytes are split.

use bytes::{Bytes, BytesMut};
use hinagata::{Reason, Result};
use memchr::memchr;

use crate::failure::model_error;

/// Splits bytes into lines.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// Bytes of the buffer that contain no line end.
    searched: usize,
    longest: usize,
}

impl Lines {
    /// A splitter for lines of at most `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, longest }
    }

    /// Adds bytes; call it after [`Self::next_line`] returned `None`.
    ///
    /// # Errors
    /// Code `model`, reason `size`, if a line is too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len().saturating_add(bytes.len()) > self.longest {
            return Err(model_error(
                Reason::Size,
                format!("one line of the streamed response is longer than {} bytes", self.longest),
            )
            .with_hint("raise `llm.max_answer`"));
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next complete line, without its end.
    pub(crate) fn next_line(&mut self) -> Option<Bytes> {
        let Some(end) = memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + end + 1);
        self.searched = 0;
        line.truncate(line.len() - 1);
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }

    /// The last line, if it has no end.
    pub(crate) fn take_rest(&mut self) -> Option<Bytes> {
        self.searched = 0;
        let rest = self.buffer.split().freeze();
        (!rest.is_empty()).then_some(rest)
    }
}

/// Extracts the data of server-sent events from their lines.
#[derive(Debug, Default)]
pub(crate) struct Events(Option<BytesMut>);

impl Events {
    /// The data of the event that ends with this line.
    pub(crate) fn push_line(&mut self, line: &Bytes) -> Option<Bytes> {
        if line.is_empty() {
            return self.take_data();
        }
        // A line without a colon is a field without a value, never data.
        let value = line.strip_prefix(b"data:")?;
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut self.0 {
            None => self.0 = Some(BytesMut::from(value)),
            Some(data) => {
                data.extend_from_slice(b"\n");
                data.extend_from_slice(value);
            }
        }
        None
    }

    /// The data of the last event, if no blank line ended it.
    pub(crate) fn take_data(&mut self) -> Option<Bytes> {
        self.0.take().map(BytesMut::freeze)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut events, mut all) = (Lines::new(1000), Events::default(), Vec::new());
        for piece in pieces {
            lines.push(piece).expect("is short");
            while let Some(line) = lines.next_line() {
                all.extend(events.push_line(&line));
            }
        }
        if let Some(line) = lines.take_rest() {
            all.extend(events.push_line(&line));
        }
        all.extend(events.take_data());
        all.iter().map(|data| String::from_utf8_lossy(data).into_owned()).collect()
    }

    #[test]
    fn events_are_the_same_however_they_are_cut() {
        let text = "event: x\r\ndata: {\"a\":1}\r\n\r\n: ping\n\ndata:two\ndata: lines\nid: 4\n\ndata\n\ndata: é\n\ndata: open".as_bytes();
        let whole = events(&[text]);
        assert_eq!(whole, ["{\"a\":1}", "two\nlines", "é", "open"]);
        for cut in 1..text.len() {
            assert_eq!(events(&[&text[..cut], &text[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(events(&text.chunks(1).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn a_line_that_does_not_end_is_refused() {
        let mut lines = Lines::new(4);
        lines.push(b"abc").expect("is short");
        assert!(lines.next_line().is_none());
        assert_eq!(lines.push(b"de").expect_err("is long").reason(), Some(Reason::Size));
    }
}

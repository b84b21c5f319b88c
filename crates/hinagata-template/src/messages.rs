//! Splits the output into messages at its marks.
//!
//! **Structure.** Printing a role starts a message; the end of a `message` block ends the open one. Empty
//! messages are kept. Text outside, before the first role or after the end of a block, is a message of the
//! default role, unless it is only whitespace of the template itself. A value that is printed there makes it
//! a message even if the value is empty, so that the number of messages does not depend on the content of
//! strings.
//!
//! **Whitespace** next to structure is layout. Blank lines at the start of a text are removed, and so is
//! space between a mark and a text on the same line. The indentation of a text that starts on its own line
//! is preserved. All whitespace at its end is removed. Empty texts are left out.

use std::ops::Range;

use hinagata_value::{Error, ErrorKind, Mark, MarkKind, Part, Result, Written};
use serde_json::Value as Json;

use crate::structure::{ROLE, ROLE_END, refuse_roles};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The role of the author.
    pub role: String,
    /// The content in order. It may be empty.
    pub content: Vec<Content>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text, never empty.
    Text(String),
    /// Something that is not text.
    Part {
        /// The kind: `media` or `resource`.
        kind: String,
        /// The content: `url` or `data`, and `type`; or `uri`.
        content: Json,
    },
}

impl Content {
    fn from_part(part: &Part) -> Self {
        Self::Part { kind: part.kind.clone(), content: part.content.clone() }
    }
}

impl Message {
    /// The texts of the message, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Part { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// What happens to whitespace around the texts of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageLayout {
    /// Blank lines at the start and whitespace at the end are removed; indentation stays.
    #[default]
    Trim,
    /// Nothing is removed.
    Keep,
    /// Line breaks at both ends are removed.
    Lines,
    /// Whitespace at both ends is removed.
    Strip,
}

impl MessageLayout {
    /// The names of all layouts.
    pub const NAMES: [&str; 4] = ["trim", "keep", "lines", "strip"];

    /// The layout called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "trim" => Some(Self::Trim),
            "keep" => Some(Self::Keep),
            "lines" => Some(Self::Lines),
            "strip" => Some(Self::Strip),
            _ => None,
        }
    }

    fn kept_text(self, text: &str) -> &str {
        match self {
            Self::Trim => without_layout(text),
            Self::Keep => text,
            Self::Lines => text.trim_matches(['\n', '\r']),
            Self::Strip => text.trim(),
        }
    }
}

/// Splits an output into messages.
///
/// # Errors
/// The output contains bytes that are not UTF-8, or a pending call.
pub(crate) fn split_messages<P>(
    written: &Written<P>,
    default_role: &str,
    layout: MessageLayout,
    drops_empty: bool,
) -> Result<Vec<Message>> {
    cut_messages(written, default_role, layout, drops_empty).map(|cutter| cutter.messages)
}

fn cut_messages<'r, P>(
    written: &Written<P>,
    default_role: &'r str,
    layout: MessageLayout,
    drops_empty: bool,
) -> Result<Cutter<'r>> {
    let (messages, ranges, open) = (Vec::new(), Vec::new(), Open::outside());
    let mut cutter = Cutter { messages, ranges, open, default_role, layout, drops_empty };
    let mut from = 0;
    for mark in &written.marks {
        let text = written.text.get(from..mark.offset).unwrap_or_default();
        cutter.text(text, from, mark.after_value);
        from = mark.offset;
        cutter.part(part_of(mark)?);
    }
    cutter.text(written.text.get(from..).unwrap_or_default(), from, written.ends_with_value);
    cutter.close();
    Ok(cutter)
}

/// Splits an output into text and parts: the content of one message. Whitespace is preserved.
///
/// # Errors
/// Those of [`split_messages`], and an error if a message starts in the output.
pub(crate) fn split_content<P>(written: &Written<P>) -> Result<Vec<Content>> {
    let mut content = Vec::new();
    let text = |from: usize, to: usize, content: &mut Vec<Content>| {
        let text = written.text.get(from..to).unwrap_or_default();
        if !text.is_empty() {
            content.push(Content::Text(text.to_owned()));
        }
    };
    let mut from = 0;
    for mark in &written.marks {
        let part = part_of(mark)?;
        refuse_roles(part)?;
        text(from, mark.offset, &mut content);
        from = mark.offset;
        content.push(Content::from_part(part));
    }
    text(from, written.text.len(), &mut content);
    Ok(content)
}

/// The ranges of the output that [`split_messages`] makes texts of, in their order; none if it fails.
pub(crate) fn message_ranges<P>(
    written: &Written<P>,
    layout: MessageLayout,
    drops_empty: bool,
) -> Vec<Range<usize>> {
    cut_messages(written, "", layout, drops_empty).map(|cutter| cutter.ranges).unwrap_or_default()
}

/// The ranges of the output that [`split_content`] makes texts of, in their order.
pub(crate) fn content_ranges<P>(written: &Written<P>) -> Vec<Range<usize>> {
    ranges_between_marks(written).filter(|range| !range.is_empty()).collect()
}

fn ranges_between_marks<P>(written: &Written<P>) -> impl Iterator<Item = Range<usize>> {
    let ends = written.marks.iter().map(|mark| mark.offset).chain([written.text.len()]);
    ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end))
}

/// The part of a mark.
///
/// # Errors
/// The mark contains bytes that are not UTF-8, or a pending call.
fn part_of(mark: &Mark) -> Result<&Part> {
    match &mark.kind {
        MarkKind::Pending(_) => Err(Error::suspended()),
        MarkKind::Bytes(_) => Err(Error::new(ErrorKind::Runtime, "the output is not valid UTF-8")
            .with_hint("a string was cut inside a character")),
        MarkKind::Part(part) => Ok(part),
    }
}

struct Cutter<'r> {
    messages: Vec<Message>,
    /// Where the texts of the messages stand in the output.
    ranges: Vec<Range<usize>>,
    open: Open,
    default_role: &'r str,
    layout: MessageLayout,
    drops_empty: bool,
}

/// The message that is being collected.
struct Open {
    /// Its role. `None` outside of all messages.
    role: Option<String>,
    content: Vec<Content>,
    ranges: Vec<Range<usize>>,
    /// Whether a value was printed into it.
    value: bool,
}

impl Open {
    fn outside() -> Self {
        Self { role: None, content: Vec::new(), ranges: Vec::new(), value: false }
    }
}

impl Cutter<'_> {
    fn text(&mut self, text: &str, from: usize, value: bool) {
        self.open.value |= value;
        let kept = self.layout.kept_text(text);
        if !kept.is_empty() {
            let start = from + (kept.as_ptr().addr() - text.as_ptr().addr());
            self.open.ranges.push(start..start + kept.len());
            self.open.content.push(Content::Text(kept.to_owned()));
        }
    }

    fn part(&mut self, part: &Part) {
        match (part.kind.as_str(), &part.content) {
            (ROLE, Json::String(role)) => {
                self.close();
                self.open.role = Some(role.clone());
            }
            (ROLE_END, _) => self.close(),
            _ => self.open.content.push(Content::from_part(part)),
        }
    }

    /// Ends the open message. Text after it is outside of all messages.
    fn close(&mut self) {
        let Open { role, content, ranges, value } = std::mem::replace(&mut self.open, Open::outside());
        let is_blank = |content: &Content| matches!(content, Content::Text(text) if text.trim().is_empty());
        let only_blank = content.iter().all(is_blank);
        if (role.is_none() && !value || self.drops_empty) && only_blank {
            return;
        }
        self.ranges.extend(ranges);
        let role = role.unwrap_or_else(|| self.default_role.to_owned());
        self.messages.push(Message { role, content });
    }
}

/// The text without the layout at its start and end.
fn without_layout(text: &str) -> &str {
    let text = text.trim_end();
    let body = text.trim_start();
    let layout = &text[..text.len() - body.len()];
    match layout.rfind('\n') {
        Some(line) => &text[line + 1..],
        None => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_removed_and_indentation_stays() {
        let cases = [
            ("", ""),
            (" \n\t\n", ""),
            ("\nHello\n\n", "Hello"),
            (" Hello", "Hello"),
            ("\n\n  indented\n  too\n", "  indented\n  too"),
            ("\r\nHello\r\n", "Hello"),
            ("a\n\nb", "a\n\nb"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_layout(text), expected, "{text:?}");
        }
    }
}

//! Writes the elements of a prompt in the style that a provider prefers.

use std::borrow::Cow;

use super::{
    conversation::{Conversation, is_blank_text},
    media::Media,
    request::RequestOptions,
};
use crate::{
    Attachment, Chunk, Content, Element, Error, Material, TextOptions,
    element::JsonContent,
    format::{Marks, Sink, Tag, fence, split_line_ends, write_section},
    json,
};

/// How materials and chunks are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// By a heading.
    Markdown,
    /// By tags.
    Tags,
}

/// Writes elements so that no text can imitate a tag.
pub(super) struct ElementWriter {
    dialect: Dialect,
    /// The marks in texts outside of all tags.
    materials: Marks,
    chunks: Marks,
    headings: TextOptions,
}

/// A piece of an element, for turns with several pieces.
pub(super) enum Piece<'p> {
    /// A complete element that is text.
    Element(&'p Element),
    /// A text.
    Text(Cow<'p, str>),
    /// An image or a file.
    Media(Media<'p>),
}

/// Whether an element is only text.
pub(super) fn is_text(element: &Element) -> bool {
    match element {
        Element::Message(message) => message.as_text().is_some(),
        other => content_of(other).is_none_or(|content| content.as_text().is_some()),
    }
}

/// The content of an element that is not a message.
fn content_of(element: &Element) -> Option<&Content> {
    match element {
        Element::Text(element) => Some(&element.content),
        Element::Material(element) => Some(&element.content),
        Element::Chunk(element) => Some(&element.content),
        Element::Message(_) | Element::Json(_) | Element::Section(_) | Element::Subsection(_) => None,
    }
}

impl Piece<'_> {
    /// Whether it is an image or a file.
    pub(super) fn is_media(&self) -> bool {
        matches!(self, Self::Media(_))
    }
}

impl ElementWriter {
    pub(super) fn new(dialect: Dialect, conversation: &Conversation<'_>) -> Self {
        let mut element_writer = Self {
            dialect,
            materials: Marks::default(),
            chunks: Marks::default(),
            headings: TextOptions::default(),
        };
        if dialect == Dialect::Tags {
            let told = conversation.turns.iter().map(|turn| turn.element);
            conversation
                .rules
                .iter()
                .copied()
                .chain(told)
                .for_each(|element| element_writer.collect_marks(element));
        }
        element_writer
    }

    /// Records the marks of an element whose text is outside of all tags.
    fn collect_marks(&mut self, element: &Element) {
        let mut note = |text: &str| {
            if memchr::memchr(b'<', text.as_bytes()).is_some() {
                self.materials.record_marks(Tag::MATERIAL, text);
                self.chunks.record_marks(Tag::CHUNK, text);
            }
        };
        match element {
            Element::Material(_) | Element::Chunk(_) => {}
            Element::Text(element) => element.content.texts().for_each(note),
            Element::Message(message) => {
                message.texts().for_each(&mut note);
                message.tool_results().for_each(|result| note(&result.value.to_text()));
            }
            Element::Section(_) | Element::Subsection(_) | Element::Json(_) => {
                let mut any = HasMark(false);
                self.write_headings(&mut any, element);
                if any.0 {
                    let mut text = String::new();
                    self.write_headings(&mut text, element);
                    self.materials.record_marks(Tag::MATERIAL, &text);
                    self.chunks.record_marks(Tag::CHUNK, &text);
                }
            }
        }
    }

    /// Writes the text of an element.
    pub(super) fn write_element(&self, sink: &mut impl Sink, element: &Element) {
        sink.enter_element(element);
        match element {
            Element::Material(material) => {
                let number = self.material_number(material);
                self.open_material(sink, material, number);
                write_content(sink, &material.content);
                self.close_tag(sink, "</material", number);
            }
            Element::Chunk(chunk) => {
                let number = self.chunk_number(chunk);
                self.open_chunk(sink, chunk, number);
                write_content(sink, &chunk.content);
                self.close_tag(sink, "</chunk", number);
            }
            Element::Text(element) => write_content(sink, &element.content),
            Element::Message(message) => message.texts().for_each(|text| sink.put(text)),
            other => self.write_headings(sink, other),
        }
        sink.leave_element();
    }

    fn write_headings(&self, sink: &mut impl Sink, element: &Element) {
        match element {
            Element::Section(section) => write_section(sink, section, &self.headings),
            Element::Subsection(subsection) => subsection.write(sink, &self.headings),
            Element::Json(element) => {
                let text = match &element.content {
                    JsonContent::Value(value) => Cow::Owned(json::to_pretty_string(value)),
                    JsonContent::Text(text) => Cow::Borrowed(text.as_str()),
                };
                let fence = fence(&text);
                sink.put_all(&[&fence, "json\n"]);
                match &element.content {
                    JsonContent::Value(value) => sink.put_value(&text, value),
                    JsonContent::Text(_) => sink.put(&text),
                }
                sink.put_all(&["\n", &fence]);
            }
            _ => {}
        }
    }

    fn open_material(&self, sink: &mut impl Sink, material: &Material, number: u32) {
        match self.dialect {
            Dialect::Markdown => {
                sink.put_plain("# ");
                sink.put_line(&material.title);
                sink.put("\nID: ");
                sink.put_line(&material.id);
                sink.put("\n\n");
            }
            Dialect::Tags => {
                self.open_tag(sink, "<material", number);
                sink.put_known(" id=\"", " id=\\\"");
                put_attribute(sink, &material.id);
                sink.put_known("\" title=\"", "\\\" title=\\\"");
                put_attribute(sink, &material.title);
                sink.put_known("\">\n", "\\\">\\n");
            }
        }
    }

    fn open_chunk(&self, sink: &mut impl Sink, chunk: &Chunk, number: u32) {
        match self.dialect {
            Dialect::Markdown => {
                sink.put_plain("[Part of ");
                sink.put_line(&chunk.part_of);
                sink.put("]\n");
            }
            Dialect::Tags => {
                self.open_tag(sink, "<chunk", number);
                sink.put_known(" part_of=\"", " part_of=\\\"");
                put_attribute(sink, &chunk.part_of);
                if let Some(index) = chunk.index {
                    sink.put_known("\" index=\"", "\\\" index=\\\"");
                    sink.put_number(index);
                }
                sink.put_known("\">\n", "\\\">\\n");
            }
        }
    }

    /// Writes the start of a tag with its number.
    fn open_tag(&self, sink: &mut impl Sink, start: &'static str, number: u32) {
        sink.put_plain(start);
        if number > 0 {
            sink.put_plain("-");
            sink.put_number(u64::from(number));
        }
    }

    fn close_tag(&self, sink: &mut impl Sink, end: &'static str, number: u32) {
        if self.dialect == Dialect::Tags {
            sink.put_known("\n", "\\n");
            self.open_tag(sink, end, number);
            sink.put_plain(">");
        }
    }

    fn material_number(&self, material: &Material) -> u32 {
        self.free_number(&self.materials, Tag::MATERIAL_END, &material.content)
    }

    fn chunk_number(&self, chunk: &Chunk) -> u32 {
        self.free_number(&self.chunks, Tag::CHUNK_END, &chunk.content)
    }

    /// The first number that occurs neither in the content nor in a text outside of tags.
    fn free_number(&self, outside: &Marks, tag: Tag, content: &Content) -> u32 {
        if self.dialect == Dialect::Markdown {
            return 0;
        }
        let mut marks = Marks::default();
        for text in content.texts() {
            marks.record_marks(tag, text);
        }
        if !outside.is_empty() {
            marks.extend(outside);
        }
        marks.first_free()
    }

    /// The texts before and after the content of an element.
    pub(super) fn surrounding_texts(&self, element: &Element) -> (String, String) {
        let (mut before, mut after) = (String::new(), String::new());
        self.write_surrounding(element, &mut before, &mut after);
        (before, after)
    }

    /// Writes the texts before and after the content of an element.
    pub(super) fn write_surrounding<S: Sink>(&self, element: &Element, before: &mut S, after: &mut S) {
        match element {
            Element::Material(material) => {
                let number = self.material_number(material);
                self.open_material(before, material, number);
                self.close_tag(after, "</material", number);
            }
            Element::Chunk(chunk) => {
                let number = self.chunk_number(chunk);
                self.open_chunk(before, chunk, number);
                self.close_tag(after, "</chunk", number);
            }
            _ => {}
        }
    }

    /// Splits an element that is not a message into pieces.
    pub(super) fn split_pieces<'p>(
        &self,
        element: &'p Element,
        options: &RequestOptions,
        take: &mut dyn FnMut(Piece<'p>),
    ) -> Result<(), Error> {
        let Some(Content::Parts(parts)) = content_of(element) else {
            take(Piece::Element(element));
            return Ok(());
        };
        let (before, after) = self.surrounding_texts(element);
        self.push_text(before.into(), take);
        for part in parts {
            self.push_attachment(part, options, take)?;
        }
        self.push_text(after.into(), take);
        Ok(())
    }

    /// The pieces of attachments.
    pub(super) fn attachment_pieces<'p>(
        &self,
        attachments: impl IntoIterator<Item = &'p Attachment>,
        options: &RequestOptions,
    ) -> Result<Vec<Piece<'p>>, Error> {
        let mut pieces = Vec::new();
        for attachment in attachments {
            self.push_attachment(attachment, options, &mut |piece| pieces.push(piece))?;
        }
        Ok(pieces)
    }

    /// Adds the piece of an attachment; an empty text has none.
    pub(super) fn push_attachment<'p>(
        &self,
        attachment: &'p Attachment,
        options: &RequestOptions,
        take: &mut dyn FnMut(Piece<'p>),
    ) -> Result<(), Error> {
        match attachment {
            Attachment::Text(text) => self.push_text(text.as_str().into(), take),
            other => match Media::from_attachment(other, options)? {
                Media::Text(text) => self.push_text(text.into(), take),
                media => take(Piece::Media(media)),
            },
        }
        Ok(())
    }

    /// Adds a text unless it is empty: providers reject empty parts, and those with tags also reject parts of only white
    /// space.
    pub(super) fn push_text<'p>(&self, text: Cow<'p, str>, take: &mut dyn FnMut(Piece<'p>)) {
        let is_empty = match self.dialect {
            Dialect::Markdown => text.is_empty(),
            Dialect::Tags => is_blank_text(&text),
        };
        if !is_empty {
            take(Piece::Text(text));
        }
    }
}

fn write_content(sink: &mut impl Sink, content: &Content) {
    for text in content.texts() {
        sink.put(text);
    }
}

/// Whether a text contains the first character of marks.
struct HasMark(bool);

impl Sink for HasMark {
    fn put(&mut self, text: &str) {
        self.0 |= memchr::memchr(b'<', text.as_bytes()).is_some();
    }
}

/// Writes the value of an attribute, on one line and escaped.
fn put_attribute(sink: &mut impl Sink, value: &str) {
    // Most values are file names and numbers, which need no escapes.
    if value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\') && !ends_value(byte)) {
        return sink.put_plain(value);
    }
    for (index, line) in split_line_ends(value).enumerate() {
        if index > 0 {
            sink.put_plain(" ");
        }
        put_entities(sink, line);
    }
}

/// Writes a text with entities for the characters that end an attribute.
fn put_entities(sink: &mut impl Sink, text: &str) {
    let mut rest = text;
    while let Some(place) = rest.bytes().position(ends_value) {
        sink.put(&rest[..place]);
        sink.put(match rest.as_bytes()[place] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            _ => "&quot;",
        });
        rest = &rest[place + 1..];
    }
    sink.put(rest);
}

const fn ends_value(byte: u8) -> bool {
    matches!(byte, b'&' | b'<' | b'>' | b'"')
}

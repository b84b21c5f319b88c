//! Records which texts of a prompt a writer wrote where.
//!
//! A text is identified by its address: [`Text`]s are shared, never copied, until a writer writes them. A program that
//! knows the texts of a prompt finds with it where each of them, or a piece of it, is in a message or in a request.
//! Everything else is the frame: headings, tags, joins and JSON syntax.

use std::ops::Range;

use crate::{Element, Text};

/// What a writer wrote, in the order of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRecord {
    /// The texts, without those that are empty.
    pub texts: Vec<WrittenText>,
    /// The section of what is written from a byte on.
    pub sections: Vec<(usize, Option<Text>)>,
}

/// A text, or a piece of one, in a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenText {
    /// Its bytes in the result: in JSON those of the escaped text.
    pub range: Range<usize>,
    /// The address of its first byte; of data that is written as JSON, the address of the value.
    pub address: usize,
    /// Whether it is a string of a document that is written as it was read.
    pub is_from_document: bool,
}

impl TextRecord {
    /// The section around a byte of the result.
    #[must_use]
    pub fn section_at(&self, byte: usize) -> Option<&Text> {
        let after = self.sections.partition_point(|(start, _)| *start <= byte);
        self.sections.get(after.checked_sub(1)?)?.1.as_ref()
    }

    /// A range of the result, cut where sections start and end, with the section of each piece.
    #[must_use]
    pub fn cut_sections(&self, range: Range<usize>) -> Vec<(Range<usize>, Option<&Text>)> {
        let inside = |(start, _): &&(usize, Option<Text>)| range.start < *start && *start < range.end;
        let mut starts: Vec<usize> = self.sections.iter().filter(inside).map(|(start, _)| *start).collect();
        starts.insert(0, range.start);
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([range.end]);
        starts.iter().zip(ends).map(|(start, end)| (*start..end, self.section_at(*start))).collect()
    }

    pub(crate) fn add_text(&mut self, range: Range<usize>, address: usize, is_from_document: bool) {
        if !range.is_empty() {
            self.texts.push(WrittenText { range, address, is_from_document });
        }
    }

    /// Notes the section of an element, and where the element ends.
    pub(crate) fn enter_element(&mut self, at: usize, element: &Element) {
        let section = match element {
            Element::Section(section) => Some(section.title.clone()),
            Element::Message(_) => None,
            _ => self.sections.iter().rev().find_map(|(_, section)| section.clone()),
        };
        self.sections.push((at, section));
    }

    pub(crate) fn leave_element(&mut self, at: usize) {
        self.sections.push((at, None));
    }

    /// Adds what was written to another result, which is now a part of this one from `at` on.
    pub(crate) fn append(&mut self, at: usize, other: &Self) {
        let moved = |range: &Range<usize>| range.start + at..range.end + at;
        self.texts
            .extend(other.texts.iter().map(|text| WrittenText { range: moved(&text.range), ..text.clone() }));
        self.sections.extend(other.sections.iter().map(|(start, section)| (start + at, section.clone())));
    }
}

/// The address of the first byte of a text.
pub(crate) fn text_address(text: &str) -> usize {
    text.as_ptr().addr()
}

/// A text with its record.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedText {
    pub(crate) text: String,
    pub(crate) record: TextRecord,
}

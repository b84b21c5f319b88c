//! Sections as Markdown headings.

use super::{Sink, TextOptions};
use crate::{SectionElement, SectionItem, SubsectionElement, Text, json};

/// Writes a heading with its texts, one per line, and blank lines around its subsections.
pub(crate) fn write_section(sink: &mut impl Sink, section: &SectionElement, options: &TextOptions) {
    let lb = options.line_break.as_str();
    sink.put_plain("## ");
    sink.put_line(&section.title);
    sink.put(lb);
    let mut after_subsection = false;
    for (index, item) in section.items.iter().enumerate() {
        let is_subsection = matches!(item, SectionItem::Subsection(_));
        sink.put(lb);
        if index > 0 && (is_subsection || after_subsection) {
            sink.put(lb);
        }
        match item {
            SectionItem::Text(text) => sink.put(text),
            SectionItem::Subsection(subsection) => {
                write_subsection(sink, &subsection.title, &subsection.items, options);
            }
            SectionItem::Other(value) => sink.put_value(&json::to_compact_string(value), value),
        }
        after_subsection = is_subsection;
    }
}

/// Writes a heading of the second level with its texts, one per line.
pub(crate) fn write_subsection(sink: &mut impl Sink, title: &str, items: &[Text], options: &TextOptions) {
    let lb = options.line_break.as_str();
    if let Some(start) = &options.markers.subsection_start {
        sink.put_all(&[start, lb]);
    }
    sink.put_plain("### ");
    sink.put_line(title);
    sink.put(lb);
    for item in items {
        sink.put_all(&[lb, item]);
    }
    if let Some(end) = &options.markers.subsection_end {
        sink.put_all(&[lb, end]);
    }
}

impl SubsectionElement {
    pub(crate) fn write(&self, sink: &mut impl Sink, options: &TextOptions) {
        write_subsection(sink, &self.title, &self.items, options);
    }
}

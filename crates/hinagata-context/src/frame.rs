//! Delimits files, resources and sections in the text.
//!
//! The lines of the plain frame can occur in content, too. In Markdown, XML and JSON, no content can end its frame: fences
//! are longer than every run of backticks in the content, XML has content in CDATA sections, JSON has it in strings.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{section::SectionKind, text::trim_end_of_text};

/// Bytes that are checked at once for characters that XML does not allow.
const ODD_BLOCK: usize = 4096;

/// How files are delimited in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frame {
    /// A line before and a line after the content.
    #[default]
    Plain,
    /// A heading and a fenced block.
    Markdown,
    /// An element with the content in CDATA sections.
    Xml,
    /// An object with the contents as strings.
    Json,
}

/// Neighbours that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Files,
    Resources,
}

/// The content of the section of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceBody {
    Files,
    Text,
    Nothing,
}

impl Frame {
    /// All frames.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Markdown, Self::Xml, Self::Json];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Markdown => "markdown",
            Self::Xml => "xml",
            Self::Json => "json",
        }
    }

    /// The frame with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|frame| frame.as_str() == name)
    }

    /// The separator of files and sections.
    pub(crate) const fn separator(self) -> &'static str {
        match self {
            Self::Plain | Self::Markdown => "\n\n",
            Self::Xml => "\n",
            Self::Json => ",\n",
        }
    }

    /// The lines before and after the whole text, unless it is empty.
    pub(crate) const fn enclosing_lines(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain | Self::Markdown => ("", ""),
            Self::Xml => ("<context>\n", "\n</context>"),
            Self::Json => ("{\n", "\n}"),
        }
    }

    /// The lines before and after a group.
    pub(crate) const fn enclose_group(self, group: Group) -> (&'static str, &'static str) {
        match (self, group) {
            (Self::Json, Group::Files) => ("\"files\": [\n", "\n]"),
            (Self::Json, Group::Resources) => ("\"resources\": [\n", "\n]"),
            _ => ("", ""),
        }
    }

    /// The lines before and after a file; `state` says how it is in the text, unless that is the whole file.
    pub(crate) fn enclose_file(self, path: &str, state: Option<&str>, content: &str) -> Enclosure<'static> {
        let content = trim_end_of_text(content);
        let more = |before: &str, after: &str| {
            state.map_or_else(String::new, |state| format!("{before}{state}{after}"))
        };
        match self {
            Self::Plain => {
                let path = one_line(path);
                Enclosure::new(format!("// File: {path}{}\n", more(" (", ")")), format!("\n// End of {path}"))
            }
            Self::Markdown => {
                let fence = fence(content);
                let open = format!("## {}{}\n\n{fence}{}\n", code(path), more(" (", ")"), language(path));
                Enclosure::new(open, format!("\n{fence}"))
            }
            Self::Xml => {
                let state = more(" state=\"", "\"");
                let open = format!("<file path=\"{}\"{state}><![CDATA[\n", attribute(path));
                Enclosure::new(open, "\n]]></file>".to_owned())
            }
            Self::Json => {
                let state = more(" \"state\": \"", "\",");
                let open = format!("{{\"path\": {},{state} \"content\": \"", json_string(path));
                Enclosure::new(open, "\"}".to_owned())
            }
        }
    }

    /// Escapes content so that it cannot end its frame.
    pub(crate) fn escape_content(self, content: &str) -> Cow<'_, str> {
        let content = trim_end_of_text(content);
        match self {
            Self::Plain | Self::Markdown => Cow::Borrowed(content),
            Self::Xml => character_data(content),
            Self::Json => Cow::Owned(json_content(content)),
        }
    }

    /// The lines before and after the section of a resource.
    pub(crate) fn enclose_resource(
        self,
        label: &str,
        description: Option<&str>,
        body: ResourceBody,
    ) -> Enclosure<'static> {
        let described = description.filter(|text| !text.is_empty());
        let empty = body == ResourceBody::Nothing;
        let newline = if empty { "" } else { "\n" };
        match self {
            Self::Plain => {
                let more = described.map(|text| format!(" - {text}")).unwrap_or_default();
                Enclosure::new(
                    format!("// Resource: {label}{more}\n"),
                    format!("{newline}// End Resource: {label}"),
                )
            }
            Self::Markdown => {
                let more = described.map(|text| format!("\n\n{}", code(text))).unwrap_or_default();
                let newline = if empty { "" } else { "\n\n" };
                Enclosure::new(format!("# Resource: {}{more}{newline}", code(label)), String::new())
            }
            Self::Xml => {
                let more =
                    described.map(|text| format!(" description=\"{}\"", attribute(text))).unwrap_or_default();
                let open = format!("<resource name=\"{}\"{more}>\n", attribute(label));
                Enclosure::new(open, format!("{newline}</resource>"))
            }
            Self::Json => {
                let more = described.map(|text| format!(", \"description\": {}", json_string(text)));
                let start = format!("{{\"name\": {}{}, ", json_string(label), more.unwrap_or_default());
                match body {
                    ResourceBody::Files => Enclosure::new(start + "\"files\": [\n", "\n]}".to_owned()),
                    _ => Enclosure::new(start + "\"text\": \"", "\"}".to_owned()),
                }
            }
        }
    }

    /// The text of a template resource with its frame.
    pub(crate) fn frame_rendered(self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        match self {
            Self::Plain => text.to_owned(),
            Self::Markdown => {
                let fence = fence(text);
                format!("{fence}\n{text}\n{fence}")
            }
            Self::Xml => format!("<text><![CDATA[\n{}\n]]></text>", character_data(text)),
            Self::Json => json_content(text),
        }
    }

    /// A section with its frame. Texts of the caller are not fenced: they speak to the model.
    pub(crate) fn frame_section(self, kind: SectionKind, text: &str) -> String {
        let text = trim_end_of_text(text);
        let title = kind.title();
        match self {
            Self::Plain | Self::Markdown if kind == SectionKind::Header => text.to_owned(),
            Self::Plain => format!("// {title}\n{text}\n// End of {}", title.to_lowercase()),
            Self::Markdown if kind == SectionKind::Instruction => format!("# {title}\n\n{text}"),
            Self::Markdown => {
                let (fence, language) = (fence(text), if kind.is_changes() { "diff" } else { "" });
                format!("# {title}\n\n{fence}{language}\n{text}\n{fence}")
            }
            Self::Xml => {
                let name = kind.as_str();
                format!("<{name}><![CDATA[\n{}\n]]></{name}>", character_data(text))
            }
            Self::Json => format!("\"{}\": {}", kind.as_str(), json_string(text)),
        }
    }

    /// The names of files that are not shown, as a section.
    pub(crate) fn frame_names<'p>(self, paths: impl IntoIterator<Item = &'p str>) -> String {
        let lines: Vec<String> = paths.into_iter().map(|path| self.frame_name(path)).collect();
        match self {
            Self::Plain => format!("// Not shown:\n{}", lines.join("\n")),
            Self::Markdown => format!("# Not shown\n\n{}", lines.join("\n")),
            Self::Xml => format!("<not_shown>\n{}\n</not_shown>", lines.join("\n")),
            Self::Json => format!("\"not_shown\": [\n{}\n]", lines.join(",\n")),
        }
    }

    /// The line of a file that is not shown.
    pub(crate) fn frame_name(self, path: &str) -> String {
        match self {
            Self::Plain => format!("// {}", one_line(path)),
            Self::Markdown => format!("- {}", code(path)),
            Self::Xml => format!("<file path=\"{}\"/>", attribute(path)),
            Self::Json => json_string(path),
        }
    }

    /// The last line, which says how many files are missing.
    pub(crate) fn frame_missing(self, words: &str) -> String {
        match self {
            Self::Plain => format!("// Missing: {words}"),
            Self::Markdown => format!("Missing: {words}"),
            Self::Xml => format!("<missing>{words}</missing>"),
            Self::Json => format!("\"missing\": {}", json_string(words)),
        }
    }
}

/// The text before and after content.
#[derive(Clone, Debug)]
pub(crate) struct Enclosure<'a> {
    pub(crate) open: Cow<'a, str>,
    pub(crate) close: Cow<'a, str>,
}

impl Enclosure<'_> {
    fn new(open: String, close: String) -> Enclosure<'static> {
        Enclosure { open: Cow::Owned(open), close: Cow::Owned(close) }
    }
}

/// A fence that is longer than every run of backticks in `content`.
fn fence(content: &str) -> String {
    "`".repeat(longest_run(content).max(2) + 1)
}

fn longest_run(content: &str) -> usize {
    let bytes = content.as_bytes();
    let mut longest = 0;
    let mut places = memchr::memchr_iter(b'`', bytes).peekable();
    while let Some(start) = places.next() {
        let mut end = start;
        while places.next_if_eq(&(end + 1)).is_some() {
            end += 1;
        }
        longest = longest.max(end + 1 - start);
    }
    longest
}

/// A name on one line.
pub(crate) fn one_line(name: &str) -> Cow<'_, str> {
    match name.contains(char::is_control) {
        true => Cow::Owned(name.chars().map(|found| if found.is_control() { ' ' } else { found }).collect()),
        false => Cow::Borrowed(name),
    }
}

/// A string of JSON, with its quotes.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The content of a string of JSON.
fn json_content(text: &str) -> String {
    let quoted = json_string(text);
    quoted[1..quoted.len() - 1].to_owned()
}

/// A name as inline code, on one line.
fn code(name: &str) -> String {
    let name = one_line(name);
    let fence = "`".repeat(longest_run(&name) + 1);
    let space = if name.starts_with('`') || name.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{name}{space}{fence}")
}

/// The language of a fenced block: the extension of the file, if it is alphanumeric.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let word = extension.len() <= 16 && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if word { extension } else { "" }
}

/// Escapes the value of an attribute.
fn attribute(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", character as u32)),
            _ if is_xml(character) => escaped.push(character),
            _ => escaped.push(char::REPLACEMENT_CHARACTER),
        }
    }
    escaped
}

/// Escapes the content of a CDATA section: `]]>` is split into two sections, and U+FFFD replaces characters that XML
/// does not allow.
fn character_data(content: &str) -> Cow<'_, str> {
    let mut data = Cow::Borrowed(content);
    if memchr::memmem::find(content.as_bytes(), b"]]>").is_some() {
        data = Cow::Owned(data.replace("]]>", "]]]]><![CDATA[>"));
    }
    // Such characters are rare, and bytes are faster to check than characters.
    if has_odd_byte(data.as_bytes()) && !data.chars().all(is_xml) {
        let replaced =
            data.chars().map(|found| if is_xml(found) { found } else { char::REPLACEMENT_CHARACTER });
        data = Cow::Owned(replaced.collect());
    }
    data
}

/// Whether a byte may belong to a character that XML does not allow.
fn has_odd_byte(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') || *byte == 0xef;
    // A block is checked to its end: without a branch for each byte, the compiler checks many bytes at once.
    bytes.chunks(ODD_BLOCK).any(|block| block.iter().fold(false, |any, byte| any | is_odd(byte)))
}

fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(frame: Frame, path: &str, content: &str) -> String {
        let around = frame.enclose_file(path, None, content);
        format!("{}{}{}", around.open, frame.escape_content(content), around.close)
    }

    /// The content of the first fenced block, as CommonMark finds its end.
    fn fenced(text: &str) -> (String, &str) {
        let start = text.find("\n\n").expect("a heading") + 2;
        let (opening, rest) = text[start..].split_once('\n').expect("a fence");
        let length = opening.bytes().take_while(|byte| *byte == b'`').count();
        let mut content = Vec::new();
        let mut lines = rest.split('\n');
        for line in lines.by_ref() {
            if line.trim().len() >= length && line.trim().bytes().all(|byte| byte == b'`') {
                break;
            }
            content.push(line);
        }
        assert_eq!(lines.next(), None, "the block ends where the text does: {text:?}");
        (content.join("\n"), opening)
    }

    /// The content of the element, as an XML parser reads it.
    fn element(text: &str) -> String {
        let mut rest = text.split_once('>').expect("an element").1;
        let mut content = String::new();
        while let Some(section) = rest.strip_prefix("<![CDATA[") {
            let (inner, behind) = section.split_once("]]>").expect("a section ends");
            content.push_str(inner);
            rest = behind;
        }
        assert_eq!(rest, "</file>");
        content[1..content.len() - 1].to_owned()
    }

    #[test]
    fn the_plain_frame_is_the_one_of_the_format() {
        assert_eq!(framed(Frame::Plain, "a.ts", "x\n"), "// File: a.ts\nx\n// End of a.ts");
        assert_eq!(framed(Frame::Plain, "a.ts", ""), "// File: a.ts\n\n// End of a.ts");
    }

    #[test]
    fn fences_are_longer_than_those_of_the_content() {
        assert_eq!(
            framed(Frame::Markdown, "a.md", "```\nx\n````\n"),
            "## `a.md`\n\n`````md\n```\nx\n````\n`````"
        );
    }

    #[test]
    fn names_stay_on_their_line() {
        let text = framed(Frame::Markdown, "a\n# b`c", "");
        assert_eq!(text.lines().next(), Some("## ``a # b`c``"));
        let text = framed(Frame::Xml, "a\"><file path=\"b\n", "");
        assert!(text.starts_with("<file path=\"a&quot;&gt;&lt;file path=&quot;b&#10;\">"), "{text}");
    }

    proptest! {
        #[test]
        fn no_content_ends_its_fenced_block(content in "[`~a\n ]{0,60}|.{0,80}") {
            let text = framed(Frame::Markdown, "a.md", &content);
            prop_assert_eq!(fenced(&text).0, trim_end_of_text(&content).to_owned());
        }

        #[test]
        fn no_content_ends_its_element(content in "[\\]>\\[CDATA<!/file\n ]{0,80}|.{0,80}") {
            let text = framed(Frame::Xml, "a.md", &content);
            let readable: String = trim_end_of_text(&content).chars().map(|found| if is_xml(found) { found } else { '\u{fffd}' }).collect();
            prop_assert_eq!(element(&text), readable);
        }
    }
}

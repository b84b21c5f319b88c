//! A prompt as one text, for models without messages and for people.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Marks, Sink, Tag, TextOptions,
    guard::longest_fence,
    line::{ends_line, has_odd_line_ends},
    write_section,
};
use crate::{
    Attachment, Chunk, CompiledPrompt, Content, Element, Material, Message, Role, SectionItem,
    element::{JsonContent, JsonElement},
    json,
    message::{Body, MessagePart, PartContent, ToolCall, ToolResult, ToolValue},
    record::{RecordedText, TextRecord},
};

/// The text of a prompt: three parts with their headings; the schema of the answer precedes the output.
#[must_use]
pub fn prompt_text(prompt: &CompiledPrompt, options: &TextOptions) -> String {
    let mut text = String::new();
    write_prompt(prompt, options, &mut text);
    text
}

/// The text of a prompt, and what was written where.
#[must_use]
pub fn recorded_prompt_text(prompt: &CompiledPrompt, options: &TextOptions) -> (String, TextRecord) {
    let mut text = RecordedText::default();
    Formatter::new(options, prompt.elements()).prompt(prompt, &mut text);
    (text.text, text.record)
}

/// Appends the text of a prompt to `text`.
pub(crate) fn write_prompt(prompt: &CompiledPrompt, options: &TextOptions, text: &mut String) {
    text.reserve(estimate_bytes(prompt));
    Formatter::new(options, prompt.elements()).prompt(prompt, text);
}

/// The text of one element.
#[must_use]
pub fn element_text(element: &Element, options: &TextOptions) -> String {
    elements_text(std::slice::from_ref(element), options)
}

/// The texts of elements, with blank lines between them.
#[must_use]
pub fn elements_text(elements: &[Element], options: &TextOptions) -> String {
    let mut text = String::new();
    Formatter::new(options, elements.iter()).elements(elements, &mut text);
    text
}

/// The approximate size of the text of a prompt in bytes; most of it is content.
fn estimate_bytes(prompt: &CompiledPrompt) -> usize {
    let content = |content: &Content| content.texts().map(str::len).sum::<usize>();
    let element = |element: &Element| match element {
        Element::Text(element) => content(&element.content),
        Element::Message(message) => message.texts().map(str::len).sum::<usize>() + 64,
        // Every line gets two more characters.
        Element::Material(material) => content(&material.content) * 17 / 16 + material.title.len(),
        Element::Chunk(chunk) => content(&chunk.content) + chunk.part_of.len() + 32,
        Element::Section(section) => section.items.len() * 96,
        Element::Subsection(_) | Element::Json(_) => 256,
    };
    512 + prompt.elements().map(|one| element(one) + 16).sum::<usize>()
}

struct Formatter<'o> {
    options: &'o TextOptions,
    /// The number of the marks around messages; 0 for none.
    message: u32,
    /// The marks around chunks.
    chunk_start: Cow<'o, str>,
    chunk_end: Cow<'o, str>,
}

impl<'o> Formatter<'o> {
    /// Scans all texts once, so that none of them can imitate a mark.
    fn new<'e>(options: &'o TextOptions, elements: impl Iterator<Item = &'e Element>) -> Self {
        let (mut messages, mut chunks) = (Marks::default(), Marks::default());
        let mut note = |text: &str| {
            if memchr::memchr(b'<', text.as_bytes()).is_none() {
                return;
            }
            messages.record_marks(Tag::MESSAGE, text);
            chunks.record_marks(Tag::CHUNK, text);
        };
        for element in elements {
            match element {
                Element::Text(element) => element.content.texts().for_each(&mut note),
                Element::Message(message) => {
                    message.texts().for_each(&mut note);
                    message.tool_results().for_each(|result| note(&result_text(result)));
                }
                Element::Chunk(chunk) => {
                    note(&chunk.part_of);
                    chunk.content.texts().for_each(&mut note);
                }
                Element::Section(section) => section.items.iter().for_each(|item| match item {
                    SectionItem::Text(text) => note(text),
                    SectionItem::Subsection(subsection) => {
                        subsection.items.iter().for_each(|item| note(item));
                    }
                    SectionItem::Other(value) => note(&json::to_compact_string(value)),
                }),
                Element::Subsection(subsection) => subsection.items.iter().for_each(|item| note(item)),
                Element::Json(JsonElement { content: JsonContent::Text(text), .. }) => note(text),
                Element::Json(JsonElement { content: JsonContent::Value(value), .. }) => {
                    note(&json::to_compact_string(value));
                }
                // Every line of it is quoted.
                Element::Material(_) => {}
            }
        }
        let number = number_suffix(chunks.first_free());
        let mark = |own: &'o Option<String>, usual: &str| match own {
            Some(own) => Cow::Borrowed(own.as_str()),
            None => Cow::Owned(format!("<{usual}chunk{number}>")),
        };
        Self {
            options,
            message: messages.first_free(),
            chunk_start: mark(&options.markers.chunk_start, ""),
            chunk_end: mark(&options.markers.chunk_end, "/"),
        }
    }

    fn line_break(&self) -> &'o str {
        &self.options.line_break
    }

    fn prompt(&self, prompt: &CompiledPrompt, text: &mut impl Sink) {
        let lb = self.line_break();
        if !self.options.preamble.is_empty() {
            text.put_all(&[&self.options.preamble, lb, lb]);
        }
        let descriptions = &self.options.descriptions;
        let mut parts = 0;
        if !prompt.instructions.is_empty() {
            self.part("# Instructions", descriptions.instructions.as_deref(), text);
            self.elements_after_blank(&prompt.instructions, text);
            parts += 1;
        }
        if !prompt.data.is_empty() {
            self.blank_before_part(parts, text);
            self.part("# Data", descriptions.data.as_deref(), text);
            self.elements_after_blank(&prompt.data, text);
            parts += 1;
        }
        let schema = prompt.schema();
        if self.options.always_output_header || !prompt.output.is_empty() || schema.is_some() {
            self.blank_before_part(parts, text);
            self.part("# Output", descriptions.output.as_deref(), text);
            if let Some(schema) = schema {
                text.put_all(&[lb, lb]);
                self.schema(schema, text);
            }
            self.elements_after_blank(&prompt.output, text);
        }
    }

    /// Writes a blank line before a part; a preamble has already ended its line.
    fn blank_before_part(&self, parts: u32, text: &mut impl Sink) {
        match parts {
            0 if self.options.preamble.is_empty() => {}
            0 => text.put(self.line_break()),
            _ => text.put_all(&[self.line_break(), self.line_break()]),
        }
    }

    fn part(&self, heading: &str, description: Option<&str>, text: &mut impl Sink) {
        let lb = self.line_break();
        text.put(heading);
        // An empty description is ignored.
        if let Some(description) = description.filter(|description| !description.is_empty()) {
            text.put_all(&[lb, lb, description]);
        }
    }

    fn elements_after_blank(&self, elements: &[Element], text: &mut impl Sink) {
        if !elements.is_empty() {
            text.put_all(&[self.line_break(), self.line_break()]);
            self.elements(elements, text);
        }
    }

    fn elements(&self, elements: &[Element], text: &mut impl Sink) {
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                text.put_all(&[self.line_break(), self.line_break()]);
            }
            self.element(element, text);
        }
    }

    fn schema(&self, schema: &Value, text: &mut impl Sink) {
        let lb = self.line_break();
        let schema = json::to_pretty_string(schema);
        let fence = fence(&schema);
        text.put_all(&[
            "### Output Schema",
            lb,
            lb,
            "Include a JSON object in a ```json code block that conforms to the schema below.",
            lb,
            lb,
            "JSONSchema:",
            lb,
            &fence,
            "json",
            lb,
            &schema,
            lb,
            &fence,
        ]);
    }

    fn element(&self, element: &Element, text: &mut impl Sink) {
        text.enter_element(element);
        match element {
            Element::Text(element) => text.put(&content_text(&element.content)),
            Element::Message(message) => self.message(message, text),
            Element::Material(material) => self.material(material, text),
            Element::Chunk(chunk) => self.chunk(chunk, text),
            Element::Section(section) => write_section(text, section, self.options),
            Element::Subsection(subsection) => subsection.write(text, self.options),
            Element::Json(element) => {
                let lb = self.line_break();
                let shown = match &element.content {
                    JsonContent::Value(value) => Cow::Owned(json::to_pretty_string(value)),
                    JsonContent::Text(content) => Cow::Borrowed(content.as_str()),
                };
                let fence = fence(&shown);
                text.put_all(&["### JSON Output Format", lb, lb, &fence, "json", lb]);
                match &element.content {
                    JsonContent::Value(value) => text.put_value(&shown, value),
                    JsonContent::Text(_) => text.put(&shown),
                }
                text.put_all(&[lb, &fence]);
            }
        }
        text.leave_element();
    }

    fn message(&self, message: &Message, text: &mut impl Sink) {
        for (index, result) in message.tool_results().enumerate() {
            text.put(if index > 0 { "\n\ntoolResponse:\n" } else { "toolResponse:\n" });
            let shown = result_text(result);
            let fence = fence(&shown);
            text.put_all(&[&fence, "json\n", &shown, "\n", &fence]);
        }
        let is_result = |part: &MessagePart| part.as_tool_result().is_some();
        if !message.parts().is_empty() && message.parts().iter().all(is_result) {
            return;
        }
        if message.parts().iter().any(is_result) {
            text.put("\n\n");
        }
        let content = message_text(message);
        let role = message.role();
        let markers = &self.options.markers;
        if let Some((start, end)) = self.options.special_tokens.pair(role.name()) {
            text.put_all(&[start, &content]);
            self.calls(message, !content.is_empty(), text);
            text.put(end);
        } else if let (Some(before), Some(around)) = (&markers.message_role, &markers.message_content) {
            text.put(&before.replace("{role}", role_marker(role)));
            put_around(around, &content, text);
            self.calls(message, true, text);
        } else {
            let number = number_suffix(self.message);
            text.put_all(&["<!-- begin of ", role_marker(role), &number, " -->\n"]);
            let content = trim_blank(&content);
            text.put(content);
            self.calls(message, !content.is_empty(), text);
            text.put_all(&["\n<!-- end of ", role_marker(role), &number, " -->"]);
        }
    }

    /// Writes the tool calls of a message, each on separate lines.
    fn calls(&self, message: &Message, after_text: bool, text: &mut impl Sink) {
        for (index, call) in message.tool_calls().enumerate() {
            if after_text || index > 0 {
                text.put("\n");
            }
            let shown = call_text(call);
            match self.options.special_tokens.pair("tool_call") {
                Some((start, end)) => text.put_all(&[start, "\n", &shown, "\n", end]),
                None => {
                    let fence = fence(&shown);
                    text.put_all(&[&fence, "json:toolCall\n", &shown, "\n", &fence]);
                }
            }
        }
    }

    fn material(&self, material: &Material, text: &mut impl Sink) {
        let lb = self.line_break();
        let content = content_text(&material.content);
        let title = &material.title;
        let tokens = &self.options.special_tokens;
        if let Some((start, end)) =
            ["quote", "ref", "citation"].into_iter().find_map(|name| tokens.pair(name))
        {
            text.put(start);
            text.put_line(title);
            text.put_all(&[lb, &content, end, lb]);
        } else if let Some((start, end)) = tokens.pair("context") {
            text.put_all(&[start, "Material: "]);
            text.put_line(title);
            text.put_all(&[lb, &content, end, lb]);
        } else {
            text.put("### ");
            text.put_line(title);
            text.put_all(&[lb, lb]);
            self.quote(&content, text);
            text.put(lb);
        }
    }

    /// Quotes every line, so that none of them is a heading of the prompt.
    fn quote(&self, content: &str, text: &mut impl Sink) {
        let lb = self.line_break();
        if lb == "\n" && !has_odd_line_ends(content) {
            return quote_lines(content, text);
        }
        let odd = lb == "\n";
        for (index, line) in content.split(lb).enumerate() {
            if index > 0 {
                text.put(lb);
            }
            text.put("> ");
            if odd { quote_line(line, text) } else { text.put(line) }
        }
    }

    fn chunk(&self, chunk: &Chunk, text: &mut impl Sink) {
        let lb = self.line_break();
        let (start, end) = (&*self.chunk_start, &*self.chunk_end);
        if !start.is_empty() {
            text.put_all(&[start, lb]);
        }
        text.put("#### ");
        match (chunk.index, chunk.total) {
            (None, _) => text.put("Part"),
            (Some(index), total) => {
                text.put("Chunk ");
                text.put_number(index);
                if let Some(total) = total {
                    text.put("/");
                    text.put_number(total);
                }
            }
        }
        text.put(" of ");
        text.put_line(&chunk.part_of);
        text.put_all(&[lb, lb, &content_text(&chunk.content)]);
        if !end.is_empty() {
            text.put_all(&[lb, end]);
        }
    }
}

/// Writes a pattern with the content in the place of each `{content}`.
fn put_around(around: &str, content: &str, text: &mut impl Sink) {
    for (index, piece) in around.split("{content}").enumerate() {
        if index > 0 {
            text.put(content);
        }
        text.put(piece);
    }
}

/// Quotes the lines of a text that contains only line feeds as line ends.
fn quote_lines(content: &str, text: &mut impl Sink) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', content.as_bytes()) {
        text.put_all(&["> ", &content[start..=end]]);
        start = end + 1;
    }
    text.put_all(&["> ", &content[start..]]);
}

/// Writes a line in which other characters may also end lines.
fn quote_line(line: &str, text: &mut impl Sink) {
    // A carriage return at the end belongs to the following line feed.
    let (body, end) = line.strip_suffix('\r').map_or((line, ""), |body| (body, "\r"));
    for part in body.split_inclusive(ends_line) {
        text.put(part);
        if part.ends_with(ends_line) {
            text.put("> ");
        }
    }
    text.put(end);
}

/// The suffix of a numbered mark; empty for 0.
fn number_suffix(number: u32) -> String {
    if number == 0 { String::new() } else { format!("-{number}") }
}

fn role_marker(role: Role) -> &'static str {
    match role {
        Role::System => "SYSTEM",
        Role::User => "USER",
        Role::Assistant => "ASSISTANT",
        Role::Tool => "TOOL",
    }
}

/// A fence for `text`: three backticks, or more than its longest run.
pub(crate) fn fence(text: &str) -> String {
    "`".repeat(3.max(longest_fence(text) + 1))
}

/// Content as text: images and files as JSON.
fn content_text(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Parts(_) => Cow::Owned(json::to_compact_string(&content.to_json())),
    }
}

/// What the speaker of a message said, as text; images and files as JSON.
fn message_text(message: &Message) -> Cow<'_, str> {
    let parts = match message.body() {
        Body::Text(text) => return Cow::Borrowed(text),
        Body::Parts(parts) => parts,
    };
    let said = |part: &MessagePart| match part.content() {
        PartContent::Attachment(attachment) => Some(attachment.clone()),
        PartContent::Refusal(text) => Some(Attachment::Text(text.clone())),
        _ => None,
    };
    let said: Vec<Attachment> = parts.iter().filter_map(said).collect();
    match said.as_slice() {
        [] if !parts.is_empty() => Cow::Borrowed(""),
        [Attachment::Text(_)] if parts.len() > 1 => Cow::Borrowed(message.texts().next().unwrap_or_default()),
        _ => Cow::Owned(content_text(&Content::Parts(said)).into_owned()),
    }
}

/// Trims white space; a byte order mark counts as white space.
fn trim_blank(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}')
}

fn call_text(call: &ToolCall) -> String {
    json::to_pretty_string(&serde_json::json!({"name": call.name.as_str(), "arguments": *call.arguments}))
}

fn result_text(result: &ToolResult) -> Cow<'_, str> {
    match &result.value {
        ToolValue::Data(value) => Cow::Owned(json::to_pretty_string(value)),
        value @ ToolValue::Parts { parts, .. } if value.media().next().is_some() => {
            Cow::Owned(content_text(&Content::Parts(parts.clone())).into_owned())
        }
        value => value.to_text(),
    }
}

impl ToolValue {
    /// The text of the value, as requests contain it: data as JSON, without images and files.
    #[must_use]
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            ToolValue::Text(text) => Cow::Borrowed(text),
            ToolValue::Data(value) => Cow::Owned(json::to_compact_string(value)),
            ToolValue::Error(value) => {
                Cow::Owned(json::to_compact_string(&serde_json::json!({"error": **value})))
            }
            ToolValue::Parts { parts, .. } => {
                let texts = parts.iter().filter_map(|part| match part {
                    Attachment::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

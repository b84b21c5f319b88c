//! Assigns roles to the elements of a prompt, before a driver writes them.

use serde_json::Value;

use super::{DataRole, RequestOptions, TurnRule, parts::has_place, request::Notes};
use crate::{
    Attachment, CacheHint, CompiledPrompt, Content, Element, Message, MessageFormat, Order, Part,
    PartContent, Role, json::Writer, message::Body,
};

/// A prompt as rules and turns.
pub(super) struct Conversation<'p> {
    /// The instructions.
    pub(super) rules: Vec<&'p Element>,
    /// The turns, in order.
    pub(super) turns: Vec<Turn<'p>>,
}

/// One element of a conversation.
#[derive(Clone, Copy)]
pub(super) struct Turn<'p> {
    pub(super) part: Part,
    pub(super) element: &'p Element,
}

impl<'p> Turn<'p> {
    /// The message, if the element is one.
    pub(super) fn message(&self) -> Option<&'p Message> {
        match self.element {
            Element::Message(message) => Some(message),
            _ => None,
        }
    }
}

impl<'p> Conversation<'p> {
    pub(super) fn from_prompt(prompt: &'p CompiledPrompt) -> Self {
        let mut rules = Vec::with_capacity(prompt.instructions.len());
        let mut turns = Vec::with_capacity(prompt.data.len() + prompt.output.len());
        for part in Part::ALL {
            let elements = arrange_elements(prompt.part(part), prompt.order);
            for (index, &element) in elements.iter().enumerate() {
                if is_only_title(element, elements.get(index + 1).copied()) {
                    continue;
                }
                match (part, element) {
                    (Part::Instructions, Element::Message(_)) | (Part::Data | Part::Output, _) => {
                        turns.push(Turn { part, element });
                    }
                    (Part::Instructions, element) => rules.push(element),
                }
            }
        }
        Self { rules, turns }
    }

    /// The messages.
    pub(super) fn messages(&self) -> impl Iterator<Item = &'p Message> {
        self.turns.iter().filter_map(Turn::message)
    }
}

/// The documents of a turn that is one message, if it was read in this format: they are sent as they are.
pub(super) fn unchanged_items<'p>(elements: &[Turn<'p>], format: MessageFormat) -> Option<&'p [Value]> {
    let [turn] = elements else { return None };
    turn.message()?.items_in(format)
}

/// The speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Model,
    Tool,
}

impl Speaker {
    /// The role.
    pub(super) const fn role(self) -> Role {
        match self {
            Self::System => Role::System,
            Self::User => Role::User,
            Self::Model => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

/// How the elements of a conversation form turns.
#[derive(Clone, Copy)]
pub(super) struct Grouping {
    /// Which elements share a turn.
    rule: TurnRule,
    /// Whether the results of tools belong to the user.
    two_sided: bool,
    /// The format of the provider.
    format: MessageFormat,
    /// Whether messages in that format are turns already, even if neighbours have the same speaker.
    keeps_own: bool,
    /// The role of data.
    data_role: DataRole,
}

impl Grouping {
    /// The grouping for a provider with this default.
    pub(super) fn new(options: &RequestOptions, default: TurnRule, format: MessageFormat) -> Self {
        Self {
            rule: options.turns.unwrap_or(default),
            two_sided: false,
            format,
            keeps_own: options.turns.is_none(),
            data_role: options.data_role,
        }
    }

    /// The same for a provider with two sides.
    pub(super) fn with_two_sides(self) -> Self {
        // Data is never a rule there.
        Self { two_sided: true, data_role: DataRole::User, ..self }
    }

    fn speaker(&self, turn: &Turn<'_>) -> Speaker {
        match turn.message().map(Message::role) {
            Some(Role::System) => Speaker::System,
            Some(Role::Assistant) => Speaker::Model,
            Some(Role::Tool) if !self.two_sided => Speaker::Tool,
            Some(Role::User | Role::Tool) => Speaker::User,
            None if turn.part == Part::Data && self.data_role == DataRole::System => Speaker::System,
            None => Speaker::User,
        }
    }

    /// Whether `next` belongs to the turn that ends with `last`.
    fn joins(&self, last: &Turn<'_>, next: &Turn<'_>) -> bool {
        self.rule != TurnRule::AsIs && !(self.is_kept(last) && self.is_kept(next))
    }

    /// Whether it is a message in the format of the provider, which stays as it is.
    fn is_kept(&self, turn: &Turn<'_>) -> bool {
        let is_own = |message: &Message| message.items_in(self.format).is_some();
        self.keeps_own && turn.message().is_some_and(is_own)
    }

    /// Whether it is a message of which the provider accepts nothing.
    fn is_without_place(&self, turn: &Turn<'_>) -> bool {
        turn.message().is_some_and(|message| {
            let parts = message.parts();
            !parts.is_empty() && !parts.iter().any(|part| has_place(part, self.format))
        })
    }
}

/// A conversation whose elements are grouped into turns.
pub(super) struct Turns<'p> {
    /// The instructions, and the system messages where a provider has no other place for them.
    pub(super) rules: Vec<&'p Element>,
    /// The elements of all turns, in order.
    pub(super) elements: Vec<Turn<'p>>,
    /// The speaker of each turn, and the index of its first element.
    turns: Vec<(Speaker, usize)>,
    /// The number of elements without text, which providers with alternating turns reject.
    pub(super) left_out: usize,
    /// Whether the conversation has to start with [`OPENING`].
    pub(super) needs_opening: bool,
}

/// The text of the user if the first turn would not be the user's, or if there is no turn: providers with alternating
/// turns reject such a conversation.
pub(super) const OPENING: &str = "Begin.";

impl<'p> Turns<'p> {
    pub(super) fn from_conversation(conversation: Conversation<'p>, grouping: Grouping) -> Self {
        let Conversation { mut rules, turns: given } = conversation;
        let strict = grouping.two_sided || grouping.rule == TurnRule::Alternate;
        let mut left_out = 0;
        let mut is_left_out = |element: &Element| {
            let is_empty = strict && is_empty_element(element);
            left_out += usize::from(is_empty);
            is_empty
        };
        rules.retain(|element| !is_left_out(element));
        let mut elements: Vec<Turn<'p>> = Vec::with_capacity(given.len());
        let mut turns: Vec<(Speaker, usize)> = Vec::new();
        for turn in given {
            if is_left_out(turn.element) || grouping.is_without_place(&turn) {
                continue;
            }
            let speaker = grouping.speaker(&turn);
            if strict && speaker == Speaker::System && !grouping.is_kept(&turn) {
                rules.push(turn.element);
                continue;
            }
            let is_same = turns.last().is_some_and(|(last, _)| *last == speaker) && speaker != Speaker::Tool;
            if !is_same || elements.last().is_some_and(|last| !grouping.joins(last, &turn)) {
                turns.push((speaker, elements.len()));
            }
            elements.push(turn);
        }
        let first = turns.iter().map(|(speaker, _)| *speaker).find(|speaker| *speaker != Speaker::System);
        let needs_opening = strict && first != Some(Speaker::User);
        Self { rules, elements, turns, left_out, needs_opening }
    }

    /// The turns, with their speakers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Speaker, &[Turn<'p>])> {
        self.turns.iter().enumerate().map(|(index, (speaker, start))| {
            let end = self.turns.get(index + 1).map_or(self.elements.len(), |(_, next)| *next);
            (*speaker, &self.elements[*start..end])
        })
    }

    /// Writes the message that opens a conversation, in the format of OpenAI, Ollama and Anthropic, if it needs one.
    pub(super) fn write_opening(&self, writer: &mut Writer) {
        if self.needs_opening {
            writer.write_object(|writer| {
                writer.write_field("role", "user");
                writer.write_field("content", OPENING);
            });
        }
    }

    /// Adds notes about what the grouping loses.
    pub(super) fn add_notes(&self, driver: &str, notes: &mut Notes) {
        (0..self.left_out).for_each(|_| notes.add(format!("{driver} does not accept empty text")));
        let is_named = |turn: &Turn<'_>| turn.message().is_some_and(|message| message.name().is_some());
        for (_, elements) in self.iter().filter(|(speaker, _)| *speaker != Speaker::Tool) {
            // Other providers have no names at all, which has its own note.
            if driver == "openai" && elements.len() > 1 && elements.iter().any(is_named) {
                notes.add(
                    "openai has one speaker name for each message; those of joined messages are left out",
                );
            }
        }
    }
}

/// Whether it contains only white space.
fn is_blank(content: &Content) -> bool {
    match content {
        Content::Text(text) => is_blank_text(text),
        Content::Parts(parts) => parts.iter().all(is_blank_attachment),
    }
}

fn is_blank_attachment(part: &Attachment) -> bool {
    match part {
        Attachment::Text(text) => is_blank_text(text),
        Attachment::ImageUrl { .. } | Attachment::File { .. } => false,
    }
}

/// Whether it contains only white space; a byte order mark counts as white space.
pub(super) fn is_blank_text(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// Whether the element has no text; headings, tags, tool calls and the like count as text.
fn is_empty_element(element: &Element) -> bool {
    match element {
        Element::Text(element) => is_blank(&element.content),
        Element::Message(message) => match message.body() {
            Body::Text(text) => is_blank_text(text),
            Body::Parts(parts) => parts.iter().all(|part| match part.content() {
                PartContent::Attachment(part) => is_blank_attachment(part),
                _ => false,
            }),
        },
        _ => false,
    }
}

/// Whether the first part of an element is a text.
pub(super) fn starts_with_text(element: &Element) -> bool {
    match element {
        Element::Message(message) => match message.parts().first() {
            Some(part) => part.as_text().is_some(),
            None => true,
        },
        _ => true,
    }
}

/// Whether it is a title that is followed only by messages: messages are separate turns, and a turn that contains only
/// the title would be superfluous.
fn is_only_title(element: &Element, next: Option<&Element>) -> bool {
    match (element, next) {
        (Element::Section(section), Some(Element::Message(_))) => section.items.is_empty(),
        _ => false,
    }
}

/// The elements in order; in cache order, static sections precede dynamic ones.
///
/// Messages keep their place, and nothing moves across them.
fn arrange_elements(elements: &[Element], order: Order) -> Vec<&Element> {
    if order == Order::Standard {
        return elements.iter().collect();
    }
    let mut groups: Vec<(usize, CacheHint, &[Element])> = Vec::new();
    let (mut run, mut start) = (0, 0);
    while start < elements.len() {
        let length = 1 + elements[start + 1..].iter().take_while(|one| !is_section(one)).count();
        let group = &elements[start..start + length];
        let has_message = group.iter().any(|one| matches!(one, Element::Message(_)));
        run += usize::from(has_message);
        let hint = group.iter().map(Element::cache_hint).max().unwrap_or(CacheHint::Contextual);
        groups.push((run, hint, group));
        run += usize::from(has_message);
        start += length;
    }
    groups.sort_by_key(|(run, hint, _)| (*run, *hint == CacheHint::Contextual));
    groups.into_iter().flat_map(|(_, _, group)| group).collect()
}

fn is_section(element: &Element) -> bool {
    matches!(element, Element::Section(_))
}

/// The approximate size of a request in bytes: texts with some escapes, and the keys around them.
pub(super) fn estimate_bytes(prompt: &CompiledPrompt) -> usize {
    let content = |content: &Content| content.texts().map(|text| text.len() + text.len() / 16).sum::<usize>();
    let size = |element: &Element| match element {
        Element::Text(element) => content(&element.content),
        Element::Message(message) => {
            64 + message.texts().map(|text| text.len() + text.len() / 16).sum::<usize>()
        }
        Element::Material(material) => content(&material.content),
        Element::Chunk(chunk) => content(&chunk.content),
        Element::Section(section) => section.items.len() * 96,
        Element::Subsection(_) | Element::Json(_) => 256,
    };
    512 + prompt.elements().map(|element| size(element) + 128).sum::<usize>()
}

//! Assigns roles to the elements of a prompt, before a driver writes them.

use crate::{Attachment, CacheHint, CompiledPrompt, Content, Element, Message, Order, Part, Role, Said};

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
}

/// The speaker, for providers with two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
}

/// A prompt for providers with alternating turns: adjacent elements of one side form one turn.
pub(super) struct Alternating<'p> {
    /// The instructions and the system messages.
    pub(super) rules: Vec<&'p Element>,
    /// The elements of both sides, in order.
    pub(super) told: Vec<&'p Element>,
    /// The side of each turn, and the index of its first element in `told`.
    turns: Vec<(Side, usize)>,
    /// The number of elements without text: providers with alternating turns reject empty texts.
    pub(super) left_out: usize,
}

/// The text of the user if the first turn would not be the user's, or if there is no turn: providers with alternating
/// turns reject such a conversation.
pub(super) const OPENING: &str = "Begin.";

impl<'p> Alternating<'p> {
    pub(super) fn from_conversation(conversation: Conversation<'p>) -> Self {
        let Conversation { mut rules, turns: told } = conversation;
        let before = rules.len() + told.len();
        rules.retain(|element| !is_empty_element(element));
        let (mut all, mut turns) = (Vec::with_capacity(told.len()), Vec::new());
        for turn in told.into_iter().filter(|turn| !is_empty_element(turn.element)) {
            let side = match turn.message().map(Message::role) {
                Some(Role::System) => {
                    rules.push(turn.element);
                    continue;
                }
                Some(Role::Assistant) => Side::Model,
                Some(Role::User | Role::Tool) | None => Side::User,
            };
            if turns.last().is_none_or(|(last, _)| *last != side) {
                turns.push((side, all.len()));
            }
            all.push(turn.element);
        }
        let left_out = before - rules.len() - all.len();
        Self { rules, told: all, turns, left_out }
    }

    /// The turns, with their sides.
    pub(super) fn turns(&self) -> impl Iterator<Item = (Side, &[&'p Element])> {
        self.turns.iter().enumerate().map(|(index, (side, start))| {
            let end = self.turns.get(index + 1).map_or(self.told.len(), |(_, next)| *next);
            (*side, &self.told[*start..end])
        })
    }

    /// Whether the conversation has to start with [`OPENING`].
    pub(super) fn needs_opening(&self) -> bool {
        self.turns.first().is_none_or(|(side, _)| *side == Side::Model)
    }
}

/// Whether it contains only white space.
pub(super) fn is_blank(content: &Content) -> bool {
    match content {
        Content::Text(text) => is_blank_text(text),
        Content::Parts(parts) => parts.iter().all(|part| match part {
            Attachment::Text(text) => is_blank_text(text),
            Attachment::ImageUrl { .. } | Attachment::File { .. } => false,
        }),
    }
}

/// Whether it contains only white space; a byte order mark counts as white space.
pub(super) fn is_blank_text(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// Whether the element has no text; headings, tags and tool calls count as text.
fn is_empty_element(element: &Element) -> bool {
    match element {
        Element::Text(element) => is_blank(&element.content),
        Element::Message(message) => match &message.said {
            Said::System(content) | Said::User(content) => is_blank(content),
            Said::Assistant(content, calls) => calls.is_empty() && is_blank(content),
            Said::Tool(_) => false,
        },
        _ => false,
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
        Element::Message(message) => message.content().map_or(64, content),
        Element::Material(material) => content(&material.content),
        Element::Chunk(chunk) => content(&chunk.content),
        Element::Section(section) => section.items.len() * 96,
        Element::Subsection(_) | Element::Json(_) => 256,
    };
    512 + prompt.elements().map(|element| size(element) + 128).sum::<usize>()
}

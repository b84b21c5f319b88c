//! Who says what, before it is written for a provider.

use crate::{Attachment, CacheHint, CompiledPrompt, Content, Element, Message, Order, Part, Role, Said};

/// A prompt as rules and turns.
pub(super) struct Conversation<'p> {
    /// What the model is to do, in one piece.
    pub(super) rules: Vec<&'p Element>,
    /// What is said, in order.
    pub(super) turns: Vec<Turn<'p>>,
}

/// One element of a conversation.
#[derive(Clone, Copy)]
pub(super) struct Turn<'p> {
    pub(super) part: Part,
    pub(super) element: &'p Element,
}

impl<'p> Turn<'p> {
    /// The message that it is, unless it is something that is told.
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

/// Who speaks, for providers that know two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Model,
}

/// A prompt for providers whose turns alternate: neighbours of one side are one turn.
pub(super) struct Alternating<'p> {
    /// The instructions, and the messages that are rules.
    pub(super) rules: Vec<&'p Element>,
    /// What both sides say, in order.
    pub(super) told: Vec<&'p Element>,
    /// Who speaks from which place of `told` on.
    turns: Vec<(Side, usize)>,
    /// How many elements say nothing: providers of alternating turns refuse empty texts.
    pub(super) left_out: usize,
}

/// What the person says where the first turn would not be theirs, or where there is none: providers of alternating
/// turns refuse such a conversation.
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

    /// What each side says in turn.
    pub(super) fn turns(&self) -> impl Iterator<Item = (Side, &[&'p Element])> {
        self.turns.iter().enumerate().map(|(index, (side, start))| {
            let end = self.turns.get(index + 1).map_or(self.told.len(), |(_, next)| *next);
            (*side, &self.told[*start..end])
        })
    }

    /// Whether the person has to open the conversation with [`OPENING`].
    pub(super) fn needs_opening(&self) -> bool {
        self.turns.first().is_none_or(|(side, _)| *side == Side::Model)
    }
}

/// Whether there is nothing in it but white space.
pub(super) fn is_blank(content: &Content) -> bool {
    match content {
        Content::Text(text) => is_blank_text(text),
        Content::Parts(parts) => parts.iter().all(|part| match part {
            Attachment::Text(text) => is_blank_text(text),
            Attachment::ImageUrl { .. } | Attachment::File { .. } => false,
        }),
    }
}

/// Whether there is nothing but white space; a byte order mark counts as such.
pub(super) fn is_blank_text(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// Whether it is an element without a word; headings, tags and calls of tools are some.
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

/// Whether it is a title with nothing under it but the messages that follow: these are turns of their own, and
/// a turn that only says `Messages` would be one too many.
fn is_only_title(element: &Element, next: Option<&Element>) -> bool {
    match (element, next) {
        (Element::Section(section), Some(Element::Message(_))) => section.items.is_empty(),
        _ => false,
    }
}

/// The elements in their order; for caches, sections that do not change come before those that do.
///
/// Messages stay in place, and nothing passes them.
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

/// Bytes that a request takes, roughly: texts with some escapes, and keys around them.
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

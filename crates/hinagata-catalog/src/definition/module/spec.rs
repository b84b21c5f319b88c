//! Entries of module files that depend on the variables of a call.

use std::sync::Arc;

use hinagata_document::Place;
use hinagata_module::{Role, Text};
use serde_json::Value;

use super::path::Path;

/// An entry that depends on variables.
#[derive(Clone, Debug)]
pub(crate) struct DynamicSpec {
    /// The conditions for it to have content.
    pub(crate) conditions: Vec<Condition>,
    /// The list that it loops over.
    pub(crate) each: Option<Each>,
    /// Its content.
    pub(crate) body: BodySpec,
    /// The alternative when it has no content.
    pub(crate) otherwise: Option<Box<Self>>,
    /// The title of the heading that it is under.
    pub(crate) section: Text,
}

/// `if` and `unless`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) path: PathUse,
    pub(crate) wanted: bool,
}

/// `each`, with `as`, `where` and `slice`.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) list: PathUse,
    pub(crate) name: Arc<str>,
    /// An item is used if one of these is true; all items without any.
    pub(crate) filters: Vec<PathUse>,
    pub(crate) start: Option<Bound>,
    pub(crate) end: Option<Bound>,
}

/// The start or end of a slice; a negative number counts from the end of the list.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Number(i64),
    Path(PathUse),
}

/// A use of a path.
#[derive(Clone, Debug)]
pub struct PathUse {
    /// The path.
    pub path: Path,
    /// Its place.
    pub place: Place,
    /// Whether it starts at the variable of the loop around it.
    pub local: bool,
    /// Whether it is used as a condition only.
    pub condition: bool,
}

/// The content of an entry.
#[derive(Clone, Debug)]
pub(crate) enum BodySpec {
    Text(TextSpec),
    Message(Box<MessageSpec>),
    /// Messages from data, in the format of any provider.
    Conversation(PathUse),
    Material(Box<MaterialSpec>),
    Chunk(Box<ChunkSpec>),
    Json(ValueSpec),
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) enum TextSpec {
    Fixed(Text),
    /// `=path`
    Path(PathUse),
    /// A text with `{{ }}`, by its number.
    Template(usize),
}

/// A whole number.
#[derive(Clone, Debug)]
pub(crate) enum NumberSpec {
    Fixed(u64),
    Path(PathUse),
}

/// Data whose strings may be paths and templates.
#[derive(Clone, Debug)]
pub(crate) enum ValueSpec {
    Fixed(Value),
    Text(TextSpec),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

/// The role of a message.
#[derive(Clone, Debug)]
pub(crate) enum RoleSpec {
    Fixed(Role),
    /// From data: user, assistant or tool.
    Bound(PathUse),
}

#[derive(Clone, Debug)]
pub(crate) struct MessageSpec {
    pub(crate) role: RoleSpec,
    pub(crate) content: TextSpec,
    pub(crate) attachments: AttachmentsSpec,
    pub(crate) name: Option<TextSpec>,
    pub(crate) tool_calls: Option<ValueSpec>,
    pub(crate) tool_call_id: Option<TextSpec>,
    pub(crate) usage: Option<NumberSpec>,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) struct MaterialSpec {
    pub(crate) id: TextSpec,
    pub(crate) title: TextSpec,
    pub(crate) content: TextSpec,
    pub(crate) attachments: AttachmentsSpec,
    pub(crate) usage: Option<NumberSpec>,
}

#[derive(Clone, Debug)]
pub(crate) struct ChunkSpec {
    pub(crate) part_of: TextSpec,
    pub(crate) content: TextSpec,
    pub(crate) attachments: AttachmentsSpec,
    pub(crate) index: Option<NumberSpec>,
    pub(crate) total: Option<NumberSpec>,
    pub(crate) usage: Option<NumberSpec>,
}

/// Images and files attached to a text.
#[derive(Clone, Debug)]
pub(crate) enum AttachmentsSpec {
    Listed(Vec<AttachmentSpec>),
    /// A list of attachments from data.
    Path(PathUse),
}

#[derive(Clone, Debug)]
pub(crate) enum AttachmentSpec {
    Text(TextSpec),
    Image(TextSpec),
    File { path: TextSpec, mime_type: TextSpec, name: Option<TextSpec> },
}

impl TextSpec {
    fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}

impl NumberSpec {
    fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}

impl ValueSpec {
    /// Adds the paths and the numbers of the templates that it is made of.
    pub(crate) fn collect_inputs<'s>(&'s self, paths: &mut Vec<&'s PathUse>, templates: &mut Vec<usize>) {
        match self {
            Self::Fixed(_) | Self::Text(TextSpec::Fixed(_)) => {}
            Self::Text(TextSpec::Path(path)) => paths.push(path),
            Self::Text(TextSpec::Template(number)) => templates.push(*number),
            Self::List(items) => items.iter().for_each(|item| item.collect_inputs(paths, templates)),
            Self::Map(entries) => {
                entries.iter().for_each(|(_, value)| value.collect_inputs(paths, templates));
            }
        }
    }

    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Self::Fixed(_) => true,
            Self::Text(text) => text.is_fixed(),
            Self::List(items) => items.iter().all(Self::is_fixed),
            Self::Map(entries) => entries.iter().all(|(_, value)| value.is_fixed()),
        }
    }
}

impl AttachmentsSpec {
    fn is_fixed(&self) -> bool {
        match self {
            Self::Path(_) => false,
            Self::Listed(all) => all.iter().all(|one| match one {
                AttachmentSpec::Text(text) | AttachmentSpec::Image(text) => text.is_fixed(),
                AttachmentSpec::File { path, mime_type, name } => {
                    path.is_fixed() && mime_type.is_fixed() && name.as_ref().is_none_or(TextSpec::is_fixed)
                }
            }),
        }
    }
}

impl BodySpec {
    /// Whether nothing in it depends on variables.
    pub(crate) fn is_fixed(&self) -> bool {
        let text = |text: &Option<TextSpec>| text.as_ref().is_none_or(TextSpec::is_fixed);
        let number = |number: &Option<NumberSpec>| number.as_ref().is_none_or(NumberSpec::is_fixed);
        match self {
            Self::Text(text) => text.is_fixed(),
            Self::Conversation(_) => false,
            Self::Message(message) => {
                matches!(message.role, RoleSpec::Fixed(_))
                    && message.content.is_fixed()
                    && message.attachments.is_fixed()
                    && text(&message.name)
                    && message.tool_calls.as_ref().is_none_or(ValueSpec::is_fixed)
                    && text(&message.tool_call_id)
                    && number(&message.usage)
            }
            Self::Material(material) => {
                material.id.is_fixed()
                    && material.title.is_fixed()
                    && material.content.is_fixed()
                    && material.attachments.is_fixed()
                    && number(&material.usage)
            }
            Self::Chunk(chunk) => {
                chunk.part_of.is_fixed()
                    && chunk.content.is_fixed()
                    && chunk.attachments.is_fixed()
                    && [&chunk.index, &chunk.total, &chunk.usage].into_iter().all(number)
            }
            Self::Json(value) => value.is_fixed(),
        }
    }
}

impl DynamicSpec {
    /// An entry with this content in every case.
    pub(crate) fn new(body: BodySpec) -> Self {
        Self { conditions: Vec::new(), each: None, body, otherwise: None, section: Text::default() }
    }

    /// Whether its content is always the same.
    pub(crate) fn is_fixed(&self) -> bool {
        self.conditions.is_empty() && self.each.is_none() && self.otherwise.is_none() && self.body.is_fixed()
    }
}

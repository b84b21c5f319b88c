//! The content of elements: text, or text with images and files.

use crate::Text;

/// The content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(Text),
    /// Texts, images and files, in order.
    Parts(Vec<Attachment>),
}

impl Content {
    /// The text, if the content is only text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Parts(_) => None,
        }
    }

    /// Appends a part.
    #[must_use]
    pub fn with_attachment(self, attachment: Attachment) -> Self {
        let mut parts = match self {
            Self::Text(text) if text.is_empty() => Vec::new(),
            Self::Text(text) => vec![Attachment::Text(text)],
            Self::Parts(parts) => parts,
        };
        parts.push(attachment);
        Self::Parts(parts)
    }

    /// The texts in it, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (one, many): (Option<&str>, &[Attachment]) = match self {
            Self::Text(text) => (Some(text), &[]),
            Self::Parts(parts) => (None, parts),
        };
        one.into_iter().chain(many.iter().filter_map(|part| match part {
            Attachment::Text(text) => Some(text.as_str()),
            _ => None,
        }))
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(Text::default())
    }
}

impl<T: Into<Text>> From<T> for Content {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<Attachment>> for Content {
    fn from(parts: Vec<Attachment>) -> Self {
        Self::Parts(parts)
    }
}

impl<const N: usize> From<[Attachment; N]> for Content {
    fn from(parts: [Attachment; N]) -> Self {
        Self::Parts(parts.into())
    }
}

/// A part of a [`Content`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A text.
    Text(Text),
    /// An image.
    ImageUrl {
        /// Its URL; a `data:` URL contains the image itself.
        url: Text,
    },
    /// A file.
    File {
        /// Its path or URL; a `data:` URL contains the file itself.
        path: Text,
        /// Its media type, such as `application/pdf`.
        mime_type: Text,
        /// Its name, if it differs from the last part of the path.
        name: Option<Text>,
    },
}

impl Attachment {
    /// Calls `visit` with every text in it: its text, or the address, type and name of its file.
    pub fn visit_texts(&self, visit: &mut dyn FnMut(&Text)) {
        match self {
            Self::Text(text) => visit(text),
            Self::ImageUrl { url } => visit(url),
            Self::File { path, mime_type, name } => [path, mime_type].into_iter().chain(name).for_each(visit),
        }
    }

    /// A text.
    #[must_use]
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// An image at a URL.
    #[must_use]
    pub fn image(url: impl Into<Text>) -> Self {
        Self::ImageUrl { url: url.into() }
    }

    /// A file at a path.
    #[must_use]
    pub fn file(path: impl Into<Text>, mime_type: impl Into<Text>) -> Self {
        Self::File { path: path.into(), mime_type: mime_type.into(), name: None }
    }
}

/// A text and its number of tokens, as contexts hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentWithUsage {
    /// The text.
    pub content: Text,
    /// Its tokens.
    pub usage: u64,
}

impl ContentWithUsage {
    /// A text with its tokens.
    #[must_use]
    pub fn new(content: impl Into<Text>, usage: u64) -> Self {
        Self { content: content.into(), usage }
    }
}

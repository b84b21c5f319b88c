//! The results of dynamic content.

use crate::{
    Chunk, ContentWithUsage, DynamicElement, Error, JsonElement, Material, Message, Text, TextElement,
};

/// One result of dynamic content.
#[derive(Clone, Debug, PartialEq)]
pub enum Yielded {
    /// A text that is added to the texts of its section.
    Text(Text),
    /// An element that follows its section.
    Element(DynamicElement),
}

/// The results of dynamic content, in order.
pub type Elements = Vec<Yielded>;

/// Results of dynamic content: elements, texts, lists of them, or nothing.
///
/// Sections are excluded: structure is static, only its content depends on the context.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something that dynamic content can give",
    note = "give a text, a `Material`, `Chunk`, `Message`, `TextElement` or `JsonElement`, or an option, a list or a result of them"
)]
pub trait IntoElements {
    /// Adds them to `all`.
    ///
    /// # Errors
    /// Those of a `Result`.
    fn add_to(self, all: &mut Elements) -> Result<(), Error>;
}

impl IntoElements for () {
    fn add_to(self, _all: &mut Elements) -> Result<(), Error> {
        Ok(())
    }
}

impl IntoElements for Yielded {
    fn add_to(self, all: &mut Elements) -> Result<(), Error> {
        all.push(self);
        Ok(())
    }
}

impl<T: IntoElements> IntoElements for Option<T> {
    fn add_to(self, all: &mut Elements) -> Result<(), Error> {
        self.map_or(Ok(()), |given| given.add_to(all))
    }
}

impl<T: IntoElements> IntoElements for Result<T, Error> {
    fn add_to(self, all: &mut Elements) -> Result<(), Error> {
        self?.add_to(all)
    }
}

impl<T: IntoElements> IntoElements for Vec<T> {
    fn add_to(self, all: &mut Elements) -> Result<(), Error> {
        all.reserve(self.len());
        self.into_iter().try_for_each(|given| given.add_to(all))
    }
}

impl<T: IntoElements, const N: usize> IntoElements for [T; N] {
    fn add_to(self, all: &mut Elements) -> Result<(), Error> {
        self.into_iter().try_for_each(|given| given.add_to(all))
    }
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoElements for $type {
            fn add_to(self, all: &mut Elements) -> Result<(), Error> {
                all.push(Yielded::Text(self.into()));
                Ok(())
            }
        }

        impl IntoTexts for $type {
            fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
                all.texts.push(self.into());
                Ok(())
            }
        }
    )*};
}

texts!(&str, String, Text, ContentWithUsage);

impl From<ContentWithUsage> for Text {
    fn from(content: ContentWithUsage) -> Self {
        content.content
    }
}

macro_rules! elements {
    ($($type:ty),*) => {$(
        impl IntoElements for $type {
            fn add_to(self, all: &mut Elements) -> Result<(), Error> {
                all.push(Yielded::Element(self.into()));
                Ok(())
            }
        }
    )*};
}

elements!(DynamicElement, TextElement, Message, Material, Chunk, JsonElement);

/// Texts for a subsection, and descriptions of the elements that are not texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The texts.
    pub texts: Vec<Text>,
    /// Short descriptions of ignored elements; compiling warns about them.
    pub left_out: Vec<String>,
}

/// Dynamic texts: texts, lists of them, or nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something that can stand in a subsection",
    note = "give a text, or an option, a list or a result of texts"
)]
pub trait IntoTexts {
    /// Adds them to `all`.
    ///
    /// # Errors
    /// Those of a `Result`.
    fn add_texts(self, all: &mut Texts) -> Result<(), Error>;
}

impl IntoTexts for () {
    fn add_texts(self, _all: &mut Texts) -> Result<(), Error> {
        Ok(())
    }
}

impl IntoTexts for Texts {
    fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
        all.texts.extend(self.texts);
        all.left_out.extend(self.left_out);
        Ok(())
    }
}

impl<T: IntoTexts> IntoTexts for Option<T> {
    fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
        self.map_or(Ok(()), |given| given.add_texts(all))
    }
}

impl<T: IntoTexts> IntoTexts for Result<T, Error> {
    fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
        self?.add_texts(all)
    }
}

impl<T: IntoTexts> IntoTexts for Vec<T> {
    fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
        self.into_iter().try_for_each(|given| given.add_texts(all))
    }
}

impl<T: IntoTexts, const N: usize> IntoTexts for [T; N] {
    fn add_texts(self, all: &mut Texts) -> Result<(), Error> {
        self.into_iter().try_for_each(|given| given.add_texts(all))
    }
}

//! Prompts that are composed of named sections.
//!
//! A [`PromptModule`] has entries in named sections. Modules are merged, compiled with a context, and formatted as text or as
//! the exact request of a provider:
//!
//! ```
//! use hinagata_module::{Material, Message, Order, PromptModule, driver, merge_modules};
//!
//! struct Question { text: String, docs: Vec<Material> }
//!
//! let answer = PromptModule::new()
//!     .objective("Answer from the materials.")
//!     .materials(|question: &Question| question.docs.clone())
//!     .messages(|question: &Question| Message::user(&question.text));
//! let short = PromptModule::new().guidelines("One sentence.");
//!
//! let question = Question { text: "How warm?".into(), docs: vec![Material::new("m1", "Report", "21 degrees.")] };
//! let prompt = merge_modules([answer, short])?.compile_in(Order::Cache, &question)?;
//! let request = driver::anthropic(&prompt, &driver::RequestOptions::new("claude-opus-4-5"))?;
//! assert_eq!(request.to_value()["messages"][0]["role"], "user");
//! # Ok::<(), hinagata_module::Error>(())
//! ```
//!
//! Structure is static and data is dynamic: texts, messages, materials and chunks can depend on the context, but headings
//! cannot. No message, material or chunk can imitate structure; texts of a function belong to the program that wrote it,
//! which can use [`escape_headings`] for data in them. This crate does no input or output.

pub mod answer;
mod compile;
mod compiled;
mod content;
pub mod driver;
mod element;
mod entry;
mod error;
mod format;
pub mod json;
mod merge;
mod message;
mod module;
mod record;
mod section;
pub mod select;
mod text;
mod yielded;

pub use compiled::{CompiledPrompt, Warning};
pub use content::{Attachment, Content, ContentWithUsage};
pub use element::{
    CacheHint, Chunk, DynamicElement, Element, JsonContent, JsonElement, Material, SectionElement,
    SectionItem, SubsectionElement, TextElement,
};
pub use entry::{
    Dynamic, DynamicText, Entry, IntoEntries, IntoTextItems, Item, SectionEntry, SubsectionEntry, TextItem,
    kinds, section, subsection,
};
pub use error::{Error, Problem, nearest_names};
pub use format::{
    Descriptions, Markers, SpecialToken, SpecialTokens, TextOptions, element_text, elements_text,
    escape_headings, may_have_heading, prompt_text, recorded_prompt_text,
};
pub use json::{Functions, MessageReader, read_messages};
pub use merge::merge_modules;
pub use message::{
    Message, MessageFormat, MessagePart, PartContent, Reasoning, Role, ToolCall, ToolResult, ToolValue,
};
pub use module::PromptModule;
pub use record::{TextRecord, WrittenText};
pub use section::{CustomSection, Order, Part, Section, SectionName};
pub use text::Text;
pub use yielded::{Elements, IntoElements, IntoTexts, Texts, Yielded};

/// The page about modules; its example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/module-files.md")]
struct Page;

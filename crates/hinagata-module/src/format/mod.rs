//! Elements as text.

mod escape;
mod guard;
mod heading;
mod line;
mod options;
mod sink;
mod text;

pub use escape::{escape_headings, may_have_heading};
pub(crate) use guard::{Marks, Tag};
pub(crate) use heading::write_section;
pub(crate) use line::split_line_ends;
pub use options::{Descriptions, Markers, SpecialToken, SpecialTokens, TextOptions};
pub(crate) use sink::Sink;
pub use text::{element_text, elements_text, prompt_text, recorded_prompt_text};
pub(crate) use text::{fence, write_prompt};

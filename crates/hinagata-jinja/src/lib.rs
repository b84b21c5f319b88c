//! Jinja2 templates: the language prompt authors know from Python, run under a budget.
//!
//! The front end turns a source into an [`ast::Template`]; its tokens, its precedence and the lines
//! of its errors are those of Jinja2 3.1.6.

pub mod ast;
mod lexer;
mod options;
mod parser;
mod source;

pub use options::{ParseOptions, Syntax};
pub use parser::parse;
pub use source::Source;

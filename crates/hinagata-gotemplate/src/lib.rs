//! wip
#![allow(dead_code, missing_docs)]
mod error;
mod fmt;
mod parse;
mod text;
mod tree;
mod value;

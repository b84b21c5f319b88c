//! What editors ask about an open file: names that can be written at a place, what a name means, where it is defined and
//! used. All offsets are bytes of the file.

mod builtins;
mod complete;
mod describe;
mod keys;
mod lines;
mod outline;
mod project;
mod references;
mod region;
mod scope;
mod symbol;

pub use crate::tolerant::{BrokenTag, Parsed, TolerantSource, parse_tolerant};
pub use complete::{Completion, CompletionItem, CompletionKind, complete_source};
pub use describe::{Hover, SignatureHelp, call_signature, describe_symbol};
pub use keys::describe_key;
pub use lines::Lines;
pub use outline::{
    Fold, OutlineItem, OutlineKind, TemplateLink, TypeHint, fold_ranges, outline_source, template_links,
    type_hints,
};
pub use project::{Project, ToolDescription};
pub use references::{FileRange, RenameRefusal, RenameScope, find_definition, find_references, rename_scope};
pub use region::{Region, read_regions};
pub use symbol::{Symbol, SymbolKind, find_symbol, variable_path};

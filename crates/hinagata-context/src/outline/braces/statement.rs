//! What the tokens of a statement say about the block that can follow it.

use super::super::{language::Role, lexer::is_word_byte};

/// What stands before the next token of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing: the statement starts.
    #[default]
    Start,
    Word,
    Text,
    /// Punctuation, or a closing bracket.
    Byte(u8),
    /// A function that is written without a name: `=>`, `->`, `|x|`.
    Arrow,
}

/// An annotation such as `@name(…)`: its parentheses do not make a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Annotation {
    #[default]
    None,
    /// Behind `@` or a dot of the name.
    Started,
    /// Behind the name.
    Named,
}

/// The start of a declaration or statement, as far as it was read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statement {
    pub(super) is_started: bool,
    /// The column of the line on which it starts.
    pub(super) indent: usize,
    /// Its first line that is not labelled yet; the comment above belongs to it.
    pub(super) unlabelled: usize,
    pub(super) last: Last,
    /// The word that makes its block a container.
    pub(super) container: Option<Role>,
    pub(super) is_function: bool,
    pub(super) is_item: bool,
    pub(super) has_item_list: bool,
    pub(super) is_flow: bool,
    pub(super) is_label: bool,
    pub(super) opens_call: bool,
    pub(super) is_assigned: bool,
    /// A colon stands before its parentheses: they belong to a type, as in `name: (A | B)[]`.
    pub(super) has_colon: bool,
    /// A colon followed its parentheses: `=` behind it sets fields, as in constructors of Dart.
    pub(super) has_initialisers: bool,
    pub(super) has_parentheses: bool,
    pub(super) annotation: Annotation,
    /// Open angle brackets around types; `None` outside of them.
    pub(super) angles: Option<usize>,
    /// Its block ended: only some punctuation continues it.
    pub(super) is_closed: bool,
}

/// What a brace opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Folded.
    Body,
    /// Walked, and kept.
    Members,
    /// Walked, kept, and a list of values up to its first semicolon.
    Values,
    /// Walked, and folded if it is long and declares nothing.
    Data,
}

impl Statement {
    /// Reads a word that has a meaning; `next` is the byte behind it that is not blank.
    pub(super) fn read_role(&mut self, role: Role, next: u8, is_strict: bool) {
        match role {
            Role::Container | Role::Enumeration => {
                let is_value = matches!(self.last, Last::Byte(b':' | b',' | b'#'));
                let is_result = self.is_function && self.has_parentheses;
                if !is_value && !is_result && names_declaration(next, is_strict) {
                    self.container = Some(role);
                    self.is_function = false;
                    self.is_item = true;
                }
            }
            Role::Elaborated if self.container.is_none() && !self.is_declarator() => {
                self.container = Some(role);
            }
            Role::Function if is_word_or(next, b"(*&<[$!`{+-/") => {
                self.is_function = true;
                self.is_item = true;
                self.container = None;
            }
            Role::Item | Role::ItemList if names_declaration(next, is_strict) || next == b'(' => {
                self.is_item = true;
                self.has_item_list = role == Role::ItemList;
            }
            Role::Flow => self.is_flow |= self.last == Last::Start,
            Role::Call => self.opens_call |= matches!(next, b'(' | b'.'),
            Role::Label => self.is_label = next == b':' || is_word_or(next, b""),
            Role::Template if next == b'<' => self.angles = Some(0),
            Role::Attribute => self.annotation = Annotation::Named,
            _ => {}
        }
    }

    /// Whether what follows is a function in C and its relatives, where no word says so.
    fn is_declarator(&self) -> bool {
        self.has_parentheses || self.is_assigned
    }

    /// What a brace opens here. `is_c_like`: words such as `struct` can start the type of a function. `has_bare_bodies`:
    /// a word before the brace is enough for a body.
    pub(super) fn block_kind(&self, is_c_like: bool, has_bare_bodies: bool) -> BlockKind {
        if self.is_function {
            return BlockKind::Body;
        }
        match self.container {
            Some(Role::Container) => return BlockKind::Members,
            Some(Role::Enumeration) if !is_c_like || !self.is_declarator() => return BlockKind::Values,
            Some(Role::Elaborated) if !self.is_declarator() => return BlockKind::Members,
            _ => {}
        }
        let is_bare = has_bare_bodies && matches!(self.last, Last::Word | Last::Byte(b']' | b'>' | b'?'));
        let is_body = matches!(self.last, Last::Arrow | Last::Byte(b')'))
            || (!self.is_assigned && (self.has_parentheses || is_bare));
        if is_body && !self.is_flow { BlockKind::Body } else { BlockKind::Data }
    }
}

/// Whether a word before this byte declares something, instead of being a key or a value.
fn names_declaration(next: u8, is_strict: bool) -> bool {
    is_word_or(next, b"{<\"'[$@`/#") || (next == b':' && !is_strict)
}

fn is_word_or(byte: u8, others: &[u8]) -> bool {
    is_word_byte(byte) || others.contains(&byte)
}

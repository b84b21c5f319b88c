//! `prompt.py`, read without running it.
//!
//! Only the top level of the file is read: constants that are literals, and whether there are hooks. A computed
//! constant is not guessed but reported, so that the file can be run in a sandbox. This parser exists because
//! the file is untrusted: it builds no syntax tree, so deep expressions cannot exhaust the stack, and its work
//! is linear.
//!
//! The reasons are in `docs/design/reading-prompt-py.md`.

use std::collections::BTreeMap;

use hinagata_document::{
    Cursor, Error, LineColumn, Node, Place, Reason, Result,
    python::{
        literal,
        tokens::{self, Kind, Line, Token},
    },
};

use super::model::Hook;

/// The constants that a prompt can define.
const CONSTANTS: [&str; 5] = ["METADATA", "VARIABLES", "PERMISSIONS", "LIMITS", "TEMPLATE"];

/// The constants and hooks of a `prompt.py`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// Constants that are literals.
    pub(crate) constants: BTreeMap<&'static str, Node>,
    /// Constants that are unknown until the file is run, with their places.
    pub(crate) computed: BTreeMap<&'static str, LineColumn>,
    pub(crate) pre_render: Option<Hook>,
    pub(crate) post_render: Option<Hook>,
    /// Where `post_render` is defined.
    pub(crate) post_render_at: Option<LineColumn>,
}

/// Reads `text`, the content of `file`.
pub(crate) fn read_python(file: &str, text: &str) -> Result<Module> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = tokens::split_lines(text).map_err(|problem| {
        Error::definition(Reason::Syntax, format!("not valid Python: {}", problem.message))
            .at(Place::in_text(file, text, problem.offset))
    })?;
    let mut module = Module::default();
    let cursor = &mut Cursor::new(text);
    let mut blocks = Blocks::default();
    for line in &lines {
        if blocks.hides(text, line) {
            continue;
        }
        module.read_line(file, text, cursor, line, blocks.is_top())?;
        blocks.enter(text, line);
    }
    Ok(module)
}

impl Module {
    fn read_line<'a>(
        &mut self,
        file: &str,
        text: &'a str,
        cursor: &mut Cursor<'a>,
        line: &'a Line,
        top: bool,
    ) -> Result<()> {
        let words = Words { text, tokens: &line.tokens };
        if let Some((name, hook)) = words.defined_function() {
            self.set_hook(name, hook, cursor.line_column_at(line.start()));
            return Ok(());
        }
        if let Some((constant, value)) = words.assignment().filter(|_| top) {
            return self.assign(file, text, cursor, constant, value);
        }
        if words.is_import_of_everything() {
            for constant in CONSTANTS {
                self.compute(constant, cursor.line_column_at(line.start()));
            }
            self.pre_render.get_or_insert(Hook::Assigned);
            if self.post_render.is_none() {
                self.set_hook("post_render", Hook::Assigned, cursor.line_column_at(line.start()));
            }
        }
        let assigns = line.tokens.iter().any(|token| matches!(token.text(text), "=" | "import"));
        for token in &line.tokens {
            self.mention(text, cursor, assigns, token);
        }
        Ok(())
    }

    fn assign<'a>(
        &mut self,
        file: &str,
        text: &'a str,
        cursor: &mut Cursor<'a>,
        constant: &'static str,
        value: &'a [Token],
    ) -> Result<()> {
        let place = |offset| Place::in_text(file, text, offset);
        match literal::parse(text, value, cursor) {
            Ok(node) => {
                self.computed.remove(constant);
                self.constants.insert(constant, node);
            }
            Err(literal::LiteralError::Computed(offset)) => {
                self.compute(constant, cursor.line_column_at(offset));
            }
            Err(literal::LiteralError::Invalid(message, offset)) => {
                return Err(
                    Error::definition(Reason::Syntax, format!("{message} in `{constant}`")).at(place(offset))
                );
            }
        }
        Ok(())
    }

    /// Handles a name in a statement that is not understood: the statement may change its value.
    fn mention(&mut self, text: &str, cursor: &mut Cursor<'_>, assigns: bool, token: &Token) {
        if token.kind != Kind::Name {
            return;
        }
        let word = token.text(text);
        if let Some(constant) = constant(word) {
            self.compute(constant, cursor.line_column_at(token.start));
        }
        if assigns {
            self.set_hook(word, Hook::Assigned, cursor.line_column_at(token.start));
        }
    }

    fn compute(&mut self, constant: &'static str, at: LineColumn) {
        self.constants.remove(constant);
        self.computed.insert(constant, at);
    }

    fn set_hook(&mut self, name: &str, hook: Hook, at: LineColumn) {
        match name {
            "pre_render" => self.pre_render = Some(hook),
            "post_render" => (self.post_render, self.post_render_at) = (Some(hook), Some(at)),
            _ => {}
        }
    }
}

fn constant(word: &str) -> Option<&'static str> {
    CONSTANTS.into_iter().find(|constant| *constant == word)
}

/// The open blocks around a line.
#[derive(Default)]
struct Blocks {
    /// Indentation of the lines that opened a block, and whether the block does not run on import.
    open: Vec<(usize, bool)>,
}

impl Blocks {
    /// Closes the blocks that ended; returns whether the line is inside a function, a class or a main block.
    fn hides(&mut self, text: &str, line: &Line) -> bool {
        while self.open.last().is_some_and(|(indent, _)| line.indent <= *indent) {
            self.open.pop();
        }
        let hidden = self.open.iter().any(|(_, hidden)| *hidden);
        if hidden && (Words { text, tokens: &line.tokens }).opens_block() {
            self.open.push((line.indent, true));
        }
        hidden
    }

    fn is_top(&self) -> bool {
        self.open.is_empty()
    }

    fn enter(&mut self, text: &str, line: &Line) {
        let words = Words { text, tokens: &line.tokens };
        if words.opens_block() {
            self.open.push((line.indent, words.hides_its_block()));
        }
    }
}

/// The tokens of a line, with their texts.
struct Words<'a> {
    text: &'a str,
    tokens: &'a [Token],
}

impl<'a> Words<'a> {
    fn word(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.text(self.text))
    }

    /// `def name` and `async def name`.
    fn defined_function(&self) -> Option<(&'a str, Hook)> {
        match (self.word(0), self.word(1)) {
            ("def", name) => Some((name, Hook::Plain)),
            ("async", "def") => Some((self.word(2), Hook::Async)),
            _ => None,
        }
    }

    /// `NAME = value` and `NAME: annotation = value` of a constant.
    fn assignment(&self) -> Option<(&'static str, &'a [Token])> {
        let name = constant(self.word(0))?;
        let equals = match self.word(1) {
            "=" => 1,
            ":" => self.tokens.iter().position(|token| token.text(self.text) == "=")?,
            _ => return None,
        };
        Some((name, self.tokens.get(equals + 1..).unwrap_or_default()))
    }

    fn is_import_of_everything(&self) -> bool {
        self.word(0) == "from"
            && self
                .tokens
                .windows(2)
                .any(|pair| pair[0].text(self.text) == "import" && pair[1].text(self.text) == "*")
    }

    fn opens_block(&self) -> bool {
        let first = self.word(0);
        let keyword = matches!(
            first,
            "def"
                | "class"
                | "async"
                | "if"
                | "elif"
                | "else"
                | "for"
                | "while"
                | "try"
                | "except"
                | "finally"
                | "with"
                | "match"
                | "case"
        );
        keyword && self.tokens.iter().any(|token| token.text(self.text) == ":")
    }

    /// Whether the block that this line opens does not run when the file is imported.
    fn hides_its_block(&self) -> bool {
        let main = self.word(0) == "if" && self.word(1) == "__name__" && self.word(2) == "==";
        let function = matches!((self.word(0), self.word(1)), ("def" | "class", _) | ("async", "def"));
        main || function
    }
}

#[cfg(test)]
mod tests;

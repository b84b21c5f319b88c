//! What the folding engine knows about a language, and which language a file is written in.

use super::table::LANGUAGES;

/// A language that has outlines.
#[derive(Clone, Copy)]
pub struct Language(pub(super) &'static Row);

impl Language {
    /// The language of a file: by its name, its extension, or the interpreter that its first line names.
    #[must_use]
    pub fn from_file(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        Self::from_file_name(name).or_else(|| Self::from_first_line(text))
    }

    /// The language with this name, in any case: `rust`, `C++`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        find_row(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// All languages that have outlines.
    pub fn all() -> impl Iterator<Item = Self> {
        LANGUAGES.iter().map(Self)
    }

    /// The name of the language, as its users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    fn from_file_name(name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        find_row(|row| row.file_names.contains(&name)).or_else(|| {
            find_row(|row| row.extensions.iter().any(|known| known.eq_ignore_ascii_case(extension)))
        })
    }

    /// The language of a script, by a first line such as `#!/usr/bin/env python3`.
    fn from_first_line(text: &str) -> Option<Self> {
        let line = text.strip_prefix("#!")?.lines().next()?;
        let mut words = line.split_ascii_whitespace();
        let mut program = words.next()?.rsplit('/').next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        }
        let program = program.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
        find_row(|row| row.interpreters.contains(&program))
    }
}

fn find_row(is_wanted: impl Fn(&Row) -> bool) -> Option<Language> {
    LANGUAGES.iter().find(|row| is_wanted(row)).map(Language)
}

impl std::fmt::Debug for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.name)
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Language {}

/// A row of the table of languages.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) extensions: &'static [&'static str],
    pub(super) file_names: &'static [&'static str],
    /// Programs that a `#!` line names, without their version.
    pub(super) interpreters: &'static [&'static str],
    pub(super) shape: Shape,
    pub(super) comments: &'static [Comment],
    /// Longer opening quotes come before their prefixes.
    pub(super) quotes: &'static [Quote],
    pub(super) apostrophe: Apostrophe,
    pub(super) raw: RawString,
    pub(super) heredoc: Heredoc,
    pub(super) forms: Forms,
    /// What words mean at the start of a declaration.
    pub(super) words: &'static [(Role, &'static [&'static str])],
    /// Words that an operand follows: behind them, a slash opens a regular expression.
    pub(super) operators: &'static [&'static str],
    pub(super) statements: Statements,
    pub(super) signatures: Signatures,
}

/// The words of a language that have a meaning, for quick lookup: most words have none.
pub(super) struct Vocabulary {
    row: &'static Row,
    /// For each first byte, the lengths of the words that start with it, as bits.
    lengths: [u32; 256],
}

impl Vocabulary {
    pub(super) fn new(row: &'static Row) -> Self {
        let mut lengths = [0; 256];
        for word in row.words.iter().flat_map(|(_, words)| words.iter()) {
            lengths[usize::from(word.as_bytes()[0])] |= 1 << word.len().min(31);
        }
        Self { row, lengths }
    }

    /// What a word means at the start of a declaration.
    pub(super) fn role(&self, word: &[u8]) -> Option<Role> {
        let first = *word.first()?;
        if self.lengths[usize::from(first)] >> word.len().min(31) & 1 == 0 {
            return None;
        }
        let has_word = |(_, words): &&(Role, &[&str])| words.iter().any(|known| known.as_bytes() == word);
        self.row.words.iter().find(has_word).map(|(role, _)| *role)
    }
}

/// How a language shows what belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Bodies stand in braces.
    Braces,
    /// Bodies are indented; some languages close them with a word such as `end`.
    Indented,
    Markdown,
    Json,
    Yaml,
    Toml,
}

/// The start of a comment, and its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Comment {
    /// Up to the end of the line.
    Line(&'static str),
    /// The same, but only at the start of a word: in `$#` and `${x#y}` of shells, `#` is something else.
    Word(&'static str),
    Block(&'static str, &'static str),
    /// A block that can contain blocks.
    Nested(&'static str, &'static str),
    /// Both ends start a line: `=begin` and `=end` of Ruby.
    Lines(&'static str, &'static str),
    /// Long brackets of Lua, `--[==[` to `]==]`.
    LongBrackets(&'static str),
}

impl Comment {
    /// What the comment starts with.
    pub(super) fn opening(self) -> &'static str {
        match self {
            Self::Line(open)
            | Self::Word(open)
            | Self::Block(open, _)
            | Self::Nested(open, _)
            | Self::Lines(open, _)
            | Self::LongBrackets(open) => open,
        }
    }
}

/// A string literal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash escapes the next character.
    pub(super) has_escapes: bool,
    /// Whether two closing quotes are one in the string.
    pub(super) is_doubled: bool,
    /// Whether it can reach over lines. If not, the end of the line ends it, too.
    pub(super) spans_lines: bool,
    /// How an expression in it starts; a bracket is the last byte.
    pub(super) expression: Option<&'static str>,
}

impl Quote {
    /// The bracket that opens an expression in the string.
    pub(super) fn bracket(self) -> Option<u8> {
        self.expression.and_then(|expression| expression.bytes().last())
    }
}

/// What an apostrophe is, where it does not open a string of `quotes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apostrophe {
    /// Not special.
    Plain,
    /// A character in quotes, up to some bytes, else something else: a separator of digits.
    Character,
    /// One character in quotes, else something else: a lifetime, a symbol.
    OneCharacter,
}

/// Strings whose end depends on their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawString {
    None,
    /// `r#"…"#`
    Rust,
    /// `R"x(…)x"`
    Cpp,
    /// `[=[…]=]`
    Lua,
    /// `%w[…]`, `%q(…)`, `?x`
    Ruby,
}

/// How a here-document starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heredoc {
    None,
    /// `<<EOF`, `<<-EOF`, `<<'EOF'`
    Shell,
    /// The same and `<<~EOF`; no blank before the name.
    Ruby,
    /// `<<<EOF`, `<<<'EOF'`
    Php,
}

/// Forms that single languages have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forms {
    /// A slash can open a regular expression.
    pub(super) has_regex: bool,
    /// Tags can stand in expressions.
    pub(super) has_jsx: bool,
    /// Lines that start with `#` are instructions to a preprocessor.
    pub(super) has_directives: bool,
    /// Code stands between `<?php` and `?>`.
    pub(super) is_in_html: bool,
    /// Braces are words: `{` and `}` count only at the start of a command. Backslashes escape.
    pub(super) has_word_braces: bool,
    /// A word directly before a brace opens a body: properties, initialisers, trailing lambdas.
    pub(super) has_bare_bodies: bool,
    /// A string at the start of a body describes it.
    pub(super) has_docstrings: bool,
    /// Functions can stand in braces: tables of Lua.
    pub(super) has_functions_in_braces: bool,
    /// `$` belongs to words.
    pub(super) has_dollar_words: bool,
}

/// What a word means at the start of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its body has members, which are walked: `class`, `impl`.
    Container,
    /// A container whose members are values in a list: `enum`.
    Enumeration,
    /// A container, unless parentheses or `=` follow: `struct` in C, where it also starts the types of functions and
    /// variables.
    Elaborated,
    /// Its body is folded: `fn`, `def`.
    Function,
    /// A declaration without a body that stays: `typedef`.
    Item,
    /// A declaration whose parentheses contain declarations: `type (` of Go.
    ItemList,
    /// A statement whose block can contain declarations: `if`, `try`.
    Flow,
    /// A list in braces follows: `import {`, `return {`.
    List,
    /// A call whose function arguments contain declarations: `describe(`.
    Call,
    /// A call at the start of a line whose block is folded: `it`, `task`.
    BlockCall,
    /// A label before members: `public:` of C++.
    Label,
    /// Parameters of types follow in angle brackets: `template <`.
    Template,
    /// An annotation whose parentheses do not make a function: `__attribute__((x))`.
    Attribute,
    /// Continues the statement or the body before it, without more indentation: `where`, `rescue`.
    Continuation,
    /// Closes a body: `end`.
    End,
}

/// What ends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statements {
    Semicolons,
    /// Line ends, where the next line is not indented more and does not continue an expression.
    Lines,
    /// Every line end.
    EveryLine,
}

/// Where parentheses without a body declare a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signatures {
    Never,
    InContainers,
    Everywhere,
}

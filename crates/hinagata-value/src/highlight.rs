//! The pieces of a template source that an editor colours.

/// What a piece of a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HighlightKind {
    /// The delimiters of a tag.
    Tag,
    /// A word of the language.
    Keyword,
    /// A variable.
    Variable,
    /// An attribute or a field of a value.
    Property,
    /// A filter.
    Filter,
    /// A test.
    Test,
    /// A function, macro or method that is called.
    Function,
    /// A string.
    String,
    /// A number.
    Number,
    /// An operator or a piece of punctuation.
    Operator,
    /// A comment.
    Comment,
    /// `true` or `false`.
    Boolean,
    /// `none` or `nil`.
    Null,
}

impl HighlightKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Tag,
        Self::Keyword,
        Self::Variable,
        Self::Property,
        Self::Filter,
        Self::Test,
        Self::Function,
        Self::String,
        Self::Number,
        Self::Operator,
        Self::Comment,
        Self::Boolean,
        Self::Null,
    ];

    /// The name for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Keyword => "keyword",
            Self::Variable => "variable",
            Self::Property => "property",
            Self::Filter => "filter",
            Self::Test => "test",
            Self::Function => "function",
            Self::String => "string",
            Self::Number => "number",
            Self::Operator => "operator",
            Self::Comment => "comment",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

/// A piece of a source. Text outside tags is no piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighlightToken {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// What it is.
    pub kind: HighlightKind,
}

//! Options for parsing a source.

/// The options of one parse. The defaults are those of Hinagata, not of Jinja2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The delimiters.
    pub syntax: Syntax,
    /// Whether to remove the first newline after a block tag or a comment.
    pub trim_blocks: bool,
    /// Whether to remove whitespace before a block tag or a comment that is the first on its line.
    pub lstrip_blocks: bool,
    /// Whether to keep the last newline of the source.
    pub keep_trailing_newline: bool,
    /// Whether to accept `{% generation %}` blocks, as chat templates use them.
    pub generation: bool,
    /// Whether to accept `{% message %}` blocks.
    pub messages: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            syntax: Syntax::default(),
            trim_blocks: false,
            lstrip_blocks: false,
            keep_trailing_newline: false,
            generation: false,
            messages: true,
        }
    }
}

/// The delimiters of tags. No delimiter is empty, no two openers are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    pub(crate) block: Delimiters,
    pub(crate) variable: Delimiters,
    pub(crate) comment: Delimiters,
}

/// The opener and the closer of one kind of tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delimiters {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
}

impl Default for Syntax {
    fn default() -> Self {
        Self {
            block: Delimiters { open: "{%", close: "%}" },
            variable: Delimiters { open: "{{", close: "}}" },
            comment: Delimiters { open: "{#", close: "#}" },
        }
    }
}

//! How a source is read.

/// The options of one parse; the defaults are the product's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// The delimiters.
    pub syntax: Syntax,
    /// Whether the first newline behind a block tag or a comment is removed.
    pub trim_blocks: bool,
    /// Whether whitespace before a block tag or a comment are removed when nothing else is
    /// before it on the line.
    pub lstrip_blocks: bool,
    /// Whether the last newline of the source stays.
    pub keep_trailing_newline: bool,
    /// Whether there is a `{% generation %}` block, as in chat templates.
    pub generation: bool,
    /// Whether there is a `{% message %}` block.
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

/// The opener and the closer of one sort of tag.
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

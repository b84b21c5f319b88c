//! The rungs of the ladder: the whole text of a file, its outline, a cut text.

use std::borrow::Cow;

use hinagata_tokens::{PartCount, TokenCount};

use crate::{
    count::Counter,
    form::{cut_end, cut_text, line_count, shape_outline, shape_text},
    frame::Frame,
    options::TextForm,
    outline::{OutlineKind, OutlinePart, outline_text},
    report::PackedForm,
};

/// What is printed of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) form: PackedForm,
    /// The text, if it is not the content of the file.
    pub(crate) text: Option<String>,
    /// The tokens, with the lines around the text, if counted.
    pub(crate) tokens: Option<TokenCount>,
    /// The count of the text with the lines around it, to be added to others.
    pub(crate) count: Option<PartCount>,
    pub(crate) bytes: u64,
}

impl Piece {
    /// What it takes from the budget in tokens.
    pub(crate) fn cost(&self) -> usize {
        self.tokens.map_or(0, TokenCount::upper_bound)
    }
}

/// Makes pieces of files.
#[derive(Debug)]
pub(crate) struct Rungs<'r> {
    pub(crate) counter: &'r Counter,
    pub(crate) frame: Frame,
    pub(crate) form: TextForm,
    /// Whether there is no rung but the whole text.
    pub(crate) whole_only: bool,
}

impl Rungs<'_> {
    /// The highest rung of a file that fits into `bytes` and `tokens`.
    pub(crate) fn highest_rung(&self, path: &str, content: &str, bytes: u64, tokens: usize) -> Option<Piece> {
        let outline = || self.outline(path, content);
        if self.form.compress
            && let Some((form, text)) = outline()
        {
            return self.fitting_piece(path, form, Cow::Owned(text), bytes, tokens);
        }
        let whole = shape_text(content, self.form);
        let piece = self.fitting_piece(path, PackedForm::Taken, whole, bytes, tokens);
        if piece.is_some() || self.whole_only {
            return piece;
        }
        let (form, text) = outline()?;
        self.fitting_piece(path, form, Cow::Owned(text), bytes, tokens)
    }

    /// The start and the end of a file that fit into `bytes` and `tokens`; the start alone of a file of `size` bytes that
    /// was not read to its end.
    pub(crate) fn cut_rung(
        &self,
        path: &str,
        content: &str,
        size: Option<u64>,
        bytes: u64,
        tokens: usize,
    ) -> Option<Piece> {
        let fits = |text: &str| {
            self.fitting_piece(path, PackedForm::Cut, Cow::Borrowed(text), bytes, tokens).is_some()
        };
        let text = match size {
            None => cut_text(content, self.form, &fits)?,
            Some(size) => cut_end(content, size, self.form, &fits)?,
        };
        self.fitting_piece(path, PackedForm::Cut, Cow::Owned(text), bytes, tokens)
    }

    /// The outline of a file in its form, if there is one that is shorter than the file and has lines of it.
    fn outline(&self, path: &str, content: &str) -> Option<(PackedForm, String)> {
        let outline = outline_text(path, content);
        let form = match outline.kind() {
            OutlineKind::Outlined => PackedForm::Outlined,
            OutlineKind::Cut { .. } => PackedForm::Cut,
            OutlineKind::Unknown => return None,
        };
        let text = shape_outline(&outline, self.form, line_count(content));
        let has_lines = outline.parts().iter().any(|part| matches!(part, OutlinePart::Lines { .. }));
        (has_lines && outline.folded_lines() > 0 && text.len() < content.len()).then_some((form, text))
    }

    fn fitting_piece(
        &self,
        path: &str,
        form: PackedForm,
        text: Cow<'_, str>,
        bytes: u64,
        tokens: usize,
    ) -> Option<Piece> {
        let size = text.len() as u64;
        if size > bytes {
            return None;
        }
        let count = self.count_file(path, form, &text);
        let counted = count.as_ref().and_then(|count| self.count_behind_separator(count));
        if counted.is_some_and(|counted| counted.upper_bound() > tokens) {
            return None;
        }
        let text = match text {
            Cow::Borrowed(_) if form == PackedForm::Taken => None,
            text => Some(text.into_owned()),
        };
        Some(Piece { form, text, tokens: counted, count, bytes: size })
    }

    /// The count of a file with the lines around it.
    fn count_file(&self, path: &str, form: PackedForm, text: &str) -> Option<PartCount> {
        if !self.counter.is_counting() {
            return None;
        }
        let around = self.frame.enclose_file(path, state_word(form), text);
        let inner = self.frame.escape_content(text);
        self.counter.count_pieces([&around.open, &inner, &around.close])
    }

    /// The tokens of a file with what separates it from the file before.
    fn count_behind_separator(&self, count: &PartCount) -> Option<TokenCount> {
        let mut running = self.counter.start();
        running.push_text(self.frame.separator());
        running.push_part(count);
        running.total()
    }
}

/// The word in the text for a file that is not whole; marks in a text say themselves that something is redacted.
pub(crate) fn state_word(form: PackedForm) -> Option<&'static str> {
    match form {
        PackedForm::Taken | PackedForm::Redacted => None,
        form => Some(form.as_str()),
    }
}

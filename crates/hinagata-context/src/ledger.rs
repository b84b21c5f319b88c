//! Decides on each file in its turn: the highest rung that fits, else the next lower one, else its name, else nothing.
//!
//! The remaining budget only shrinks, so no file that was left out would fit later, and the result does not depend on
//! how far threads read ahead.

use hinagata_secrets::{OmittedText, RedactedFile, Redactor};

use crate::{
    detail::Detail,
    kinds::KindRule,
    order::RankedFile,
    part::Part,
    read::{ReadResult, ReadText},
    remaining::Remaining,
    report::{Entry, LeftOutReason, PackedForm, Report},
    rungs::{Piece, Rungs},
    shown_path::ShownPath,
    sink::PrintedFile,
    tree::FileTree,
};

/// What becomes of a file that was read.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It is in the context.
    Pack(Box<PrintedFile>),
    /// It is not; the report says why.
    Skip,
    /// Its turn comes after all others.
    Later,
}

/// The remaining budget and the report.
pub(crate) struct Ledger<'l> {
    pub(crate) remaining: &'l Remaining,
    pub(crate) report: Report,
    rungs: &'l Rungs<'l>,
    /// Redacts secrets, if the rules say so.
    redactor: Option<&'l Redactor>,
    /// Decides as the program that defined the plain format: the whole file or nothing.
    compat: bool,
    /// The tree at the start of the text.
    tree: Option<&'l FileTree<'l>>,
    /// Names of files that the text lists at its end.
    pub(crate) names: Vec<String>,
    /// The tokens of the last line, which says what is missing; they are spent when something is.
    ending: usize,
    overdrawn: bool,
}

impl<'l> Ledger<'l> {
    /// A ledger that spends `ending` tokens when something is missing.
    pub(crate) fn new(
        remaining: &'l Remaining,
        report: Report,
        rungs: &'l Rungs<'l>,
        redactor: Option<&'l Redactor>,
        compat: bool,
        tree: Option<&'l FileTree<'l>>,
        ending: usize,
    ) -> Self {
        Self { remaining, report, rungs, redactor, compat, tree, names: Vec::new(), ending, overdrawn: false }
    }

    /// Decides on a file that was read.
    pub(crate) fn decide(
        &mut self,
        part: &Part<'_>,
        ranked: &RankedFile,
        result: ReadResult<'_>,
    ) -> Decision {
        let path = &ranked.file.path;
        match result {
            ReadResult::Later => return Decision::Later,
            ReadResult::LeftOut { reason, detail, bytes } => {
                self.leave_out(part, Entry::left_out(path, reason, detail).with_size(bytes));
            }
            ReadResult::Withheld { bytes, .. } | ReadResult::TooLarge { bytes }
                if self.is_too_large(bytes) =>
            {
                self.lower(part, path, bytes);
            }
            ReadResult::Withheld { reason, detail, bytes } => {
                self.leave_out(part, Entry::left_out(path, reason, detail).with_size(Some(bytes)));
            }
            ReadResult::TooLarge { bytes } => self.lower(part, path, bytes),
            ReadResult::Text(text) => match self.redact(&part.shown_path(path), *text) {
                Ok((mut text, redacted)) => match self.fitting_piece(part, ranked, &mut text) {
                    Some(piece) => {
                        return Decision::Pack(Box::new(self.accept(part, ranked, text, piece, redacted)));
                    }
                    None => self.lower(part, path, text.size.max(text.content.len() as u64)),
                },
                Err(omitted) => {
                    let entry = Entry::left_out(path, LeftOutReason::Secret, omitted.to_string());
                    self.leave_out(part, entry);
                }
            },
        }
        Decision::Skip
    }

    /// The text without its secrets and those of earlier texts, and what was redacted.
    fn redact<'t>(
        &self,
        path: &str,
        mut text: ReadText<'t>,
    ) -> Result<(ReadText<'t>, Option<RedactedFile>), OmittedText> {
        let Some(redactor) = self.redactor else { return Ok((text, None)) };
        text.content = redactor.redact_found(path, text.content, &text.found)?;
        let redacted = redactor.take_redacted().pop();
        if redacted.is_some() {
            text.take_form(path, self.rungs, self.remaining);
        }
        Ok((text, redacted))
    }

    /// Decides on a file that is not read, because the limit of files is reached.
    pub(crate) fn decide_unread(
        &mut self,
        part: &Part<'_>,
        ranked: &RankedFile,
        most: usize,
        rule: KindRule,
    ) {
        let path = &ranked.file.path;
        match ranked.kind.filter(|_| rule == KindRule::Omit) {
            Some(kind) => self.leave_out(part, Entry::left_out(path, kind.into(), None)),
            None => self.lower_with(part, path, None, format!("the limit is {most} files").into()),
        }
    }

    /// Whether a file of this size is not worth to be read: threads may know only later.
    fn is_too_large(&self, bytes: u64) -> bool {
        bytes > self.remaining.largest_file(self.compat)
    }

    fn fitting_piece(&self, part: &Part<'_>, ranked: &RankedFile, text: &mut ReadText<'_>) -> Option<Piece> {
        let (bytes, tokens) = (self.remaining.bytes(), self.remaining.tokens());
        // The profile counts what is larger: the file or its text.
        if self.compat && text.size > bytes || self.is_too_large(text.size) && !ranked.is_requested() {
            return None;
        }
        let path = part.shown_path(&ranked.file.path);
        let fits = |piece: &Piece| piece.bytes <= bytes && piece.cost() <= tokens;
        let piece = match text.piece.take() {
            Some(piece) if fits(&piece) => Some(piece),
            // Less is left than when it was read.
            Some(_) if !self.compat => self.rungs.highest_rung(&path, &text.content, bytes, tokens),
            _ => None,
        };
        let size = text.is_start.then_some(text.size);
        let cut = || self.rungs.cut_rung(&path, &text.content, size, bytes, tokens);
        piece.or_else(|| (ranked.is_requested() && !self.compat).then(cut).flatten())
    }

    /// Accepts a piece that fits.
    fn accept(
        &mut self,
        part: &Part<'_>,
        ranked: &RankedFile,
        text: ReadText<'_>,
        piece: Piece,
        redacted: Option<RedactedFile>,
    ) -> PrintedFile {
        self.remaining.take(piece.bytes, piece.cost());
        self.report.total_bytes += piece.bytes;
        let mut entry = Entry::packed(&ranked.file.path, piece.form)
            .with_size(Some(piece.bytes))
            .with_tokens(piece.tokens.map(|counted| counted.tokens))
            .with_detail(text_detail(&text).map(Detail::from));
        entry.encoding = text.encoding;
        let content = piece.text.unwrap_or(text.content);
        if let Some(redacted) = redacted.and_then(|redacted| shown_marks(redacted, &content)) {
            entry.mark_redacted(&redacted);
            self.report.redacted.push(redacted);
        }
        let form = entry.form().unwrap_or(piece.form);
        self.report.entries.push(part.own_entry(entry));
        PrintedFile { path: part.shown_path(&ranked.file.path), form, content, count: piece.count }
    }

    /// Lists the name of a file that does not fit, or leaves it out.
    fn lower(&mut self, part: &Part<'_>, path: &ShownPath, size: u64) {
        let (bytes, tokens) = (self.remaining.bytes(), self.remaining.tokens());
        let detail = match size > bytes || tokens == usize::MAX {
            true => Detail::Bytes { size, left: bytes },
            false => Detail::Tokens { size, left: tokens },
        };
        self.lower_with(part, path, Some(size), detail);
    }

    fn lower_with(&mut self, part: &Part<'_>, path: &ShownPath, size: Option<u64>, detail: Detail) {
        let shown = part.shown_path(path);
        let named = !self.compat && self.name_file(&shown, matches!(part, Part::Files));
        let entry = match named {
            true => Entry::packed(path, PackedForm::Named),
            false => Entry::left_out(path, LeftOutReason::Budget, None),
        };
        self.leave_out(part, entry.with_size(size).with_detail(Some(detail)));
    }

    /// Whether the text has the name of a file: in the tree, or in the list at its end.
    fn name_file(&mut self, shown: &str, is_in_tree: bool) -> bool {
        if let Some(tree) = self.tree.filter(|_| is_in_tree) {
            return tree.shows(shown);
        }
        let heading = if self.names.is_empty() { self.rungs.frame.frame_names([]) } else { String::new() };
        let line = format!("{heading}\n{}", self.rungs.frame.frame_name(shown));
        let cost = self.rungs.counter.cost(&line);
        let fits = cost.saturating_add(self.ending) <= self.remaining.tokens();
        if fits {
            self.remaining.take(0, cost);
            self.names.push(shown.to_owned());
        }
        fits
    }

    /// Adds an entry whose text is not in the context.
    fn leave_out(&mut self, part: &Part<'_>, entry: Entry) {
        self.add_missing(part.own_entry(entry));
    }

    /// Adds an entry, with the path as displayed, whose text is not in the context.
    pub(crate) fn add_missing(&mut self, entry: Entry) {
        let ending = std::mem::take(&mut self.ending);
        self.overdrawn |= ending > self.remaining.tokens();
        self.remaining.take(0, ending);
        self.report.entries.push(entry);
    }

    /// Whether there is no room for the last line.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.overdrawn
    }
}

/// What was redacted, as far as its marks are in what is printed of the text.
pub(crate) fn shown_marks(mut redacted: RedactedFile, printed: &str) -> Option<RedactedFile> {
    redacted.secrets.retain(|secret| printed.contains(&secret.mark));
    (!redacted.secrets.is_empty()).then_some(redacted)
}

/// What is different in the text of a file.
fn text_detail(text: &ReadText<'_>) -> Option<String> {
    let invalid = match text.encoding {
        Some(encoding) => format!("bytes that are not {encoding} were replaced by U+FFFD"),
        None => "invalid UTF-8 was replaced by U+FFFD".to_owned(),
    };
    let details = [
        text.encoding.map(|encoding| format!("read as {encoding}")),
        text.replaced.then_some(invalid),
        text.shortened.then(|| "Base64 is shortened".to_owned()),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    (!details.is_empty()).then(|| details.join(", "))
}

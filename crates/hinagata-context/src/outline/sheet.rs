//! The lines of a file, what each is, and which of them are folded.

use super::{Language, Outline, OutlineKind, OutlinePart};

/// A fold covers at least this many lines, or [`MIN_BYTES`]: the mark that replaces it takes a line, too.
const MIN_LINES: usize = 3;
const MIN_COMMENT_LINES: usize = 2;
const MIN_BYTES: usize = 200;

/// Most lines of a comment that stay, and most of them with words: the first sentence says what an item is; parameters,
/// examples and licences follow.
const COMMENT_LINES: usize = 3;
const COMMENT_TEXT_LINES: usize = 2;

/// The last line on which a licence can start: a `#!` line or `<?php` can stand before it.
const LICENCE_LINE: usize = 3;

/// A line with more bytes than this that declares nothing is data.
const LONG_LINE: usize = 400;

/// Most lines at both ends of a file that has no outline because something does not close.
const HEAD_LINES: usize = 40;
const TAIL_LINES: usize = 20;

/// Most blanks before a line that are counted: each statement of a line counts them.
const MAX_INDENT: usize = 200;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// It declares nothing: data, an import, a statement, a field.
    Plain,
    /// A comment.
    Comment,
    /// It declares an item, ends one, or describes one.
    Item,
}

/// How many lines in a row may declare nothing, and how many of them stay otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLimit {
    pub(super) lines: usize,
    pub(super) head: usize,
}

/// Consecutive lines, from 0, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRange {
    pub(super) first: usize,
    pub(super) last: usize,
}

pub(super) struct Sheet<'t> {
    text: &'t str,
    /// The start of each line, and the end of the text.
    starts: Vec<usize>,
    labels: Vec<Label>,
    folds: Vec<LineRange>,
    /// The comment that was read last, if it stands on lines of its own.
    comment: Option<LineRange>,
}

impl<'t> Sheet<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|found| found + 1);
        let mut starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        let labels = vec![Label::Plain; starts.len() - 1];
        Self { text, starts, labels, folds: Vec::new(), comment: None }
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The text of a line, with its end.
    pub(super) fn line(&self, line: usize) -> &'t str {
        &self.text[self.starts[line]..self.starts[line + 1]]
    }

    /// Labels lines as an item.
    pub(super) fn keep_lines(&mut self, first: usize, last: usize) {
        let end = (last + 1).min(self.labels.len());
        if first < end {
            self.labels[first..end].fill(Label::Item);
        }
    }

    /// Folds the lines from `first` up to, but not including, `end`, if that saves something.
    pub(super) fn fold_lines(&mut self, first: usize, end: usize) {
        if first < end && self.is_worth_folding(first, end) {
            self.folds.push(LineRange { first, last: end - 1 });
        }
    }

    fn is_worth_folding(&self, first: usize, end: usize) -> bool {
        end - first >= MIN_LINES || self.starts[end] - self.starts[first] >= MIN_BYTES
    }

    /// How many folds there are: a mark for [`Sheet::drop_folds`].
    pub(super) fn fold_count(&self) -> usize {
        self.folds.len()
    }

    /// Drops the folds that were made since there were `count` of them, because a larger one covers them.
    pub(super) fn drop_folds(&mut self, count: usize) {
        self.folds.truncate(count);
    }

    /// Notes a comment that starts a line; comments on consecutive lines are one.
    pub(super) fn note_comment(&mut self, first: usize, last: usize) {
        match &mut self.comment {
            Some(comment) if first <= comment.last + 1 => comment.last = last,
            _ => {
                self.flush_comment(first);
                self.comment = Some(LineRange { first, last });
            }
        }
    }

    /// Folds the comment that was noted last; `next` is the line of the code behind it. Returns the first line of the
    /// comment if it describes what starts on that line; a blank line may stand between them.
    pub(super) fn flush_comment(&mut self, next: usize) -> Option<usize> {
        let LineRange { first, last } = self.comment.take()?;
        self.labels[first..=last].fill(Label::Comment);
        // A line that ends a comment and has code behind it stays.
        if last < next {
            self.fold_comment(LineRange { first, last });
        } else if first < last {
            self.fold_comment(LineRange { first, last: last - 1 });
        }
        (last + 2 >= next).then_some(first)
    }

    /// Folds a comment or a describing string, but for its first sentence.
    pub(super) fn fold_comment(&mut self, comment: LineRange) {
        let last = self.line(comment.last).trim();
        // The line that closes it stays, so that what follows does not look like a part of it.
        let is_closing = matches!(last, "*/" | "**/" | "\"\"\"" | "'''" | "]]");
        let end = comment.last + usize::from(!is_closing);
        let first = comment.first + self.described_lines(comment);
        if end.saturating_sub(first) >= MIN_COMMENT_LINES {
            self.folds.push(LineRange { first, last: end - 1 });
        }
    }

    /// How many lines of a comment stay: up to the end of its first paragraph, within limits.
    pub(super) fn described_lines(&self, comment: LineRange) -> usize {
        let mut words = 0;
        for line in comment.first..=comment.last {
            let count = line - comment.first;
            let has_words = self.has_words(line);
            if count == COMMENT_LINES || words == COMMENT_TEXT_LINES || (words > 0 && !has_words) {
                return count;
            }
            words += usize::from(has_words);
            if words == 1 && self.is_licence(comment) {
                return count + 1;
            }
        }
        comment.last + 1 - comment.first
    }

    /// Whether a comment at the start of the file states the conditions of its use.
    fn is_licence(&self, comment: LineRange) -> bool {
        let end = self.starts[comment.last + 1].min(self.starts[comment.first] + 1024);
        let head = &self.text.as_bytes()[self.starts[comment.first]..end];
        let has_word = |word: &[u8]| memchr::memmem::find(head, word).is_some();
        comment.first <= LICENCE_LINE && (has_word(b"opyright") || has_word(b"icense") || has_word(b"icence"))
    }

    fn has_words(&self, line: usize) -> bool {
        self.line(line).bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
    }

    pub(super) fn is_blank(&self, line: usize) -> bool {
        self.line(line).bytes().all(|byte| byte.is_ascii_whitespace())
    }

    /// The outline of the file. `unclosed` is the line, from 0, of something that does not close.
    pub(super) fn into_outline(
        mut self,
        language: Language,
        limit: RunLimit,
        unclosed: Option<usize>,
    ) -> Outline<'t> {
        self.flush_comment(self.len());
        match unclosed {
            Some(line) => self.into_cut(language, line),
            None => self.into_folded(language, limit),
        }
    }

    /// The outline by the folds so far, and by folding what declares nothing in long runs and long lines.
    fn into_folded(mut self, language: Language, limit: RunLimit) -> Outline<'t> {
        self.merge_folds();
        self.fold_runs(limit);
        self.fold_long_lines();
        self.merge_folds();
        self.build_outline(language, OutlineKind::Outlined)
    }

    /// The head and the tail of a file in which something that starts on `line`, from 0, does not close.
    fn into_cut(mut self, language: Language, line: usize) -> Outline<'t> {
        let lines = self.len();
        let (head, tail) = (HEAD_LINES.min(lines / 4), TAIL_LINES.min(lines / 8));
        self.labels.fill(Label::Plain);
        self.folds.clear();
        self.fold_lines(head, lines - tail);
        self.fold_long_lines();
        self.merge_folds();
        self.build_outline(language, OutlineKind::Cut { line: line + 1 })
    }

    /// Puts the folds in order and joins those that overlap or touch; blank lines at their ends stay.
    fn merge_folds(&mut self) {
        self.folds.sort_unstable_by_key(|fold| (fold.first, fold.last));
        self.folds.dedup_by(|next, fold| {
            let touches = next.first <= fold.last + 1;
            if touches {
                fold.last = fold.last.max(next.last);
            }
            touches
        });
        let mut folds = std::mem::take(&mut self.folds);
        for fold in &mut folds {
            while fold.first < fold.last && self.is_blank(fold.last) {
                fold.last -= 1;
            }
        }
        self.folds = folds;
    }

    /// The line on which the fold of a run starts: a statement that starts among the lines that stay, but goes on behind
    /// them, is folded with the rest.
    fn run_start(&self, run: LineRange, first: usize) -> usize {
        let limit = self.indent(first);
        let starts = (first + 1..=run.first).rev();
        let is_start = |line: &usize| !self.is_blank(*line) && self.indent(*line) <= limit;
        starts.into_iter().find(is_start).unwrap_or(run.first)
    }

    /// The column of the first token of a line; a tab leads to the next multiple of eight.
    pub(super) fn indent(&self, line: usize) -> usize {
        let blanks = self.line(line).bytes().take(MAX_INDENT).take_while(|byte| matches!(byte, b' ' | b'\t'));
        blanks.fold(0, |column, byte| if byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 })
    }

    fn fold_runs(&mut self, limit: RunLimit) {
        let folds = std::mem::take(&mut self.folds);
        let mut runs = Vec::new();
        let mut run = Run::default();
        let mut next = 0;
        for fold in folds.iter().copied().chain([LineRange { first: self.len(), last: self.len() }]) {
            for line in next..fold.first {
                match self.labels[line] {
                    Label::Item => runs.extend(run.take_fold(limit)),
                    Label::Plain if !self.is_blank(line) => run.add_line(line, limit),
                    // A comment belongs to the run around it, but does not count.
                    Label::Plain | Label::Comment => {}
                }
            }
            // A fold belongs to the run around it: it counts as one line.
            run.extend_to(fold.last);
            next = fold.last + 1;
        }
        runs.extend(run.take_fold(limit));
        self.folds = folds;
        for (start, run) in runs {
            let first = self.run_start(run, start);
            let last = run.last.min(self.len() - 1);
            self.fold_lines(first, last + 1);
        }
    }

    fn fold_long_lines(&mut self) {
        for line in 0..self.len() {
            if self.labels[line] != Label::Item && self.line(line).len() > LONG_LINE {
                self.folds.push(LineRange { first: line, last: line });
            }
        }
    }

    fn build_outline(self, language: Language, kind: OutlineKind) -> Outline<'t> {
        let mut parts = Vec::with_capacity(2 * self.folds.len() + 1);
        let mut next = 0;
        for fold in &self.folds {
            self.push_lines(&mut parts, next, fold.first);
            parts.push(self.fold_part(*fold, kind));
            next = fold.last + 1;
        }
        self.push_lines(&mut parts, next, self.len());
        Outline { language: Some(language), kind, parts }
    }

    fn push_lines(&self, parts: &mut Vec<OutlinePart<'t>>, first: usize, end: usize) {
        if first < end {
            let text = &self.text[self.starts[first]..self.starts[end]];
            parts.push(OutlinePart::Lines { first: first + 1, text });
        }
    }

    fn fold_part(&self, fold: LineRange, kind: OutlineKind) -> OutlinePart<'t> {
        let line = (fold.first..=fold.last).find(|line| !self.is_blank(*line)).unwrap_or(fold.first);
        let line = self.line(line);
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let unclosed = match kind {
            OutlineKind::Cut { line } => Some(line),
            OutlineKind::Outlined | OutlineKind::Unknown => None,
        };
        OutlinePart::Fold { first: fold.first + 1, count: fold.last + 1 - fold.first, indent, unclosed }
    }
}

/// Lines in a row that declare nothing.
#[derive(Default)]
struct Run {
    first: usize,
    lines: usize,
    /// The line behind those that stay.
    rest: usize,
    last: usize,
}

impl Run {
    fn add_line(&mut self, line: usize, limit: RunLimit) {
        if self.lines == 0 {
            self.first = line;
            self.rest = line;
        }
        self.lines += 1;
        self.last = line;
        if self.lines <= limit.head {
            self.rest = line + 1;
        }
    }

    fn extend_to(&mut self, last: usize) {
        if self.lines > 0 {
            self.last = last;
        }
    }

    /// Ends the run; returns its first line and what is folded of it.
    fn take_fold(&mut self, limit: RunLimit) -> Option<(usize, LineRange)> {
        let run = std::mem::take(self);
        (run.lines > limit.lines).then_some((run.first, LineRange { first: run.rest, last: run.last }))
    }
}

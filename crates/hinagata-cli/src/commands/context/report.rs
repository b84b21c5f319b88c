//! What became of files: the table, the summary, and where tokens are.

use std::{collections::BTreeMap, fmt::Write as _};

use hinagata::settings::group_digits;
use hinagata_context::{Entry, FileState, PackedForm, Report};

use crate::{failure::Failure, output};

/// Prints one line for each file, and the summary.
pub(super) fn print_report(report: &Report) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = report.entries.iter().map(row).collect();
    output::print_text(&output::format_table(&["FILE", "BYTES", "TOKENS", "STATE", "WHY"], &rows))?;
    output::print_status(&summary(report, ""));
    Ok(())
}

fn row(entry: &Entry) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let path = match &entry.resource {
        Some(resource) => format!("{resource}: {}", entry.path),
        None => entry.path.to_string(),
    };
    let tokens = entry.tokens.map(|tokens| tokens as u64);
    let files = entry.files.map(|files| pluralize(files, "file"));
    let why: Vec<String> = files.into_iter().chain(entry.detail.as_ref().map(ToString::to_string)).collect();
    vec![path, number(entry.bytes), number(tokens), entry.state.as_str().to_owned(), why.join(", ")]
}

/// The summary of a text that is not shown, with `advice` if files were left out.
pub(super) fn summary(report: &Report, advice: &str) -> String {
    let packed: Vec<(PackedForm, u64)> = counts(report, |form| form != PackedForm::Named);
    let files: u64 = packed.iter().map(|(_, count)| count).sum();
    let mut text = format!("packed {}", pluralize(files, "file"));
    if packed.iter().any(|(form, _)| *form != PackedForm::Taken) {
        let words: Vec<String> = packed.iter().map(|(form, count)| word(*count, form.as_str())).collect();
        let _ = write!(text, " ({})", words.join(", "));
    }
    let _ = write!(text, ", {} bytes", group_digits(report.total_bytes));
    if let Some(tokens) = report.total_tokens {
        let tokens = group_digits(tokens as u64);
        let _ = match report.tokens_error_percent {
            Some(error) => write!(text, ", about {tokens} tokens (±{error} %)"),
            None => write!(text, ", {tokens} tokens"),
        };
    }
    let left = left_out_words(report);
    if !left.is_empty() {
        let _ = write!(text, "; left out: {left}{advice}");
    }
    text.push('\n');
    text
}

/// The numbers of files whose text is not in the context, by word.
pub(super) fn left_out_words(report: &Report) -> String {
    let is_missing = |state: &FileState| match state {
        FileState::Packed(form) => *form == PackedForm::Named,
        FileState::LeftOut(_) => true,
    };
    let counted = FileState::all().filter(is_missing).map(|state| (state, report.count_state(state)));
    let words = counted.filter(|(_, count)| *count > 0).map(|(state, count)| word(count, state.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

fn counts(report: &Report, wanted: impl Fn(PackedForm) -> bool) -> Vec<(PackedForm, u64)> {
    let forms = PackedForm::ALL.into_iter().filter(|form| wanted(*form));
    let counted = forms.map(|form| (form, report.count_state(FileState::Packed(form))));
    counted.filter(|(_, count)| *count > 0).collect()
}

fn word(count: u64, word: &str) -> String {
    format!("{} {word}", group_digits(count))
}

fn pluralize(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", group_digits(count))
}

/// Prints where the tokens are: as a tree from `least` tokens on, and the `top` files.
pub(super) fn print_details(report: &Report, least: Option<usize>, top: Option<usize>) {
    if let Some(least) = least {
        let mut tree = TokenTree::default();
        for entry in &report.entries {
            if let Some(tokens) = entry.tokens {
                tree.add(&entry.path, tokens);
            }
        }
        let mut text = String::new();
        tree.write(&mut text, 0, least);
        output::print_status(&text);
    }
    if let Some(top) = top {
        let mut files: Vec<(&str, usize)> =
            report.entries.iter().filter_map(|entry| Some((entry.path.as_str(), entry.tokens?))).collect();
        files.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        let rows: Vec<Vec<String>> = files
            .iter()
            .take(top)
            .map(|(path, tokens)| vec![path_text(path), tokens_text(*tokens)])
            .collect();
        output::print_status(&output::align_columns(&rows));
    }
}

fn path_text(path: &str) -> String {
    output::sanitize_text(path)
}

fn tokens_text(tokens: usize) -> String {
    pluralize(tokens as u64, "token")
}

/// Tokens of a directory or a file.
#[derive(Default)]
struct TokenTree {
    below: BTreeMap<String, Self>,
    tokens: usize,
}

impl TokenTree {
    fn add(&mut self, path: &str, tokens: usize) {
        self.tokens += tokens;
        if let Some((name, rest)) = path.split_once('/') {
            self.below.entry(format!("{name}/")).or_default().add(rest, tokens);
        } else {
            self.below.entry(path.to_owned()).or_default().tokens += tokens;
        }
    }

    fn write(&self, text: &mut String, depth: usize, least: usize) {
        for (name, below) in self.below.iter().filter(|(_, below)| below.tokens >= least) {
            let _ = writeln!(text, "{}{} {}", "  ".repeat(depth), path_text(name), tokens_text(below.tokens));
            below.write(text, depth + 1, least);
        }
    }
}

//! Silences: comments and front matter that allow findings.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hinagata_catalog::definition::Definition;
use hinagata_document::{Code, Error, Place};

use crate::{
    codes::{ALLOW_UNKNOWN, ALLOW_UNUSED, CODES, CodeSpec, find_code},
    finding::Finding,
    level::Level,
};

/// What starts a silence in a comment of any language.
const MARK: &str = "hina: allow";

/// The groups about security, which the author of a pack cannot silence for those who approve it.
const PROTECTED: [&str; 4] = ["secret", "text", "inject", "hook"];

/// A text with silences.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MarkedText {
    file: String,
    text: Arc<str>,
    /// The line of the file that is the first one of the text.
    first_line: u32,
}

impl MarkedText {
    /// The text if it has a silence.
    pub(crate) fn new(file: &str, text: &str, first_line: u32) -> Option<Self> {
        text.contains(MARK).then(|| Self { file: file.to_owned(), text: text.into(), first_line })
    }
}

/// The silences of several files.
#[derive(Default)]
pub(crate) struct Silences {
    /// Whether silences of findings about security do not count.
    is_review: bool,
    files: BTreeMap<String, Vec<Silence>>,
    /// What front matter allows, by prompt.
    prompts: BTreeMap<String, Vec<String>>,
}

struct Silence {
    code: String,
    place: Place,
    /// The lines that it is for; `None` for the whole file.
    lines: Option<(u32, u32)>,
    used: bool,
}

/// The codes that the front matter of a prompt allows: `check: {allow: […]}`.
pub(crate) fn front_matter_silences(definition: &Definition) -> Vec<String> {
    let allow = definition.unknown.get("check").and_then(|check| check.get("allow")?.as_array());
    let codes = allow.into_iter().flatten().filter_map(serde_json::Value::as_str);
    codes.map(str::to_owned).collect()
}

impl Silences {
    /// No silences yet. In a review, those of findings about security do not count.
    pub(crate) fn for_review(is_review: bool) -> Self {
        Self { is_review, ..Self::default() }
    }

    /// Reads the comments of a text. A file is read once.
    pub(crate) fn add_text(&mut self, marked: &MarkedText) {
        let MarkedText { file, text, first_line } = marked;
        if self.files.contains_key(file) {
            return;
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut found = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some((column, of_file, codes)) = read_comment(line) else { continue };
            let number = *first_line + at as u32;
            let next = lines.iter().skip(at + 1).position(|line| !line.trim().is_empty());
            let last = match (is_comment_alone(line), next) {
                (true, Some(skipped)) => number + 1 + skipped as u32,
                _ => number,
            };
            for code in codes {
                let place = Place {
                    file: file.clone(),
                    line: number,
                    column,
                    excerpt: Some(line.chars().take(200).collect()),
                };
                let lines = (!of_file).then_some((number, last));
                found.push(Silence { code, place, lines, used: false });
            }
        }
        self.files.insert(file.clone(), found);
    }

    /// Adds what the front matter of a prompt allows.
    pub(crate) fn add_allowed(&mut self, source: &str, codes: &[String]) {
        if !codes.is_empty() {
            self.prompts.insert(source.to_owned(), codes.to_vec());
        }
    }

    /// Removes silenced findings, and adds findings about silences without effect, if `is_judged` for their file.
    pub(crate) fn apply(&mut self, findings: &mut Vec<Finding>, is_judged: &dyn Fn(&str) -> bool) {
        findings.retain(|finding| !self.is_silenced(finding));
        // What a template that cannot be compiled would have is unknown.
        let is_broken = |finding: &&Finding| {
            finding.level == Level::Error && matches!(finding.code.group(), "syntax" | "name")
        };
        let broken: BTreeSet<String> =
            findings.iter().filter(is_broken).map(|finding| finding.file().to_owned()).collect();
        let mut about = Vec::new();
        for silence in self.files.values().flatten() {
            let (code, message, near): (&'static CodeSpec, _, _) = if !is_known(&silence.code) {
                let near = hinagata_value::near_names(&silence.code, CODES.iter().map(|spec| spec.code));
                (&ALLOW_UNKNOWN, format!("unknown code `{}`", silence.code), near)
            } else if !silence.used && !broken.contains(&silence.place.file) && is_judged(&silence.place.file)
            {
                (&ALLOW_UNUSED, format!("`{}` does not occur here", silence.code), Vec::new())
            } else {
                continue;
            };
            let error = Error::new(Code::Definition, message).at(silence.place.clone()).with_near(near);
            let source = silence.place.file.clone();
            about.push(Finding::new(code, code.level, source, error));
        }
        findings.extend(about);
    }

    fn is_silenced(&mut self, finding: &Finding) -> bool {
        if self.is_review && PROTECTED.contains(&finding.code.group()) {
            return false;
        }
        let is_own_key =
            finding.code.code == "syntax.unknown-key" && finding.error.message().contains("`check`");
        let allowed = self.prompts.get(&finding.source).into_iter().flatten();
        if is_own_key || allowed.clone().any(|code| matches_code(code, finding.code)) {
            return true;
        }
        let line = finding.place().map(|place| place.line);
        let mut silenced = false;
        for silence in self.files.get_mut(finding.file()).into_iter().flatten() {
            let is_here = match (silence.lines, line) {
                (None, _) => true,
                (Some((first, last)), Some(line)) => (first..=last).contains(&line),
                (Some(_), None) => false,
            };
            if is_here && matches_code(&silence.code, finding.code) {
                silence.used = true;
                silenced = true;
            }
        }
        silenced
    }
}

/// Whether there is such a code or `group.*`.
pub(crate) fn is_known(code: &str) -> bool {
    find_code(code).is_some()
        || code.strip_suffix(".*").is_some_and(|group| CODES.iter().any(|spec| spec.group() == group))
}

/// Whether a code, or `group.*`, names a kind of findings.
pub(crate) fn matches_code(pattern: &str, spec: &CodeSpec) -> bool {
    pattern == spec.code || pattern.strip_suffix(".*") == Some(spec.group())
}

/// The column of a silence in a line, whether it is for the file, and its codes.
fn read_comment(line: &str) -> Option<(u32, bool, Vec<String>)> {
    let at = line.find(MARK)?;
    let before = line[..at].trim_end();
    let is_comment = ["{#", "{#-", "{{/*", "{{- /*", "#"].iter().any(|opener| before.ends_with(opener));
    let rest = &line[at + MARK.len()..];
    let (of_file, rest) = match rest.strip_prefix("-file") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let inside = rest.strip_prefix('(')?.split_once(')')?.0;
    let codes =
        inside.split(',').map(|code| code.trim().to_owned()).filter(|code| !code.is_empty()).collect();
    let column = line[..at].chars().count() as u32 + 1;
    is_comment.then_some((column, of_file, codes))
}

/// Whether a line has nothing but the comment.
fn is_comment_alone(line: &str) -> bool {
    let line = line.trim();
    let closes = |end: &str| line.find(end).is_some_and(|at| at + end.len() == line.len());
    (line.starts_with("{#") && closes("#}"))
        || (line.starts_with("{{") && (closes("*/}}") || closes("*/ -}}")))
        || line.starts_with('#')
}

//! Compares what cases render on two sides: what changed, and which line or value of a side made it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    ops::Range,
    sync::Arc,
};

use hinagata::{Catalog, Context, Engine, Error, Rendered, RenderedBody, Request, source::Entry};
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::{
    case::{Case, CaseFile, Stubs},
    sample::sample_variables,
    stubs::{FixedClock, StubbedHooks, StubbedModel, StubbedTools, fixed_surroundings},
};

/// One side of a comparison.
pub struct Side {
    /// What it is called: a revision, a version.
    pub name: String,
    /// Its engine.
    pub engine: Engine,
    /// Its test files.
    pub files: Vec<CaseFile>,
}

/// What became of a case between two sides.
#[derive(Clone, Debug)]
pub struct CaseChange {
    /// The prompt.
    pub prompt: String,
    /// The name of the case, or what stands for one.
    pub case: String,
    /// The change.
    pub kind: ChangeKind,
}

/// How the renders of a case differ.
#[derive(Clone, Debug)]
pub enum ChangeKind {
    /// Only the new side has the prompt.
    Added,
    /// Only the old side has the prompt.
    Removed,
    /// Other text.
    Changed(Vec<Hunk>),
    /// The old side renders, the new one fails.
    Broken(Box<Error>),
    /// The old side fails, the new one renders.
    Repaired(Box<Error>),
    /// Both sides fail, in different ways.
    OtherError(Box<Error>, Box<Error>),
}

/// Lines that differ, and their causes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The message, if the result has several.
    pub message: Option<String>,
    /// The first line of the new text, from 1.
    pub line: usize,
    /// The lines of the old side.
    pub old: Vec<String>,
    /// The lines of the new side.
    pub new: Vec<String>,
    /// Where the lines come from.
    pub causes: Vec<Cause>,
}

/// Where changed text comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Whether it is of the old side.
    pub is_old: bool,
    /// The file.
    pub file: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// What it is: a text of the template, or the variable that it shows.
    pub what: String,
}

/// A comparison of all cases.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The name of the old side.
    pub old: String,
    /// The name of the new side.
    pub new: String,
    /// The number of compared cases.
    pub compared: usize,
    /// The cases that differ.
    pub changes: Vec<CaseChange>,
    /// Cases that fail on both sides in the same way, each with the error.
    pub failing: Vec<(String, String)>,
}

/// A case of both sides.
struct Pair<'c> {
    prompt: String,
    name: String,
    case: Option<&'c Case>,
}

/// A rendered text with the places that its pieces come from.
struct Mapped {
    texts: Vec<MappedText>,
}

struct MappedText {
    message: Option<String>,
    text: String,
    pieces: Vec<(Range<usize>, Cause)>,
}

/// Renders the cases of the prompts that `is_wanted` accepts on both sides. The cases of the new side count; prompts
/// without cases are rendered with sample values.
#[must_use]
pub fn compare_sides(old: &Side, new: &Side, is_wanted: &dyn Fn(&str) -> bool) -> Comparison {
    let mut comparison = Comparison { old: old.name.clone(), new: new.name.clone(), ..Comparison::default() };
    let prompts = |side: &Side| -> BTreeSet<String> {
        own_prompts(&side.engine.catalog()).into_iter().filter(|id| is_wanted(id)).collect()
    };
    let (old_prompts, new_prompts) = (prompts(old), prompts(new));
    for prompt in old_prompts.union(&new_prompts) {
        let whole = |kind| CaseChange { prompt: prompt.clone(), case: String::new(), kind };
        match (old_prompts.contains(prompt), new_prompts.contains(prompt)) {
            (true, false) => comparison.changes.push(whole(ChangeKind::Removed)),
            (false, true) => comparison.changes.push(whole(ChangeKind::Added)),
            _ => compare_prompt(prompt, old, new, &mut comparison),
        }
    }
    comparison
}

/// The ids of the prompts of a side. Those that are part of the program are the same on both.
fn own_prompts(catalog: &Catalog) -> Vec<String> {
    let compiled: Vec<_> = catalog.roots().iter().filter(|index| index.root.tree.is_compiled()).collect();
    let is_compiled = |id: &str| {
        let chosen = catalog.choose(id).ok();
        let is_same =
            |entry: &Arc<Entry>| chosen.as_ref().is_some_and(|chosen| Arc::ptr_eq(entry, &chosen.entry));
        compiled.iter().any(|index| index.iter().any(is_same))
    };
    let ids = catalog.list().into_iter().map(|listing| listing.id.to_string());
    ids.filter(|id| !is_compiled(id)).collect()
}

fn compare_prompt(prompt: &str, old: &Side, new: &Side, comparison: &mut Comparison) {
    for pair in find_pairs(prompt, old, new) {
        comparison.compared += 1;
        let mut variables = Map::new();
        if pair.case.is_none() {
            variables = sample_variables(&new.engine, prompt);
            for (name, value) in sample_variables(&old.engine, prompt) {
                variables.entry(name).or_insert(value);
            }
        }
        let (before, after) = (render_case(old, &pair, &variables), render_case(new, &pair, &variables));
        let kind = match (before, after) {
            (Ok(before), Ok(after)) => {
                let hunks = compare_texts(&before, &after);
                if hunks.is_empty() {
                    continue;
                }
                ChangeKind::Changed(hunks)
            }
            (Ok(_), Err(error)) => ChangeKind::Broken(Box::new(error)),
            (Err(error), Ok(_)) => ChangeKind::Repaired(Box::new(error)),
            (Err(before), Err(after)) => {
                if before.code() == after.code() && before.message() == after.message() {
                    if pair.case.is_none_or(|case| case.error.is_none()) {
                        let name = format!("{prompt}: {}", pair.name);
                        comparison.failing.push((name, after.message().to_owned()));
                    }
                    continue;
                }
                ChangeKind::OtherError(Box::new(before), Box::new(after))
            }
        };
        comparison.changes.push(CaseChange { prompt: prompt.to_owned(), case: pair.name, kind });
    }
}

/// The cases of a prompt: those of the new side, and those that only the old side has.
fn find_pairs<'c>(prompt: &str, old: &'c Side, new: &'c Side) -> Vec<Pair<'c>> {
    let mut cases: BTreeMap<(String, usize), Pair<'c>> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for side in [new, old] {
        for file in side.files.iter().filter(|file| file.prompt == prompt) {
            let stem = file.file.rsplit('/').next().unwrap_or(&file.file).to_owned();
            for case in &file.cases {
                if known.insert((stem.clone(), case.name.clone())) {
                    let pair = Pair { prompt: prompt.to_owned(), name: case.name.clone(), case: Some(case) };
                    cases.insert((stem.clone(), cases.len()), pair);
                }
            }
        }
    }
    if cases.is_empty() {
        let name = "sample values".to_owned();
        return vec![Pair { prompt: prompt.to_owned(), name, case: None }];
    }
    cases.into_values().collect()
}

fn render_case(side: &Side, pair: &Pair<'_>, sample: &Map<String, Value>) -> Result<Mapped, Error> {
    let engine = fixed_engine(&side.engine, pair.case);
    let map = pair.case.map(|case| case.context.call.clone()).unwrap_or_default();
    let mut context = Context::from_map(&map);
    let project = pair.case.and_then(|case| case.context.project.as_ref());
    context.project = project.map(|path| side.engine.root().join(path));
    let variables = pair.case.map_or(sample, |case| &case.variables);
    let request = Request::new(&pair.prompt).with_variable_map(variables).with_context(&context);
    engine.explain_blocking(&request).map(|rendered| Mapped::from_rendered(&rendered))
}

/// The engine with the fixed surroundings of a case, without Python.
fn fixed_engine(engine: &Engine, case: Option<&Case>) -> Engine {
    let mut surroundings = engine.surroundings();
    let stubs: Arc<Stubs> = case.map(|case| Arc::clone(&case.stubs)).unwrap_or_default();
    let now = case.map_or_else(crate::read::default_now, |case| case.context.now);
    let timezone = case.map_or_else(|| "UTC".to_owned(), |case| case.context.timezone.clone());
    surroundings.clock = Arc::new(FixedClock(now));
    surroundings.os = case.map_or_else(|| "linux".to_owned(), |case| case.context.os.clone());
    "en".clone_into(&mut surroundings.language);
    surroundings.tools = Some(Arc::new(StubbedTools::new(surroundings.tools.take(), Arc::clone(&stubs))));
    surroundings.hooks = Some(Arc::new(StubbedHooks {
        inner: None,
        stubs: Arc::clone(&stubs),
        fixed: fixed_surroundings(now, &timezone),
        is_trusted: true,
        may_call_out: false,
    }));
    surroundings.timezone = Some(timezone);
    surroundings.model = Some(Arc::new(StubbedModel::new(stubs, None)));
    engine.with_surroundings(surroundings)
}

impl Mapped {
    fn from_rendered(rendered: &Rendered) -> Self {
        let Some(map) = rendered.source_map() else {
            return Self {
                texts: vec![MappedText { message: None, text: rendered.text(), pieces: Vec::new() }],
            };
        };
        let roles: Vec<String> = match &rendered.body {
            RenderedBody::Messages(messages) => messages.iter().map(|message| message.role.clone()).collect(),
            RenderedBody::Text(_) => Vec::new(),
        };
        let mut texts: Vec<((Option<usize>, usize), MappedText)> = Vec::new();
        for row in map.span_rows() {
            let key = (row.message, row.part);
            if texts.last().is_none_or(|(known, _)| *known != key) {
                let message = row.message.map(|index| {
                    let role = roles.get(index).map_or("message", String::as_str);
                    format!("{role} [{}]", index + 1)
                });
                texts.push((key, MappedText { message, text: String::new(), pieces: Vec::new() }));
            }
            let Some((_, text)) = texts.last_mut() else { continue };
            let start = text.text.len();
            text.text.push_str(row.piece);
            let what = match row.variable {
                Some(variable) => format!("value of {variable}"),
                None if row.made_of.is_empty() => row.kind.to_owned(),
                None => format!("{} of {}", row.kind, row.made_of),
            };
            if let Some(file) = row.file {
                let cause = Cause { is_old: false, file: file.to_owned(), line: row.line, what };
                text.pieces.push((start..text.text.len(), cause));
            }
        }
        Self { texts: texts.into_iter().map(|(_, text)| text).collect() }
    }

    fn text_at(&self, index: usize) -> MappedText {
        match self.texts.get(index) {
            Some(text) => MappedText {
                message: text.message.clone(),
                text: text.text.clone(),
                pieces: text.pieces.clone(),
            },
            None => MappedText { message: None, text: String::new(), pieces: Vec::new() },
        }
    }
}

impl MappedText {
    /// The causes of lines, given as the bytes from the first to the last of them. A text of several lines counts from the
    /// line of the template that it starts at.
    fn find_causes(&self, range: Range<usize>, is_old: bool) -> Vec<Cause> {
        let overlaps = |piece: &Range<usize>| {
            piece.start < range.end && range.start < piece.end && !self.text[piece.clone()].trim().is_empty()
        };
        let mut causes: Vec<Cause> = Vec::new();
        for (piece, cause) in self.pieces.iter().filter(|(piece, _)| overlaps(piece)) {
            let skipped = range.start.max(piece.start);
            let lines = self.text.get(piece.start..skipped).map_or(0, |text| text.matches('\n').count());
            let line = match cause.what.as_str() {
                "text" => cause.line + u32::try_from(lines).unwrap_or(0),
                _ => cause.line,
            };
            let cause = Cause { is_old, line, ..cause.clone() };
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes.truncate(8);
        causes
    }
}

/// The lines that differ, with their causes.
fn compare_texts(old: &Mapped, new: &Mapped) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    for index in 0..old.texts.len().max(new.texts.len()) {
        let (before, after) = (old.text_at(index), new.text_at(index));
        if before.text == after.text && before.message == after.message {
            continue;
        }
        let (old_lines, new_lines) = (line_ranges(&before.text), line_ranges(&after.text));
        let texts = |text: &MappedText, lines: &[Range<usize>]| -> Vec<String> {
            lines.iter().map(|line| text.text[line.clone()].trim_end_matches('\n').to_owned()).collect()
        };
        let (old_texts, new_texts) = (texts(&before, &old_lines), texts(&after, &new_lines));
        let count = hunks.len();
        for op in capture_diff_slices(Algorithm::Myers, &old_texts, &new_texts) {
            if matches!(op, DiffOp::Equal { .. }) {
                continue;
            }
            let (old_range, new_range) = (op.old_range(), op.new_range());
            let bytes = |lines: &[Range<usize>], range: &Range<usize>| match (
                range.is_empty(),
                lines.get(range.clone()),
            ) {
                (false, Some([first, .., last])) => first.start..last.end,
                (false, Some([only])) => only.clone(),
                _ => 0..0,
            };
            let mut causes = before.find_causes(bytes(&old_lines, &old_range), true);
            causes.extend(after.find_causes(bytes(&new_lines, &new_range), false));
            hunks.push(Hunk {
                message: after.message.clone().or_else(|| before.message.clone()),
                line: new_range.start + 1,
                old: old_texts[old_range].to_vec(),
                new: new_texts[new_range].to_vec(),
                causes,
            });
        }
        if hunks.len() == count {
            // The same lines with another role, or another end.
            let name =
                |text: &MappedText| text.message.clone().unwrap_or_else(|| format!("{:?}", tail(&text.text)));
            hunks.push(Hunk {
                message: after.message.clone(),
                line: 1,
                old: vec![name(&before)],
                new: vec![name(&after)],
                causes: Vec::new(),
            });
        }
    }
    hunks
}

fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(19).map_or(0, |(at, _)| at);
    &text[start..]
}

/// The bytes of each line with its end.
fn line_ranges(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end;
            range
        })
        .collect()
}

impl ChangeKind {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed(_) => "changed",
            Self::Broken(_) => "broken",
            Self::Repaired(_) => "repaired",
            Self::OtherError(..) => "other error",
        }
    }

    fn error_lines(&self) -> Vec<(char, String)> {
        let line = |error: &Error| {
            let place = error.place().map(|place| format!("{place}: ")).unwrap_or_default();
            format!("{}: {place}{}", error.code(), error.message())
        };
        match self {
            Self::Broken(error) => vec![('+', line(error))],
            Self::Repaired(error) => vec![('-', line(error))],
            Self::OtherError(before, after) => vec![('-', line(before)), ('+', line(after))],
            _ => Vec::new(),
        }
    }
}

impl Cause {
    fn describe(&self, comparison: &Comparison) -> String {
        let side = if self.is_old { &comparison.old } else { &comparison.new };
        format!("{side}: {}:{} {}", self.file, self.line, self.what)
    }
}

impl Comparison {
    /// Whether anything differs.
    #[must_use]
    pub fn is_different(&self) -> bool {
        !self.changes.is_empty()
    }

    fn summary(&self) -> String {
        let changes = self.changes.len();
        let all = self.compared.max(changes);
        let noun = if all == 1 { "case" } else { "cases" };
        let verb = if changes == 1 { "differs" } else { "differ" };
        let mut text = format!("{changes} of {all} {noun} {verb}");
        if !self.failing.is_empty() {
            let _ = write!(text, ", {} fail on both sides", self.failing.len());
        }
        text
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let case = if change.case.is_empty() { String::new() } else { format!(": {}", change.case) };
            let _ = writeln!(text, "{} {}{case}", change.kind.as_str(), change.prompt);
            for (sign, line) in change.kind.error_lines() {
                let _ = writeln!(text, "  {sign} {line}");
            }
            let ChangeKind::Changed(hunks) = &change.kind else { continue };
            for hunk in hunks {
                let message = hunk.message.as_ref().map(|message| format!("{message}, ")).unwrap_or_default();
                let _ = writeln!(text, "  @ {message}line {}", hunk.line);
                for (sign, lines) in [('-', &hunk.old), ('+', &hunk.new)] {
                    for line in lines {
                        let _ = writeln!(text, "  {sign} {line}");
                    }
                }
                for cause in &hunk.causes {
                    let _ = writeln!(text, "    {}", cause.describe(self));
                }
            }
        }
        for (name, message) in &self.failing {
            let _ = writeln!(text, "fails on both sides {name}: {message}");
        }
        let _ = writeln!(text, "{}", self.summary());
        text
    }

    /// The report for scripts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            let mut all =
                json!({"prompt": change.prompt, "case": change.case, "change": change.kind.as_str()});
            if let ChangeKind::Changed(hunks) = &change.kind {
                all["hunks"] = hunks.iter().map(hunk_json).collect();
            }
            let errors = change.kind.error_lines();
            if !errors.is_empty() {
                let side =
                    |sign: char| errors.iter().find(|(own, _)| *own == sign).map(|(_, line)| line.clone());
                all["errors"] = json!({"old": side('-'), "new": side('+')});
            }
            all
        });
        json!({
            "old": self.old, "new": self.new, "compared": self.compared,
            "changes": changes.collect::<Vec<_>>(),
            "failing": self.failing.iter().map(|(name, message)| json!({"case": name, "message": message})).collect::<Vec<_>>(),
        })
    }

    /// The report as Markdown, for comments on a change.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("### Prompts: `{}` to `{}`\n\n{}\n", self.old, self.new, self.summary());
        for change in &self.changes {
            let case = if change.case.is_empty() { String::new() } else { format!(": {}", change.case) };
            let _ = write!(text, "\n**{}** {}{case}\n", change.prompt, change.kind.as_str());
            let mut lines: Vec<String> =
                change.kind.error_lines().iter().map(|(sign, line)| format!("{sign} {line}")).collect();
            let mut causes = Vec::new();
            if let ChangeKind::Changed(hunks) = &change.kind {
                for hunk in hunks {
                    let message =
                        hunk.message.as_ref().map(|message| format!("{message}, ")).unwrap_or_default();
                    lines.push(format!("@@ {message}line {} @@", hunk.line));
                    lines.extend(hunk.old.iter().map(|line| format!("- {line}")));
                    lines.extend(hunk.new.iter().map(|line| format!("+ {line}")));
                    causes.extend(hunk.causes.iter().map(|cause| format!("- `{}`", cause.describe(self))));
                }
            }
            if lines.is_empty() {
                continue;
            }
            // A fence must be longer than any run of backticks inside.
            let body = lines.join("\n");
            let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let _ = write!(text, "\n{fence}diff\n{body}\n{fence}\n");
            if !causes.is_empty() {
                let _ = write!(text, "\n{}\n", causes.join("\n"));
            }
        }
        text
    }
}

fn hunk_json(hunk: &Hunk) -> Value {
    let causes = hunk.causes.iter().map(|cause| {
        let side = if cause.is_old { "old" } else { "new" };
        json!({"side": side, "file": cause.file, "line": cause.line, "what": cause.what})
    });
    json!({
        "message": hunk.message, "line": hunk.line, "old": hunk.old, "new": hunk.new,
        "causes": causes.collect::<Vec<_>>(),
    })
}

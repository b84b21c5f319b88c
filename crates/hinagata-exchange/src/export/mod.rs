//! Writes prompts in the formats of other programs.
//!
//! What the target cannot express is a loss with its place, and stays in the text as it was written.

mod chats;
mod commands;
mod handlebars;
mod keys;
mod pieces;
mod programs;
mod text;
mod turns;

use hinagata_document::{Code, Error, LineColumn, Place, Result};
use hinagata_jinja::ast::Expr;
use serde_json::Value;

use self::pieces::Piece;
use crate::detect::Format;
use crate::prompt::{PortableParameter, PortablePrompt};
use crate::report::{Loss, LossCode, Report};

/// The formats that prompts can be written in.
const TARGETS: [Format; 9] = [
    Format::Dotprompt,
    Format::Prompty,
    Format::Skill,
    Format::Claude,
    Format::ClaudeAgent,
    Format::Langchain,
    Format::Langfuse,
    Format::Github,
    Format::Gemini,
];

/// The names of the formats that prompts can be written in.
#[must_use]
pub fn export_names() -> Vec<&'static str> {
    TARGETS.iter().map(|format| format.as_str()).collect()
}

/// How a prompt is written.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// The format.
    pub format: Format,
    /// Whether a skill tells the agent to call `hina` for its text, so that the prompt stays in one place.
    pub is_live: bool,
    /// Whether a skill is for Claude Code, which replaces `$ARGUMENTS`.
    pub is_for_claude: bool,
}

impl ExportOptions {
    /// Plain files of a format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, is_live: false, is_for_claude: false }
    }
}

/// A prompt in another format.
#[derive(Clone, Debug)]
pub struct ExportedPrompt {
    /// The id.
    pub id: String,
    /// The files by relative path, the prompt first.
    pub files: Vec<(String, String)>,
    /// What could not be written unchanged.
    pub report: Report,
}

/// Writes `prompt`. `include` is the text of a template that another one includes.
///
/// # Errors
/// Code `validation` for a format that cannot be written, or a prompt that breaks a rule of the format, such as a skill
/// without a description; code `render.syntax` for an invalid template.
pub fn export_prompt(
    prompt: &PortablePrompt,
    include: &dyn Fn(&str) -> Option<String>,
    options: &ExportOptions,
) -> Result<ExportedPrompt> {
    if !TARGETS.contains(&options.format) {
        let message = format!("prompts cannot be written as `{}`", options.format.as_str());
        let hint = format!("use one of {}", export_names().join(", "));
        return Err(Error::new(Code::Validation, message).with_hint(hint));
    }
    let mut exporter = Exporter { prompt, include, report: Report::default(), file: prompt.from.clone() };
    let mut files = write_files(&mut exporter, options)?;
    let mut report = exporter.report;
    report.sort();
    if options.format == Format::Skill && !options.is_live {
        let (path, _) = files.first().cloned().unwrap_or_default();
        let directory = path.trim_end_matches("SKILL.md").to_owned();
        files.extend(prompt.files.iter().map(|(name, text)| (format!("{directory}{name}"), text.clone())));
    }
    Ok(ExportedPrompt { id: prompt.id.clone(), files, report })
}

fn write_files(exporter: &mut Exporter<'_>, options: &ExportOptions) -> Result<Vec<(String, String)>> {
    match options.format {
        Format::Dotprompt => programs::write_dotprompt(exporter),
        Format::Prompty => programs::write_prompty(exporter),
        Format::Skill => commands::write_skill(exporter, options),
        Format::Claude => commands::write_claude(exporter),
        Format::ClaudeAgent => commands::write_claude_agent(exporter),
        Format::Langchain => chats::write_langchain(exporter),
        Format::Langfuse => chats::write_langfuse(exporter),
        Format::Github => chats::write_github(exporter),
        Format::Gemini => commands::write_gemini(exporter),
        _ => Ok(Vec::new()),
    }
}

/// A piece of a written template.
#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Tag { text: String, is_block: bool, at: LineColumn },
}

/// A prompt that is being written.
struct Exporter<'e> {
    pub(super) prompt: &'e PortablePrompt,
    pub(super) include: &'e dyn Fn(&str) -> Option<String>,
    report: Report,
    file: String,
}

impl Exporter<'_> {
    pub(super) fn lose(&mut self, code: LossCode, at: LineColumn, what: String, instead: &str) {
        let excerpt: String = what.chars().take(80).collect();
        let instead = instead.to_owned();
        self.report.push(Loss { code, file: self.file.clone(), at, excerpt, what, instead });
    }

    /// Reports a piece that the format cannot express, and returns the text that stands for it.
    pub(super) fn lose_expression(&mut self, piece: &Piece) -> String {
        let first = piece.source.lines().next().unwrap_or_default().to_owned();
        let what = match &piece.kind {
            pieces::PieceKind::Other(what) => format!("`{first}`: {what}"),
            _ => format!("`{first}`"),
        };
        self.lose(LossCode::Expression, piece.at, what, "the text of the tag");
        piece.source.clone()
    }

    pub(super) fn lose_print(&mut self, expression: &Expr) {
        let at = LineColumn { line: expression.span.line, column: 1 };
        let what = "values that are neither strings nor whole numbers print differently".to_owned();
        self.lose(LossCode::Print, at, what, "");
    }

    pub(super) fn lose_truth(&mut self, expression: &Expr) {
        let at = LineColumn { line: expression.span.line, column: 1 };
        self.lose(LossCode::Truth, at, "other values count as true".to_owned(), "");
    }

    pub(super) fn lose_newlines(&mut self, at: LineColumn) {
        self.lose(
            LossCode::Newlines,
            at,
            "whitespace beside a tag that stands alone on its line".to_owned(),
            "",
        );
    }

    /// Reports metadata that the format has no place for.
    pub(super) fn lose_key(&mut self, key: &str) {
        let start = LineColumn { line: 1, column: 1 };
        self.lose(LossCode::Part, start, format!("`{key}`, which the format has no place for"), "");
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&PortableParameter> {
        self.prompt.parameter(name)
    }

    pub(super) fn kind_of(&self, name: &str) -> Option<&'static str> {
        self.parameter(name).and_then(|parameter| parameter.kind)
    }

    /// The name that the format used before the prompt was imported.
    pub(super) fn original_name(&self, name: &str) -> String {
        let alias = self.parameter(name).and_then(|parameter| parameter.aliases.first());
        alias.map_or_else(|| name.to_owned(), Clone::clone)
    }

    /// A text of the header.
    pub(super) fn header_text(&self, key: &str) -> Option<&str> {
        self.prompt.header.get(key).and_then(Value::as_str)
    }

    pub(super) fn syntax_error(&self, file: &str, source: &str, at: LineColumn, message: &str) -> Error {
        Error::new(Code::RenderSyntax, message).at(Place::at_line(file, source, at.line, at.column))
    }
}

//! Makes the sections of a text that are not files: texts of the caller, and of git.

use std::path::Path;

use crate::{
    Error, Result,
    facts::RepositoryFacts,
    form::cut_text,
    git::{ChangeSet, GitText, Repository, Revisions},
    guard::Guard,
    ignored::read_rules_file,
    options::{ContextOptions, TextForm},
    report::{Notice, Report, summarize_paths},
    section::{Section, SectionKind},
    select::Selector,
};

/// Makes sections.
pub(crate) struct Extras<'e> {
    pub(crate) options: &'e ContextOptions,
    /// The base directory, without links.
    pub(crate) base: &'e Path,
    pub(crate) guard: &'e Guard,
    pub(crate) facts: &'e RepositoryFacts,
    pub(crate) selector: &'e Selector<'e>,
}

impl Extras<'_> {
    /// The texts of the caller.
    ///
    /// # Errors
    /// The file of the instruction cannot be read, or may not be.
    pub(crate) fn caller_sections(&self) -> Result<Vec<Section>> {
        let sections = &self.options.sections;
        let header = sections.header.clone().map(|text| self.make_header(text)).transpose()?;
        let instruction =
            sections.instruction.as_deref().map(|file| self.read_instruction(file)).transpose()?;
        Ok([header, instruction].into_iter().flatten().collect())
    }

    fn make_header(&self, text: String) -> Result<Section> {
        let name = SectionKind::Header.as_str();
        let text = self.guard.redact_named(name, text).map_err(|(reason, detail)| Error::Withheld {
            path: name.to_owned(),
            reason,
            detail,
            template: None,
        })?;
        Ok(new_section(SectionKind::Header, text))
    }

    fn read_instruction(&self, file: &str) -> Result<Section> {
        let path = self.base.join(file);
        let failed = |message: String| Error::InstructionFile { file: file.to_owned(), message };
        let text = match read_rules_file(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(failed("the file does not exist".to_owned())),
            Err(error) => return Err(failed(crate::error::system_cause(&error))),
        };
        let refusal = self.guard.refuses_path(&path);
        let text = refusal.map_or_else(|| self.guard.redact_text(&path, text), Err);
        text.map(|text| new_section(SectionKind::Instruction, text)).map_err(|(reason, detail)| {
            Error::Withheld { path: self.guard.display_path(&path), reason, detail, template: None }
        })
    }

    /// The texts of git; the report says what cannot be had.
    ///
    /// # Errors
    /// The revisions of the options are invalid or do not exist.
    pub(crate) fn git_sections(&self, report: &mut Report) -> Result<Vec<Section>> {
        let sections = &self.options.sections;
        let revisions = sections.diff.as_deref().map(parse_revisions).transpose()?;
        if !sections.diffs && sections.logs.is_none() && revisions.is_none() {
            return Ok(Vec::new());
        }
        let (Some(repository), Some(directory)) = (self.facts.repository(), self.facts.inner_path(self.base))
        else {
            report.notices.push(self.without_git());
            return Ok(Vec::new());
        };
        let mut made = Vec::new();
        if let Some(count) = sections.logs {
            let commits = repository.read_commits(count, &directory);
            made.extend(self.git_section(SectionKind::Commits, commits, report));
        }
        let mut changes = Vec::new();
        changes.extend(revisions.map(|revisions| (SectionKind::Changes, ChangeSet::Between(revisions))));
        if sections.diffs {
            changes.push((SectionKind::Staged, ChangeSet::Staged));
            changes.push((SectionKind::Unstaged, ChangeSet::Unstaged));
        }
        for (kind, changes) in changes {
            let text = self.read_changes(repository, &changes, &directory);
            if let (Err(message), ChangeSet::Between(_)) = (&text, &changes) {
                let text = sections.diff.clone().unwrap_or_default();
                return Err(Error::Revisions { text, message: message.clone() });
            }
            made.extend(self.git_section(kind, text, report));
        }
        Ok(made)
    }

    /// The changes of files that may be packed, without their secrets.
    fn read_changes(
        &self,
        repository: &Repository,
        changes: &ChangeSet,
        directory: &str,
    ) -> Result<GitText, String> {
        let keep = |path: &str, changes: &str| {
            let wanted = self.selector.covers(path) && self.guard.refuses_name(path).is_none();
            wanted.then(|| self.guard.redact_named(path, changes.to_owned()).ok()).flatten()
        };
        repository.read_changes(changes, directory, &keep)
    }

    /// The section of a text of git, unless it is empty.
    fn git_section(
        &self,
        kind: SectionKind,
        text: Result<GitText, String>,
        report: &mut Report,
    ) -> Option<Section> {
        let name = kind.as_str();
        let text = match text {
            Ok(text) => text,
            Err(message) => {
                report.notices.push(Notice::new(
                    name,
                    None,
                    format!("the section `{name}` is missing: {message}"),
                ));
                return None;
            }
        };
        if !text.withheld.is_empty() {
            let paths = summarize_paths(&text.withheld);
            report.notices.push(Notice::new(
                name,
                None,
                format!("`{name}` leaves out the changes of {paths}"),
            ));
        }
        let redacted = self.guard.redactor().take_redacted();
        report.redacted.extend(redacted.into_iter().map(|mut file| {
            file.path = format!("{name} of {}", file.path);
            file
        }));
        let content = match kind.is_changes() {
            true => text.text,
            false => self.checked_text(kind, text.text, report)?,
        };
        report.redacted.extend(self.guard.redactor().take_redacted());
        (!content.is_empty()).then_some(Section { kind, text: content, cut: text.truncated })
    }

    /// The text without its secrets, unless they are not redacted.
    fn checked_text(&self, kind: SectionKind, text: String, report: &mut Report) -> Option<String> {
        let name = kind.as_str();
        let (reason, rule) = match self.guard.redact_named(name, text) {
            Ok(text) => return Some(text),
            Err(refusal) => refusal,
        };
        let message = format!("the section `{name}` is left out: {} ({rule})", reason.describe());
        report.notices.push(Notice::new(name, reason, message));
        None
    }

    fn without_git(&self) -> Notice {
        let why = match self.facts.problem() {
            Some(problem) => problem.to_owned(),
            None => "the directory is not in a repository".to_owned(),
        };
        Notice::new("git", None, format!("changes and commits are missing: {why}"))
    }
}

fn new_section(kind: SectionKind, text: String) -> Section {
    Section { kind, text, cut: false }
}

fn parse_revisions(text: &str) -> Result<Revisions> {
    Revisions::parse(text).ok_or_else(|| Error::Revisions {
        text: text.to_owned(),
        message: "expected two revisions, such as main..HEAD".to_owned(),
    })
}

impl Section {
    /// The section with the start and the end of its text that `fits`; `None` if nothing fits.
    pub(crate) fn cut_to(&self, fits: &dyn Fn(&Self) -> bool) -> Option<Self> {
        let cut = |text: &str| Self { kind: self.kind, text: text.to_owned(), cut: true };
        let text = cut_text(&self.text, TextForm::default(), &|text| fits(&cut(text)))?;
        Some(cut(&text))
    }
}

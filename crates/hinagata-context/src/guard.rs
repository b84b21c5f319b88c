//! Decides which named files may be read into a text.
//!
//! Walks apply the same rules while they list directories; a guard checks one path at a time: template files, their
//! includes, plain paths of a list. It checks the path as written and the target of its links, so that no link can hide
//! a secret under another name.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use hinagata_secrets::{OmittedText, Redactor, SecretAction, SecretPolicy};

use crate::{
    glob::expand_braces,
    ignored::Ignored,
    options::{ContextOptions, Rules},
    report::LeftOutReason,
};

/// Why a file may not be read: the rule and the details.
pub(crate) type Refusal = (LeftOutReason, String);

/// Decides which named files may be read into a text, and redacts their secrets. Clones belong to the same output.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    rules: Rules,
    redactor: Redactor,
    /// The directory that no link may leave, as written.
    written: PathBuf,
    /// The same directory with its links resolved.
    real: PathBuf,
}

impl Guard {
    /// A guard that applies `rules` and refuses links that lead out of `wall`. It refuses files with secrets, unless
    /// [`Guard::with_secrets`] says otherwise.
    #[must_use]
    pub fn new(rules: Rules, wall: &Path) -> Self {
        Self {
            rules,
            redactor: Redactor::new(SecretPolicy::default().with_action(SecretAction::Omit)),
            written: plain_path(wall),
            real: wall.canonicalize().unwrap_or_else(|_| plain_path(wall)),
        }
    }

    /// Treats secrets as `policy` says; if it redacts them, [`Guard::redactor`] has the record.
    #[must_use]
    pub fn with_secrets(self, policy: SecretPolicy) -> Self {
        Self { redactor: Redactor::new(policy), ..self }
    }

    /// The same guard for another output.
    #[must_use]
    pub fn for_output(&self) -> Self {
        self.clone().with_secrets(self.redactor.policy().clone())
    }

    /// Redacts the secrets of one output, and records them.
    #[must_use]
    pub const fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Redacts the secrets of one output, if the rules say so.
    pub(crate) fn active_redactor(&self) -> Option<&Redactor> {
        self.rules.secrets.then_some(&self.redactor)
    }

    /// The rule by which the file at `path`, from the packed directory, must not be read.
    pub(crate) fn refuses_name(&self, path: &str) -> Option<&str> {
        self.active_redactor().and_then(|redactor| redactor.refuses_name(path))
    }

    /// The content of the file at `path` without its secrets.
    ///
    /// # Errors
    /// Why the file may not be read: the rule and the details.
    pub fn redact_file(&self, path: &Path, content: Vec<u8>) -> Result<Vec<u8>, (LeftOutReason, String)> {
        match self.refuses_path(path) {
            Some(refusal) => Err(refusal),
            None if !self.rules.secrets => Ok(content),
            None => self
                .redactor
                .redact_bytes(&self.display_path(path), content)
                .map_err(|omitted| secret_refusal(&omitted)),
        }
    }

    /// The text of the file at `path`, which may be read, without its secrets.
    pub(crate) fn redact_text(&self, path: &Path, text: String) -> Result<String, Refusal> {
        self.redact_named(&self.display_path(path), text)
    }

    /// A text without its secrets; `name` says what it is.
    pub(crate) fn redact_named(&self, name: &str, text: String) -> Result<String, Refusal> {
        match self.active_redactor() {
            Some(redactor) => redactor.redact_text(name, text).map_err(|omitted| secret_refusal(&omitted)),
            None => Ok(text),
        }
    }

    /// Why the file at `path` may not be read, by its name and links alone; `None` for a missing file.
    pub(crate) fn refuses_path(&self, path: &Path) -> Option<Refusal> {
        let path = plain_path(path);
        let real = path.canonicalize().ok()?;
        if self.is_outside(&path, &real) {
            return Some((LeftOutReason::Outside, "a link leads out of the project".to_owned()));
        }
        if let Some(rule) = self.secret_name(&path).or_else(|| self.secret_name(&real)) {
            return Some((LeftOutReason::Secret, rule));
        }
        let ignored =
            self.rules.strict && self.rules.ignore_files && Ignored::is_path_ignored(&self.real, &real);
        ignored.then(|| (LeftOutReason::Ignored, "an ignore file excludes it".to_owned()))
    }

    /// Whether `path` is inside the boundary as written, but links lead out of it.
    pub(crate) fn is_link_outside(&self, path: &Path) -> bool {
        let path = plain_path(path);
        path.canonicalize().is_ok_and(|real| self.is_outside(&path, &real))
    }

    fn is_outside(&self, path: &Path, real: &Path) -> bool {
        let written_inside = path.starts_with(&self.written) || path.starts_with(&self.real);
        self.rules.outside && written_inside && !real.starts_with(&self.real)
    }

    fn secret_name(&self, path: &Path) -> Option<String> {
        if !self.rules.secrets {
            return None;
        }
        self.redactor.refuses_name(&self.display_path(path)).map(str::to_owned)
    }

    /// The path for messages: relative to the boundary if it is inside.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let inner = path.strip_prefix(&self.written).or_else(|_| path.strip_prefix(&self.real));
        slash_path(inner.unwrap_or(path))
    }
}

impl ContextOptions {
    /// The guard for files that templates and authors name.
    #[must_use]
    pub fn guard(&self) -> Guard {
        let wall = self.wall.as_deref().unwrap_or(&self.base);
        Guard::new(self.rules, wall).with_secrets(self.secrets.clone())
    }
}

fn secret_refusal(omitted: &OmittedText) -> Refusal {
    (LeftOutReason::Secret, omitted.to_string())
}

fn slash_path(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Whether a path or pattern, as written, leads out of the directory that it starts at. Checks every expansion of
/// braces.
#[must_use]
pub fn leads_out(pattern: &str) -> bool {
    let climbs = |path: &String| {
        Path::new(path).has_root()
            || Path::new(path).is_absolute()
            || path.split(['/', '\\']).any(|part| part == "..")
    };
    expand_braces(pattern.trim_start_matches('!')).map_or(true, |paths| paths.iter().any(climbs))
}

/// `path` with its links resolved; `None` if nothing exists there.
pub(crate) fn existing_path(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The path without `.` components, and with `..` resolved lexically.
pub(crate) fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_seen_through_braces() {
        for pattern in [
            "../x",
            "a/../../x",
            "/etc/*",
            "{../x,y}/*.md",
            "{a,{b,..}}/c",
            "!../x",
            "a/{..,b}/../c",
            "{,/etc/}x",
        ] {
            assert!(leads_out(pattern), "{pattern}");
        }
        for pattern in ["x", "a/b/*.md", "{a,b}/c..d", "...", "./x", "!(a)/b"] {
            assert!(!leads_out(pattern), "{pattern}");
        }
    }
}

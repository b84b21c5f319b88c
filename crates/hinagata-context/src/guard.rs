//! Files that somebody names: which of them may enter a text.
//!
//! Walks ask the same rules as they go; this is for one path at a time: the files of templates, what they include,
//! plain paths of a list. A path is judged by how it is written and by what it leads to, so that no link gives a secret
//! another name.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use hinagata_secrets::Secrets;

use crate::{
    glob::expand_braces,
    ignored::Ignored,
    options::{ContextOptions, Rules},
    report::Reason,
};

/// Why a file may not enter a text: the rule, and what exactly.
pub(crate) type Refusal = (Reason, String);

/// What keeps files out of a text that somebody names.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    rules: Rules,
    /// The directory that no link leads out of, as it is written.
    written: PathBuf,
    /// The same, without links.
    real: PathBuf,
}

impl Guard {
    /// A guard that asks `rules`, and lets no link lead out of `wall`.
    #[must_use]
    pub fn new(rules: Rules, wall: &Path) -> Self {
        Self {
            rules,
            written: plain_path(wall),
            real: wall.canonicalize().unwrap_or_else(|_| plain_path(wall)),
        }
    }

    /// Why the file at `path`, which holds `content`, may not enter a text: the rule, and what exactly.
    #[must_use]
    pub fn refuses_file(&self, path: &Path, content: &[u8]) -> Option<(Reason, String)> {
        self.refuses_path(path).or_else(|| self.refuses_content(content))
    }

    /// Why the file at `path` may not enter a text, as far as its name and links tell; nothing for a file that is not
    /// there.
    pub(crate) fn refuses_path(&self, path: &Path) -> Option<Refusal> {
        let path = plain_path(path);
        let real = path.canonicalize().ok()?;
        if self.is_outside(&path, &real) {
            return Some((Reason::Outside, "a link leads out of the project".to_owned()));
        }
        if let Some(rule) = self.secret_name(&path).or_else(|| self.secret_name(&real)) {
            return Some((Reason::Secret, rule.to_owned()));
        }
        let ignored =
            self.rules.strict && self.rules.ignore_files && Ignored::is_path_ignored(&self.real, &real);
        ignored.then(|| (Reason::Ignored, "an ignore file excludes it".to_owned()))
    }

    /// Why what stands in a file may not enter a text.
    pub(crate) fn refuses_content(&self, content: &[u8]) -> Option<Refusal> {
        let rule = self.rules.secrets.then(|| Secrets::built_in().in_content(content)).flatten()?;
        Some((Reason::Secret, rule.to_owned()))
    }

    /// Whether links make `path`, which is written as one within the wall, lead out of it.
    pub(crate) fn is_link_outside(&self, path: &Path) -> bool {
        let path = plain_path(path);
        path.canonicalize().is_ok_and(|real| self.is_outside(&path, &real))
    }

    fn is_outside(&self, path: &Path, real: &Path) -> bool {
        let written_inside = path.starts_with(&self.written) || path.starts_with(&self.real);
        self.rules.outside && written_inside && !real.starts_with(&self.real)
    }

    fn secret_name(&self, path: &Path) -> Option<&'static str> {
        if !self.rules.secrets {
            return None;
        }
        let inner = path.strip_prefix(&self.real).or_else(|_| path.strip_prefix(&self.written));
        Secrets::built_in().in_name(&slash_path(inner.unwrap_or(path)))
    }

    /// The path as people know it: from the wall, where it lies within.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let inner = path.strip_prefix(&self.written).or_else(|_| path.strip_prefix(&self.real));
        slash_path(inner.unwrap_or(path))
    }
}

impl ContextOptions {
    /// What keeps files out that templates and authors name.
    #[must_use]
    pub fn guard(&self) -> Guard {
        Guard::new(self.rules, self.wall.as_deref().unwrap_or(&self.base))
    }
}

fn slash_path(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Whether a path or pattern leads out of the directory it starts at, as it is written; a brace can hide that.
#[must_use]
pub fn leads_out(pattern: &str) -> bool {
    let climbs = |path: &String| {
        Path::new(path).has_root()
            || Path::new(path).is_absolute()
            || path.split(['/', '\\']).any(|part| part == "..")
    };
    expand_braces(pattern.trim_start_matches('!')).map_or(true, |paths| paths.iter().any(climbs))
}

/// What is at `path` without links; nothing where there is nothing.
pub(crate) fn existing_path(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A path without `.` and `..` in its middle.
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

//! Texts of git for the context: changes and commits.

use super::Repository;

/// Most bytes of a text of git; a longer one is cut.
const TEXT_LIMIT: u64 = 8 << 20;

/// The start of the changes of one file.
const FILE_START: &str = "diff --git ";

/// Two commits to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revisions {
    from: String,
    to: String,
    /// Whether the changes start at the common ancestor of both.
    since_fork: bool,
}

impl Revisions {
    /// Reads `FROM..TO` or `FROM...TO`; a missing side is `HEAD`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (from, to, since_fork) = match text.split_once("...") {
            Some((from, to)) => (from, to, true),
            None => text.split_once("..").map(|(from, to)| (from, to, false))?,
        };
        let side = |name: &str| if name.is_empty() { "HEAD" } else { name }.to_owned();
        let is_plain = |name: &str| !name.starts_with('-') && !name.contains("..") && !name.contains('\0');
        (text.len() > 3 && is_plain(from) && is_plain(to)).then(|| Self {
            from: side(from),
            to: side(to),
            since_fork,
        })
    }
}

/// Changes to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeSet {
    /// Changes of tracked files that are not staged.
    Unstaged,
    /// Changes that are staged.
    Staged,
    /// Changes between two commits.
    Between(Revisions),
}

/// A text of git.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GitText {
    pub(crate) text: String,
    /// Whether the text is cut at its limit.
    pub(crate) truncated: bool,
    /// Files whose changes are not in the text.
    pub(crate) withheld: Vec<String>,
}

impl Repository {
    /// The changes of the files below `directory`, a path from the top directory. `keep` is asked for the text of each
    /// file, with its path and its changes. Paths in the text start at `directory`.
    ///
    /// # Errors
    /// A message: git failed, or a revision does not exist.
    pub(crate) fn read_changes(
        &self,
        changes: &ChangeSet,
        directory: &str,
        keep: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Result<GitText, String> {
        let mut arguments: Vec<String> =
            ["--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all"]
                .map(str::to_owned)
                .to_vec();
        arguments.extend(["--src-prefix=a/".to_owned(), "--dst-prefix=b/".to_owned()]);
        arguments.extend(relative_to(directory));
        match changes {
            ChangeSet::Unstaged => {}
            ChangeSet::Staged => arguments.push("--cached".to_owned()),
            ChangeSet::Between(revisions) => {
                let dots = if revisions.since_fork { "..." } else { ".." };
                let (from, to) = (self.existing(&revisions.from)?, self.existing(&revisions.to)?);
                arguments.push(format!("{from}{dots}{to}"));
            }
        }
        arguments.push("--".to_owned());
        let output = self.command("diff", TEXT_LIMIT).args(arguments).run()?;
        let text = String::from_utf8_lossy(&output.bytes);
        Ok(keep_wanted(whole_lines(&text, output.truncated), output.truncated, keep))
    }

    /// The last `count` commits that changed something below `directory`: hash, day, subject and files.
    ///
    /// # Errors
    /// A message: git failed.
    pub(crate) fn read_commits(&self, count: usize, directory: &str) -> Result<GitText, String> {
        if self.head.is_none() {
            return Ok(GitText::default());
        }
        let mut arguments = vec![format!("--max-count={count}")];
        let fixed = ["--no-color", "--no-ext-diff", "--no-renames", "--no-mailmap", "--encoding=UTF-8"];
        arguments.extend(fixed.map(str::to_owned));
        arguments.extend(["--name-only", "--format=%x00%h %as %s"].map(str::to_owned));
        arguments.extend(relative_to(directory));
        arguments.extend(["HEAD".to_owned(), "--".to_owned()]);
        arguments.push(if directory.is_empty() { ".".to_owned() } else { directory.to_owned() });
        let output = self.command("log", TEXT_LIMIT).args(arguments).run()?;
        let text = String::from_utf8_lossy(&output.bytes);
        let text = list_commits(whole_lines(&text, output.truncated));
        Ok(GitText { text, truncated: output.truncated, withheld: Vec::new() })
    }

    fn existing(&self, revision: &str) -> Result<String, String> {
        self.resolve(revision)?.ok_or_else(|| format!("unknown revision `{revision}`"))
    }
}

/// Shows only files below `directory`, with paths that start there.
fn relative_to(directory: &str) -> Option<String> {
    (!directory.is_empty()).then(|| format!("--relative={directory}/"))
}

/// `text` without its last line, if that may be cut.
fn whole_lines(text: &str, truncated: bool) -> &str {
    match truncated {
        true => text.rfind('\n').map_or("", |end| &text[..=end]),
        false => text,
    }
}

/// Commits, one line each, with the files below it.
fn list_commits(text: &str) -> String {
    let mut listed = String::new();
    for commit in text.split('\0') {
        let mut lines = commit.lines().filter(|line| !line.is_empty());
        let Some(subject) = lines.next() else { continue };
        listed.push_str(subject);
        listed.push('\n');
        for file in lines {
            listed.push_str("  ");
            listed.push_str(file);
            listed.push('\n');
        }
    }
    listed
}

/// The changes that `keep` returns for each file.
fn keep_wanted(text: &str, truncated: bool, keep: &dyn Fn(&str, &str) -> Option<String>) -> GitText {
    let mut kept = GitText { truncated, ..GitText::default() };
    for part in file_parts(text) {
        let path = changed_path(part);
        // A name that cannot be read cannot be checked.
        match path.as_deref().and_then(|path| keep(path, part)) {
            Some(changes) => kept.text.push_str(&changes),
            None => {
                let first_line = || part.lines().next().unwrap_or_default().to_owned();
                kept.withheld.push(path.unwrap_or_else(first_line));
            }
        }
    }
    kept
}

/// The changes of each file.
fn file_parts(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(FILE_START) {
            starts.push(place);
        }
        place += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

/// The path in the first line of a part: it names the same file twice, because renames are not looked for.
fn changed_path(part: &str) -> Option<String> {
    let line = part.lines().next()?.strip_prefix(FILE_START)?;
    let (left, right) = line.split_at_checked(line.len() / 2)?;
    let right = right.strip_prefix(' ')?;
    match left.strip_prefix('"') {
        None => {
            let path = left.strip_prefix("a/")?;
            (right.strip_prefix("b/")? == path).then(|| path.to_owned())
        }
        Some(quoted) => {
            let path = quoted.strip_suffix('"')?.strip_prefix("a/")?;
            (right == format!("\"b/{path}\"")).then(|| unquote(path)).flatten()
        }
    }
}

/// A name as git quotes it in C's manner, without the quotes.
fn unquote(quoted: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            first @ b'0'..=b'3' => {
                let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then_some(byte - b'0');
                digit(first)? * 64 + digit(rest.next()?)? * 8 + digit(rest.next()?)?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_revisions_are_read_with_two_or_three_dots() {
        let revisions = |from: &str, to: &str, since_fork| {
            Some(Revisions { from: from.to_owned(), to: to.to_owned(), since_fork })
        };
        assert_eq!(Revisions::parse("v1..v2"), revisions("v1", "v2", false));
        assert_eq!(Revisions::parse("main...topic"), revisions("main", "topic", true));
        assert_eq!(Revisions::parse("HEAD~3.."), revisions("HEAD~3", "HEAD", false));
        for wrong in ["", "..", "...", "main", "--output=x..y", "a..-x", "a..b..c"] {
            assert_eq!(Revisions::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_path_of_a_part_is_read_whatever_it_is_called() {
        for (line, path) in [
            ("diff --git a/src/x.rs b/src/x.rs", Some("src/x.rs")),
            ("diff --git a/a b/b.md b/a b/b.md", Some("a b/b.md")),
            ("diff --git \"a/x\\ty\\303\\251\" \"b/x\\ty\\303\\251\"", Some("x\ty\u{e9}")),
            ("diff --git a/x b/y", None),
            ("diff --git", None),
        ] {
            assert_eq!(changed_path(line).as_deref(), path, "{line}");
        }
    }

    #[test]
    fn changes_of_unwanted_files_are_left_out_and_named() {
        let text = "diff --git a/.env b/.env\n+A=1\ndiff --git a/x b/x\n+diff --git a/y b/y\n";
        let kept = keep_wanted(text, false, &|path, part| (path != ".env").then(|| part.to_owned()));
        assert_eq!(kept.text, "diff --git a/x b/x\n+diff --git a/y b/y\n");
        assert_eq!(kept.withheld, [".env"]);
    }

    #[test]
    fn commits_are_listed_with_their_files() {
        let text = "\0a1 2026-01-02 One\n\nsrc/x.rs\n\0b2 2026-01-01 Two\n";
        assert_eq!(list_commits(text), "a1 2026-01-02 One\n  src/x.rs\nb2 2026-01-01 Two\n");
    }
}

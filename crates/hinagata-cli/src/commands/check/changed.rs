//! The files that differ from a revision of git.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::failure::Failure;

/// The files beneath `root` that differ from `revision`, as paths from `root`: changed, added, removed and untracked.
pub(super) fn files_since(root: &Path, revision: &str) -> Result<Vec<String>, Failure> {
    if revision.starts_with('-') {
        return Err(Failure::usage_error(format!("`{revision}` is not a revision")));
    }
    let mut files =
        run_git(root, &["diff", "--name-only", "--no-renames", "--relative", "-z", revision, "--"])?;
    files.extend(run_git(root, &["ls-files", "--others", "--exclude-standard", "-z"])?);
    files.sort();
    files.dedup();
    Ok(files)
}

/// What `git` lists, separated by zero bytes. Settings of the repository cannot make it start other programs.
fn run_git(root: &Path, arguments: &[&str]) -> Result<Vec<String>, Failure> {
    let safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external="];
    let output = Command::new("git")
        .args(safe)
        .args(arguments.first())
        .args(if arguments.first() == Some(&"diff") { &["--no-ext-diff", "--no-textconv"][..] } else { &[] })
        .args(arguments.get(1..).unwrap_or_default())
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::system_error(format!("cannot run git: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().next().unwrap_or("it failed").trim().to_owned();
        return Err(Failure::usage_error(format!("git cannot list the changed files: {line}"))
            .with_hint("`--changed` needs a repository of git and a revision of it, such as HEAD or main"));
    }
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

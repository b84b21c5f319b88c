//! Which cases run.

use std::{collections::BTreeSet, path::Path};

use hinagata::{Catalog, Engine};
use hinagata_context::RevisionReader;
use hinagata_test::{CaseFile, FoundCases, TESTS, find_cases};

use super::Arguments;
use crate::{
    failure::Failure,
    workspace::{Workspace, current_directory},
};

/// One of several parts of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    index: usize,
    count: usize,
}

/// Reads `1/4`.
pub(super) fn parse_shard(text: &str) -> Result<Shard, String> {
    let parsed =
        text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index, count }),
        _ => Err("write it like 1/4".to_owned()),
    }
}

/// What a call selects.
pub(super) struct Selection<'s> {
    arguments: &'s Arguments,
    workspace: &'s Workspace,
    engine: &'s Engine,
    catalog: Catalog,
    targets: Vec<Target>,
}

/// Something that the call names.
enum Target {
    /// A prompt, by the directories of its candidates.
    Prompt(Vec<String>),
    /// A directory or file of the workspace, as a path from its root.
    Path(String),
    /// A test file outside of prompts, with its path as the call has it.
    File { name: String, text: String },
}

impl<'s> Selection<'s> {
    pub(super) fn new(
        arguments: &'s Arguments,
        workspace: &'s Workspace,
        engine: &'s Engine,
    ) -> Result<Self, Failure> {
        let catalog = engine.catalog();
        let targets: Result<Vec<Target>, Failure> =
            arguments.targets.iter().map(|target| read_target(workspace, &catalog, target)).collect();
        Ok(Self { arguments, workspace, engine, catalog, targets: targets? })
    }

    /// Whether the call leaves out some cases of a file.
    pub(super) fn is_partial(&self) -> bool {
        !self.arguments.filter.is_empty() || self.arguments.shard.is_some()
    }

    /// The test files that the targets name.
    pub(super) fn find_cases(&self) -> Result<FoundCases, Failure> {
        let is_wanted = |source: &str| {
            self.targets.is_empty()
                || self.targets.iter().any(|target| match target {
                    Target::Prompt(sources) => sources.iter().any(|one| one == source),
                    Target::Path(path) => is_beneath(source, path) || is_beneath(path, source),
                    Target::File { .. } => false,
                })
        };
        let mut found = find_cases(&self.catalog, is_wanted);
        if !self.targets.is_empty() {
            let is_named = |file: &str| {
                self.targets.iter().any(|target| match target {
                    Target::Prompt(sources) => sources.iter().any(|source| is_beneath(file, source)),
                    Target::Path(path) => is_beneath(file, path),
                    Target::File { .. } => false,
                })
            };
            found.files.retain(|file| is_named(&file.file));
            found.problems.retain(|problem| problem.place().is_none_or(|place| is_named(&place.file)));
        }
        for target in &self.targets {
            if let Target::File { name, text } = target {
                found.add_text(name, text, None);
            }
        }
        Ok(found)
    }

    /// The cases that the options select.
    pub(super) fn select_cases(&self, mut files: Vec<CaseFile>) -> Result<Vec<CaseFile>, Failure> {
        if let Some(revision) = &self.arguments.changed {
            let changed = self.changed_files(revision)?;
            files.retain(|file| self.is_changed(file, &changed));
        }
        let filters = &self.arguments.filter;
        for file in &mut files {
            let CaseFile { file, prompt, cases, .. } = file;
            cases.retain(|case| {
                let is_match = |filter: &String| {
                    case.name.contains(filter.as_str())
                        || file.contains(filter.as_str())
                        || prompt.contains(filter.as_str())
                };
                filters.is_empty() || filters.iter().any(is_match)
            });
        }
        if let Some(Shard { index, count }) = self.arguments.shard {
            let mut number = 0;
            for file in &mut files {
                file.cases.retain(|_| {
                    number += 1;
                    (number - 1) % count == index - 1
                });
            }
        }
        files.retain(|file| !file.cases.is_empty());
        Ok(files)
    }

    /// The files that changed since a revision, as paths from the workspace root.
    fn changed_files(&self, revision: &str) -> Result<BTreeSet<String>, Failure> {
        let failed = |message: String| Failure::usage_error(format!("`--changed`: {message}"));
        let reader = RevisionReader::open(&self.workspace.host.root.path).map_err(failed)?;
        let commit = reader.find_commit(revision).map_err(failed)?;
        let paths = reader.list_changed(&commit).map_err(failed)?;
        let prefix = reader.prefix();
        let inside = |path: String| match prefix {
            "" => Some(path),
            prefix => path.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned),
        };
        Ok(paths.into_iter().filter_map(inside).collect())
    }

    /// Whether a file that the cases depend on changed: their prompt and what it includes, or anything beside them.
    fn is_changed(&self, file: &CaseFile, changed: &BTreeSet<String>) -> bool {
        let directory = file.file.rsplit_once('/').map_or("", |(directory, _)| directory);
        let directory = directory.strip_suffix(TESTS).unwrap_or(directory).trim_end_matches('/');
        let is_near = |path: &String| !directory.is_empty() && is_beneath(path, directory);
        let of_prompt = self.engine.definition_files(&file.prompt);
        // The files of a prompt that cannot be read are unknown, so its cases run.
        changed.contains(&file.file)
            || changed.iter().any(is_near)
            || of_prompt.map_or(true, |files| files.iter().any(|file| changed.contains(file)))
            || changed.iter().any(|path| is_setting(path))
    }
}

/// Whether a file can change every prompt.
fn is_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "hinagata.toml" | "defaults.json" | "resolution.json" | "vocab.json")
}

fn read_target(workspace: &Workspace, catalog: &Catalog, target: &str) -> Result<Target, Failure> {
    let path = current_directory().join(target);
    if !path.exists() {
        let entries = catalog.candidate_entries(target).map_err(|error| match error.code() {
            hinagata::Code::NotFound => {
                Failure::not_found(format!("neither a file nor a prompt is called `{target}`"))
                    .with_near(error.near().to_vec())
            }
            _ => Failure::from(error),
        })?;
        return Ok(Target::Prompt(entries.iter().map(|entry| entry.source().to_owned()).collect()));
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (real_path, root) = (real(&path), real(&workspace.host.root.path));
    let relative = real_path.strip_prefix(&root).ok().map(|path| path.to_string_lossy().replace('\\', "/"));
    if let Some(relative) = relative {
        let is_known = catalog.roots().iter().any(|index| {
            is_beneath(&relative, &index.root.prefix) || is_beneath(&index.root.prefix, &relative)
        });
        let is_file = real_path.is_file();
        let is_test = relative.rsplit_once('/').is_some_and(|(directory, _)| directory.ends_with("/tests"));
        if is_known && (!is_file || is_test) {
            return Ok(Target::Path(relative));
        }
    }
    if path.is_dir() {
        return Err(Failure::not_found(format!("`{target}` has no prompts of this workspace"))
            .with_hint("add the directory to `catalog.paths` in hinagata.toml, or name files"));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::system_error(format!("cannot read `{target}`: {error}")))?;
    // Snapshots and recordings are beside the file.
    Ok(Target::File { name: real_path.to_string_lossy().replace('\\', "/"), text })
}

fn is_beneath(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    directory.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!(parse_shard("2/4"), Ok(Shard { index: 2, count: 4 }));
        for text in ["0/4", "5/4", "1", "a/b", "1/0"] {
            assert!(parse_shard(text).is_err(), "{text}");
        }
    }
}

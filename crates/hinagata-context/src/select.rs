//! Selects the files that patterns name, in order.

use std::{collections::HashSet, io, path::Path};

use crate::{
    error::{Result, system_cause},
    guard::Guard,
    options::Rules,
    report::{Entry, LeftOutReason, Notice},
    selection::{Excluded, Selection},
    walk::{FoundFile, Walker, leads_out, leads_outside, outside_entry},
};

/// The files that patterns name, and entries that the search left out.
#[derive(Debug, Default)]
pub(crate) struct SelectedFiles {
    pub(crate) files: Vec<FoundFile>,
    pub(crate) left_out: Vec<Entry>,
    pub(crate) unmatched: Vec<String>,
    /// Paths without wildcards.
    pub(crate) named: Vec<String>,
    pub(crate) notices: Vec<Notice>,
}

/// Selects the files below `base`, a path without links, that match `include` and not `exclude`.
pub(crate) fn select_files(
    base: &Path,
    include: &[String],
    exclude: &[String],
    rules: Rules,
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<SelectedFiles> {
    let selection = Selection::new(include)?;
    let excluded = Excluded::new(exclude.iter().chain(&selection.negated), rules.builtin)?;
    let mut selected = SelectedFiles { named: selection.paths.clone(), ..SelectedFiles::default() };
    let guard = Guard::new(rules, base);
    for path in &selection.paths {
        selected.add_named(path, base, &excluded, rules, &guard);
    }
    let walker = Walker {
        base,
        excluded: &excluded,
        ignore_files: rules.ignore_files,
        strict: rules.strict,
        confined: rules.outside,
        threads,
        progress,
    };
    for walk in &selection.walks {
        if !walk.directory.is_empty() && excluded.is_below_excluded(&walk.directory) {
            let path = format!("{}/", walk.directory);
            selected.left_out.push(Entry::left_out(path, LeftOutReason::Excluded, None));
            continue;
        }
        let walked = walker.find_files(walk);
        selected.files.extend(walked.files);
        selected.left_out.extend(walked.left_out);
    }
    selected.unmatched.extend(selection.unmatched().map(str::to_owned));
    // A single walk finds no path twice.
    if selection.paths.len() + selection.walks.len() > 1 {
        remove_duplicates(&mut selected);
    }
    Ok(selected)
}

impl SelectedFiles {
    /// Adds the file at `path`, which is named without wildcards.
    fn add_named(&mut self, path: &str, base: &Path, excluded: &Excluded, rules: Rules, guard: &Guard) {
        let full = base.join(path);
        match full.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let message = format!(
                    "`{path}` is a directory; use `{}/**` to include its files",
                    path.trim_end_matches('/')
                );
                self.notices.push(Notice::new(path, None, message));
            }
            Ok(metadata) if !metadata.is_file() => {
                self.left_out.push(Entry::left_out(
                    path,
                    LeftOutReason::Unreadable,
                    "not a regular file".to_owned(),
                ));
            }
            Ok(_) if excluded.is_path_excluded(path) => {
                self.left_out.push(Entry::left_out(path, LeftOutReason::Excluded, None));
            }
            Ok(_) if rules.outside && !leads_out(path) && leads_outside(&full, base) => {
                self.left_out.push(outside_entry(path.to_owned()));
            }
            Ok(_) => {
                match guard.refuses_path(&full).filter(|(reason, _)| *reason == LeftOutReason::Ignored) {
                    Some((reason, _)) => self.left_out.push(Entry::left_out(path, reason, None)),
                    None => self.files.push(FoundFile { path: path.to_owned(), real: None, linked: true }),
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                self.unmatched.push(path.to_owned());
            }
            Err(error) => {
                self.left_out.push(Entry::left_out(path, LeftOutReason::Unreadable, system_cause(&error)));
            }
        }
    }
}

/// Keeps the first occurrence of each path.
fn remove_duplicates(selected: &mut SelectedFiles) {
    let mut seen: HashSet<String> = HashSet::new();
    selected.files.retain(|file| seen.insert(file.path.clone()));
    let mut reported: HashSet<String> = HashSet::new();
    selected.left_out.retain(|entry| !seen.contains(&entry.path) && reported.insert(entry.path.clone()));
}

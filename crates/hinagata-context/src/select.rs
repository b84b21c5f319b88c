//! From patterns to the list of files, in their order.

use std::{collections::HashSet, path::Path};

use crate::{
    Result,
    options::Rules,
    report::{Entry, Reason},
    selection::{Excluded, Selection},
    walk::{Found, Walker, leads_out, leaves, outside},
};

/// The files that patterns name, and what was left out while looking for them.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) files: Vec<Found>,
    pub(crate) left_out: Vec<Entry>,
    pub(crate) unmatched: Vec<String>,
}

/// The files below `base`, a real path, that `include` names and `exclude` does not.
pub(crate) fn select(
    base: &Path,
    include: &[String],
    exclude: &[String],
    rules: Rules,
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Selected> {
    let selection = Selection::new(include)?;
    let excluded = Excluded::new(exclude.iter().chain(&selection.negated), rules.builtin)?;
    let mut selected = Selected::default();
    for path in &selection.paths {
        match base.join(path).metadata() {
            Ok(metadata) if !metadata.is_file() => selected.unmatched.push(path.clone()),
            Ok(_) if excluded.path(path) => {
                selected.left_out.push(Entry::left_out(path, Reason::Excluded, None));
            }
            Ok(_) if rules.outside && !leads_out(path) && leaves(&base.join(path), base) => {
                selected.left_out.push(outside(path.clone()));
            }
            Ok(_) => selected.files.push(Found { path: path.clone(), real: None }),
            Err(_) => selected.unmatched.push(path.clone()),
        }
    }
    let walker = Walker {
        base,
        excluded: &excluded,
        ignore_files: rules.ignore_files,
        confined: rules.outside,
        threads,
        progress,
    };
    for walk in &selection.walks {
        if !walk.directory.is_empty() && excluded.inside(&walk.directory) {
            let path = format!("{}/", walk.directory);
            selected.left_out.push(Entry::left_out(path, Reason::Excluded, None));
            continue;
        }
        let walked = walker.walk(walk);
        selected.files.extend(walked.files);
        selected.left_out.extend(walked.left_out);
    }
    selected.unmatched.extend(selection.unmatched().map(str::to_owned));
    // One walk never finds a path twice.
    if selection.paths.len() + selection.walks.len() > 1 {
        once(&mut selected);
    }
    Ok(selected)
}

/// Leaves each path once, where it came first.
fn once(selected: &mut Selected) {
    let mut seen: HashSet<String> = HashSet::new();
    selected.files.retain(|file| seen.insert(file.path.clone()));
    let mut told: HashSet<String> = HashSet::new();
    selected.left_out.retain(|entry| !seen.contains(&entry.path) && told.insert(entry.path.clone()));
}

//! `hina check --fix`: changes of files that remove findings.

use std::{collections::BTreeMap, fs};

use hinagata::{
    Catalog,
    source::RootKind,
    write::{Readers, replace_file},
};
use hinagata_check::{Finding, Fix, apply_fixes, find_fix};

use crate::{failure::Failure, output, workspace::Workspace};

/// Changes the user's own files, and reports each change. Returns whether there was one.
pub(super) fn apply_to_files(
    workspace: &Workspace,
    catalog: &Catalog,
    findings: &[Finding],
    with_unsafe: bool,
) -> Result<bool, Failure> {
    let mut by_file: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| is_own_file(catalog, finding.file())) {
        by_file.entry(finding.file()).or_default().push(finding);
    }
    let (mut applied, mut left) = (0, 0);
    for (file, findings) in by_file {
        let path = workspace.host.root.path.join(file);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                output::print_status(&format!("{}: not fixed: {error}\n", workspace.display_path(file)));
                continue;
            }
        };
        let fixes: Vec<Fix> = findings.iter().filter_map(|finding| find_fix(finding, &text)).collect();
        let (chosen, others): (Vec<Fix>, Vec<Fix>) =
            fixes.into_iter().partition(|fix| fix.is_safe || with_unsafe);
        left += others.len();
        let (changed, count) = apply_fixes(&text, &chosen);
        if count > 0 {
            replace_file(&path, changed.as_bytes(), Readers::AsUsual)?;
            let titles: Vec<&str> = chosen.iter().map(|fix| fix.title.as_str()).collect();
            output::print_status(&format!("{}: {}\n", workspace.display_path(file), titles.join(", ")));
        }
        applied += count;
    }
    if left > 0 {
        output::print_status(&format!("{left} more with --unsafe, which change what is rendered\n"));
    }
    Ok(applied > 0)
}

/// Whether a file is in a source root that belongs to the user, not to a pack, a library or the store.
fn is_own_file(catalog: &Catalog, file: &str) -> bool {
    let is_own = |kind: &RootKind| matches!(kind, RootKind::Shared | RootKind::Path(_));
    let mut prefixes = catalog.roots().iter().filter(|index| is_own(&index.root.kind));
    prefixes
        .any(|index| file.strip_prefix(index.root.prefix.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

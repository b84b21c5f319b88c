//! Finds test files: in the directory `tests` of each prompt.

use hinagata::{Catalog, Error, source::RootKind};

use crate::{case::CaseFile, read::read_cases};

/// The directory of test files in that of a prompt.
pub const TESTS: &str = "tests";

/// Largest test file, in bytes.
const MAX_FILE: u64 = 8 << 20;

/// Most files in the directory of tests of one prompt.
const MAX_FILES: usize = 10_000;

/// Test files, and the problems of those that cannot be used.
#[derive(Debug, Default)]
pub struct FoundCases {
    /// The files in order.
    pub files: Vec<CaseFile>,
    /// The problems, each with its place.
    pub problems: Vec<Error>,
}

/// Finds the test files of all prompts of the workspace and its packs whose source `is_wanted` accepts.
#[must_use]
pub fn find_cases(catalog: &Catalog, is_wanted: impl Fn(&str) -> bool) -> FoundCases {
    let mut found = FoundCases::default();
    for index in catalog.roots() {
        // Libraries are workspaces of their own, and other kinds have no directories.
        if !matches!(
            index.root.kind,
            RootKind::Shared | RootKind::Path(_) | RootKind::Pack(_) | RootKind::Builtin
        ) {
            continue;
        }
        for entry in index.iter().filter(|entry| is_wanted(entry.source())) {
            let directory = format!("{}/{TESTS}", entry.name());
            for path in index.root.tree.list_files(&directory, MAX_FILES) {
                if !is_test_file(&path, &directory) {
                    continue;
                }
                let file = format!("{}/{path}", index.root.prefix);
                match index.root.tree.read_text(&path, MAX_FILE) {
                    Ok(Some((text, _))) => found.add_text(&file, &text, Some(entry.id().as_str())),
                    Ok(None) => {}
                    Err(error) => found.problems.push(error),
                }
            }
        }
    }
    found
}

fn is_test_file(path: &str, directory: &str) -> bool {
    let name = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
    !name.contains('/') && (name.ends_with(".yaml") || name.ends_with(".yml"))
}

impl FoundCases {
    /// Reads a test file and adds its cases or its problems.
    pub fn add_text(&mut self, file: &str, text: &str, prompt: Option<&str>) {
        match read_cases(file, text, prompt) {
            Ok(cases) => self.files.push(cases),
            Err(problems) => self.problems.extend(problems),
        }
    }
}

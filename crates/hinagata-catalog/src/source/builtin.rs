//! The built-in prompts of every workspace, which are compiled in.

use hinagata_workspace::layout::PARTIALS;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../builtin/", $path)))),*]
    };
}

/// Every file, by its path beneath the built-in prompts.
const FILES: &[(&str, &str)] = files![
    "coding_system/prompt.py",
    "coding_system/template.md",
    "general_system/prompt.py",
    "general_system/template.md",
    "history_compression/prompt.py",
    "history_compression/template.md",
    "memory_update/prompt.py",
    "memory_update/template.md",
    "partials/output_format.md",
    "partials/safety_rules.md",
    "partials/tool_instructions.md",
    "planning_task_decomposition/prompt.py",
    "planning_task_decomposition/template.md",
];

/// Words for the built-in prompts; words of users and packs win.
pub(crate) const VOCABULARY: &str = include_str!("../../builtin/vocab.json");

/// The text of the file at `path`.
pub(crate) fn file_text(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// The names of the partials, in order.
pub(crate) fn partial_names() -> Vec<&'static str> {
    let of = |path: &'static str| path.strip_prefix(PARTIALS)?.strip_prefix('/');
    FILES.iter().filter_map(|(path, _)| of(path)).collect()
}

/// The paths of the files in `directory`, in order.
pub(crate) fn file_names(directory: &str) -> impl Iterator<Item = &'static str> {
    let is_inside = move |path: &&str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    FILES.iter().map(|(path, _)| *path).filter(is_inside)
}

/// The names of the directories, in order.
pub(crate) fn directory_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = FILES.iter().filter_map(|(path, _)| Some(path.split_once('/')?.0)).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_directory_is_compiled_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin");
        let mut found = Vec::new();
        for directory in std::fs::read_dir(&root).expect("is there") {
            let directory = directory.expect("readable").path();
            if directory.is_file() {
                continue;
            }
            for file in std::fs::read_dir(&directory).expect("a directory") {
                let path = file.expect("readable").path();
                if path.is_dir() {
                    // The cases of the prompts are run by `hinagata-cli`, not shipped.
                    continue;
                }
                let name =
                    path.strip_prefix(&root).expect("beneath").to_str().expect("is text").replace('\\', "/");
                found.push(name);
            }
        }
        found.sort();
        assert_eq!(found, FILES.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>());
    }

    #[test]
    fn directories_are_listed_once() {
        assert_eq!(directory_names().len(), 6);
        assert!(file_text("general_system/template.md").is_some() && file_text("general_system").is_none());
    }
}

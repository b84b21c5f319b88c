//! The pages that show commands: they run where their reader runs them, at the root of the project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is two levels up")
}

/// The name of a page without directories and extension.
fn page_name(page: &str) -> &str {
    let name = page.rsplit('/').next().unwrap_or(page);
    name.trim_end_matches(".md")
}

/// A page runs in the directory `PAGE.in` beside it: a link to the project, so that no test changes the directory of
/// the whole process.
#[cfg(unix)]
#[test]
fn commands_answer_as_the_pages_say() {
    use std::os::unix::fs::symlink;

    let (cases, place) = common::cases();
    let pages = place.path().join("pages");
    fs::create_dir(&pages).expect("made");
    for page in [
        "README.md",
        "docs/guides/pack-a-workspace.md",
        "docs/guides/test-prompts.md",
        "docs/guides/use-hooks.md",
        "docs/guides/write-prompts.md",
        "docs/reference/cli.md",
        "docs/reference/errors.md",
        "docs/reference/models.md",
        "docs/reference/module-files.md",
        "docs/reference/packs.md",
        "docs/reference/processes.md",
        "docs/reference/source-map.md",
    ] {
        let name = page_name(page);
        let file = pages.join(format!("{name}.md"));
        symlink(project().join(page), &file).expect("linked");
        symlink(project(), pages.join(format!("{name}.in"))).expect("linked");
        cases.case(file);
    }
    cases.run();
}

/// Pages whose commands change a workspace: each runs in an empty one, with the example packs beside it.
#[test]
fn commands_that_write_answer_as_the_pages_say() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for page in ["docs/guides/share-variables.md", "docs/guides/use-packs.md"] {
        let name = page_name(page);
        fs::copy(project().join(page), place.path().join(format!("{name}.md"))).expect("the page exists");
        let workspace = place.path().join(format!("{name}.in"));
        fs::create_dir_all(workspace.join("user_data")).expect("made");
        copy_tree(&project().join("examples/packs"), &workspace.join("examples/packs"));
        fs::create_dir_all(place.path().join(format!("{name}.out"))).expect("made");
    }
    let (cases, _place) = common::cases();
    cases.case(place.path().join("*.md"));
    cases.run();
}

/// The commands of this page write to the project that they are called in, and find `hina` in the PATH.
#[cfg(unix)]
#[test]
fn entries_of_hosts_are_written_as_the_page_says() {
    let page = "docs/guides/connect-mcp-clients.md";
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::copy(project().join(page), place.path().join("page.md")).expect("the page exists");
    for name in ["page.in/user_data/shared/prompts/hello", "page.out", "home"] {
        fs::create_dir_all(place.path().join(name)).expect("made");
    }
    fs::write(place.path().join("page.in/user_data/shared/prompts/hello/template.md"), "Hello\n")
        .expect("written");
    let (cases, _place) = common::cases();
    cases.env("HOME", place.path().join("home").display().to_string());
    let programs = Path::new(env!("CARGO_BIN_EXE_hina")).parent().expect("is in a directory");
    cases.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    cases.case(place.path().join("page.md"));
    cases.run();
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("readable").path();
        let there = to.join(path.file_name().expect("has a name"));
        if path.is_dir() {
            copy_tree(&path, &there);
        } else {
            fs::copy(&path, there).expect("copied");
        }
    }
}

/// Every page with an example that `hina` runs is in one of the tests here, or in that of the daemon or the tutorial.
#[test]
fn every_page_with_an_example_is_run() {
    let tests = [include_str!("docs.rs"), include_str!("serve.rs"), include_str!("tutorial.rs")].concat();
    let pages = ["docs", "docs/guides", "docs/reference", "docs/design"].into_iter().flat_map(|directory| {
        let entries = fs::read_dir(project().join(directory)).expect("a directory");
        entries.map(move |entry| format!("{directory}/{}", entry.expect("readable").file_name().display()))
    });
    for page in pages.filter(|page| page.ends_with(".md")) {
        let text = fs::read_to_string(project().join(&page)).expect("readable");
        let is_run = tests.contains(&page);
        assert!(is_run || !text.contains("```console\n$ "), "{page} has an example that no test runs");
    }
}

//! Pages keep their word: paths in `docs/rooms.md` exist, and relative links in every Markdown page lead somewhere.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Component, Path, PathBuf},
};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Markdown page of the repository, from its root.
fn pages() -> Vec<PathBuf> {
    let (mut pages, mut directories) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(project().join(&directory)).expect("a directory") {
            let entry = entry.expect("readable");
            let path = directory.join(entry.file_name());
            let kind = entry.file_type().expect("has a type");
            let is_skipped = [".git", "target", "node_modules"].iter().any(|name| path.ends_with(name));
            if kind.is_dir() && !is_skipped {
                directories.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn read(page: &Path) -> String {
    String::from_utf8_lossy(&fs::read(project().join(page)).expect("readable")).into_owned()
}

/// A page without its fenced blocks.
fn without_blocks(text: &str) -> String {
    let mut is_inside = false;
    let outside = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// A page without its inline code.
fn without_code(text: &str) -> String {
    let line = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The targets of relative links.
fn links(page: &str) -> Vec<String> {
    let text = without_code(&without_blocks(page));
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.to_owned());
    targets.filter(|target| !target.contains(':') && !target.contains(char::is_whitespace)).collect()
}

/// The anchors that a page offers: its headings as a forge writes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let text = without_blocks(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn relative_links_of_all_pages_lead_somewhere() {
    let mut known: HashMap<PathBuf, BTreeSet<String>> = HashMap::new();
    let mut dead = Vec::new();
    for page in pages() {
        for link in links(&read(&page)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => plain(&page.parent().unwrap_or(Path::new("")).join(file)),
            };
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            let is_alive = project().join(&target).exists()
                && (anchor.is_empty()
                    || !is_page
                    || known
                        .entry(target.clone())
                        .or_insert_with(|| anchors(&read(&target)))
                        .contains(anchor));
            if !is_alive {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expand(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?)));
    let Some((start, (names, end))) = parts else { return vec![path.to_owned()] };
    names.split(',').map(|name| format!("{start}{name}{end}")).collect()
}

#[test]
fn paths_of_the_rooms_page_exist() {
    let text = read(Path::new("docs/rooms.md"));
    let codes = text.split('`').skip(1).step_by(2).filter(|code| code.contains('/'));
    let paths: Vec<String> = codes.flat_map(expand).collect();
    let exists = |path: &&String| {
        let path = path.as_str();
        project().join(path).exists() || project().join("crates").join(path).exists()
    };
    let dead: Vec<_> = paths.iter().filter(|path| !exists(path)).collect();
    assert!(dead.is_empty() && paths.len() > 100, "dead paths of {}: {dead:#?}", paths.len());
}

#[test]
fn the_page_about_errors_lists_every_code_as_it_is() {
    let text = read(Path::new("docs/reference/errors.md"));
    for code in hinagata::Code::ALL {
        let spec = code.spec();
        let row = text.lines().find(|line| line.starts_with(&format!("| `{}` |", spec.name)));
        let row = row.unwrap_or_else(|| panic!("no row for `{}`", spec.name));
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [.., http, rpc, exit] = cells[..] else { panic!("too few cells: {row}") };
        // A reason may change the status or the exit code; the usual one comes first.
        let usual = |cell: &str| cell.split(';').next().unwrap_or_default().to_owned();
        let expected = [spec.http.to_string(), spec.rpc.to_string(), spec.exit.to_string()];
        assert_eq!([usual(http), usual(rpc), usual(exit)], expected, "{row}");
    }
}

/// Every Rust file beneath a directory.
fn source_files(directory: &Path) -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The text of every source file of the crates and of the packages for other languages.
fn sources() -> String {
    let files = ["crates", "sdk/python/src"].map(|directory| source_files(&project().join(directory)));
    files.iter().flatten().map(|path| fs::read_to_string(path).expect("readable")).collect()
}

#[test]
fn every_design_page_is_named_by_the_code_it_explains() {
    let sources = sources();
    let pages = fs::read_dir(project().join("docs/design")).expect("a directory");
    let names = pages.map(|page| page.expect("readable").file_name().display().to_string());
    let unnamed: Vec<_> = names
        .filter(|name| name != "README.md" && !sources.contains(&format!("docs/design/{name}")))
        .collect();
    assert!(unnamed.is_empty(), "no module documentation names {unnamed:?}");
}

#[test]
fn only_the_command_line_names_commands_in_its_messages() {
    let crates = fs::read_dir(project().join("crates")).expect("a directory");
    let libraries =
        crates.map(|entry| entry.expect("readable").path()).filter(|path| !path.ends_with("hinagata-cli"));
    let mut named = Vec::new();
    for path in libraries.flat_map(|library| source_files(&library.join("src"))) {
        let text = fs::read_to_string(&path).expect("readable");
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let commands = code.filter(|(_, line)| line.contains("`hina "));
        named.extend(
            commands.map(|(index, line)| format!("{}:{}: {}", path.display(), index + 1, line.trim())),
        );
    }
    assert!(named.is_empty(), "use a variant of `Hint` instead:\n{}", named.join("\n"));
}

//! Which top modules of a crate use which, read from `use` statements and paths in its sources.
//!
//! Tests do not count: they may use anything. Macros are not expanded, and a name that a glob imports is not followed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::cycles::Graph;

/// The graph of the top modules of the crate in `sources`.
pub(crate) fn module_graph(sources: &Path) -> Graph {
    let roots: Vec<String> =
        ["lib.rs", "main.rs"].iter().filter_map(|name| fs::read_to_string(sources.join(name)).ok()).collect();
    let modules: BTreeSet<String> = roots.iter().flat_map(|root| declared_modules(root)).collect();
    let names = exported_names(&roots.join("\n"), &modules);
    let mut graph: Graph = modules.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    for file in rust_files(sources) {
        let module = module_path(sources, &file);
        let Some(uses) = module.first().and_then(|top| graph.get_mut(top)) else { continue };
        let text = fs::read_to_string(&file).expect("is readable");
        for used in used_from_root(&without_tests(&text), module.len()) {
            let target = if modules.contains(&used) { Some(&used) } else { names.get(&used) };
            uses.extend(target.filter(|target| **target != module[0]).cloned());
        }
    }
    graph
}

/// All sources but those of tests.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("is there") {
        let path = entry.expect("is readable").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if path.is_dir() && stem != "tests" {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            files.push(path);
        }
    }
    files
}

/// The modules that lead to a file, from the root; none for the root itself.
fn module_path(sources: &Path, file: &Path) -> Vec<String> {
    let inner = file.strip_prefix(sources).expect("is beneath").with_extension("");
    let mut path: Vec<String> = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// The code without comments, and without the tests at its end.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_mark = line.starts_with("#[cfg(") && line.contains("test");
        if is_mark && lines.peek().is_some_and(|next| next.contains("mod ")) {
            break;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// The modules that a root declares.
fn declared_modules(root: &str) -> Vec<String> {
    let declared = |line: &str| {
        let (before, name) = line.strip_suffix(';')?.split_once("mod ")?;
        (before.is_empty() || before.starts_with("pub")).then(|| name.to_owned())
    };
    without_tests(root).lines().filter_map(declared).collect()
}

/// What the root re-exports, each with the module that it comes from.
fn exported_names(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in use_statements(&without_tests(root)) {
        for path in expand_tree(&statement) {
            let (target, name) =
                path.split_once(" as ").unwrap_or((&path, path.rsplit("::").next().unwrap_or("")));
            let target = target.trim_start_matches("self::").trim_start_matches("crate::");
            let module = target.split("::").next().unwrap_or_default();
            if modules.contains(module) {
                names.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    names
}

/// The trees of all `use` statements.
fn use_statements(code: &str) -> Vec<String> {
    let starts = code.match_indices("use ").filter(|(at, _)| {
        let before = code[..*at].trim_end_matches(' ');
        before.is_empty() || before.ends_with(['\n', '{', ';', ')']) || before.ends_with("pub")
    });
    starts
        .filter_map(|(at, _)| {
            Some(code[at + 4..].split_once(';')?.0.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// All paths of the tree of a `use` statement, without braces.
fn expand_tree(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else { return vec![tree.trim().to_owned()] };
    let (prefix, inner) = (tree[..open].trim(), &tree[open + 1..]);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&inner[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(expand_tree).map(|path| format!("{prefix}{path}")).collect()
}

/// The first names after the root of all paths that start there; `depth` is how many modules the file is below it.
fn used_from_root(code: &str, depth: usize) -> BTreeSet<String> {
    let root = "super::".repeat(depth);
    let imported = use_statements(code).into_iter().flat_map(|statement| expand_tree(&statement));
    let first = |path: &str| {
        let after = path.strip_prefix("crate::").or_else(|| path.strip_prefix(&root))?;
        let name: String = after.chars().take_while(|next| next.is_alphanumeric() || *next == '_').collect();
        (name != "super" && !name.is_empty()).then_some(name)
    };
    let inline = ["crate::", &root].into_iter().flat_map(|start| {
        code.match_indices(start)
            .filter(|(at, _)| !code[..*at].ends_with("super::"))
            .map(|(at, _)| &code[at..])
    });
    imported.filter_map(|path| first(&path)).chain(inline.filter_map(first)).collect()
}

#[test]
fn paths_of_trees_comments_and_tests_are_told_apart() {
    let code = "use crate::{a::{B, C}, d, e as f};\n// crate::comment::X\nuse super::super::{g, h::I};\nuse super::own;\n\
                fn x() { crate::j::k(); super::super::l() }\n#[cfg(test)]\nmod tests {\n    use crate::test_only;\n}\n";
    let used = used_from_root(&without_tests(code), 2);
    assert_eq!(used, ["a", "d", "e", "g", "h", "j", "l"].map(str::to_owned).into());
    let modules = BTreeSet::from(["a", "b"].map(str::to_owned));
    let names = exported_names("pub use a::{X, y::Z as W};\npub use b::T;\npub use other::V;\n", &modules);
    let expected =
        [("T", "b"), ("W", "a"), ("X", "a")].map(|(name, module)| (name.to_owned(), module.to_owned()));
    assert_eq!(names, expected.into());
}

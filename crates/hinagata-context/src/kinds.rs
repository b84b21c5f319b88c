//! Kinds of files that hardly help a model: they are left out, or come last.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// Data is only of this kind above this size, in bytes.
const LARGE_DATA: u64 = 64 << 10;

/// Generated files say so within this many bytes.
const GENERATED_HEAD: usize = 1 << 10;

/// The average length of lines above which code is minified, in bytes.
const LONG_LINES: usize = 300;

/// Smaller files are not worth to be called minified, in bytes.
const SMALL_CODE: usize = 2 << 10;

/// A kind of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Exact versions of dependencies.
    Lock,
    /// Written by a program.
    Generated,
    /// Copied from another project.
    Vendored,
    /// Code in very long lines.
    Minified,
    /// Tables, records and snapshots of some size.
    Data,
}

/// What happens to files of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindRule {
    /// They are packed like all others.
    Take,
    /// They are packed after all others, if they fit.
    Last,
    /// They are left out.
    Omit,
}

/// The rule for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRules([KindRule; FileKind::ALL.len()]);

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Lock, Self::Generated, Self::Vendored, Self::Minified, Self::Data];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Generated => "generated",
            Self::Vendored => "vendored",
            Self::Minified => "minified",
            Self::Data => "data",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of a file by its path, the attributes of the repository and its size.
    pub(crate) fn from_path(path: &str, marks: LinguistMarks, size: impl FnOnce() -> u64) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        if is_lock_file(&lower) {
            return Some(Self::Lock);
        }
        if marks.generated.unwrap_or_else(|| has_generated_name(&lower)) {
            return Some(Self::Generated);
        }
        if marks.vendored.unwrap_or_else(|| is_vendored_path(path)) {
            return Some(Self::Vendored);
        }
        (DATA_EXTENSIONS.contains(extension(&lower)) && size() > LARGE_DATA).then_some(Self::Data)
    }

    /// The kind of a file by the start of its content.
    pub(crate) fn from_content(path: &str, marks: LinguistMarks, head: &[u8]) -> Option<Self> {
        if marks.generated.unwrap_or_else(|| says_generated(&head[..head.len().min(GENERATED_HEAD)])) {
            return Some(Self::Generated);
        }
        (is_source(path, || false) && has_long_lines(head)).then_some(Self::Minified)
    }
}

impl KindRule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::Take, Self::Last, Self::Omit];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Last => "last",
            Self::Omit => "omit",
        }
    }

    /// The rule with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }
}

impl Default for KindRules {
    /// Vendored files and data come last; the others are left out.
    fn default() -> Self {
        Self([KindRule::Omit, KindRule::Omit, KindRule::Last, KindRule::Omit, KindRule::Last])
    }
}

impl KindRules {
    /// Packs files of every kind like all others.
    #[must_use]
    pub const fn take_all() -> Self {
        Self([KindRule::Take; FileKind::ALL.len()])
    }

    /// The rule for `kind`.
    #[must_use]
    pub const fn rule(&self, kind: FileKind) -> KindRule {
        self.0[kind as usize]
    }

    /// Sets the rule for `kind`.
    pub fn set_rule(&mut self, kind: FileKind, rule: KindRule) {
        self.0[kind as usize] = rule;
    }
}

/// What `.gitattributes` says about a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinguistMarks {
    pub(crate) generated: Option<bool>,
    pub(crate) vendored: Option<bool>,
}

/// Names of lock files that do not end with `.lock`, in lower case.
const LOCK_NAMES: &[&str] = &[
    ".terraform.lock.hcl",
    "bun.lockb",
    "buildscript-gradle.lockfile",
    "cabal.project.freeze",
    "cartfile.resolved",
    "conda-lock.yaml",
    "conda-lock.yml",
    "dub.selections.json",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.resolved",
    "packages.lock.json",
    "pnpm-lock.yaml",
    "pnpm-lock.yml",
    "stack.yaml.lock",
    "vcpkg-lock.json",
];

fn is_lock_file(name: &str) -> bool {
    let is_python_lock = name.starts_with("pylock.") && name.ends_with(".toml");
    name.len() > ".lock".len() && name.ends_with(".lock") || is_python_lock || LOCK_NAMES.contains(&name)
}

fn has_generated_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
    stem.contains('.') && stem.ends_with(".min") || name.ends_with(".map")
}

fn is_vendored_path(path: &str) -> bool {
    let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
    directories.split('/').any(|part| matches!(part, "vendor" | "third_party" | "third-party"))
}

/// Whether the start of a file says that a program wrote it. Prose about such marks quotes them.
fn says_generated(head: &[u8]) -> bool {
    memchr::memmem::find_iter(head, b"@generated").any(|place| {
        let before = place.checked_sub(1).map_or(b' ', |before| head[before]);
        !matches!(before, b'`' | b'\'' | b'"') && !before.is_ascii_alphanumeric()
    }) || memchr::memmem::find_iter(head, b"Code generated").any(|place| {
        let rest = &head[place..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        memchr::memmem::find(line, b"DO NOT EDIT").is_some()
    })
}

fn has_long_lines(text: &[u8]) -> bool {
    let lines = memchr::memchr_iter(b'\n', text).count() + 1;
    text.len() > SMALL_CODE && text.len() / lines > LONG_LINES
}

/// Extensions of tables, records and snapshots.
static DATA_EXTENSIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let all = [
        "csv", "geojson", "ipynb", "json", "jsonl", "log", "ndjson", "psv", "snap", "snapshot", "sql", "svg",
        "tsv", "xml",
    ];
    all.into()
});

/// Extensions of text that is not a program.
static OTHER_EXTENSIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let prose = [
        "adoc", "asciidoc", "bib", "htm", "html", "markdown", "md", "mdown", "mdx", "org", "pod", "po",
        "pot", "rst", "srt", "tex", "text", "txt", "vtt", "1", "2", "3", "4", "5", "6", "7", "8",
    ];
    let settings = [
        "cfg",
        "conf",
        "desktop",
        "editorconfig",
        "env",
        "gitattributes",
        "gitignore",
        "gitmodules",
        "ini",
        "json5",
        "jsonc",
        "mod",
        "plist",
        "properties",
        "service",
        "toml",
        "webmanifest",
        "yaml",
        "yml",
    ];
    let records = ["crt", "diff", "golden", "key", "out", "patch", "pem", "stderr", "stdout", "tab"];
    prose.into_iter().chain(settings).chain(records).collect()
});

/// Names of programs without an extension, in lower case.
const PROGRAM_NAMES: &[&str] = &[
    "brewfile",
    "build",
    "configure",
    "containerfile",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "podfile",
    "procfile",
    "rakefile",
    "snakefile",
    "tiltfile",
    "vagrantfile",
    "workspace",
];

/// Names of the files that describe the packages of a project, in lower case.
const MANIFESTS: &[&str] = &[
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "deno.json",
    "dune-project",
    "gemfile",
    "go.mod",
    "makefile",
    "meson.build",
    "mix.exs",
    "package.json",
    "package.swift",
    "pom.xml",
    "project.clj",
    "pubspec.yaml",
    "pyproject.toml",
    "setup.py",
];

/// Whether a file at the top of a tree describes the project: a manifest or a README.
pub(crate) fn describes_project(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    MANIFESTS.contains(&lower.as_str()) || !lower.contains('/') && lower.split('.').next() == Some("readme")
}

/// Extensions that follow that of the file which a file is a template or a copy of.
const COPY_EXTENSIONS: &[&str] =
    &["bak", "dist", "example", "in", "orig", "sample", "template", "tmpl", "tpl"];

/// Whether a file is a program, as far as its name tells: unknown extensions are, and names without one are if the file
/// can be executed.
pub(crate) fn is_source(path: &str, is_executable: impl FnOnce() -> bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let name = match name.rsplit_once('.') {
        Some((inner, last)) if COPY_EXTENSIONS.contains(&last) && inner.contains('.') => inner.to_owned(),
        _ => name,
    };
    let extension = extension(&name);
    if extension.is_empty() || extension.len() == name.len() - 1 {
        return PROGRAM_NAMES.contains(&name.as_str()) || is_executable();
    }
    if name.starts_with("readme.") {
        return false;
    }
    let is_other = OTHER_EXTENSIONS.contains(extension) || DATA_EXTENSIONS.contains(extension);
    !is_other || name == "cmakelists.txt"
}

/// What follows the last dot of a name.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_path(path: &str, size: u64) -> Option<FileKind> {
        FileKind::from_path(path, LinguistMarks::default(), || size)
    }

    #[test]
    fn kinds_are_told_by_names_and_sizes() {
        for (path, size, kind) in [
            ("Cargo.lock", 1, Some(FileKind::Lock)),
            ("web/package-lock.json", 1, Some(FileKind::Lock)),
            ("pylock.dev.toml", 1, Some(FileKind::Lock)),
            ("src/lock.rs", 1, None),
            (".lock", 1, None),
            ("web/app.min.js", 1, Some(FileKind::Generated)),
            ("web/app.js.map", 1, Some(FileKind::Generated)),
            ("src/min.rs", 1, None),
            ("a/vendor/b/c.go", 1, Some(FileKind::Vendored)),
            ("third_party/x.c", 1, Some(FileKind::Vendored)),
            ("src/vendor.rs", 1, None),
            ("t/cities.csv", 65 << 10, Some(FileKind::Data)),
            ("t/cities.csv", 64 << 10, None),
            ("t/it.snap", 100 << 10, Some(FileKind::Data)),
            ("src/main.rs", 100 << 10, None),
        ] {
            assert_eq!(by_path(path, size), kind, "{path}");
        }
    }

    #[test]
    fn attributes_of_the_repository_decide_before_names() {
        let marks = LinguistMarks { generated: Some(true), vendored: None };
        assert_eq!(FileKind::from_path("a.rs", marks, || 0), Some(FileKind::Generated));
        let marks = LinguistMarks { generated: Some(false), vendored: Some(false) };
        assert_eq!(FileKind::from_path("vendor/a.min.js", marks, || 0), None);
        assert_eq!(FileKind::from_content("a.go", marks, b"// @generated\n"), None);
    }

    #[test]
    fn generated_files_say_so_at_their_start() {
        let kind = |text: &str| FileKind::from_content("a.go", LinguistMarks::default(), text.as_bytes());
        assert_eq!(kind("// Code generated by protoc-gen-go. DO NOT EDIT.\n"), Some(FileKind::Generated));
        assert_eq!(kind("/* @generated by x */\n"), Some(FileKind::Generated));
        assert_eq!(kind("Files with `@generated` are left out.\n"), None);
        assert_eq!(kind("Code generated here\nDO NOT EDIT\n"), None);
        assert_eq!(kind(&format!("{}// @generated\n", "//\n".repeat(400))), None);
    }

    #[test]
    fn only_code_in_long_lines_is_minified() {
        let long = "x = 1; ".repeat(500);
        let kind = |path: &str| FileKind::from_content(path, LinguistMarks::default(), long.as_bytes());
        assert_eq!(kind("a.js"), Some(FileKind::Minified));
        assert_eq!(kind("a.md"), None);
        let short = "x = 1;\n".repeat(500);
        assert_eq!(FileKind::from_content("a.js", LinguistMarks::default(), short.as_bytes()), None);
    }

    #[test]
    fn unknown_names_are_programs_and_prose_is_not() {
        for path in [
            "kernel.cu",
            "Main.PY",
            "a/b.prompty",
            "CMakeLists.txt",
            "Makefile",
            "x.rs",
            "config.h.in",
            "page.tmpl",
        ] {
            assert!(is_source(path, || false), "{path}");
        }
        for path in [
            "README.md",
            "LICENSE",
            "docs/a.rst",
            "ci.yml",
            ".gitignore",
            "a.json",
            "CHANGELOG",
            "run",
            "README.SETUP",
            "rg.1.txt.tpl",
            "Cargo.toml.orig",
        ] {
            assert!(!is_source(path, || false), "{path}");
        }
        assert!(is_source("tools/run", || true) && !is_source("README.md", || true));
        assert!(
            describes_project("Cargo.toml") && describes_project("README.md") && describes_project("README")
        );
        assert!(!describes_project("crates/a/Cargo.toml") && !describes_project("docs/README.md"));
    }
}

//! Names that are known without looking: directories of tools and repositories, and the files that the profile of the
//! program that defined the plain format packs without patterns.

/// Directories of version control systems.
const REPOSITORY_DIRECTORIES: [&str; 3] = [".git", ".hg", ".svn"];

/// Directories of generated or downloaded files, which are not packed.
pub(crate) const EXCLUDED_DIRECTORIES: &[&str] = &[
    ".cache",
    ".git",
    ".gradle",
    ".hg",
    ".mypy_cache",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".svn",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".yarn",
    "__pycache__",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "logs",
    "node_modules",
    "target",
    "temp",
    "tmp",
    "venv",
];

/// Extensions of text files, by kind.
const EXTENSIONS: &[&str] = &[
    // programs
    "bash",
    "bat",
    "c",
    "cc",
    "cjs",
    "clj",
    "cljs",
    "cmake",
    "cpp",
    "cs",
    "cts",
    "cxx",
    "dart",
    "ex",
    "exs",
    "elm",
    "erl",
    "fish",
    "fs",
    "fsx",
    "go",
    "gradle",
    "groovy",
    "h",
    "hh",
    "hpp",
    "hrl",
    "hs",
    "hxx",
    "java",
    "jl",
    "js",
    "jsx",
    "kt",
    "kts",
    "lua",
    "m",
    "mjs",
    "ml",
    "mli",
    "mm",
    "mts",
    "nim",
    "nix",
    "php",
    "pl",
    "pm",
    "proto",
    "ps1",
    "py",
    "pyi",
    "r",
    "rb",
    "rs",
    "sc",
    "scala",
    "scm",
    "sh",
    "sol",
    "sql",
    "swift",
    "tcl",
    "ts",
    "tsx",
    "v",
    "vb",
    "vim",
    "zig",
    "zsh",
    // pages and styles
    "astro",
    "css",
    "ejs",
    "hbs",
    "htm",
    "html",
    "less",
    "mdx",
    "sass",
    "scss",
    "styl",
    "svelte",
    "svg",
    "vue",
    "xhtml",
    "xml",
    "xsd",
    "xsl",
    // data and settings
    "avsc",
    "cfg",
    "conf",
    "csv",
    "editorconfig",
    "env",
    "gitattributes",
    "gitignore",
    "graphql",
    "gql",
    "hcl",
    "ini",
    "ipynb",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "lock",
    "lockb",
    "plist",
    "prisma",
    "properties",
    "tf",
    "tfvars",
    "toml",
    "tsv",
    "yaml",
    "yml",
    // templates
    "gotmpl",
    "j2",
    "jinja",
    "jinja2",
    "liquid",
    "mustache",
    "njk",
    "tmpl",
    "tpl",
    "twig",
    // words
    "bib",
    "log",
    "markdown",
    "md",
    "org",
    "po",
    "rst",
    "tex",
    "text",
    "txt",
];

/// Names of text files that say it without an end.
const NAMES: &[&str] = &[
    ".babelrc",
    ".bazelrc",
    ".browserslistrc",
    ".dockerignore",
    ".eslintignore",
    ".eslintrc",
    ".hinagataignore",
    ".ignore",
    ".npmignore",
    ".npmrc",
    ".nvmrc",
    ".prettierignore",
    ".prettierrc",
    ".python-version",
    ".ruby-version",
    ".stylelintrc",
    ".tool-versions",
    "AUTHORS",
    "BUILD",
    "Brewfile",
    "CHANGELOG",
    "CMakeLists.txt",
    "CODEOWNERS",
    "CONTRIBUTING",
    "COPYING",
    "Containerfile",
    "Dockerfile",
    "GNUmakefile",
    "Gemfile",
    "Jenkinsfile",
    "Justfile",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "Pipfile",
    "Procfile",
    "README",
    "Rakefile",
    "Vagrantfile",
    "WORKSPACE",
    "go.mod",
    "go.sum",
    "justfile",
    "makefile",
];

/// Prefixes of the names of text files, such as `.env.local` and `Dockerfile.dev`.
const STARTS: &[&str] = &[".env", "Dockerfile.", "LICENSE-", "README."];

/// Whether the profile packs a file with this name without patterns.
pub(crate) fn has_known_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(is_extension)
        || NAMES.contains(&name)
        || STARTS.iter().any(|start| name.starts_with(start))
}

fn is_extension(extension: &str) -> bool {
    // The list is short, but searched for every file of a tree.
    static KNOWN: std::sync::LazyLock<std::collections::HashSet<&'static str>> =
        std::sync::LazyLock::new(|| EXTENSIONS.iter().copied().collect());
    KNOWN.contains(extension)
}

/// Whether this is the name of the directory of a version control system, or of the file that refers to one.
pub(crate) fn is_repository_directory(name: &str) -> bool {
    REPOSITORY_DIRECTORIES.contains(&name)
}

/// Whether a directory with this name is not packed.
pub(crate) fn is_excluded_directory(name: &str) -> bool {
    EXCLUDED_DIRECTORIES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_are_in_the_order_that_the_search_needs() {
        assert!(EXCLUDED_DIRECTORIES.is_sorted());
        assert!(is_excluded_directory("node_modules") && !is_excluded_directory("src"));
    }

    #[test]
    fn text_files_are_known_by_their_names() {
        for name in
            ["a.rs", ".env", ".env.local", ".gitignore", "Makefile", "bun.lockb", "Dockerfile.dev", "a.d.ts"]
        {
            assert!(has_known_name(name), "{name}");
        }
        for name in ["logo.png", "notes.adoc", "a", "a.exe", ".DS_Store"] {
            assert!(!has_known_name(name), "{name}");
        }
    }
}

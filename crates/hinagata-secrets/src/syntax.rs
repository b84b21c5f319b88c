//! What a text without quotes is, by the name of its file.

/// Endings of files with code, in which a word without quotes is a name.
const CODE: &[&str] = &[
    "astro", "c", "cc", "clj", "cljs", "cpp", "cs", "css", "cxx", "dart", "erl", "ex", "exs", "fs", "go",
    "gql", "graphql", "groovy", "h", "hpp", "hs", "html", "java", "jl", "js", "jsx", "kt", "kts", "less",
    "lua", "m", "mjs", "cjs", "ml", "mm", "mts", "nim", "php", "pl", "pm", "proto", "py", "pyi", "r", "rb",
    "rs", "scala", "scss", "sol", "sql", "svelte", "swift", "ts", "tsx", "vb", "vue", "zig",
];

/// Endings, and names, of files with configuration and scripts, in which a word without quotes is a value.
const CONFIG: &[&str] = &[
    "bash",
    "bat",
    "cfg",
    "cmd",
    "cnf",
    "conf",
    "config",
    "csh",
    "dockerfile",
    "env",
    "envrc",
    "fish",
    "ini",
    "ksh",
    "makefile",
    "mk",
    "npmrc",
    "properties",
    "ps1",
    "psm1",
    "service",
    "sh",
    "toml",
    "yaml",
    "yml",
    "zsh",
];

/// What a word without quotes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// A name.
    Code,
    /// A value.
    Config,
    /// A name, a value or prose.
    Unknown,
}

impl Syntax {
    pub(crate) fn from_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let ending = name.rsplit('.').next().unwrap_or_default();
        match () {
            () if CODE.contains(&ending) => Self::Code,
            () if CONFIG.contains(&ending) || name.starts_with("dockerfile") => Self::Config,
            () => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_tell_the_syntax() {
        assert_eq!(Syntax::from_path("src/main.rs"), Syntax::Code);
        assert_eq!(Syntax::from_path("a/Dockerfile.prod"), Syntax::Config);
        assert_eq!(Syntax::from_path("Makefile"), Syntax::Config);
        assert_eq!(Syntax::from_path("values.YAML"), Syntax::Config);
        assert_eq!(Syntax::from_path("notes/readme.md"), Syntax::Unknown);
        assert_eq!(Syntax::from_path(""), Syntax::Unknown);
    }
}

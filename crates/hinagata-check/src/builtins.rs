//! The names that Jinja has without any template, for quick questions: a template asks for thousands of them.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

static NAMES: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
    let mut names: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (kind, name) in hinagata_jinja::builtin_names() {
        names.entry(kind).or_default().insert(name);
    }
    names
});

/// Whether there is a builtin of this kind: `filter`, `test`, `global`, or a type with a method.
pub(crate) fn has_builtin(kind: &str, name: &str) -> bool {
    NAMES.get(kind).is_some_and(|names| names.contains(name))
}

//! What editors need of both languages: the pieces of a source, and the names that can be written.

use hinagata_value::{Budget, HighlightToken, Limits};

use crate::{Language, Options};

/// A name that every template can use: its kind, such as `filter`, and the name.
pub type BuiltinName = (&'static str, &'static str);

/// The tags of Jinja.
const JINJA_TAGS: [&str; 31] = [
    "autoescape",
    "block",
    "break",
    "call",
    "continue",
    "do",
    "elif",
    "else",
    "endautoescape",
    "endblock",
    "endcall",
    "endfilter",
    "endfor",
    "endif",
    "endmacro",
    "endmessage",
    "endraw",
    "endset",
    "endwith",
    "extends",
    "filter",
    "for",
    "from",
    "if",
    "import",
    "include",
    "macro",
    "message",
    "raw",
    "set",
    "with",
];

/// The words that start an action of a Go template.
const GO_TAGS: [&str; 10] =
    ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"];

/// The pieces of `source` that an editor colours, in order. Behind an error, they go on with the next tag.
#[must_use]
pub fn highlight_source(
    language: Language,
    source: &str,
    options: &Options,
    limits: &Limits,
) -> Vec<HighlightToken> {
    match language {
        Language::Jinja => {
            hinagata_jinja::highlight_source(source, &options.jinja, &Budget::new(limits.clone()))
        }
        Language::Go => hinagata_gotemplate::highlight_source(source, ("", "")),
    }
}

/// The names that every template of a language can use, of the kinds `tag`, `filter`, `test` and `function`.
#[must_use]
pub fn builtin_names(language: Language) -> Vec<BuiltinName> {
    match language {
        Language::Jinja => {
            let tags = JINJA_TAGS.into_iter().map(|name| ("tag", name));
            let names = hinagata_jinja::builtin_names().filter_map(|(kind, name)| match kind {
                "filter" => Some(("filter", name)),
                "test" => Some(("test", name)),
                "global" => Some(("function", name)),
                _ => None,
            });
            tags.chain(names).collect()
        }
        Language::Go => {
            let functions = hinagata_gotemplate::builtin_names().map(|name| ("function", name));
            GO_TAGS.into_iter().map(|name| ("tag", name)).chain(functions).collect()
        }
    }
}

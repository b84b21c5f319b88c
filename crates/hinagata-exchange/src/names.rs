//! Names of parameters and ids: which spellings work here, and which have to change.

/// Words that a template cannot use as the name of a variable.
const RESERVED: &[&str] = &[
    "not",
    "in",
    "is",
    "and",
    "or",
    "if",
    "else",
    "elif",
    "loop",
    "self",
    "super",
    "caller",
    "varargs",
    "kwargs",
    "none",
    "None",
    "true",
    "True",
    "false",
    "False",
    "import",
    "recursive",
    "ignore",
    "with",
    "without",
    "context",
    "variables",
    "args",
    "system",
    "environs",
    "range",
    "dict",
    "lipsum",
    "cycler",
    "joiner",
    "namespace",
    "role",
    "media",
    "resource",
];

/// Attributes that values have in Jinja besides their keys.
const METHODS: &[&str] = &[
    "append",
    "as_integer_ratio",
    "bit_count",
    "bit_length",
    "capitalize",
    "casefold",
    "center",
    "clear",
    "conjugate",
    "copy",
    "count",
    "decode",
    "denominator",
    "encode",
    "endswith",
    "expandtabs",
    "extend",
    "find",
    "format",
    "format_map",
    "from_bytes",
    "fromhex",
    "fromkeys",
    "get",
    "hex",
    "imag",
    "index",
    "insert",
    "is_integer",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "items",
    "join",
    "keys",
    "length",
    "ljust",
    "lower",
    "lstrip",
    "maketrans",
    "numerator",
    "partition",
    "pop",
    "popitem",
    "real",
    "remove",
    "removeprefix",
    "removesuffix",
    "replace",
    "reverse",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "setdefault",
    "sort",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "to_bytes",
    "translate",
    "update",
    "upper",
    "values",
    "zfill",
];

/// Whether `name` is an identifier of Jinja.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// Whether `expression.key` finds the key and nothing else.
pub(crate) fn is_plain_key(key: &str) -> bool {
    is_identifier(key) && !key.starts_with("__") && !METHODS.contains(&key) && !is_operator(key)
}

fn is_operator(word: &str) -> bool {
    matches!(word, "not" | "in" | "is" | "and" | "or" | "if" | "else")
}

/// The variables of one prompt: the spelling of the original and the name here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    known: Vec<(String, String)>,
    /// Names that loops use, which no variable may have.
    taken: Vec<String>,
}

/// Maximum number of variables of one prompt.
const MOST_NAMES: usize = 10_000;

impl Names {
    /// The name for the variable that the original calls `original`.
    pub(crate) fn variable(&mut self, original: &str) -> String {
        if let Some((_, name)) = self.known.iter().find(|(known, _)| known == original) {
            return name.clone();
        }
        let mut name = match is_identifier(original) && !original.starts_with("__") {
            true => original.to_owned(),
            false => to_identifier(original),
        };
        if RESERVED.contains(&name.as_str()) {
            name.push('_');
        }
        while self.is_taken(&name) {
            name.push('_');
        }
        if self.known.len() < MOST_NAMES {
            self.known.push((original.to_owned(), name.clone()));
        }
        name
    }

    /// A name for a variable of the template itself.
    pub(crate) fn local(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2;
        while self.is_taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        self.taken.push(name.clone());
        name
    }

    /// Frees the name of a local variable again.
    pub(crate) fn release_local(&mut self, name: &str) {
        self.taken.retain(|taken| taken != name);
    }

    fn is_taken(&self, name: &str) -> bool {
        self.taken.iter().any(|taken| taken == name) || self.known.iter().any(|(_, known)| known == name)
    }

    /// Gives `original` the name `name`, whatever its spelling.
    pub(crate) fn bind(&mut self, original: &str, name: &str) {
        self.known.push((original.to_owned(), name.to_owned()));
    }

    /// Every variable with its spelling in the original and its name here, in the order of their first use.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.known.iter().map(|(original, name)| (original.as_str(), name.as_str()))
    }
}

fn to_identifier(original: &str) -> String {
    let mut name: String = original
        .trim()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert_str(0, "v_");
    }
    name
}

/// One segment of an id: lower-case words joined by `_`.
pub(crate) fn to_segment(name: &str) -> String {
    let mut segment = String::new();
    let mut previous: Option<char> = None;
    for character in name.chars() {
        if character.is_alphanumeric() {
            let starts_word = character.is_uppercase()
                && previous.is_some_and(|before| before.is_lowercase() || before.is_numeric());
            if starts_word && !segment.ends_with('_') {
                segment.push('_');
            }
            segment.extend(character.to_lowercase());
        } else if !segment.is_empty() && !segment.ends_with('_') {
            segment.push('_');
        }
        previous = Some(character);
        if segment.chars().count() >= 60 {
            break;
        }
    }
    let segment = segment.trim_end_matches('_').to_owned();
    match segment.chars().next() {
        Some(first) if first.is_alphabetic() => segment,
        Some(_) => format!("p_{segment}"),
        None => "prompt".to_owned(),
    }
}

/// The id for a path: its directories and the name of the file, without the endings.
pub(crate) fn id_from_path(path: &str) -> String {
    let segments: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(to_segment).collect();
    match segments.is_empty() {
        true => "prompt".to_owned(),
        false => segments.join("."),
    }
}

/// The name of the file of a path, without directories.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The part of a path after `directory/`, wherever that stands in it.
pub(crate) fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let pattern = format!("{directory}/");
    if let Some(rest) = path.strip_prefix(&pattern) {
        return Some(rest);
    }
    let at = path.find(&format!("/{pattern}"))?;
    path.get(at + 1 + pattern.len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_change() {
        let mut names = Names::default();
        let all: Vec<String> =
            ["a", "first-name", "not", "first_name", "a"].map(|name| names.variable(name)).into();
        assert_eq!(all, ["a", "first_name", "not_", "first_name_", "a"]);
    }

    #[test]
    fn names_become_segments() {
        let all = ["pdf-forms", "HTMLPage", "2 x", "", "a..b"].map(to_segment);
        assert_eq!(all, ["pdf_forms", "htmlpage", "p_2_x", "prompt", "a_b"]);
    }
}

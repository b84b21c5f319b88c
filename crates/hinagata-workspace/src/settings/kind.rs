//! The types of settings: how values are parsed from files and words, and how they are formatted.

use hinagata_document::{Data, LineColumn, Node, toml};
use hinagata_value::{ValueType, near_names};
use serde_json::{Number, Value, json};

use super::{
    amount::{
        check_seconds, format_bytes, format_seconds, group_digits, parse_bytes, parse_count, parse_seconds,
    },
    secrets::{read_exceptions, read_rules},
};

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string that is not empty.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// True or false.
    Flag,
    /// A list of strings. On the command line and in the environment, commas separate them: `a,b`.
    Texts,
    /// A whole number, at most this one.
    Count(u64),
    /// A number of bytes, with or without a unit: `65536`, `"64KiB"`.
    Bytes,
    /// A time: a number of seconds, or `"500ms"`, `"2s"`. The value is in seconds.
    Time,
    /// A list of rules for secrets.
    SecretRules,
    /// A list of exceptions from the rules for secrets.
    SecretExceptions,
    /// A list of places with foreign prompt files: a path, or a table of `path` and `format`.
    ForeignPaths,
    /// Any value; the code that uses it checks it.
    Any,
}

/// Why a value is invalid for a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidValue {
    pub(super) message: String,
    pub(super) near: Vec<String>,
    pub(super) hint: Option<String>,
    /// The path of the invalid part below the setting, such as `[1].name`, and its place.
    pub(super) within: String,
    pub(super) at: Option<LineColumn>,
}

impl InvalidValue {
    pub(super) fn new(message: String) -> Self {
        Self { message, near: Vec::new(), hint: None, within: String::new(), at: None }
    }

    /// The same about a part of the value.
    pub(super) fn within(self, within: String, at: LineColumn) -> Self {
        Self { within, at: Some(at), ..self }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl Kind {
    /// The name of the type in messages, such as `a whole number`.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Text => ValueType::String.noun(),
            Self::Word(_) => "a word",
            Self::Flag => "true or false",
            Self::Texts => "a list of strings",
            Self::Count(_) => "a whole number",
            Self::Bytes => "a number of bytes",
            Self::Time => "a time",
            Self::SecretRules => "a list of rules",
            Self::SecretExceptions => "a list of exceptions",
            Self::ForeignPaths => "a list of tables with `path` and `format`",
            Self::Any => "anything",
        }
    }

    /// Reads the value of a node of a file.
    pub(super) fn read_node(self, node: &Node) -> Result<Value, InvalidValue> {
        match (self, &node.data) {
            (Self::Any, _) => Ok(node.to_value()),
            (Self::SecretRules | Self::SecretExceptions, _) => self.read_list(node),
            (Self::ForeignPaths, _) => read_foreign_paths(node),
            (Self::Flag, Data::Bool(flag)) => Ok((*flag).into()),
            (Self::Texts, Data::List(items)) => items.iter().map(|item| self.read_item(item)).collect(),
            (Self::Texts, Data::String(text)) => Ok(Value::Array(vec![text.as_str().into()])),
            (_, Data::String(text)) => self.parse_text(text),
            (Self::Count(_) | Self::Bytes | Self::Time, Data::Number(number)) => self.check_number(number),
            _ => Err(self.type_error(node)),
        }
    }

    fn read_item(self, item: &Node) -> Result<Value, InvalidValue> {
        match &item.data {
            Data::String(text) if !text.is_empty() => Ok(text.as_str().into()),
            Data::String(_) => Err(InvalidValue::new("must not contain empty strings".to_owned())),
            _ => Err(InvalidValue::new(format!("must be {}, but contains {}", self.describe(), item.kind()))),
        }
    }

    fn type_error(self, node: &Node) -> InvalidValue {
        InvalidValue::new(format!("must be {}, not {}", self.describe(), node.kind()))
    }

    fn check_number(self, number: &Number) -> Result<Value, InvalidValue> {
        let whole = number.as_u64();
        let fits = match self {
            Self::Count(most) => whole.is_some_and(|whole| whole <= most),
            Self::Bytes => whole.is_some_and(|whole| isize::try_from(whole).is_ok()),
            _ => number.as_f64().and_then(check_seconds).is_some(),
        };
        if fits { Ok(number.clone().into()) } else { Err(self.text_error(&number.to_string())) }
    }

    /// Parses the text of a flag or an environment variable.
    pub(super) fn parse_text(self, text: &str) -> Result<Value, InvalidValue> {
        let text = text.trim();
        match self {
            Self::Text if text.is_empty() => Err(InvalidValue::new("must not be empty".to_owned())),
            Self::Text => Ok(text.into()),
            Self::Word(words) => match words.contains(&text) {
                true => Ok(text.into()),
                false => Err(InvalidValue {
                    near: near_names(text, words.iter().copied()),
                    ..InvalidValue::new(format!("cannot be `{text}`"))
                        .with_hint(format!("use one of {}", words.join(", ")))
                }),
            },
            Self::Flag => text.parse::<bool>().map(Value::from).map_err(|_| self.text_error(text)),
            Self::Texts => Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()),
            Self::Count(most) => parse_count(text)
                .filter(|count| *count <= most)
                .map(Value::from)
                .ok_or_else(|| self.text_error(text)),
            Self::Bytes => parse_bytes(text).map(Value::from).ok_or_else(|| self.text_error(text)),
            Self::Time => parse_seconds(text).map(seconds_value).ok_or_else(|| self.text_error(text)),
            Self::Any => Ok(parse_any(text)),
            Self::ForeignPaths if !text.starts_with(['[', '{']) => {
                let paths = text.split(',').map(str::trim).filter(|path| !path.is_empty());
                Ok(paths.map(|path| foreign_path(path, "auto")).collect())
            }
            Self::ForeignPaths => read_foreign_paths(&Node::from_value(&parse_any(text))),
            Self::SecretRules | Self::SecretExceptions if text.is_empty() => Ok(Value::Array(Vec::new())),
            Self::SecretRules | Self::SecretExceptions => self.read_list(&Node::from_value(&parse_any(text))),
        }
    }

    fn read_list(self, node: &Node) -> Result<Value, InvalidValue> {
        let read = match self {
            Self::SecretRules => read_rules(node).map(drop),
            _ => read_exceptions(node).map(drop),
        };
        read.map(|()| list_value(node))
    }

    fn text_error(self, text: &str) -> InvalidValue {
        let error = InvalidValue::new(format!("must be {}, not `{text}`", self.describe()));
        match self {
            Self::Count(most) if parse_count(text).is_some() => {
                error.with_hint(format!("the maximum is {most}"))
            }
            Self::Count(_) | Self::Flag => error,
            Self::Bytes => error.with_hint("write 65536, 64KiB, 1MiB or 1GiB"),
            _ => error.with_hint("write 500ms, 2s or 2"),
        }
    }

    /// Formats a value of this type for people; `-` for none.
    #[must_use]
    pub fn format_value(self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Null) => "-".to_owned(),
            (Self::Count(_), Value::Number(number)) => {
                number.as_u64().map_or_else(|| number.to_string(), group_digits)
            }
            (Self::Bytes, Value::Number(number)) => format_bytes(number.as_u64().unwrap_or_default()),
            (Self::Time, Value::Number(number)) => format_seconds(number.as_f64().unwrap_or_default()),
            (
                Self::Texts | Self::SecretRules | Self::SecretExceptions | Self::ForeignPaths,
                Value::Array(items),
            ) if items.is_empty() => "-".to_owned(),
            (Self::Texts, Value::Array(items)) => {
                items.iter().map(|item| item.as_str().unwrap_or_default()).collect::<Vec<_>>().join(", ")
            }
            (_, Value::String(text)) => text.clone(),
            (_, other) => other.to_string(),
        }
    }
}

/// A place with foreign prompt files.
fn foreign_path(path: &str, format: &str) -> Value {
    json!({"path": path, "format": format})
}

/// Reads the list of places with foreign prompt files. The names of formats are checked where the files are read.
fn read_foreign_paths(node: &Node) -> Result<Value, InvalidValue> {
    let read_place = |(index, item): (usize, &Node)| {
        let problem =
            |message: &str| InvalidValue::new(message.to_owned()).within(format!("[{index}]"), item.at);
        if let Some(path) = item.as_str() {
            return Ok(foreign_path(path, "auto"));
        }
        for (key, _) in item.as_map().ok_or_else(|| problem("must be a table with `path` and `format`"))? {
            if !matches!(key.as_str(), "path" | "format") {
                return Err(InvalidValue {
                    near: near_names(key, ["path", "format"]),
                    ..problem(&format!("has the unknown key `{key}`"))
                });
            }
        }
        let text = |key: &str| {
            item.get(key)
                .map(|value| value.as_str().ok_or_else(|| problem(&format!("`{key}` must be a string"))))
        };
        let path = text("path").transpose()?.filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| problem("needs a `path`"))?;
        Ok(foreign_path(path, text("format").transpose()?.unwrap_or("auto")))
    };
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    items.iter().enumerate().map(read_place).collect()
}

/// A value in the syntax of TOML, or else a string.
fn parse_any(text: &str) -> Value {
    toml::parse_value(text).unwrap_or_else(|| text.into())
}

/// The list of a node; one item need not be in a list.
fn list_value(node: &Node) -> Value {
    match node.to_value() {
        Value::Array(items) => Value::Array(items),
        Value::Null => Value::Array(Vec::new()),
        item => Value::Array(vec![item]),
    }
}

/// Seconds as a JSON number; whole seconds are an integer.
fn seconds_value(seconds: f64) -> Value {
    if seconds.fract() == 0.0 { Value::from(seconds as u64) } else { Value::from(seconds) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COUNT: Kind = Kind::Count(u32::MAX as u64);
    const WORD: Kind = Kind::Word(&["enforce", "off"]);

    fn node(value: &Value) -> Node {
        Node::from_value(value)
    }

    #[test]
    fn files_and_words_give_the_same_values() {
        let cases = [
            (Kind::Text, json!("ja"), "ja", json!("ja")),
            (WORD, json!("off"), " off", json!("off")),
            (Kind::Texts, json!(["a", "b"]), "a, b", json!(["a", "b"])),
            (Kind::Texts, json!("a"), "a", json!(["a"])),
            (COUNT, json!(7), "7", json!(7)),
            (Kind::Bytes, json!("1KiB"), "1024", json!(1024)),
            (Kind::Time, json!(2.5), "2500ms", json!(2.5)),
            (Kind::Time, json!("5s"), "5", json!(5)),
            (Kind::Flag, json!(true), "true", json!(true)),
            (Kind::Any, json!({"a": [1]}), "{a = [1]}", json!({"a": [1]})),
            (Kind::Any, json!("gpt-5"), "gpt-5", json!("gpt-5")),
        ];
        for (kind, file, word, value) in cases {
            assert_eq!(kind.read_node(&node(&file)), Ok(value.clone()), "{kind:?} {file}");
            assert_eq!(kind.parse_text(word), Ok(value), "{kind:?} {word}");
        }
    }

    #[test]
    fn invalid_values_say_why() {
        let message = |kind: Kind, value: Value| kind.read_node(&node(&value)).expect_err("is wrong").message;
        assert_eq!(message(COUNT, json!([])), "must be a whole number, not a list");
        assert_eq!(message(COUNT, json!(4_294_967_296_u64)), "must be a whole number, not `4294967296`");
        assert_eq!(message(COUNT, json!(-1)), "must be a whole number, not `-1`");
        assert_eq!(message(Kind::Bytes, json!("many")), "must be a number of bytes, not `many`");
        assert_eq!(message(Kind::Time, json!(0)), "must be a time, not `0`");
        assert_eq!(message(Kind::Flag, json!("yes")), "must be true or false, not `yes`");
        assert_eq!(message(Kind::Text, json!("")), "must not be empty");
        assert_eq!(message(Kind::Text, json!(5)), "must be a string, not an integer");
        assert_eq!(
            message(Kind::Texts, json!(["a", 5])),
            "must be a list of strings, but contains an integer"
        );
        let word = WORD.parse_text("of").expect_err("is no word");
        assert_eq!(
            (word.near, word.hint),
            (vec!["off".to_owned()], Some("use one of enforce, off".to_owned()))
        );
    }

    #[test]
    fn values_are_shown_with_their_units() {
        assert_eq!(Kind::Bytes.format_value(&json!(1 << 20)), "1 MiB");
        assert_eq!(COUNT.format_value(&json!(20_000)), "20 000");
        assert_eq!(Kind::Time.format_value(&json!(0.5)), "500 ms");
        assert_eq!(Kind::Texts.format_value(&json!(["a", "b"])), "a, b");
        assert_eq!(
            (Kind::Text.format_value(&Value::Null), Kind::Texts.format_value(&json!([]))),
            ("-".into(), "-".into())
        );
    }
}

//! Assertions: `{type: contains, value: x}`, or `contains: x`.

use std::sync::Arc;

use hinagata_document::{Data, Node};
use hinagata_value::near_names;
use serde_json_path::JsonPath;

use super::{Reader, join_field};
use crate::checks::{Assertion, Check, CheckKind, CheckValue, PathQuery, Target};

/// The keys of every assertion.
const KEYS: [&str; 11] = [
    "type",
    "value",
    "on",
    "path",
    "weight",
    "threshold",
    "metric",
    "template",
    "model",
    "assert",
    "description",
];

/// What an assertion says beside its check.
struct Parts<'n> {
    name: String,
    value: Option<&'n Node>,
    place: &'n Node,
}

impl Reader<'_> {
    pub(super) fn assertions(&mut self, field: &str, node: Option<&Node>) -> Vec<Assertion> {
        let Some(node) = node else { return Vec::new() };
        let list = self.fields.list(field, node).iter().enumerate();
        list.filter_map(|(index, item)| self.assertion(&format!("{field}[{index}]"), item)).collect()
    }

    fn assertion(&mut self, field: &str, node: &Node) -> Option<Assertion> {
        if node.as_map().is_none() {
            let message = format!("an assertion must be an object, not {}", node.kind());
            self.fields.problem_with_hint(field, node, message, "write it like `contains: text`");
            return None;
        }
        let parts = self.assertion_parts(field, node)?;
        let (is_negated, name) = match parts.name.strip_prefix("not-") {
            Some(rest) => (true, rest),
            None => (false, parts.name.as_str()),
        };
        let Some(kind) = CheckKind::from_name(name) else {
            self.unknown_type(field, parts.place, &parts.name);
            return None;
        };
        let target = node.get("on").and_then(|on| self.target(&join_field(field, "on"), on));
        let path = match (kind, node.get("path")) {
            (CheckKind::Exists, _) => {
                parts.value.and_then(|path| self.path_query(&join_field(field, "path"), path))
            }
            (_, Some(path)) => self.path_query(&join_field(field, "path"), path),
            _ => None,
        };
        let weight =
            node.get("weight").map_or(Some(1.0), |weight| self.number(&join_field(field, "weight"), weight));
        if weight.is_some_and(|weight| weight < 0.0) {
            self.fields.problem(&join_field(field, "weight"), node, "`weight` must not be negative");
        }
        let metric =
            node.get("metric").and_then(|metric| self.fields.string(&join_field(field, "metric"), metric));
        let check = self.check(field, kind, &parts, node)?;
        Some(Assertion {
            place: self.fields.place(parts.place),
            target,
            path,
            is_negated,
            check,
            weight: weight?,
            metric,
        })
    }

    /// The name of the check and its value: those of `type` and `value`, or of the one key that is a check.
    fn assertion_parts<'n>(&mut self, field: &str, node: &'n Node) -> Option<Parts<'n>> {
        let entries = node.as_map().unwrap_or_default();
        if let Some(kind) = node.get("type") {
            self.check_keys(field, node, &KEYS);
            let name = self.fields.string(&join_field(field, "type"), kind)?;
            let value = match (name.trim_start_matches("not-"), node.get("value")) {
                ("path", None) => node.get("path"),
                (_, value) => value,
            };
            return Some(Parts { name, value, place: node });
        }
        let is_check = |key: &str| CheckKind::from_name(key.strip_prefix("not-").unwrap_or(key)).is_some();
        let mut named = entries.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
        let known = named.clone().find(|(key, _)| is_check(key));
        let is_path = |key: &str| key == "path" || key == "not-path";
        match known.or_else(|| named.next()) {
            Some((key, value)) if is_check(key) => {
                for (other, value) in named.filter(|(other, _)| other != key) {
                    let message = if is_check(other) {
                        format!("`{key}` and `{other}` are two assertions")
                    } else {
                        format!("unknown field `{other}`")
                    };
                    self.fields.problem(&join_field(field, other), value, message);
                }
                Some(Parts { name: key.clone(), value: Some(value), place: node })
            }
            Some((key, _)) => {
                self.unknown_type(field, node, key);
                None
            }
            None => {
                let path = entries.iter().find(|(key, _)| is_path(key));
                if let Some((key, value)) = path {
                    return Some(Parts { name: key.clone(), value: Some(value), place: node });
                }
                if node.get("assert").is_some() {
                    return Some(Parts { name: "assert-set".to_owned(), value: None, place: node });
                }
                self.fields.problem_with_hint(
                    field,
                    node,
                    "the assertion does not say what has to hold",
                    "write it like `contains: text`, or with `type` and `value`",
                );
                None
            }
        }
    }

    fn unknown_type(&mut self, field: &str, node: &Node, name: &str) {
        let names = CheckKind::all_names();
        let near = near_names(name.strip_prefix("not-").unwrap_or(name), names.iter().copied());
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of {}", names.join(", ")),
        };
        self.fields.problem_with_hint(field, node, format!("unknown assertion `{name}`"), hint);
    }

    fn target(&mut self, field: &str, node: &Node) -> Option<Target> {
        let names = Target::all_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.fields.one_of(field, node, &names, Target::from_name)
    }

    fn path_query(&mut self, field: &str, node: &Node) -> Option<Arc<PathQuery>> {
        let text = self.fields.string(field, node)?;
        match JsonPath::parse(&text) {
            Ok(path) => Some(Arc::new(PathQuery { text, path })),
            Err(error) => {
                let message = format!("`{text}` is not a JSONPath of RFC 9535: {}", error.message());
                self.fields.problem_with_hint(field, node, message, "write it like $.messages[0].role");
                None
            }
        }
    }

    fn check(&mut self, field: &str, kind: CheckKind, parts: &Parts<'_>, node: &Node) -> Option<Check> {
        let threshold = match node.get("threshold") {
            Some(threshold) => Some(self.number(&join_field(field, "threshold"), threshold)?),
            None => None,
        };
        let model = match node.get("model") {
            Some(model) => self.fields.optional_string(&join_field(field, "model"), model),
            None => None,
        };
        let is_template = match node.get("template") {
            Some(template) => self.fields.boolean(&join_field(field, "template"), template)?,
            None => false,
        };
        if kind == CheckKind::Set {
            let Some(inner) = node.get("assert").or(parts.value) else {
                self.fields.problem(field, node, "`assert-set` needs assertions under `assert`");
                return None;
            };
            let assertions = self.assertions(&join_field(field, "assert"), Some(inner));
            return Some(Check::Set { assertions, threshold });
        }
        if kind == CheckKind::Error {
            let value = parts.value.unwrap_or(node);
            return self.expected_error(field, value).map(Check::Error);
        }
        let value = parts.value.map(Node::to_value);
        let value = CheckValue { value, threshold, model, is_template };
        match Check::from_value(kind, value) {
            Ok(check) => Some(check),
            Err(message) => {
                let at = parts.value.filter(|value| !matches!(value.data, Data::Null)).unwrap_or(node);
                self.fields.problem(field, at, message);
                None
            }
        }
    }
}

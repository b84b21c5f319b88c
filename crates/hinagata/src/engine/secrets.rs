//! Values that must not be shown.

use serde_json::Value;

use super::{plan::Plan, scope::Scope, trace::HIDDEN};
use crate::Error;

/// Shorter texts are not looked for: they would stand in half of all sentences.
const SHORTEST: usize = 3;

/// The secret texts of one render.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(plan: &Plan, scope: &Scope<'_>) -> Self {
        let mut texts = Vec::new();
        for value in plan.secrets().filter_map(|name| scope.get(name)) {
            collect(value, &mut texts);
        }
        // The longest first, so that one that is part of another leaves nothing behind.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    /// The error without any of them.
    pub(super) fn redacted(&self, error: Error) -> Error {
        if self.0.is_empty() { error } else { error.map_texts(|text| self.hide(text)) }
    }

    fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.chars().count() >= SHORTEST => texts.push(text.clone()),
        Value::Number(number) if number.to_string().len() >= SHORTEST => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

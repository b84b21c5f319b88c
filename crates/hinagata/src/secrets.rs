//! Masks secret values.

use std::ops::Range;

use serde_json::Value;

use crate::Error;

/// Replaces a secret value.
pub const HIDDEN: &str = "•••";

/// Minimum length of a masked text; shorter ones occur in too many sentences.
const SHORTEST: usize = 3;

/// The secret texts of one render, which appear as `•••` in traces, errors and logs.
///
/// A secret is found as it is, trimmed, and as JSON and Python quote it. Other values that a hook derives from it, such
/// as a prefix or a hash, are not found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Adds every text and number in a value.
    pub fn add_value(&mut self, value: &Value) {
        collect(value, &mut self.0);
        // Longest first, so that masking a part of a longer secret leaves no rest.
        self.0.sort_by(|one, other| (other.len(), one).cmp(&(one.len(), other)));
        self.0.dedup();
    }

    /// Masks secrets in an error.
    #[must_use]
    pub fn redact_error(&self, error: Error) -> Error {
        if self.0.is_empty() { error } else { error.map_texts(|text| self.mask_text(text)) }
    }

    /// Masks secrets in a text.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
    }

    /// The ranges of a text that are secrets, in order and apart.
    pub(crate) fn find_in(&self, text: &str) -> Vec<Range<usize>> {
        let found = self.0.iter().flat_map(|secret| text.match_indices(secret.as_str()));
        let mut all: Vec<Range<usize>> = found.map(|(start, secret)| start..start + secret.len()).collect();
        all.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(all.len());
        for range in all {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Masks secrets in a value, including keys of objects.
    pub(crate) fn mask_value(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.mask_text(&text)),
            Value::Number(number) if self.0.contains(&number.to_string()) => Value::from(HIDDEN),
            Value::Array(items) => items.into_iter().map(|item| self.mask_value(item)).collect(),
            Value::Object(map) => {
                let masked = |(name, value): (String, Value)| (self.mask_text(&name), self.mask_value(value));
                Value::Object(map.into_iter().map(masked).collect())
            }
            other => other,
        }
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let bare = text.trim();
            let in_quotes = Value::from(bare).to_string();
            let escaped = in_quotes[1..in_quotes.len() - 1].to_owned();
            // Python does not escape a double quote inside single quotes.
            let by_python = escaped.replace("\\\"", "\"");
            for form in [text.clone(), bare.to_owned(), escaped, by_python] {
                if form.chars().count() >= SHORTEST {
                    texts.push(form);
                }
            }
        }
        Value::Number(number) if number.to_string().len() >= SHORTEST => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(value: &Value) -> Secrets {
        let mut all = Secrets::default();
        all.add_value(value);
        all
    }

    #[test]
    fn a_secret_is_masked_in_every_form_that_it_is_copied_in() {
        let all = secrets(&json!(["hunter2\n", "it \"is\" so", 12345, "ab"]));
        assert_eq!(all.mask_text("a hunter2, b"), "a •••, b");
        assert_eq!(all.mask_text(r#"{"x": "it \"is\" so"}"#), r#"{"x": "•••"}"#);
        assert_eq!(all.mask_text(r#"{'x': 'it "is" so'}"#), "{'x': '•••'}");
        assert_eq!(all.mask_text("ab cab"), "ab cab", "too short to be looked for");
        let shown = all.mask_value(json!({"hunter2": [12345, 5, "pin 12345", {"deep": "xhunter2x"}]}));
        assert_eq!(shown, json!({"•••": ["•••", 5, "pin •••", {"deep": "x•••x"}]}));
    }

    #[test]
    fn ranges_of_secrets_are_in_order_and_apart() {
        let all = secrets(&json!(["abc", "bcdef", "xyz"]));
        assert_eq!(all.find_in("xyz abcdef abc"), [0..3, 4..10, 11..14]);
    }

    #[test]
    fn of_two_secrets_the_longer_one_is_masked_first() {
        assert_eq!(secrets(&json!(["abc", "abcdef"])).mask_text("abcdef abc"), "••• •••");
    }
}

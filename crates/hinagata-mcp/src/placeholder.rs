//! Placeholders such as `$1` that a host passes instead of values, and fills in itself when it has the text.

use rmcp::model::JsonObject;
use serde_json::{Map, Value};

/// Marks a placeholder of the host in a rendered text. A text that has `$1` by itself lacks it.
const MARK: char = '\u{e0a1}';

/// [`MARK`] in texts that are written as ASCII.
const ESCAPED_MARK: &str = "\\ue0a1";

/// Makes a placeholder a URI.
const SCHEME: &str = "argument:";

/// Stands between characters that the host would read as something else. It is not visible.
const JOINER: char = '\u{2060}';

/// Whether a value is a placeholder of the host.
fn is_placeholder(value: &Value) -> bool {
    let Some(name) = value.as_str().and_then(|text| text.strip_prefix('$')) else { return false };
    name == "ARGUMENTS" || (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The placeholders of a call.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Map<String, Value>);

impl Placeholders {
    /// Takes the placeholders out of the arguments.
    pub(crate) fn take_from(arguments: &mut JsonObject) -> Self {
        let (found, values) =
            std::mem::take(arguments).into_iter().partition(|(_, value)| is_placeholder(value));
        *arguments = values;
        Self(found)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the arguments that have one.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Variables that stand for the placeholders in a render; `as_uris` makes each of them a URI.
    pub(crate) fn to_variables(&self, as_uris: bool) -> Map<String, Value> {
        let scheme = if as_uris { SCHEME } else { "" };
        let stand_in = |(name, value): (&String, &Value)| {
            let text = value.as_str().unwrap_or_default();
            (name.clone(), format!("{scheme}{MARK}{text}").into())
        };
        self.0.iter().map(stand_in).collect()
    }
}

/// The text for a host that fills in placeholders and runs commands in it: only the placeholders of this call are left
/// to it. The second value tells whether anything else would have been changed by the host.
pub(crate) fn restore_placeholders(text: &str) -> (String, bool) {
    let text =
        text.replace(ESCAPED_MARK, &MARK.to_string()).replace(&format!("{SCHEME}{MARK}"), &MARK.to_string());
    let (mut restored, mut guarded) = (String::with_capacity(text.len()), false);
    let mut rest = text.as_str();
    while let Some(place) = rest.find([MARK, '$', '!']) {
        let (before, found) = rest.split_at(place);
        restored.push_str(before);
        let mut characters = found.chars();
        let first = characters.next().unwrap_or_default();
        rest = characters.as_str();
        if first == MARK {
            // The placeholder follows.
            if let Some(after) = rest.strip_prefix('$') {
                restored.push('$');
                rest = after;
            }
            continue;
        }
        restored.push(first);
        let is_special = match first {
            '$' => rest.starts_with(|next: char| next.is_ascii_digit()) || rest.starts_with("ARGUMENTS"),
            _ => rest.starts_with('`'),
        };
        if is_special {
            restored.push(JOINER);
            guarded = true;
        }
    }
    restored.push_str(rest);
    (restored, guarded)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_exact_placeholders_are_taken() {
        let mut arguments =
            json!({"a": "$1", "b": "$12", "c": "$ARGUMENTS", "d": "$x", "e": "costs $1", "f": 1});
        let arguments = arguments.as_object_mut().expect("is an object");
        let placeholders = Placeholders::take_from(arguments);
        assert_eq!(placeholders.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(arguments.keys().collect::<Vec<_>>(), ["d", "e", "f"]);
    }

    #[test]
    fn only_the_placeholders_of_the_call_are_left_to_the_host() {
        let placeholders = Placeholders(json!({"a": "$1"}).as_object().expect("is one").clone());
        let plain = placeholders.to_variables(false)["a"].as_str().expect("is a text").to_owned();
        let uri = placeholders.to_variables(true)["a"].as_str().expect("is a text").to_owned();
        assert!(hinagata::media::is_uri(&uri));
        assert_eq!(restore_placeholders(&format!("{plain}, {uri}!")), ("$1, $1!".to_owned(), false));
        let (text, guarded) = restore_placeholders("costs $5, $ARGUMENTS, run !`ls`, $x, wow!");
        assert!(guarded);
        assert_eq!(text, "costs $\u{2060}5, $\u{2060}ARGUMENTS, run !\u{2060}`ls`, $x, wow!");
    }
}

//! Checks `config`, the options of the model. Programs may have options of their own there, so nothing is refused; but
//! what is not sent to the model is reported.

use hinagata_document::{Fields, Node, truncate_for_display, type_message};
use hinagata_value::ValueType;
use serde_json::Value;

/// What the value of an option must be.
#[derive(Clone, Copy)]
enum OptionType {
    Count,
    Integer,
    Number,
    Texts,
}

/// The options that are sent, by each name that they may have.
const OPTIONS: [(&str, OptionType); 12] = [
    ("max_tokens", OptionType::Count),
    ("maxOutputTokens", OptionType::Count),
    ("maxTokens", OptionType::Count),
    ("temperature", OptionType::Number),
    ("top_p", OptionType::Number),
    ("topP", OptionType::Number),
    ("top_k", OptionType::Count),
    ("topK", OptionType::Count),
    ("stop", OptionType::Texts),
    ("stopSequences", OptionType::Texts),
    ("stop_sequences", OptionType::Texts),
    ("seed", OptionType::Integer),
];

impl OptionType {
    fn noun(self) -> &'static str {
        match self {
            Self::Count => "an integer that is not negative",
            Self::Integer => ValueType::Integer.noun(),
            Self::Number => ValueType::Number.noun(),
            Self::Texts => "a string or a list of strings",
        }
    }

    fn has_value(self, value: &Value) -> bool {
        match self {
            Self::Count => value.is_u64(),
            Self::Integer => value.is_i64(),
            Self::Number => value.is_number(),
            Self::Texts => {
                value.is_string() || value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
            }
        }
    }
}

/// The value of `config`, with warnings about what has no effect.
pub(super) fn read_config(fields: &mut Fields<'_>, node: &Node) -> Value {
    if node.as_map().is_none() && !node.is_null() {
        let message =
            format!("`config` has no effect: it {}", type_message(ValueType::Object, node.value_type()));
        fields.warn_of_no_effect("config", node, ("config", &message), "write the options as `name: value`");
    }
    for (key, option) in node.as_map().unwrap_or_default() {
        let field = format!("config.{}", truncate_for_display(key));
        match OPTIONS.iter().find(|(name, _)| name == key) {
            None => {
                let known = OPTIONS.map(|(name, _)| name);
                let message = format!("`{field}` is unknown and not sent to the model");
                fields.warn_of_unknown(&field, option, (key, &message), &known);
            }
            Some((_, wanted)) if !option.is_null() && !wanted.has_value(&option.to_value()) => {
                let message = format!("`{field}` is not sent to the model: its value has the wrong type");
                fields.warn_of_no_effect(&field, option, (key, &message), format!("write {}", wanted.noun()));
            }
            Some(_) => {}
        }
    }
    node.to_value()
}

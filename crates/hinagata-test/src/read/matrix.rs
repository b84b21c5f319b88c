//! The combinations of the values of a matrix.

use serde_json::{Map, Value};

/// Longest text of a value in the name of a case, in characters.
const MAX_SHOWN: usize = 40;

/// Every combination of values, the last key first to change, each with its name. One empty combination without keys.
pub(super) fn multiply(matrix: &[(String, Vec<Value>)]) -> Vec<(String, Map<String, Value>)> {
    let mut all = vec![(String::new(), Map::new())];
    for (key, values) in matrix {
        all = all
            .into_iter()
            .flat_map(|(name, before)| {
                values.iter().map(move |value| {
                    let mut combined = before.clone();
                    combined.insert(key.clone(), value.clone());
                    let separator = if name.is_empty() { "" } else { ", " };
                    (format!("{name}{separator}{key}={}", display_value(value)), combined)
                })
            })
            .collect();
    }
    all
}

fn display_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_combination_has_a_name() {
        let matrix =
            [("a".to_owned(), vec![json!(1), json!(2)]), ("b".to_owned(), vec![json!("x"), json!([3])])];
        let names: Vec<String> = multiply(&matrix).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a=1, b=x", "a=1, b=[3]", "a=2, b=x", "a=2, b=[3]"]);
        assert_eq!(multiply(&[]), [(String::new(), Map::new())]);
    }
}

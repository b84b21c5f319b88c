//! Merges variables.

use serde_json::{Map, Value};

/// Merges `over` into `base`: maps merge by key at every depth, other values are replaced.
pub fn merge_variables(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_variables(below, above),
            (Some(below), _) => *below = value.clone(),
            (None, _) => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// `bag` with missing top-level keys taken from `defaults`.
#[must_use]
pub fn apply_defaults(defaults: &Map<String, Value>, bag: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = defaults.clone();
    merged.extend(bag.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().expect("a map")
    }

    #[test]
    fn maps_merge_and_everything_else_is_replaced() {
        let mut base = map(&json!({"a": {"x": 1, "y": {"z": 2}}, "l": [1, 2], "n": 1}));
        merge_variables(&mut base, &map(&json!({"a": {"y": {"w": 3}}, "l": [9], "n": null, "m": 4})));
        assert_eq!(
            Value::Object(base),
            json!({"a": {"x": 1, "y": {"z": 2, "w": 3}}, "l": [9], "n": null, "m": 4})
        );
    }

    #[test]
    fn defaults_are_replaced_whole() {
        let merged = apply_defaults(&map(&json!({"d": {"p": 1}, "k": 2})), &map(&json!({"d": {"q": 3}})));
        assert_eq!(Value::Object(merged), json!({"d": {"q": 3}, "k": 2}));
    }
}

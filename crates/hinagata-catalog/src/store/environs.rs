//! Environs as one tree.

use serde_json::{Map, Value};

use super::StoredMap;

/// All environs nested by the dots of their ids. A child overrides the same members of its parent.
#[must_use]
pub fn environ_tree(environs: &StoredMap) -> Value {
    let mut root = Map::new();
    // A parent sorts before its children, because its id is their prefix.
    for (id, stored) in environs {
        put(&mut root, id, &stored.value);
    }
    Value::Object(root)
}

fn put(root: &mut Map<String, Value>, id: &str, value: &Value) {
    let (way, last) = id.rsplit_once('.').map_or((None, id), |(way, last)| (Some(way), last));
    let mut map = root;
    for step in way.into_iter().flat_map(|way| way.split('.')) {
        let next = map.entry(step).or_insert_with(|| Value::Object(Map::new()));
        // Children replace a parent that is not an object.
        if !next.is_object() {
            *next = Value::Object(Map::new());
        }
        let Value::Object(inner) = next else { unreachable!("made a map above") };
        map = inner;
    }
    match map.get_mut(last) {
        Some(known) => merge(known, value),
        None => {
            map.insert(last.to_owned(), value.clone());
        }
    }
}

/// Merges `value` into `known`.
fn merge(known: &mut Value, value: &Value) {
    // The limit on the depth of JSON in the store bounds the recursion.
    match (known, value) {
        (Value::Object(known), Value::Object(value)) => {
            for (key, value) in value {
                match known.get_mut(key) {
                    Some(inner) => merge(inner, value),
                    None => {
                        known.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (known, value) => *known = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Stored;

    fn tree(environs: &[(&str, Value)]) -> Value {
        let stored = |(id, value): &(&str, Value)| ((*id).into(), Stored::new(*id, value.clone()));
        environ_tree(&environs.iter().map(stored).collect())
    }

    #[test]
    fn ids_nest_by_their_dots() {
        let environs = [
            ("vscode.programming_language", json!("go")),
            ("vscode.frameworks", json!(["gin", "gorm"])),
            ("flat", json!(1)),
        ];
        assert_eq!(
            tree(&environs),
            json!({"vscode": {"programming_language": "go", "frameworks": ["gin", "gorm"]}, "flat": 1})
        );
    }

    #[test]
    fn children_override_their_parents_member_by_member() {
        let environs = [
            ("a", json!({"b": {"x": 1, "y": 1}, "c": 1})),
            ("a.b", json!({"y": 2, "z": 2})),
            ("a.b.z", json!(3)),
        ];
        assert_eq!(tree(&environs), json!({"a": {"b": {"x": 1, "y": 2, "z": 3}, "c": 1}}));
    }

    #[test]
    fn children_replace_a_parent_that_is_not_an_object() {
        assert_eq!(tree(&[("a", json!("text")), ("a.b", json!(1))]), json!({"a": {"b": 1}}));
        assert_eq!(
            tree(&[("a.b", json!([])), ("a.b.c.d", json!(null))]),
            json!({"a": {"b": {"c": {"d": null}}}})
        );
    }
}

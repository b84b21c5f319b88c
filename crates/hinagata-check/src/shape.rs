//! What is known about a value: its possible kinds, and where known its values, items and fields.

use std::{collections::BTreeMap, ops::BitOr, sync::Arc};

use serde_json::{Map, Value as Json};

/// Maximum number of values that a shape lists. More are only known by their kinds.
const MAX_VALUES: usize = 16;
/// Maximum depth of a shape. Deeper parts are unknown.
const MAX_DEPTH: usize = 12;
/// Maximum bytes of a value that a shape contains.
const MAX_BYTES: usize = 1 << 16;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u16);

impl Kinds {
    /// No kind: there is no such value.
    pub const NONE: Self = Self(0);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// A boolean.
    pub const BOOL: Self = Self(2);
    /// An integer.
    pub const INT: Self = Self(4);
    /// A number with a fraction.
    pub const FLOAT: Self = Self(8);
    /// A string.
    pub const STRING: Self = Self(16);
    /// A list.
    pub const LIST: Self = Self(32);
    /// A map.
    pub const MAP: Self = Self(64);
    /// An undefined value.
    pub const UNDEFINED: Self = Self(128);
    /// Anything that JSON does not have: macros, ranges, marked-up text, objects of the host.
    pub const OTHER: Self = Self(256);
    /// Every kind of JSON.
    pub const JSON: Self = Self(127);
    /// Every kind.
    pub const ANY: Self = Self(511);

    /// The single kinds of JSON, with their names.
    pub const NAMES: [(Self, &'static str); 7] = [
        (Self::NULL, "null"),
        (Self::BOOL, "a boolean"),
        (Self::INT, "an integer"),
        (Self::FLOAT, "a number"),
        (Self::STRING, "a string"),
        (Self::LIST, "a list"),
        (Self::MAP, "an object"),
    ];

    /// Whether every kind of `other` is in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether they share a kind.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The kinds that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether it has no kind.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Two characters that no other kinds have, for keys.
    pub(crate) fn to_chars(self) -> [char; 2] {
        [(self.0 >> 5) as u8, (self.0 & 31) as u8].map(|part| (part + b'A') as char)
    }

    /// The kind of a JSON value.
    #[must_use]
    pub fn from_json(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(number) if number.is_f64() => Self::FLOAT,
            Json::Number(_) => Self::INT,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::LIST,
            Json::Object(_) => Self::MAP,
        }
    }

    /// The kinds of the type `name` of a JSON Schema.
    #[must_use]
    pub fn from_schema_type(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOL,
            "integer" => Self::INT,
            "number" => Self::INT | Self::FLOAT,
            "string" => Self::STRING,
            "array" => Self::LIST,
            "object" => Self::MAP,
            _ => return None,
        })
    }

    /// The kinds in words: `a string or a list`.
    #[must_use]
    pub fn to_noun(self) -> String {
        let both = Self::INT | Self::FLOAT;
        let hides_int = self.contains(both);
        let names: Vec<&str> = Self::NAMES
            .iter()
            .filter(|(kind, _)| self.contains(*kind) && !(hides_int && *kind == Self::INT))
            .map(|(_, name)| *name)
            .collect();
        match names.split_last() {
            None => "undefined".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, before)) => format!("{} or {last}", before.join(", ")),
        }
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is known about a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Its possible kinds.
    pub kinds: Kinds,
    /// Its possible values, if all are known. They say nothing about undefined and other values.
    pub values: Option<Arc<[Json]>>,
    /// The shape of the items, if it is a list; `None` if unknown.
    pub items: Option<Arc<Shape>>,
    /// The fields, if it is a map; `None` if unknown.
    pub fields: Option<Arc<Fields>>,
    /// Whether the author declared it, so that a mismatch is a mistake in the template and not a gap in the declarations.
    pub declared: bool,
}

/// The fields of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// The known ones.
    pub known: BTreeMap<String, Field>,
    /// The shape of others; `None` if there are no others.
    pub rest: Option<Shape>,
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// What it contains.
    pub shape: Shape,
    /// Whether it is always there.
    pub required: bool,
}

impl Shape {
    /// Nothing is known.
    pub const ANY: Self = Self::of_kinds(Kinds::ANY);
    /// Undefined.
    pub const UNDEFINED: Self = Self::of_kinds(Kinds::UNDEFINED);

    /// A value of one of these kinds.
    #[must_use]
    pub const fn of_kinds(kinds: Kinds) -> Self {
        Self { kinds, values: None, items: None, fields: None, declared: false }
    }

    /// Exactly this value.
    #[must_use]
    pub fn of_value(value: Json) -> Self {
        let shape = Self::of_example(&value, 0);
        Self { values: Some(Arc::new([value])), ..shape }
    }

    /// A list of such items.
    #[must_use]
    pub fn list_of(items: Self) -> Self {
        Self { items: Some(Arc::new(items)), ..Self::of_kinds(Kinds::LIST) }
    }

    /// A map of these fields.
    #[must_use]
    pub fn map_of(fields: Fields) -> Self {
        Self { fields: Some(Arc::new(fields)), ..Self::of_kinds(Kinds::MAP) }
    }

    /// The shape of values like `value`: same kinds, same fields.
    fn of_example(value: &Json, depth: usize) -> Self {
        let mut shape = Self::of_kinds(Kinds::from_json(value));
        if depth >= MAX_DEPTH {
            return shape;
        }
        match value {
            Json::Array(items) => {
                let all = items.iter().take(64).map(|item| Self::of_example(item, depth + 1));
                let joined = all.reduce(|a, b| a.join(&b));
                shape.items = match (joined, items.len()) {
                    (Some(joined), ..=64) => Some(Arc::new(joined)),
                    (None, _) => Some(Arc::new(Self::of_kinds(Kinds::NONE))),
                    _ => None,
                };
            }
            Json::Object(map) => {
                let field = |(key, value): (&String, &Json)| {
                    let shape = Self::of_example(value, depth + 1);
                    (key.clone(), Field { shape, required: true })
                };
                let known = map.iter().map(field).collect();
                shape.fields = Some(Arc::new(Fields { known, rest: None }));
            }
            _ => {}
        }
        shape
    }

    /// The shape that a JSON Schema describes. What it cannot express is unknown.
    #[must_use]
    pub fn from_schema(schema: &Json) -> Self {
        let mut shape = from_schema(schema, schema, 0);
        shape.declared = true;
        shape
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.kinds.contains(Kinds::OTHER)
    }

    /// The only possible value.
    #[must_use]
    pub fn only_value(&self) -> Option<&Json> {
        match self.values.as_deref() {
            Some([value]) if !self.kinds.overlaps(Kinds::UNDEFINED | Kinds::OTHER) => Some(value),
            _ => None,
        }
    }

    /// A value of this shape or of the other one.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let declared = self.declared && other.declared;
        if self.kinds.without(Kinds::UNDEFINED).is_empty() {
            return Self { kinds: self.kinds | other.kinds, declared, ..other.clone() };
        }
        if other.kinds.without(Kinds::UNDEFINED).is_empty() {
            return Self { kinds: self.kinds | other.kinds, declared, ..self.clone() };
        }
        let values = match (&self.values, &other.values) {
            (Some(a), Some(b)) => {
                let mut all = a.to_vec();
                all.extend(b.iter().filter(|value| !a.contains(value)).cloned());
                (all.len() <= MAX_VALUES).then(|| all.into())
            }
            _ => None,
        };
        let part = |has: Kinds, a: &Option<Arc<Self>>, b: &Option<Arc<Self>>| match (
            self.kinds.overlaps(has),
            other.kinds.overlaps(has),
        ) {
            (true, true) => match (a, b) {
                (Some(a), Some(b)) => Some(Arc::new(a.join(b))),
                _ => None,
            },
            (true, false) => a.clone(),
            (false, true) => b.clone(),
            (false, false) => None,
        };
        let items = part(Kinds::LIST, &self.items, &other.items);
        let fields = match (self.kinds.overlaps(Kinds::MAP), other.kinds.overlaps(Kinds::MAP)) {
            (true, true) => match (&self.fields, &other.fields) {
                (Some(a), Some(b)) => Some(Arc::new(a.join(b))),
                _ => None,
            },
            (true, false) => self.fields.clone(),
            (false, true) => other.fields.clone(),
            (false, false) => None,
        };
        Self { kinds: self.kinds | other.kinds, values, items, fields, declared }
    }

    /// The same without these kinds.
    #[must_use]
    pub fn without(&self, kinds: Kinds) -> Self {
        let left = self.kinds.without(kinds);
        let values = self.values.as_ref().map(|values| {
            values.iter().filter(|value| left.contains(Kinds::from_json(value))).cloned().collect()
        });
        Self { kinds: left, values, ..self.clone() }
    }

    /// The same, but only these kinds.
    #[must_use]
    pub fn only(&self, kinds: Kinds) -> Self {
        self.without(Kinds::ANY.without(kinds))
    }

    /// The same without exact values, items and fields of containers, for templates that change them in place.
    #[must_use]
    pub fn widen_containers(&self) -> Self {
        if !self.kinds.overlaps(Kinds::LIST | Kinds::MAP) {
            return self.clone();
        }
        Self { values: None, items: None, fields: None, ..self.clone() }
    }

    /// An item of it, if it is iterated: of a list its items, of a map its keys, of a string its characters.
    #[must_use]
    pub fn item(&self) -> Self {
        if self.is_unknown() {
            return Self::ANY;
        }
        let mut found = Self::of_kinds(Kinds::NONE);
        if self.kinds.overlaps(Kinds::LIST) {
            found = found.join(&self.listed_items());
        }
        if self.kinds.overlaps(Kinds::STRING | Kinds::MAP) {
            found = found.join(&Self::of_kinds(Kinds::STRING));
        }
        found.declared = self.declared;
        found
    }

    /// The items of a list.
    #[must_use]
    pub fn listed_items(&self) -> Self {
        if let Some(values) = &self.values
            && values.iter().all(|value| value.as_array().is_none_or(|items| items.len() <= MAX_VALUES))
        {
            let all = values.iter().filter_map(Json::as_array).flatten().cloned();
            let joined = all.map(Self::of_value).reduce(|a, b| a.join(&b));
            let joined = joined.unwrap_or(Self::of_kinds(Kinds::NONE));
            return Self { declared: self.declared, ..joined };
        }
        match &self.items {
            Some(items) => Self { declared: self.declared, ..(**items).clone() },
            None => Self::ANY,
        }
    }

    /// The field `key` of a map; undefined is one of its kinds if it may be missing.
    #[must_use]
    pub fn field(&self, key: &str) -> Self {
        let Some(fields) = &self.fields else { return Self::ANY };
        if let Some(values) = &self.values {
            let of = |value: &Json| match value.get(key) {
                Some(value) => Self::of_value(value.clone()),
                None => Self::UNDEFINED,
            };
            let maps = values.iter().filter(|value| value.is_object());
            let joined = maps.map(of).reduce(|a, b| a.join(&b));
            return Self { declared: self.declared, ..joined.unwrap_or(Self::UNDEFINED) };
        }
        let found = match fields.known.get(key) {
            Some(Field { shape, required: true }) => shape.clone(),
            Some(Field { shape, .. }) => shape.join(&Self::UNDEFINED),
            None => match &fields.rest {
                Some(rest) => rest.join(&Self::UNDEFINED),
                None => Self::UNDEFINED,
            },
        };
        Self { declared: self.declared, ..found }
    }

    /// The names of the fields that a map may have; `None` if there may be others.
    #[must_use]
    pub fn field_names(&self) -> Option<Vec<&str>> {
        let fields = self.fields.as_ref().filter(|fields| fields.rest.is_none())?;
        Some(fields.known.keys().map(String::as_str).collect())
    }
}

impl Fields {
    fn join(&self, other: &Self) -> Self {
        let mut known = BTreeMap::new();
        let missing = |fields: &Self| fields.rest.clone();
        for (key, field) in &self.known {
            let joined = match other.known.get(key) {
                Some(there) => Field {
                    shape: field.shape.join(&there.shape),
                    required: field.required && there.required,
                },
                None => Field {
                    shape: missing(other).map_or(field.shape.clone(), |rest| field.shape.join(&rest)),
                    required: false,
                },
            };
            known.insert(key.clone(), joined);
        }
        for (key, field) in &other.known {
            known.entry(key.clone()).or_insert_with(|| Field {
                shape: missing(self).map_or(field.shape.clone(), |rest| field.shape.join(&rest)),
                required: false,
            });
        }
        let rest = match (&self.rest, &other.rest) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        };
        Self { known, rest }
    }
}

fn from_schema(schema: &Json, root: &Json, depth: usize) -> Shape {
    let Json::Object(map) = schema else {
        return if *schema == Json::Bool(false) { Shape::of_kinds(Kinds::NONE) } else { json() };
    };
    if depth >= MAX_DEPTH {
        return json();
    }
    if let Some(target) = map.get("$ref").and_then(Json::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or_else(json, |found| from_schema(found, root, depth + 1));
    }
    if let Some(value) = map.get("const") {
        return Shape::of_value(value.clone());
    }
    if let Some(Json::Array(values)) = map.get("enum") {
        let all = values.iter().cloned().map(Shape::of_value).reduce(|a, b| a.join(&b));
        return all.unwrap_or_else(json);
    }
    let several = ["anyOf", "oneOf"].into_iter().find_map(|key| map.get(key)?.as_array());
    if let Some(several) = several {
        let all = several.iter().map(|one| from_schema(one, root, depth + 1)).reduce(|a, b| a.join(&b));
        return all.unwrap_or_else(json);
    }
    if map.contains_key("allOf") || map.contains_key("not") || map.contains_key("if") {
        return json();
    }
    typed_shape(map, root, depth)
}

fn typed_shape(map: &Map<String, Json>, root: &Json, depth: usize) -> Shape {
    let mut kinds = schema_kinds(map);
    if map.get("nullable") == Some(&Json::Bool(true)) {
        kinds = kinds | Kinds::NULL;
    }
    let mut shape = Shape::of_kinds(kinds);
    if kinds.overlaps(Kinds::LIST)
        && let Some(items) = map.get("items").filter(|items| !items.is_array())
    {
        shape.items = Some(Arc::new(from_schema(items, root, depth + 1)));
    }
    let is_described = map.contains_key("properties") || map.contains_key("additionalProperties");
    if kinds.overlaps(Kinds::MAP) && is_described && !map.contains_key("patternProperties") {
        shape.fields = Some(Arc::new(schema_fields(map, root, depth)));
    }
    shape
}

fn schema_kinds(map: &Map<String, Json>) -> Kinds {
    match map.get("type") {
        Some(Json::String(name)) => Kinds::from_schema_type(name).unwrap_or(Kinds::JSON),
        Some(Json::Array(names)) => names
            .iter()
            .map(|name| name.as_str().and_then(Kinds::from_schema_type).unwrap_or(Kinds::JSON))
            .fold(Kinds::NONE, BitOr::bitor),
        _ if map.contains_key("properties") => Kinds::MAP,
        _ => Kinds::JSON,
    }
}

/// Objects are closed unless `additionalProperties` says otherwise: a schema that lists its properties is read as
/// complete, and a missing one only gives a warning.
fn schema_fields(map: &Map<String, Json>, root: &Json, depth: usize) -> Fields {
    let required: Vec<&str> =
        map.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let known = map.get("properties").and_then(Json::as_object).into_iter().flatten();
    let field = |(key, schema): (&String, &Json)| {
        let shape = from_schema(schema, root, depth + 1);
        (key.clone(), Field { shape, required: required.contains(&key.as_str()) })
    };
    let rest = match map.get("additionalProperties") {
        None if map.contains_key("properties") => None,
        Some(Json::Bool(false)) => None,
        None => Some(json()),
        Some(schema) => Some(from_schema(schema, root, depth + 1)),
    };
    Fields { known: known.map(field).collect(), rest }
}

fn json() -> Shape {
    Shape::of_kinds(Kinds::JSON)
}

/// Whether a value is small enough to be followed exactly.
#[must_use]
pub(crate) fn is_small(value: &Json) -> bool {
    fn size(value: &Json, left: usize) -> Option<usize> {
        match value {
            Json::String(text) => left.checked_sub(text.len() + 1),
            Json::Array(items) => items.iter().try_fold(left.checked_sub(1)?, |left, item| size(item, left)),
            Json::Object(map) => map
                .iter()
                .try_fold(left.checked_sub(1)?, |left, (key, item)| size(item, left.checked_sub(key.len())?)),
            _ => left.checked_sub(1),
        }
    }
    size(value, MAX_BYTES).is_some()
}

//! Declarations of parameters in several common forms.
//!
//! | form | as in |
//! |---|---|
//! | `{required: [...], optional: [...], custom: [...]}` | `VARIABLES` of a `prompt.py` |
//! | `[{name, type, default, required}]` | parameters of an extension, arguments of MCP |
//! | `{properties: {...}, required: [...]}` | JSON Schema |
//! | `{name: string, "age?": integer, other: {type, default}}` | short forms of front matter |

use hinagata_document::{Data, Fields, LineColumn, Node, truncate_for_display};
use serde_json::{Map, Value, json};

use super::parameter::{
    ConversationValue, Origin, Parameter, ParameterClass, Parameters, ProjectValue, Proposals, ValueType,
};

/// The fields of a declaration.
pub const PARAMETER_KEYS: [&str; 13] = [
    "name",
    "type",
    "default",
    "description",
    "required",
    "source",
    "from",
    "secret",
    "schema",
    "enum",
    "complete",
    "aliases",
    // Read by checks of the prompt.
    "untrusted",
];

/// Names that have another meaning in templates.
const RESERVED: [&str; 4] = ["variables", "args", "system", "environs"];

/// The parameters that `node`, the value of `field`, declares.
pub(crate) fn read_parameters(fields: &mut Fields<'_>, field: &str, node: &Node) -> Parameters {
    let declared: Vec<Parameter> = match &node.data {
        Data::Null => Vec::new(),
        Data::List(items) => list(fields, field, items, None),
        Data::Map(entries) if is_schema(node) => schema(fields, field, node, entries),
        Data::Map(entries) if is_classes(entries) => classes(fields, field, entries),
        Data::Map(entries) => {
            entries.iter().filter_map(|(name, value)| short(fields, field, name, value)).collect()
        }
        _ => {
            fields.problem(
                field,
                node,
                format!("`{field}` must be a list or an object of variables, not {}", node.kind()),
            );
            Vec::new()
        }
    };
    join_by_name(fields, field, declared)
}

/// Whether an object has classes of variables: only that form contains lists.
fn is_classes(entries: &[(String, Node)]) -> bool {
    let empty = |(name, value): &(String, Node)| value.is_null() && ParameterClass::from_name(name).is_some();
    entries.iter().any(|(_, value)| value.as_list().is_some())
        || !entries.is_empty() && entries.iter().all(empty)
}

fn is_schema(node: &Node) -> bool {
    node.get("properties").is_some_and(|properties| properties.as_map().is_some())
        && node.get("type").is_none_or(|kind| kind.as_str() == Some("object"))
}

/// The declarations by name. Only an optional variable may also be custom.
fn join_by_name(fields: &mut Fields<'_>, field: &str, declared: Vec<Parameter>) -> Parameters {
    let mut all: Vec<Parameter> = Vec::new();
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    for parameter in declared {
        let Some(&place) = places.get(&parameter.name) else {
            places.insert(parameter.name.clone(), all.len());
            all.push(parameter);
            continue;
        };
        let first = all[place].clone();
        all[place] = match (first.class, parameter.class) {
            (ParameterClass::Optional, ParameterClass::Custom) if first.custom.is_none() => {
                first.over_custom(parameter)
            }
            (ParameterClass::Custom, ParameterClass::Optional) => parameter.over_custom(first),
            _ => {
                let message = format!("`{}` is declared twice in `{field}`", parameter.name);
                match parameter.place {
                    Some(place) => fields.problem_at(field, place, message),
                    None => fields.problem(field, &Node::new(LineColumn::default(), Data::Null), message),
                }
                first
            }
        };
    }
    all.into_iter().collect()
}

fn classes(fields: &mut Fields<'_>, field: &str, entries: &[(String, Node)]) -> Vec<Parameter> {
    let mut declared = Vec::new();
    for (name, value) in entries {
        let path = format!("{field}.{name}");
        let Some(class) = ParameterClass::from_name(name) else {
            let known: Vec<&str> = ParameterClass::ALL.iter().map(|class| class.as_str()).collect();
            fields.unknown_class(&path, value, name, &known);
            continue;
        };
        let items = fields.list(&path, value);
        declared.extend(list(fields, &path, items, Some(class)));
    }
    declared
}

fn list(
    fields: &mut Fields<'_>,
    field: &str,
    items: &[Node],
    class: Option<ParameterClass>,
) -> Vec<Parameter> {
    let mut declared = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{field}[{index}]");
        // A bare name declares a variable of any type.
        let name = if item.as_str().is_some() { Some(item) } else { item.get("name") };
        let Some(name) = name else {
            fields.problem(
                &path,
                item,
                format!("`{path}` must be an object with a `name`, not {}", describe(item)),
            );
            continue;
        };
        let Some(name) = fields.string(&format!("{path}.name"), name) else { continue };
        warn_of_unknown_fields(fields, &path, item);
        let class = class.or_else(|| implied_class(field, item));
        declared.push(parameter(fields, &path, name, item, class));
    }
    declared
}

/// The class of a declaration that does not say it: one of `inputs` without a default is required in every spelling, as
/// `name: string` is. In the forms of other programs, it is optional.
fn implied_class(field: &str, node: &Node) -> Option<ParameterClass> {
    let says = |key: &str| node.get(key).is_some();
    (field == "inputs" && !["default", "required", "source"].into_iter().any(says))
        .then_some(ParameterClass::Required)
}

/// Warns of unknown fields. Fields of a JSON Schema are not checked: they may be keywords of the schema.
fn warn_of_unknown_fields(fields: &mut Fields<'_>, path: &str, node: &Node) {
    for (key, value) in node.as_map().unwrap_or_default() {
        if !PARAMETER_KEYS.contains(&key.as_str()) {
            let message = format!("unknown field `{}` of a variable is ignored", truncate_for_display(key));
            fields.warn_of_unknown(&format!("{path}.{key}"), value, (key, &message), &PARAMETER_KEYS);
        }
    }
}

fn describe(node: &Node) -> &'static str {
    if node.as_map().is_some() { "an object without one" } else { node.kind() }
}

fn schema(fields: &mut Fields<'_>, field: &str, node: &Node, _entries: &[(String, Node)]) -> Vec<Parameter> {
    let required = node
        .get("required")
        .map(|list| fields.strings(&format!("{field}.required"), list))
        .unwrap_or_default();
    let properties = node.get("properties").and_then(Node::as_map).unwrap_or_default();
    let mut declared = Vec::new();
    for (name, value) in properties {
        let class = if required.contains(name) { ParameterClass::Required } else { ParameterClass::Optional };
        let mut found =
            parameter(fields, &format!("{field}.properties.{name}"), name.clone(), value, Some(class));
        found.schema = Some(value.to_value());
        declared.push(found);
    }
    declared
}

/// `name: type`, `name?: type` and `name: {...}`.
fn short(fields: &mut Fields<'_>, field: &str, name: &str, node: &Node) -> Option<Parameter> {
    let (bare, optional) = match name.strip_suffix('?') {
        Some(bare) => (bare, true),
        None => (name, false),
    };
    let path = format!("{field}.{bare}");
    if node.as_map().is_some() {
        let class = if optional { Some(ParameterClass::Optional) } else { implied_class(field, node) };
        warn_of_unknown_fields(fields, &path, node);
        return Some(parameter(fields, &path, bare.to_owned(), node, class));
    }
    let class = if optional { ParameterClass::Optional } else { ParameterClass::Required };
    // A word may be followed by its description, as in `string, the name to greet`.
    let text = fields.string(&path, node)?;
    let (kind, description) = match text.split_once(',') {
        Some((kind, description)) => (kind.trim(), Some(description.trim().to_owned())),
        None => (text.trim(), None),
    };
    let word = Node::new(node.at, Data::String(kind.to_owned()));
    let empty = Node::new(node.at, Data::Map(vec![("type".to_owned(), word)]));
    Some(Parameter { description, ..parameter(fields, &path, bare.to_owned(), &empty, Some(class)) })
}

fn parameter(
    fields: &mut Fields<'_>,
    path: &str,
    name: String,
    node: &Node,
    class: Option<ParameterClass>,
) -> Parameter {
    if name.is_empty() || RESERVED.contains(&name.as_str()) {
        let message = match name.is_empty() {
            true => format!("`{path}` has an empty name"),
            false => format!("`{name}` is reserved and cannot be declared"),
        };
        fields.problem(path, node, message);
    }
    let mut parameter = Parameter {
        name,
        class: ParameterClass::Optional,
        kind: ValueType::Any,
        default: None,
        description: None,
        origin: Origin::Default,
        from: None,
        secret: false,
        schema: None,
        proposals: None,
        unknown: Map::new(),
        place: Some(fields.place(node)),
        custom: None,
        aliases: Vec::new(),
    };
    let (mut required, mut choices) = (None, None);
    for (key, value) in node.as_map().unwrap_or_default() {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "name" => {}
            "type" => parameter.kind = kind(fields, &path, value),
            "default" => parameter.default = Some(value.to_value()),
            "description" => parameter.description = fields.optional_string(&path, value),
            "required" => required = fields.boolean(&path, value),
            "source" => parameter.origin = origin(fields, &path, value),
            "from" => parameter.from = fields.optional_string(&path, value),
            "secret" => parameter.secret = fields.boolean(&path, value).unwrap_or(true),
            "schema" => parameter.schema = Some(value.to_value()),
            "enum" => choices = Some(value.to_value()),
            "complete" => parameter.proposals = proposals(fields, &path, value),
            "aliases" => parameter.aliases = fields.strings(&path, value),
            _ => {
                parameter.unknown.insert(key.clone(), value.to_value());
            }
        }
    }
    // `enum` is short for a schema.
    if let (Some(choices), None) = (choices, &parameter.schema) {
        parameter.schema = Some(json!({"enum": choices}));
    }
    parameter.class = class.unwrap_or(if required == Some(true) {
        ParameterClass::Required
    } else {
        ParameterClass::Optional
    });
    parameter
}

/// A name of a type, or a list of names as in JSON Schema, which allows any of them.
fn kind(fields: &mut Fields<'_>, path: &str, node: &Node) -> ValueType {
    if node.as_list().is_some() {
        let mut kinds = fields.strings(path, node);
        kinds.retain(|name| name != "null");
        return match kinds.as_slice() {
            [one] => ValueType::from_name(one).unwrap_or(ValueType::Any),
            _ => ValueType::Any,
        };
    }
    let names = ["string", "integer", "number", "boolean", "list", "dict", "any", "file"];
    fields.one_of(path, node, &names, ValueType::from_name).unwrap_or(ValueType::Any)
}

fn origin(fields: &mut Fields<'_>, path: &str, node: &Node) -> Origin {
    if matches!(node.to_value(), Value::Null) {
        return Origin::Default;
    }
    let named = |word: &str| match word {
        "system" => Some(Origin::System),
        "environ" => Some(Origin::Environ),
        "diff" => Some(Origin::Project(ProjectValue::Diff(None))),
        "message" => Some(Origin::Conversation(ConversationValue::Message)),
        "messages" => Some(Origin::Conversation(ConversationValue::Messages)),
        _ => None,
    };
    match node.as_map() {
        Some(entries) => project_value(fields, path, node, entries).map(Origin::Project).unwrap_or_default(),
        None => fields
            .one_of(path, node, &["system", "environ", "diff", "message", "messages"], named)
            .unwrap_or_default(),
    }
}

/// A value from the project: `{diff: REVISIONS}` or `{context: PARAMETER_KEYS}`.
fn project_value(
    fields: &mut Fields<'_>,
    path: &str,
    node: &Node,
    entries: &[(String, Node)],
) -> Option<ProjectValue> {
    match entries {
        [(key, revisions)] if key == "diff" => {
            Some(ProjectValue::Diff(Some(fields.string(&format!("{path}.diff"), revisions)?)))
        }
        [(key, options)] if key == "context" => {
            let found = fields.map(&format!("{path}.context"), options);
            Some(ProjectValue::Context(
                found.iter().map(|(name, value)| (name.clone(), value.to_value())).collect(),
            ))
        }
        _ => {
            let hint = "write `system`, `environ`, `diff`, `message`, `messages`, `{diff: \"main..HEAD\"}` or `{context: {include: [\"src/**\"]}}`";
            let message =
                format!("`{path}` must be the name of a source, or an object with `diff` or `context`");
            fields.problem_with_hint(path, node, message, hint);
            None
        }
    }
}

/// The proposals for a parameter: a list, `{glob}`, `{environ}`, or `{by, values}`.
fn proposals(fields: &mut Fields<'_>, path: &str, node: &Node) -> Option<Proposals> {
    if node.is_null() {
        return None;
    }
    if node.as_list().is_some() {
        return Some(Proposals::List(fields.strings(path, node)));
    }
    let found = |key: &str| node.get(key);
    match (found("glob"), found("environ"), found("by"), found("values")) {
        (Some(glob), None, None, None) => {
            Some(Proposals::Files(fields.string(&format!("{path}.glob"), glob)?))
        }
        (None, Some(environ), None, None) => {
            Some(Proposals::Environ(fields.string(&format!("{path}.environ"), environ)?))
        }
        (None, None, Some(by), Some(values)) => {
            let parameter = fields.string(&format!("{path}.by"), by)?;
            let lists = fields.map(&format!("{path}.values"), values).to_vec();
            let list = |(value, list): (String, Node)| {
                let found = fields.strings(&format!("{path}.values.{value}"), &list);
                (value, found)
            };
            Some(Proposals::By { parameter, values: lists.into_iter().map(list).collect() })
        }
        _ => {
            let hint = "write a list, `{glob: \"docs/*.md\"}`, `{environ: NAME}`, or `{by: PARAMETER, values: {VALUE: [...]}}`";
            fields.problem_with_hint(
                path,
                node,
                format!("`{path}` must be a list or an object of proposals"),
                hint,
            );
            None
        }
    }
}

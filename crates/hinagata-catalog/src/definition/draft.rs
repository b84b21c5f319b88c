//! The declarations of one file of a prompt, before all files are merged.

use hinagata_document::{Data, Error, Fields, Node, Place, truncate_for_display};
use hinagata_module::Role;
use hinagata_template::{Language, MessageLayout};
use serde_json::{Map, Number, Value};

use super::config::read_config;
use super::declarations;
use super::limits::PromptLimits;
use super::messages::{self, DraftMessage, DraftText, KnownRoles};
use super::model::{Permissions, Settings, UndefinedMode};
use super::parameter::Parameters;
use crate::tool_document::OnError;

/// The declarations of one document; `None` for absent keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) label: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) author: Option<String>,
    pub(super) expose: Option<bool>,
    /// `Some(None)`: explicitly without a parent.
    pub(super) extends: Option<Option<String>>,
    /// `Some(None)`: explicitly without a file.
    pub(super) template: Option<Option<(String, Place)>>,
    pub(super) body: Option<DraftBody>,
    pub(super) engine: Option<Language>,
    pub(super) undefined: Option<UndefinedMode>,
    pub(super) layout: Option<MessageLayout>,
    pub(super) drops_empty: Option<bool>,
    pub(super) on_error: Option<OnError>,
    pub(super) parameters: Parameters,
    pub(super) permissions: Option<Permissions>,
    pub(super) limits: Option<PromptLimits>,
    pub(super) settings: Settings,
    pub(super) more: Map<String, Value>,
    pub(super) unknown: Map<String, Value>,
    /// Warnings about likely mistakes, such as misspelled keys.
    pub(super) warnings: Vec<Error>,
    /// The roles that its messages may name.
    pub(super) roles: KnownRoles,
}

/// A body inside of a document.
#[derive(Clone, Debug)]
pub(super) enum DraftBody {
    Text(DraftText),
    Messages(Vec<DraftMessage>),
}

/// The known keys of a document; `Draft::read_key` reads them.
pub const PROMPT_KEYS: [&str; 35] = [
    "prompt_id",
    "id",
    "name",
    "title",
    "description",
    "version",
    "type",
    "tags",
    "author",
    "expose",
    "extends",
    "template",
    "engine",
    "undefined",
    "on_error",
    "inputs",
    "variables",
    "parameters",
    "messages",
    "userPrompt",
    "prompt",
    "permissions",
    "limits",
    "output",
    "model",
    "config",
    "returns",
    "supports",
    "languages",
    "role",
    "locked",
    "metadata",
    "layout",
    "empty_messages",
    "imported",
];

/// Reads the keys of a document, or of `METADATA` of a `prompt.py`.
pub(super) fn read_draft(fields: &mut Fields<'_>, node: &Node) -> Draft {
    read_keys(fields, node, KnownRoles::Named)
}

fn read_keys(fields: &mut Fields<'_>, node: &Node, roles: KnownRoles) -> Draft {
    let mut draft = Draft { roles, ..Draft::default() };
    if node.as_map().is_none() {
        fields.problem("(document)", node, format!("a prompt must be an object, not {}", node.kind()));
        return draft;
    }
    for (key, value) in node.as_map().unwrap_or_default() {
        draft.read_key(fields, key, value);
    }
    refuse_two_bodies(fields, node);
    draft
}

/// Reads the keys of a document of the store, as the daemon reads them that it is compatible with: messages have any
/// role, and a text beside messages wins unless it is empty.
pub(super) fn read_stored_draft(fields: &mut Fields<'_>, node: &Node) -> Draft {
    let text = ["prompt", "userPrompt"].into_iter().find_map(|key| Some((key, node.get(key)?)));
    let (Some((key, text)), Some(messages), Some(map)) = (text, node.get("messages"), node.as_map()) else {
        return read_keys(fields, node, KnownRoles::Any);
    };
    let is_empty = text.is_null() || text.as_str() == Some("");
    let unused = if is_empty { key } else { "messages" };
    if !is_empty && messages.as_list().is_some_and(|messages| !messages.is_empty()) {
        let message = format!("`messages` is ignored, because the prompt has `{key}` too");
        fields.warn_of_unknown("messages", messages, ("messages", &message), &[key]);
    }
    let kept = map.iter().filter(|(key, _)| key != unused).cloned().collect();
    read_keys(fields, &Node { data: Data::Map(kept), at: node.at }, KnownRoles::Any)
}

/// Refuses two keys with the same meaning.
fn refuse_two_bodies(fields: &mut Fields<'_>, node: &Node) {
    for group in [&["messages", "userPrompt", "prompt"][..], &["inputs", "variables", "parameters"]] {
        let mut present = group.iter().filter_map(|key| Some((*key, node.get(key)?)));
        if let (Some((first, _)), Some((second, value))) = (present.next(), present.next()) {
            fields.problem_with_hint(
                second,
                value,
                format!("`{first}` and `{second}` exclude each other"),
                format!("keep `{first}` or `{second}`"),
            );
        }
    }
}

impl Draft {
    pub(super) fn read_key(&mut self, fields: &mut Fields<'_>, key: &str, node: &Node) {
        match key {
            "prompt_id" | "id" => self.label = fields.optional_string(key, node),
            "name" => self.name = fields.optional_string(key, node),
            "title" => self.title = fields.optional_string(key, node),
            "description" => self.description = fields.optional_string(key, node),
            "version" => self.version = fields.optional_string(key, node),
            "type" => self.kind = fields.optional_string(key, node),
            "tags" => self.tags = Some(fields.strings(key, node)),
            "author" => self.author = fields.optional_string(key, node),
            "expose" => self.expose = fields.boolean(key, node),
            "extends" => self.extends = Some(fields.optional_string(key, node)),
            "template" => self.read_template(fields, node),
            "engine" => self.engine = engine(fields, node),
            "undefined" => {
                self.undefined = fields.one_of(key, node, &UndefinedMode::NAMES, UndefinedMode::from_name);
            }
            "layout" => {
                self.layout = fields.one_of(key, node, &MessageLayout::NAMES, MessageLayout::from_name);
            }
            "empty_messages" => {
                self.drops_empty = fields.one_of(key, node, &["keep", "drop"], |word| match word {
                    "keep" => Some(false),
                    "drop" => Some(true),
                    _ => None,
                });
            }
            "on_error" => self.on_error = fields.one_of(key, node, &OnError::NAMES, OnError::from_name),
            "inputs" | "variables" | "parameters" => {
                self.parameters = declarations::read_parameters(fields, key, node);
            }
            "messages" => {
                self.body = messages::read_messages(fields, node, self.roles).map(DraftBody::Messages);
            }
            "userPrompt" | "prompt" => self.read_text(fields, key, node),
            "permissions" => self.permissions = Some(read_permissions(fields, node)),
            "limits" => self.limits = Some(read_limits(fields, key, node)),
            "output" => self.settings.output = Some(node.to_value()),
            "model" => self.settings.model = Some(node.to_value()),
            "config" => self.settings.config = Some(read_config(fields, node)),
            "returns" => self.settings.returns = Some(node.to_value()),
            "supports" => self.settings.supports = fields.strings(key, node),
            "languages" => self.settings.languages = fields.strings(key, node),
            "role" => self.settings.role = read_role(fields, node),
            "locked" => self.settings.locked = fields.strings(key, node),
            "metadata" => self.read_metadata(fields, node),
            _ => {
                self.unknown.insert(key.to_owned(), node.to_value());
                fields.warn_of_typo(key, node, key, &PROMPT_KEYS);
            }
        }
    }

    fn read_template(&mut self, fields: &mut Fields<'_>, node: &Node) {
        let place = fields.place(node);
        self.template = Some(fields.optional_string("template", node).map(|file| (file, place)));
    }

    fn read_text(&mut self, fields: &mut Fields<'_>, key: &str, node: &Node) {
        let text = fields.string(key, node);
        self.body = text.map(|text| DraftBody::Text(DraftText::from_node(fields, node, &text)));
    }

    fn read_metadata(&mut self, fields: &mut Fields<'_>, node: &Node) {
        for (key, value) in fields.map("metadata", node) {
            match key.as_str() {
                "tags" => {
                    self.tags.get_or_insert(fields.strings("metadata.tags", value));
                }
                "author" => {
                    let author = fields.optional_string("metadata.author", value);
                    self.author = self.author.take().or(author);
                }
                _ => {
                    self.more.insert(key.clone(), value.to_value());
                }
            }
        }
    }

    /// This draft, overridden by `above`.
    pub(super) fn overlaid_by(mut self, above: Self) -> Self {
        self.more.extend(above.more);
        self.unknown.extend(above.unknown);
        self.warnings.extend(above.warnings);
        Self {
            roles: self.roles,
            name: above.name.or(self.name),
            label: above.label.or(self.label),
            title: above.title.or(self.title),
            description: above.description.or(self.description),
            version: above.version.or(self.version),
            kind: above.kind.or(self.kind),
            tags: above.tags.or(self.tags),
            author: above.author.or(self.author),
            expose: above.expose.or(self.expose),
            extends: above.extends.or(self.extends),
            template: above.template.or(self.template),
            body: above.body.or(self.body),
            engine: above.engine.or(self.engine),
            undefined: above.undefined.or(self.undefined),
            layout: above.layout.or(self.layout),
            drops_empty: above.drops_empty.or(self.drops_empty),
            on_error: above.on_error.or(self.on_error),
            parameters: self.parameters.overlaid_by(&above.parameters),
            permissions: above.permissions.or(self.permissions),
            limits: above.limits.or(self.limits),
            settings: Settings {
                output: above.settings.output.or(self.settings.output),
                model: above.settings.model.or(self.settings.model),
                config: above.settings.config.or(self.settings.config),
                returns: above.settings.returns.or(self.settings.returns),
                supports: match above.settings.supports.is_empty() {
                    true => self.settings.supports,
                    false => above.settings.supports,
                },
                languages: match above.settings.languages.is_empty() {
                    true => self.settings.languages,
                    false => above.settings.languages,
                },
                role: above.settings.role.or(self.settings.role),
                locked: match above.settings.locked.is_empty() {
                    true => self.settings.locked,
                    false => above.settings.locked,
                },
            },
            more: self.more,
            unknown: self.unknown,
            warnings: self.warnings,
        }
    }
}

/// The role of a text where the prompt is used as a model. Other programs may have a key of this name, so nothing is
/// refused.
fn read_role(fields: &mut Fields<'_>, node: &Node) -> Option<Role> {
    let role = match node.as_str() {
        Some("system") => Some(Role::System),
        Some("user") => Some(Role::User),
        Some("assistant") => Some(Role::Assistant),
        _ => None,
    };
    if role.is_none() && !node.is_null() {
        let message = "`role` has no effect: it is not a role of a message";
        fields.warn_of_no_effect("role", node, ("role", message), "write `system`, `user` or `assistant`");
    }
    role
}

fn engine(fields: &mut Fields<'_>, node: &Node) -> Option<Language> {
    fields.one_of("engine", node, &["jinja", "go"], |word| match word {
        "jinja" | "jinja2" => Some(Language::Jinja),
        "go" => Some(Language::Go),
        _ => None,
    })
}

/// Reads an object of names with true or false, or a list of names.
pub(super) fn read_permissions(fields: &mut Fields<'_>, node: &Node) -> Permissions {
    let mut permissions = Permissions::default();
    if let Some(items) = node.as_list() {
        let names = fields.strings("permissions", node);
        for (name, item) in names.iter().zip(items) {
            set_permission(fields, &mut permissions, name, item, true);
        }
        return permissions;
    }
    for (name, value) in fields.map("permissions", node) {
        if let Some(allowed) = fields.boolean(&format!("permissions.{name}"), value) {
            set_permission(fields, &mut permissions, name, value, allowed);
        }
    }
    permissions
}

/// Sets a permission; warns of an unknown one, which grants nothing.
fn set_permission(
    fields: &mut Fields<'_>,
    permissions: &mut Permissions,
    name: &str,
    node: &Node,
    allowed: bool,
) {
    if Permissions::NAMES.contains(&name) {
        permissions.set(name, allowed);
        return;
    }
    let message = format!("unknown permission `{}`: it grants nothing", truncate_for_display(name));
    fields.warn_of_unknown("permissions", node, (name, &message), &Permissions::NAMES);
}

/// Reads the limits of a prompt or of `defaults.json`.
pub(crate) fn read_limits(fields: &mut Fields<'_>, field: &str, node: &Node) -> PromptLimits {
    let mut limits = PromptLimits::default();
    for (name, value) in fields.map(field, node) {
        let path = format!("{field}.{name}");
        match name.as_str() {
            "max_execution_time" => limits.max_execution_time = seconds(fields, &path, value),
            "max_output_size" => limits.max_output_size = whole_number(fields, &path, value),
            _ => {
                limits.other.insert(name.clone(), value.to_value());
                let message = format!("unknown limit `{}`: it has no effect", truncate_for_display(name));
                fields.warn_of_unknown(&path, value, (name, &message), &PromptLimits::NAMES);
            }
        }
    }
    limits
}

fn seconds(fields: &mut Fields<'_>, field: &str, node: &Node) -> Option<Number> {
    match &node.data {
        Data::Number(number) if number.as_f64().is_some_and(|value| value > 0.0) => Some(number.clone()),
        _ => {
            fields.problem(field, node, format!("`{field}` must be a number of seconds above 0"));
            None
        }
    }
}

/// A non-negative integer.
fn whole_number(fields: &mut Fields<'_>, field: &str, node: &Node) -> Option<u64> {
    match &node.data {
        Data::Number(number) if number.as_u64().is_some() => number.as_u64(),
        _ => {
            fields.problem(field, node, format!("`{field}` must be a whole number, not {}", node.kind()));
            None
        }
    }
}

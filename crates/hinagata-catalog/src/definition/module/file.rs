//! Reads one module file.

use hinagata_document::{Error, Fields, Node, Place, Reason, Result, json, toml, yaml};
use hinagata_module::{CustomSection, Order, Part, PromptModule, Section, SectionName, Text};

use super::{EvaluatedEntries, entry::Collected, fields::Reader, path::is_name};
use crate::definition::{declarations, draft::Draft, parameter::Parameters};

/// The names of module files, of which a prompt directory may contain one.
pub(crate) const MODULE_NAMES: [&str; 4] = ["module.yaml", "module.yml", "module.json", "module.toml"];

/// Whether a file of this name can contain a module.
pub(crate) fn is_module_file(name: &str) -> bool {
    [".yaml", ".yml", ".json", ".toml"].iter().any(|end| name.ends_with(end))
}

/// Keys for metadata of the prompt.
const ABOUT: [&str; 14] = [
    "name",
    "title",
    "description",
    "version",
    "type",
    "tags",
    "author",
    "extends",
    "undefined",
    "limits",
    "model",
    "config",
    "supports",
    "metadata",
];
/// Those of them that decide something, for the whole module; the others only describe a file.
const OF_FIRST_FILE: [&str; 5] = ["extends", "undefined", "limits", "model", "config"];
const OWN: [&str; 6] = ["module", "uses", "context", "custom_sections", "order", "sections"];

/// The content of one file.
pub(super) struct ModuleFile {
    pub(super) draft: Draft,
    pub(super) context: Parameters,
    pub(super) custom: Vec<CustomSection>,
    pub(super) custom_place: Option<Place>,
    pub(super) order: Option<Order>,
    pub(super) module: PromptModule<EvaluatedEntries>,
}

/// Parses a file by the extension of its name.
pub(super) fn parse_module_file(file: &str, text: &str) -> Result<Node> {
    if file.ends_with(".json") {
        return json::parse(file, text);
    }
    if !file.ends_with(".toml") {
        return yaml::parse(file, text, text, 1);
    }
    toml::parse(file, text).map_err(|problems| {
        let (message, place) = problems.into_iter().next().unwrap_or_default();
        let error = Error::definition(Reason::Syntax, format!("not valid TOML: {message}"));
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    })
}

/// The modules that a file uses, with their places.
pub(super) fn uses_of(file: &str, text: &str, node: &Node) -> Result<Vec<(String, Place)>> {
    let mut fields = Fields::new(file, text);
    let found = node.get("uses").map(|value| uses(&mut fields, value)).unwrap_or_default();
    fields.finish()?;
    Ok(found)
}

/// Warnings about keys that count in the first file of a module, but not in this one, which another one uses.
pub(super) fn warn_of_ignored_keys(file: &str, text: &str, node: &Node) -> Vec<Error> {
    let mut fields = Fields::new(file, text);
    for (key, value) in node.as_map().unwrap_or_default() {
        if OF_FIRST_FILE.contains(&key.as_str()) {
            let message = format!("`{key}` has no effect in a module that another one uses");
            fields.warn_of_no_effect(
                key,
                value,
                (key, &message),
                "move it to the file that uses this module",
            );
        }
    }
    fields.take_warnings()
}

/// Reads `text`, the content of `file`; `declared` are the custom sections of modules that it uses.
pub(super) fn read_module_file(
    file: &str,
    text: &str,
    node: &Node,
    declared: &[CustomSection],
    all: &mut Collected,
) -> Result<ModuleFile> {
    let mut fields = Fields::new(file, text);
    let mut found = ModuleFile {
        draft: Draft::default(),
        context: Parameters::default(),
        custom: Vec::new(),
        custom_place: None,
        order: None,
        module: PromptModule::new(),
    };
    let Some(entries) = node.as_map() else {
        let message = format!("a module must be an object, not {}", node.kind());
        fields.problem_with_hint("(document)", node, message, "start it with `sections:`");
        return fields.finish().map(|()| found);
    };
    for (key, value) in entries {
        match key.as_str() {
            "module" => found.draft.name = fields.optional_string(key, value),
            "sections" | "uses" => {}
            "context" => found.context = declarations::read_parameters(&mut fields, key, value),
            "custom_sections" => {
                found.custom = custom_sections(&mut fields, value, all);
                found.custom_place = Some(fields.place(value));
            }
            "order" => found.order = fields.one_of(key, value, &["standard", "cache"], Order::from_name),
            about if ABOUT.contains(&about) => found.draft.read_key(&mut fields, about, value),
            unknown => {
                if Section::from_name(unknown).is_some() {
                    let message = format!("the section `{unknown}` is beside `sections` instead of in it");
                    fields.problem_with_hint(unknown, value, message, "indent it under `sections`");
                } else {
                    let known: Vec<&str> = OWN.into_iter().chain(ABOUT).collect();
                    fields.unknown_key("(document)", value, unknown, &known);
                }
            }
        }
    }
    for parameter in found.context.iter().filter(|parameter| !is_name(&parameter.name)) {
        let message = format!("`{}` is not a valid variable name", parameter.name);
        fields.problem_with_hint(
            "context",
            node.get("context").unwrap_or(node),
            message,
            "use letters, digits and `_`",
        );
    }
    if let Some(value) = node.get("sections") {
        sections(&mut fields, value, declared, &mut found, all);
    } else if node.get("uses").is_none() {
        let hint = "add `sections`, or `uses` to combine other modules";
        fields.problem_with_hint("sections", node, "the module has no `sections`", hint);
    }
    all.warnings.extend(fields.take_warnings());
    fields.finish()?;
    Ok(found)
}

fn uses(fields: &mut Fields<'_>, node: &Node) -> Vec<(String, Place)> {
    let mut all: Vec<(String, Place)> = Vec::new();
    for (index, item) in fields.list("uses", node).iter().enumerate() {
        let field = format!("uses[{index}]");
        let Some(name) = fields.string(&field, item) else { continue };
        if all.iter().any(|(known, _)| *known == name) {
            fields.problem_with_hint(&field, item, format!("`{name}` is used twice"), "remove one of them");
            continue;
        }
        let is_file = name.starts_with("./") && is_module_file(&name);
        if !is_file && !name.starts_with("preset:") {
            let message = format!("`{field}`: `{name}` is neither a preset nor a file");
            let hint = "write `preset:NAME`, or `./FILE.yaml` for a file beside this one";
            fields.problem_with_hint(&field, item, message, hint);
            continue;
        }
        all.push((name, fields.place(item)));
    }
    all
}

/// `name: {part, title}`; the part may be called `type`, as in the specification of modules.
fn custom_sections(fields: &mut Fields<'_>, node: &Node, fixed: &mut Collected) -> Vec<CustomSection> {
    let mut all = Vec::new();
    for (name, value) in fields.map("custom_sections", node) {
        let field = format!("custom_sections.{name}");
        if Section::from_name(name).is_some() {
            let message = format!("`{name}` is a standard section");
            fields.problem_with_hint(
                &field,
                value,
                message,
                "use it without declaring it, or take another name",
            );
            continue;
        }
        for (key, inner) in fields.map(&field, value) {
            let known = ["part", "type", "title"].contains(&key.as_str());
            if !known || (key == "type" && value.get("part").is_some()) {
                fields.unknown_key(&field, inner, key, &["part", "title"]);
            }
        }
        let Some(part) = value.get("part").or_else(|| value.get("type")) else {
            let hint = "one of instructions, data, output";
            fields.problem_with_hint(&field, value, format!("`{field}` has no `part`"), hint);
            continue;
        };
        let names = Part::ALL.map(Part::name);
        let part = fields.one_of(&format!("{field}.part"), part, &names, Part::from_name);
        let title = match value.get("title") {
            Some(title) => fields.string(&format!("{field}.title"), title),
            None => Some(name.clone()),
        };
        if let (Some(part), Some(title)) = (part, title) {
            let title = match value.get("title") {
                Some(node) => fixed.keep_string(fields, node, &title, (title.as_str().into(), 0)),
                None => title.into(),
            };
            all.push(CustomSection { name: Text::from(name), part, title });
        }
    }
    all
}

fn sections(
    fields: &mut Fields<'_>,
    node: &Node,
    declared: &[CustomSection],
    found: &mut ModuleFile,
    all: &mut Collected,
) {
    let entries = fields.map("sections", node);
    let mut reader = Reader::new(fields, all);
    for (name, value) in entries {
        let own = || found.custom.iter().chain(declared);
        let section = match (Section::from_name(name), own().find(|own| own.name == name.as_str())) {
            (Some(section), _) => SectionName::from(section),
            (None, Some(own)) => own.clone().into(),
            (None, None) => {
                let known: Vec<&str> = Section::ALL
                    .map(Section::name)
                    .into_iter()
                    .chain(own().map(|own| own.name.as_str()))
                    .collect();
                reader.fields.unknown_section(value, name, &known);
                continue;
            }
        };
        let entries = reader.entries(&section, &format!("sections.{name}"), value);
        found.module = std::mem::take(&mut found.module).add_entry(section, entries);
    }
}

//! The entries of prompts in lists, for each kind of host.

use hinagata::definition::{Definition, Inherited, Parameter, ValueType};
use rmcp::model::{Icon, MetaObject, Prompt, PromptArgument};
use serde_json::{Value, json};

use crate::{
    host::{ArgumentStyle, HostProfile, UsageStyle},
    names::readable_name,
    parameters::{LineTarget, enum_values, is_free_text, line_targets, value_text, word_places},
};

/// Maximum icons of a prompt.
const MAX_ICONS: usize = 8;

/// Maximum enumeration values in a description.
const MAX_VALUES: usize = 20;

/// The entry as the protocol has it.
pub(crate) fn list_entry(
    id: &str,
    name: &str,
    version: &str,
    source: &str,
    inherited: &Inherited,
    undeclared: &[String],
) -> Prompt {
    let definition = &inherited.definition;
    let metadata = &definition.metadata;
    let arguments = declared_arguments(inherited, undeclared);
    let description = join_usage(own_description(name, definition), &names_usage(&arguments));
    let mut prompt = Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments));
    prompt.title = metadata.title.clone().or_else(|| (name != id).then(|| id.to_owned()));
    prompt.icons = icons(definition);
    let meta = json!({
        "hinagata/id": id,
        "hinagata/version": version,
        "hinagata/type": metadata.kind,
        "hinagata/tags": metadata.tags,
        "hinagata/source": source,
    });
    prompt.meta = meta.as_object().cloned().map(MetaObject);
    prompt
}

/// The entry for a host that differs from the protocol. `forms` says whether the client shows forms.
pub(crate) fn host_entry(
    entry: &Prompt,
    id: &str,
    inherited: &Inherited,
    undeclared: &[String],
    (profile, forms): (&HostProfile, bool),
) -> Prompt {
    let mut entry = entry.clone();
    if let Some(name) = readable_name(id).filter(|_| profile.any_script) {
        entry.name = name.to_owned();
    }
    let all = declared_arguments(inherited, undeclared);
    let targets = line_targets(&inherited.parameters, undeclared);
    let usage = match profile.usage {
        UsageStyle::Names => names_usage(&all),
        UsageStyle::Command => command_usage(&entry.name, &all),
        UsageStyle::Options => options_usage(&all, &targets),
        UsageStyle::Nothing => String::new(),
    };
    entry.description = Some(join_usage(own_description(&entry.name, &inherited.definition), &usage));
    let mut listed = listed_arguments(profile.arguments, inherited, &targets, all);
    if profile.asks_by_form && forms {
        for argument in &mut listed {
            argument.required = Some(false);
        }
    }
    entry.arguments = (!listed.is_empty()).then_some(listed);
    entry
}

/// The arguments that a host of the style is told of.
fn listed_arguments(
    style: ArgumentStyle,
    inherited: &Inherited,
    targets: &[LineTarget<'_>],
    all: Vec<PromptArgument>,
) -> Vec<PromptArgument> {
    let is_required = |argument: &PromptArgument| argument.required == Some(true);
    let first = targets.first().map(|target| target.name);
    match style {
        ArgumentStyle::Declared => all,
        ArgumentStyle::OneRequired => all
            .into_iter()
            .map(|argument| {
                let takes_line = Some(argument.name.as_str()) == first;
                argument.with_required(takes_line)
            })
            .collect(),
        ArgumentStyle::Unlisted if all.len() > 1 => Vec::new(),
        ArgumentStyle::Unlisted => all,
        ArgumentStyle::Words => word_places(targets)
            .into_iter()
            .map(|place| {
                all.iter().find(|known| known.name == place).cloned().unwrap_or_else(|| word_place(&place))
            })
            .collect(),
        ArgumentStyle::Line => {
            let any_required = all.iter().any(is_required);
            let takes_line = all.into_iter().find(|argument| Some(argument.name.as_str()) == first);
            takes_line.into_iter().map(|argument| argument.with_required(any_required)).collect()
        }
        ArgumentStyle::Placeholders => {
            let is_text = |argument: &PromptArgument| {
                inherited.parameters.get(&argument.name).is_some_and(is_free_text)
            };
            let (texts, others): (Vec<_>, Vec<_>) = all.into_iter().filter(is_required).partition(is_text);
            others.into_iter().chain(texts).collect()
        }
    }
}

fn word_place(name: &str) -> PromptArgument {
    PromptArgument::new(name).with_description("further words of the line").with_required(false)
}

/// All arguments, the required ones first.
fn declared_arguments(inherited: &Inherited, undeclared: &[String]) -> Vec<PromptArgument> {
    let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        inherited.parameters.iter().partition(|parameter| parameter.must_be_passed());
    let declared = required.iter().chain(&optional).map(|parameter| argument(parameter));
    let more = undeclared.iter().map(|name| PromptArgument::new(name).with_required(false));
    declared.chain(more).collect()
}

fn own_description(name: &str, definition: &Definition) -> String {
    let metadata = &definition.metadata;
    let own = metadata.description.as_deref().or(metadata.title.as_deref()).map(str::trim);
    own.filter(|text| !text.is_empty()).map_or_else(|| format!("The prompt `{name}`"), str::to_owned)
}

fn join_usage(description: String, usage: &str) -> String {
    if usage.is_empty() { description } else { format!("{description}\n\n{usage}") }
}

/// The names of the arguments, without the syntax of any host.
fn names_usage(arguments: &[PromptArgument]) -> String {
    let names: Vec<String> = arguments
        .iter()
        .map(|argument| match argument.required {
            Some(true) => argument.name.clone(),
            _ => format!("{} (optional)", argument.name),
        })
        .collect();
    if names.is_empty() { String::new() } else { format!("Arguments: {}", names.join(", ")) }
}

/// The command to type.
fn command_usage(name: &str, arguments: &[PromptArgument]) -> String {
    let options: Vec<String> = arguments
        .iter()
        .map(|argument| match argument.required {
            Some(true) => format!("--{}=\"…\"", argument.name),
            _ => format!("[--{}=\"…\"]", argument.name),
        })
        .collect();
    if options.is_empty() { String::new() } else { format!("Usage: /{name} {}", options.join(" ")) }
}

/// The arguments that are passed by name after the line.
fn options_usage(arguments: &[PromptArgument], targets: &[LineTarget<'_>]) -> String {
    let options: Vec<String> = arguments
        .iter()
        .filter(|argument| targets.iter().all(|target| target.name != argument.name))
        .map(|argument| format!("--{}=…", argument.name))
        .collect();
    if options.is_empty() { String::new() } else { format!("Options: {}", options.join(" ")) }
}

fn argument(parameter: &Parameter) -> PromptArgument {
    let mut argument = PromptArgument::new(&parameter.name).with_required(parameter.must_be_passed());
    let mut notes = Vec::new();
    if !matches!(parameter.kind, ValueType::String | ValueType::Any) {
        notes.push(match parameter.kind {
            ValueType::List | ValueType::Object => format!("{} as JSON", parameter.kind.name()),
            ValueType::File => "file name".to_owned(),
            kind => kind.name().to_owned(),
        });
    }
    if let Some(values) = enum_values(parameter) {
        let listed: Vec<String> = values.iter().take(MAX_VALUES).map(value_text).collect();
        let more = if values.len() > MAX_VALUES { ", …" } else { "" };
        notes.push(format!("one of {}{more}", listed.join(", ")));
    }
    if let Some(default) =
        parameter.default.as_ref().filter(|_| !parameter.secret && !parameter.must_be_passed())
    {
        let text: String = value_text(default).chars().take(80).collect();
        if !text.is_empty() {
            notes.push(format!("default: {text}"));
        }
    }
    let own = parameter.description.as_deref().unwrap_or_default();
    let text = match (own.is_empty(), notes.is_empty()) {
        (_, true) => own.to_owned(),
        (true, false) => notes.join("; "),
        (false, false) => format!("{own} ({})", notes.join("; ")),
    };
    if !text.is_empty() {
        argument.description = Some(text);
    }
    argument
}

/// The icons of a definition: URLs or `{src, mimeType, sizes}`. Only https and data URLs are kept.
fn icons(definition: &Definition) -> Option<Vec<Icon>> {
    let written = definition.unknown.get("icons").or_else(|| definition.metadata.more.get("icons"))?;
    let is_safe = |src: &str| src.starts_with("https://") || src.starts_with("data:image/");
    let icon = |value: &Value| {
        let src = value.as_str().or_else(|| value.get("src")?.as_str()).filter(|src| is_safe(src))?;
        let mut icon = Icon::new(src);
        icon.mime_type = value.get("mimeType").and_then(Value::as_str).map(str::to_owned);
        let sizes = value.get("sizes").and_then(Value::as_array);
        icon.sizes = sizes.map(|sizes| sizes.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(icon)
    };
    let icons: Vec<Icon> = match written {
        Value::Array(all) => all.iter().take(MAX_ICONS).filter_map(icon).collect(),
        one => icon(one).into_iter().collect(),
    };
    (!icons.is_empty()).then_some(icons)
}

//! `hina show`: what one prompt declares.

use hinagata::{
    Diagnostic, RenderLimits,
    definition::{Body, Definition, Hook, Inherited, Message, ModuleBody, Origin, Parameter},
    exchange::{Format as PromptFormat, Report},
    settings::group_digits,
};

use super::import::loss_line;
use crate::{
    completion,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// Show what a prompt declares
///
/// Prints metadata, parameters with types, defaults and places, files, parents, permissions of hooks and limits. Runs
/// nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina show general_system\n  hina show general_system --json")]
pub(crate) struct Arguments {
    /// The prompt, by any of its names, or the path of a file of another format
    #[arg(add = completion::complete_prompts())]
    id: String,

    /// The format of the file, if the prompt is a path and its content does not tell it
    #[arg(long, value_name = "FORMAT", value_parser = crate::call::parse_format)]
    from: Option<PromptFormat>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open_for(globals, &arguments.id, arguments.from)?;
    let catalog = workspace.open_catalog();
    let choice = catalog.choose(&arguments.id)?;
    let found = catalog.inherited_definition(&choice)?;
    let limits = catalog.defaults()?.limits_of(&found, &workspace.host.settings);
    for unread in catalog.unread_for(&arguments.id, &choice) {
        workspace.print_warning(&unread);
    }
    let report = catalog.foreign_report(&choice.entry);
    if Format::from_globals(globals) == Format::Json {
        let mut shown = found.to_json(&limits);
        if let Some(report) = report {
            shown["losses"] = report.to_json();
        }
        return output::print_json(&shown);
    }
    for loss in report.into_iter().flat_map(Report::losses) {
        output::print_status(&loss_line(&workspace, loss));
    }
    for error in &found.definition.warnings {
        workspace.print_warning(&Diagnostic::warning(&*found.definition.source, error.clone()));
    }
    output::print_text(&page(&workspace, &found, &limits))
}

fn page(workspace: &Workspace, found: &Inherited, limits: &RenderLimits) -> String {
    let definition = &*found.definition;
    let metadata = &definition.metadata;
    let mut text = match definition.hooks.is_computed("METADATA") {
        true => format!("{} (computed)\n", definition.id),
        false => format!(
            "{} {} ({})\n",
            definition.id,
            sanitize_text(&metadata.version),
            sanitize_text(&metadata.kind)
        ),
    };
    for line in [metadata.title.as_ref(), metadata.description.as_ref()].into_iter().flatten() {
        text.push_str(&format!("{}\n", sanitize_text(line)));
    }
    text.push('\n');
    text.push_str(&output::align_columns(&facts(workspace, found, limits)));
    let parameters: Vec<Vec<String>> = found.parameters.iter().map(|one| parameter(workspace, one)).collect();
    if !parameters.is_empty() {
        let mut rows =
            vec![["PARAMETER", "TYPE", "CLASS", "DEFAULT", "DECLARED", ""].map(str::to_owned).to_vec()];
        rows.extend(parameters);
        text.push('\n');
        text.push_str(&output::align_columns(&rows));
    }
    text
}

/// Names and values, without empty ones.
fn facts(workspace: &Workspace, found: &Inherited, limits: &RenderLimits) -> Vec<Vec<String>> {
    let definition = &*found.definition;
    let metadata = &definition.metadata;
    let own = |name: &str| name.strip_prefix(&format!("{}/", definition.source)).unwrap_or(name).to_owned();
    let files: Vec<String> = definition.files.iter().map(|read| own(&read.file)).collect();
    let computed: Vec<&str> = definition.hooks.needs_loading.iter().map(|(name, _)| *name).collect();
    let computed = match computed.as_slice() {
        [] => String::new(),
        names => format!("{}: computed by prompt.py at render time", names.join(", ")),
    };
    let permissions: Vec<&str> = definition.permissions.granted_names().collect();
    let mut facts: Vec<(&str, String)> = vec![
        ("source", workspace.display_path(&definition.source)),
        ("files", files.join(", ")),
        ("extends", found.chain()[1..].join(", then ")),
        (
            "body",
            found
                .body_definition()
                .map_or_else(|error| error.message().to_owned(), |with| body(definition, with)),
        ),
        ("tags", metadata.tags.join(", ")),
        ("author", metadata.author.clone().unwrap_or_default()),
        ("undefined", definition.undefined.map(|mode| mode.as_str().to_owned()).unwrap_or_default()),
        ("hooks", hooks(definition)),
        ("permissions", permissions.join(", ")),
        ("limits", limits_text(limits)),
        ("computed", computed),
    ];
    facts.extend(definition.unknown.iter().map(|(name, value)| (name.as_str(), value.to_string())));
    let said = facts.into_iter().filter(|(_, value)| !value.is_empty());
    said.map(|(name, value)| vec![sanitize_text(name), sanitize_text(&value)]).collect()
}

fn body(own: &Definition, with: &Definition) -> String {
    let what = match &with.body {
        Body::Text(text) => format!("text, {}", text.engine),
        Body::Messages(messages) => {
            let roles: Vec<_> = messages.iter().map(Message::role_name).collect();
            format!("messages: {}", roles.join(", "))
        }
        Body::Module(module) => module_text(module),
        Body::Inherited => "none".to_owned(),
        Body::NeedsLoading => "computed by prompt.py".to_owned(),
    };
    if own.id == with.id { what } else { format!("{what}, of {}", with.id) }
}

/// The sections of a module, and the modules that it uses.
fn module_text(module: &ModuleBody) -> String {
    let uses = match module.uses() {
        [] => String::new(),
        uses => format!(", with {}", uses.join(", ")),
    };
    format!("module: {}{uses}", module.section_names().collect::<Vec<_>>().join(", "))
}

fn hooks(definition: &Definition) -> String {
    let hooks = [("pre_render", definition.hooks.pre_render), ("post_render", definition.hooks.post_render)];
    let text = |(name, hook): (&str, Option<Hook>)| hook.map(|hook| format!("{name} ({})", hook.as_str()));
    hooks.into_iter().filter_map(text).collect::<Vec<_>>().join(", ")
}

fn limits_text(limits: &RenderLimits) -> String {
    format!("{} s of Python, {} characters", limits.max_execution_time, group_digits(limits.max_output_size))
}

fn parameter(workspace: &Workspace, parameter: &Parameter) -> Vec<String> {
    let default = match (&parameter.default, &parameter.origin) {
        (Some(_), _) if parameter.secret => "(secret)".to_owned(),
        (_, Origin::System) => format!("system.{}", parameter.from.as_deref().unwrap_or(&parameter.name)),
        (_, Origin::Environ) => format!("environs.{}", parameter.from.as_deref().unwrap_or(&parameter.name)),
        (_, Origin::Project(value)) => {
            crate::diagnostic::truncate_for_display(&value.to_json().to_string(), 40)
        }
        (_, Origin::Conversation(value)) => format!("{} of the caller", value.as_str()),
        (Some(value), _) => crate::diagnostic::truncate_for_display(&value.to_string(), 40),
        (None, _) => "-".to_owned(),
    };
    let declared = parameter.place.as_ref().map(|place| {
        let mut place = place.clone();
        place.file = workspace.display_path(&place.file);
        place.to_string()
    });
    let described = parameter.description.clone().unwrap_or_default();
    let cells = [
        parameter.name.as_str(),
        parameter.kind.name(),
        parameter.class.as_str(),
        &default,
        &declared.unwrap_or_else(|| "-".to_owned()),
        &described,
    ];
    cells.map(sanitize_text).to_vec()
}

//! Adapts imports of foreign prompts to recorded cases: the files are written to a workspace and rendered from there.

use std::fs;
use std::path::{Path, PathBuf};

use hinagata::definition::ParameterClass;
use hinagata::source::ForeignPlace;
use hinagata::{Engine, EngineOptions, RenderedBody, Request};
use hinagata_exchange::{
    ChatTemplate, ExportOptions, Format, ImportOptions, ImportedPrompt, Moment, SourceFiles, export_names,
    import_prompts,
};
use serde_json::{Map, Value, json};

use crate::kinds::exchange::{ExchangeCase, ExchangeEngine, ExchangeOutcome, ExchangeRun, ExchangeWay};

/// The importer and the engine as the product ships them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchange;

impl Exchange {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

impl ExchangeEngine for Exchange {
    fn run_case(&self, case: &ExchangeCase, way: ExchangeWay) -> ExchangeRun {
        if case.format == "hf" {
            return match way {
                ExchangeWay::Imported => ExchangeRun::Ended(run_chat_template(case)),
                _ => ExchangeRun::NotApplicable,
            };
        }
        let imported = match import_case(case) {
            Ok(imported) => imported,
            Err(error) => {
                return match way {
                    ExchangeWay::Exported => ExchangeRun::NotApplicable,
                    _ => ExchangeRun::Ended(ExchangeOutcome {
                        result: Err(error),
                        losses: Vec::new(),
                        metadata: Map::new(),
                        kept_files: Vec::new(),
                    }),
                };
            }
        };
        let losses = imported.report.codes().into_iter().map(str::to_owned).collect();
        let kept_files = imported.prompt.files.iter().map(|(name, _)| name.clone()).collect();
        let mut metadata = Map::new();
        let result = match way {
            ExchangeWay::Imported => render_imported(case, &imported, &mut metadata),
            ExchangeWay::InPlace => render_in_place(case, &imported, &mut metadata),
            ExchangeWay::Exported => match render_exported(case, &imported) {
                Exported::Rendered(result) => result,
                Exported::Refused(codes) => return ExchangeRun::Refused(codes),
                Exported::NotApplicable => return ExchangeRun::NotApplicable,
            },
        };
        ExchangeRun::Ended(ExchangeOutcome { result, losses, metadata, kept_files })
    }
}

/// Renders the chat template of a case.
fn run_chat_template(case: &ExchangeCase) -> ExchangeOutcome {
    let files: SourceFiles = case.files.clone().into_iter().collect();
    let wanted = case.options.get("template").and_then(Value::as_str);
    let has_tools = case.variables.get("tools").is_some_and(|tools| !tools.is_null());
    // The time that the originals were given.
    let now = Moment { year: 2026, month: 2, day: 20, hour: 15, minute: 30, second: 45 };
    let text = ChatTemplate::from_files(&files, &case.entry, wanted, has_tools)
        .and_then(|template| template.render(&case.variables, now));
    let result = match text {
        Ok(text) => Ok(json!([{"role": "user", "content": text}])),
        Err(error) => Err(error.to_string()),
    };
    ExchangeOutcome { result, losses: Vec::new(), metadata: Map::new(), kept_files: Vec::new() }
}

/// The format of a case, where the files do not tell it.
fn format_of(case: &ExchangeCase) -> Option<Format> {
    match case.format.as_str() {
        "mustache" => Some(Format::Mustache),
        "chevron" => Some(Format::Chevron),
        "nunjucks" => Some(Format::Nunjucks),
        _ => None,
    }
}

fn import_case(case: &ExchangeCase) -> Result<ImportedPrompt, String> {
    let files: SourceFiles = case.files.clone().into_iter().collect();
    let options = ImportOptions { format: format_of(case), ..ImportOptions::default() };
    let imported = import_prompts(&files, &case.entry, &options);
    let mut prompts = imported.map_err(|error| error.to_string())?;
    let recognised = prompts.first().map(|imported| imported.prompt.format.as_str()).unwrap_or_default();
    if case.format != "editors" && recognised != case.format {
        return Err(format!("recognised as {recognised}"));
    }
    prompts.pop().ok_or_else(|| "the file has no prompt".to_owned())
}

/// A workspace with the files of the project that the call works in.
fn open_place(case: &ExchangeCase) -> Result<(tempfile::TempDir, PathBuf), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = place.path().canonicalize().map_err(|error| error.to_string())?;
    for (file, text) in &case.workspace {
        write_file(&root.join(file), text)?;
    }
    Ok((place, root))
}

/// Writes an imported prompt to a workspace, and returns its id.
fn write_prompt(root: &Path, imported: &ImportedPrompt) -> Result<String, String> {
    let prompts = root.join("user_data/shared/prompts");
    let name = imported.prompt.id.replace('.', "_");
    for (file, text) in imported.prompt.to_files() {
        let path = match file.starts_with("partials/") {
            true => prompts.join(&file),
            false => prompts.join(&name).join(&file),
        };
        write_file(&path, &text)?;
    }
    Ok(name)
}

fn open_engine(root: &Path, foreign: Vec<ForeignPlace>) -> Engine {
    let options = EngineOptions { trusted: true, foreign, ..EngineOptions::default() };
    Engine::builder(root).with_options(options).open()
}

fn render_imported(
    case: &ExchangeCase,
    imported: &ImportedPrompt,
    metadata: &mut Map<String, Value>,
) -> Result<Value, String> {
    let (_place, root) = open_place(case)?;
    let name = write_prompt(&root, imported)?;
    let engine = open_engine(&root, Vec::new());
    *metadata = declared(&engine, &name, imported)?;
    render(case, &engine, &name)
}

/// Renders the file where it lies, beside everything else of the case.
fn render_in_place(
    case: &ExchangeCase,
    imported: &ImportedPrompt,
    metadata: &mut Map<String, Value>,
) -> Result<Value, String> {
    let (_place, root) = open_place(case)?;
    for (file, text) in &case.files {
        write_file(&root.join("foreign").join(file), text)?;
    }
    let name = format!("it#{}", imported.prompt.id);
    let place = ForeignPlace {
        path: format!("foreign/{}", case.entry),
        format: format_of(case),
        unknown_format: None,
        named: Some(name.clone()),
    };
    let engine = open_engine(&root, vec![place]);
    *metadata = declared(&engine, &name, imported)?;
    render(case, &engine, &name)
}

/// What became of an export.
enum Exported {
    NotApplicable,
    /// It has these losses.
    Refused(Vec<String>),
    Rendered(Result<Value, String>),
}

/// Exports the imported prompt to its format, and imports and renders that.
fn render_exported(case: &ExchangeCase, imported: &ImportedPrompt) -> Exported {
    let format = imported.prompt.format;
    if imported.report.is_lossy() || !export_names().contains(&format.as_str()) {
        return Exported::NotApplicable;
    }
    let run = || {
        let (_place, root) = open_place(case)?;
        let name = write_prompt(&root, imported)?;
        let engine = open_engine(&root, Vec::new());
        let is_for_claude =
            format == Format::Skill && case.files.keys().any(|path| path.contains(".claude/"));
        let options = ExportOptions { is_for_claude, ..ExportOptions::new(format) };
        let exported = engine.export_prompt(&name, &options).map_err(|error| error.to_string())?;
        if exported.report.is_lossy() {
            let codes = exported.report.codes().into_iter().map(str::to_owned).collect();
            return Ok(Exported::Refused(codes));
        }
        let entry = exported.files.first().map(|(path, _)| path.clone()).unwrap_or_default();
        let shown = format!("exported as {}", exported.files.first().map_or("", |(_, text)| text));
        let files: SourceFiles = exported.files.into_iter().collect();
        let options = ImportOptions { format: Some(format), ..ImportOptions::default() };
        let again = import_prompts(&files, &entry, &options).map_err(|error| format!("{error}; {shown}"))?;
        let again = again.into_iter().next_back().ok_or("the file has no prompt")?;
        let (_place, root) = open_place(case)?;
        let name = write_prompt(&root, &again)?;
        let result = render(case, &open_engine(&root, Vec::new()), &name);
        Ok(Exported::Rendered(result.map_err(|error| format!("{error}; {shown}"))))
    };
    run().unwrap_or_else(|error| Exported::Rendered(Err(error)))
}

fn render(case: &ExchangeCase, engine: &Engine, name: &str) -> Result<Value, String> {
    let mut variables = case.variables.clone();
    variables.extend(case.context.clone());
    if let Some(history) = &case.history {
        variables.insert("history".to_owned(), history.clone());
    }
    let request = Request::new(name).with_variable_map(&variables);
    let rendered = engine.render_blocking(&request).map_err(|error| error.to_string())?;
    Ok(match &rendered.body {
        RenderedBody::Text(text) => json!([{"role": "user", "content": text}]),
        RenderedBody::Messages(_) => with_recorded_names(rendered.body.to_json()),
    })
}

fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).and_then(|()| fs::write(path, text)).map_err(|error| error.to_string())
}

/// The messages with the names of fields that the cases use.
fn with_recorded_names(messages: Value) -> Value {
    match messages {
        Value::Array(items) => items.into_iter().map(with_recorded_names).collect(),
        Value::Object(fields) => {
            let renamed = fields.into_iter().map(|(key, value)| {
                let key = if key == "media_type" { "mime_type".to_owned() } else { key };
                (key, with_recorded_names(value))
            });
            Value::Object(renamed.collect())
        }
        other => other,
    }
}

/// What the imported definition declares.
fn declared(engine: &Engine, name: &str, imported: &ImportedPrompt) -> Result<Map<String, Value>, String> {
    let inherited = engine.definition(name).map_err(|error| error.to_string())?;
    let definition = &inherited.definition;
    let names = |class: ParameterClass| json!(definition.parameters.names(class));
    let types: Map<String, Value> = definition
        .parameters
        .iter()
        .map(|parameter| (parameter.name.clone(), json!(parameter.kind.name())))
        .collect();
    let output = definition.settings.output.clone().unwrap_or_default();
    let all = [
        ("id", json!(imported.prompt.id)),
        ("name", json!(definition.metadata.name)),
        ("description", json!(definition.metadata.description)),
        ("model", json!(definition.settings.model)),
        ("config", json!(definition.settings.config)),
        ("tags", json!(definition.metadata.tags)),
        ("required", names(ParameterClass::Required)),
        ("optional", names(ParameterClass::Optional)),
        ("types", Value::Object(types)),
        ("output_format", output.get("format").cloned().unwrap_or_default()),
        ("output_schema", output.get("schema").cloned().unwrap_or_default()),
    ];
    Ok(all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

//! Modules in files that belong to no prompt, to inspect how they are merged, compiled and formatted.

use std::{path::Path, sync::Arc};

use hinagata_document::{Code, Error, Hint, LineColumn, Place, Result};
use hinagata_module::{
    CompiledPrompt, Order, PromptModule, Text, driver::RequestOptions, escape_headings, may_have_heading,
    merge_modules,
};
use hinagata_template::{MemorySources, Options, Render, SourceText, Template, analyze_graph};
use hinagata_value::Limits;
use hinagata_workspace::Directory;
use serde_json::{Map, Value};

use super::{
    EvaluatedEntries, KnownNames, ModuleBody, ModuleFiles, check,
    evaluate::{LOOP, Local, WithLocal, World, evaluate_body},
    module_error, uses,
};
use crate::definition::{
    ParameterClass, Parameters, Settings, TemplateText, UndefinedMode, draft::Draft, read::LARGEST_DOCUMENT,
};

/// Modules in files that belong to no prompt, merged in the given order.
///
/// They can use presets and files beneath their own directories. There are no tools, no variable providers and no
/// other templates: the result depends on the variables only. Of keys that describe a prompt, such as `model`, the last
/// file that has one sets it.
#[derive(Debug)]
pub struct AdHocModules {
    bodies: Vec<AdHocBody>,
    module: PromptModule<Vec<EvaluatedEntries>>,
    context: Parameters,
    settings: Settings,
    undefined: Option<UndefinedMode>,
    warnings: Vec<Error>,
}

#[derive(Debug)]
struct AdHocBody {
    body: ModuleBody,
    templates: Vec<Template>,
}

impl AdHocModules {
    /// Reads module files and the modules that they use.
    ///
    /// # Errors
    /// Code `not_found` for a missing file; otherwise those of a prompt that is a module.
    pub fn from_files<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Self> {
        Self::from_bodies(files.into_iter().map(|file| read_file(file.as_ref())).collect::<Result<_>>()?)
    }

    /// Reads modules from JSON; they can use presets but no files.
    ///
    /// # Errors
    /// Those of a prompt that is a module.
    pub fn from_documents<'d>(documents: impl IntoIterator<Item = &'d Value>) -> Result<Self> {
        let body = |(number, document): (usize, &Value)| {
            let name = format!("module-{}.json", number + 1);
            let text = (name.clone(), Arc::from(document.to_string()));
            uses::read_module(&name, &text, &mut NoFiles)
        };
        Self::from_bodies(documents.into_iter().enumerate().map(body).collect::<Result<_>>()?)
    }

    fn from_bodies(files: Vec<(Draft, ModuleBody)>) -> Result<Self> {
        let (mut context, mut draft, mut bodies) = (Parameters::default(), Draft::default(), Vec::new());
        for (above, body) in files {
            uses::refuse_clashes(&context, &body.context)?;
            context = context.overlaid_by(&body.context);
            draft = draft.overlaid_by(above);
            bodies.push(body);
        }
        let Draft { settings, undefined, warnings, .. } = draft;
        let known_names = KnownNames { parameters: &context, others: Vec::new() };
        let mode = undefined.unwrap_or(UndefinedMode::Empty);
        let options = Arc::new(Options::default().with_undefined(mode.into()));
        let bodies: Vec<AdHocBody> = bodies
            .into_iter()
            .map(|body| AdHocBody::new(body, &known_names, &options))
            .collect::<Result<_>>()?;
        let part = |(number, module): (usize, &AdHocBody)| {
            module.body.module.map_context(move |all: &Vec<EvaluatedEntries>| &all[number])
        };
        let module = merge_modules(bodies.iter().enumerate().map(part)).map_err(module_error)?;
        Ok(Self { bodies, module, context, settings, undefined, warnings })
    }

    /// The declarations of the variables.
    #[must_use]
    pub fn context(&self) -> &Parameters {
        &self.context
    }

    /// The model and its options that the files set.
    #[must_use]
    pub fn request_options(&self) -> RequestOptions {
        self.settings.request_options()
    }

    /// Warnings about likely mistakes in the files, such as misspelled keys.
    #[must_use]
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// The merged module as JSON, in the form of a module file. Defaults of secret variables are left out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = super::module_to_json(&self.context, &self.module);
        let keys = [
            ("order", (self.order() == Order::Cache).then(|| Order::Cache.name().into())),
            ("undefined", self.undefined.map(|mode| mode.as_str().into())),
            ("model", self.settings.model.clone()),
            ("config", self.settings.config.clone()),
        ];
        for (key, value) in keys {
            if let Some(value) = value {
                all[key] = value;
            }
        }
        all
    }

    /// The order of the last module.
    fn order(&self) -> Order {
        self.bodies.last().map(|module| module.body.order).unwrap_or_default()
    }

    /// Compiles the prompt with these variables, in this order or else the order of the last module.
    ///
    /// # Errors
    /// Code `validation` for a missing variable; those of templates, and of values with an invalid shape.
    pub fn compile(&self, variables: &Map<String, Value>, order: Option<Order>) -> Result<CompiledPrompt> {
        let order = order.unwrap_or_else(|| self.order());
        self.module.compile_in(order, &self.evaluate_entries(variables)?).map_err(module_error)
    }

    /// Compiles `first` followed by these modules, with `context` as the variables of both.
    ///
    /// # Errors
    /// As [`AdHocModules::compile`].
    pub fn compile_behind(&self, first: &PromptModule<Value>, context: &Value) -> Result<CompiledPrompt> {
        let known = |name: &str| context.get(name).map(|value| (name.to_owned(), value.clone()));
        let variables = self.context.iter().filter_map(|parameter| known(&parameter.name)).collect();
        let both = (context.clone(), self.evaluate_entries(&variables)?);
        let first = first.map_context(|(context, _): &(Value, Vec<EvaluatedEntries>)| context);
        let own = self.module.map_context(|(_, given): &(Value, Vec<EvaluatedEntries>)| given);
        merge_modules([first, own])
            .and_then(|module| module.compile_in(self.order(), &both))
            .map_err(module_error)
    }

    /// Compiles to a list of elements without titles, in the order of the files.
    ///
    /// # Errors
    /// As [`AdHocModules::compile`].
    pub fn compile_flat(&self, variables: &Map<String, Value>) -> Result<CompiledPrompt> {
        self.module.compile_flat(&self.evaluate_entries(variables)?).map_err(module_error)
    }

    fn evaluate_entries(&self, variables: &Map<String, Value>) -> Result<Vec<EvaluatedEntries>> {
        if let Some(unknown) = variables.keys().find(|name| self.context.get(name).is_none()) {
            let names = self.context.iter().map(|parameter| parameter.name.as_str());
            return Err(Error::new(Code::Validation, format!("variable `{unknown}` is not in the context"))
                .with_near(hinagata_module::nearest_names(unknown, names))
                .with_hint("declare it under `context`, or leave it out"));
        }
        let mut all = Map::new();
        for parameter in &self.context {
            match (variables.get(&parameter.name), &parameter.default) {
                (Some(value), _) | (None, Some(value)) => {
                    all.insert(parameter.name.clone(), value.clone());
                }
                (None, None) if parameter.class == ParameterClass::Required => {
                    return Err(missing_variable(parameter));
                }
                (None, None) => {}
            }
        }
        let limits = Limits::default();
        let output = limits.output.unwrap_or(usize::MAX);
        let strict = self.undefined == Some(UndefinedMode::Error);
        let work = |module: &AdHocBody| {
            let mut world = AdHocWorld { module, variables: &all, limits: &limits, strict };
            evaluate_body(&module.body, &mut world, output)
        };
        self.bodies.iter().map(work).collect()
    }
}

fn missing_variable(parameter: &crate::definition::Parameter) -> Error {
    let name = &parameter.name;
    let error = Error::new(Code::Validation, format!("required variable `{name}` is missing"))
        .with("missing", vec![name.as_str()])
        .with_hint(
            Hint::PassVariable { name: name.clone(), kind: parameter.kind }.then("or give it a default"),
        );
    match &parameter.place {
        Some(place) => error.at(place.clone()),
        None => error,
    }
}

fn read_file(path: &Path) -> Result<(Draft, ModuleBody)> {
    let none = || {
        Error::new(Code::NotFound, format!("file `{}` not found", path.display()))
            .with_hint("pass module files: `.yaml`, `.json` or `.toml`")
    };
    let (Some(name), directory) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else {
        return Err(none());
    };
    let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
    let directory = Directory::open(directory.unwrap_or(Path::new(".")))?.ok_or_else(none)?;
    let mut files = SiblingFiles { directory: &directory, shown: path.parent().unwrap_or(Path::new("")) };
    let text = files.module_file(name)?.ok_or_else(none)?;
    uses::read_module(name, &text, &mut files)
}

/// Files beneath the directory of a file that the caller passed.
struct SiblingFiles<'d> {
    directory: &'d Directory,
    shown: &'d Path,
}

impl ModuleFiles for SiblingFiles<'_> {
    fn module_file(&mut self, name: &str) -> Result<Option<(String, Arc<str>)>> {
        let shown = self.shown.join(name).display().to_string();
        Ok(self.directory.read(name, LARGEST_DOCUMENT)?.map(|read| (shown, read.text)))
    }

    fn preset_file(&mut self, _name: &str) -> Result<Option<(String, Arc<str>)>> {
        Ok(None)
    }
}

/// No files; presets can still be used.
struct NoFiles;

impl ModuleFiles for NoFiles {
    fn module_file(&mut self, _name: &str) -> Result<Option<(String, Arc<str>)>> {
        Ok(None)
    }

    fn preset_file(&mut self, _name: &str) -> Result<Option<(String, Arc<str>)>> {
        Ok(None)
    }
}

impl AdHocBody {
    fn new(body: ModuleBody, known_names: &KnownNames<'_>, options: &Arc<Options>) -> Result<Self> {
        body.check_paths(known_names)?;
        let limits = Limits::default();
        let mut templates = Vec::with_capacity(body.templates.len());
        for written in &body.templates {
            let text = &written.text;
            let mut sources = MemorySources::new();
            sources.insert_source(&text.file, SourceText::new(text.engine, Arc::clone(&text.text)));
            let graph = analyze_graph(&text.file, &sources, options, &limits)
                .map_err(|error| error_in_file(error, text))?;
            for item in &graph.variables {
                let (root, position) = (&*item.variable.path.root, item.variable.position);
                let is_local = written.local.as_deref().is_some_and(|name| name == root || root == LOOP);
                if !is_local && !known_names.has_name(root) {
                    return Err(check::unknown_variable(known_names, root, text, position));
                }
            }
            templates.push(
                Template::compile(text.engine, &text.file, &text.text, options, &limits)
                    .map_err(|error| error_in_file(error, text))?,
            );
        }
        Ok(Self { body, templates })
    }
}

/// The error of a template, with its place in the file.
fn error_in_file(error: hinagata_value::Error, text: &TemplateText) -> Error {
    let engine_error = Error::from(error);
    match engine_error.place().cloned() {
        Some(Place { line, column, excerpt, .. }) => {
            let place = text.origin.place(&text.file, LineColumn { line, column }, excerpt);
            engine_error.with("line", place.line).at(place)
        }
        None => engine_error,
    }
}

/// Evaluates a module from variables only.
struct AdHocWorld<'p> {
    module: &'p AdHocBody,
    variables: &'p Map<String, Value>,
    limits: &'p Limits,
    strict: bool,
}

impl<'p> World<'p> for AdHocWorld<'p> {
    fn variable(&self, name: &str) -> Option<&'p Value> {
        self.variables.get(name)
    }

    fn template(&mut self, number: usize, local: Option<&Local<'p>>) -> Result<Text> {
        let (Some(template), Some(written)) =
            (self.module.templates.get(number), self.module.body.templates.get(number))
        else {
            return Ok(Text::default());
        };
        let variables = WithLocal { variables: self.variables, local };
        let render = Render::new().with_limits(self.limits.clone());
        let placed = |error| error_in_file(error, &written.text);
        let text = render.render_text(template, &variables).map_err(placed)?;
        if !written.has_headings || !may_have_heading(&text) {
            return Ok(text.into());
        }
        // Values cannot open headings: the origins of the pieces show which lines are theirs.
        let traced = render.render_traced(template, &variables).map_err(placed)?;
        let escaped = escape_headings(&text, |offset| traced.is_value_at(offset));
        Ok(escaped.unwrap_or(text).into())
    }

    fn is_strict(&self) -> bool {
        self.strict
    }
}

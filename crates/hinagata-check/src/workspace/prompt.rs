//! The check of one prompt, with everything that it uses.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hinagata_catalog::{
    Catalog, ResolvedPrompt,
    definition::{
        Body, Definition, Inherited, Parameter, Parameters, Part, Role, TemplateText, UndefinedMode,
        ValueType,
    },
    source::{Entry, RootKind},
};
use hinagata_document::{Code, Error, LineColumn, Place, Reason, Severity, TextOrigin};
use hinagata_secrets::Secrets;
use hinagata_template::Options;
use serde_json::Value as Json;

use super::{
    CheckOptions,
    declared::{declared_shape, expected_noun, parameter_field},
    place_python,
    sources::{CatalogFile, CatalogSources},
};
use crate::{
    check::{ParseCache, Report, Surroundings, Variables, check_template},
    codes::{
        CATALOG_CONFLICT, CodeSpec, HOOK_COMPUTED, LIMIT_OUTPUT, LIMIT_TOKENS, MODEL_CAPABILITY,
        SECRET_LITERAL, SYNTAX_DEFINITION, SYNTAX_PYTHON, SYNTAX_SCHEMA, SYNTAX_UNKNOWN_KEY, TYPE_DEFAULT,
        VARIABLE_RESERVED, VARIABLE_UNUSED,
    },
    finding::{Finding, Found},
    hooks::{Granted, check_python, find_syntax_error},
    level::Level,
    models::Capability,
    shape::{Field, Fields, Kinds, Shape},
    silence::{MarkedText, front_matter_silences},
};

/// The names that every template can read besides its parameters.
pub(super) const RESERVED: [&str; 4] = ["system", "environs", "variables", "args"];

/// What the check of one prompt found, and what it depends on.
#[derive(Default)]
pub(super) struct CheckedPrompt {
    /// The findings, before silences.
    pub(super) findings: Vec<Finding>,
    /// The files that were read.
    pub(super) files: BTreeSet<String>,
    /// The names that its templates use for others.
    pub(super) asked: BTreeSet<String>,
    /// Texts with silences.
    pub(super) texts: Vec<MarkedText>,
    /// What its front matter allows.
    pub(super) allowed: Vec<String>,
    /// Whether any other file may change the findings: a parent could not be found.
    pub(super) is_unresolved: bool,
    /// Whether it may use any template.
    pub(super) uses_unknown: bool,
}

/// Checks prompts of one snapshot, one after the other.
pub(super) struct PromptChecker<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) options: &'c CheckOptions,
    pub(super) providers: &'c [String],
    sources: CatalogSources<'c>,
    parsed: &'c mut ParseCache,
    checked: CheckedPrompt,
}

impl<'c> PromptChecker<'c> {
    pub(super) fn new(
        catalog: &'c Catalog,
        options: &'c CheckOptions,
        providers: &'c [String],
        parsed: &'c mut ParseCache,
    ) -> Self {
        let sources = CatalogSources::new(catalog);
        Self { catalog, options, providers, sources, parsed, checked: CheckedPrompt::default() }
    }

    pub(super) fn check_entry(&mut self, entry: &Arc<Entry>) -> CheckedPrompt {
        for found in entry.diagnostics() {
            for error in split_problems(found.error) {
                let (code, level) = match found.severity {
                    _ if error.code() == Code::Conflict => (&CATALOG_CONFLICT, Level::Error),
                    Severity::Error if is_python_syntax(&error) => (&SYNTAX_PYTHON, Level::Error),
                    Severity::Error if is_reserved(&error) => (&VARIABLE_RESERVED, Level::Error),
                    Severity::Error => (&SYNTAX_DEFINITION, Level::Error),
                    Severity::Warning => (&SYNTAX_UNKNOWN_KEY, Level::Warning),
                };
                self.push(Finding::new(code, level, &*found.source, error));
            }
        }
        if self.catalog.is_usable(entry) {
            self.check_usable(entry);
        }
        self.checked.asked = self.sources.take_asked();
        std::mem::take(&mut self.checked)
    }

    fn check_usable(&mut self, entry: &Arc<Entry>) {
        let Ok(own) = entry.definition() else { return };
        self.checked.allowed = front_matter_silences(&own);
        self.add_files(&own);
        for read in &own.files {
            self.check_secrets(&own.source, &read.file, &read.text);
        }
        self.check_hooks(&own);
        let choice = ResolvedPrompt { id: entry.id().clone(), entry: Arc::clone(entry) };
        let inherited = match self.catalog.inherited_definition(&choice) {
            Ok(inherited) => inherited,
            Err(error) => {
                let code =
                    if error.code() == Code::Conflict { &CATALOG_CONFLICT } else { &SYNTAX_DEFINITION };
                self.checked.is_unresolved = true;
                self.push(Finding::new(code, Level::Error, entry.source(), error));
                return;
            }
        };
        for parent in &inherited.parents {
            self.checked.files.extend(parent.files.iter().map(|read| read.file.clone()));
        }
        let Ok(body) = inherited.body_definition() else { return };
        let body = Arc::clone(body);
        let variables = self.variables(&inherited);
        let options = self.template_options(&inherited.definition);
        let mut total = Report::default();
        for BodyTemplate { text, local, role } in body_templates(&body) {
            let variables = Variables { role, ..variables.clone() };
            let report = self.check_body(&body, &text, local.as_deref(), &variables, &options);
            total.constant_text.push_str(&report.constant_text);
            total.media.extend(report.media);
            total.used.extend(report.used);
            total.uses_unknown |= report.uses_unknown;
            total.templates.extend(report.templates);
            self.add_found(entry.source(), report.found);
        }
        self.add_templates(entry.source(), &total.templates);
        self.checked.uses_unknown = total.uses_unknown;
        if let Body::Messages(messages) = &body.body {
            total.used.extend(messages.iter().filter_map(|message| message.history.clone()));
        }
        self.check_output_limit(&inherited.definition, &total.constant_text);
        self.check_model(&inherited.definition, &body, &total);
        self.check_declarations(&inherited);
        self.check_unused(&inherited, &body, &total);
        self.check_cases(entry, &inherited, &total);
    }

    /// Checks the Python of the prompt itself.
    fn check_hooks(&mut self, definition: &Definition) {
        let Some(text) = &definition.hooks.source else { return };
        let file = format!("{}/prompt.py", definition.source);
        for (name, place) in &definition.hooks.needs_loading {
            let message = format!("`{name}` is computed, so it is not checked");
            let error = Error::new(Code::Definition, message).at(place.clone());
            self.push(Finding::new(&HOOK_COMPUTED, Level::Hint, &*definition.source, error));
        }
        if let Some(found) = find_syntax_error(text) {
            let found = place_python(vec![found], &definition.source, &file, text);
            self.checked.findings.extend(found);
            return;
        }
        if definition.hooks.is_computed("PERMISSIONS") {
            return;
        }
        let granted = Granted {
            allows: &|name| definition.permissions.allows(name),
            declared: definition.permissions.granted_names().collect(),
            declaration: "`PERMISSIONS`",
        };
        let found = place_python(check_python(text, &granted), &definition.source, &file, text);
        self.checked.findings.extend(found);
    }

    pub(super) fn push(&mut self, finding: Finding) {
        self.checked.findings.push(finding);
    }

    fn add_files(&mut self, definition: &Definition) {
        for read in &definition.files {
            self.add_text(&read.file, &read.text);
        }
    }

    /// Adds a file that was read, with its silences.
    pub(super) fn add_text(&mut self, file: &str, text: &str) {
        self.checked.files.insert(file.to_owned());
        self.checked.texts.extend(MarkedText::new(file, text, 1));
    }

    /// The texts of a prompt, its parents and the templates with these names.
    pub(super) fn texts_of(&self, inherited: &Inherited, templates: &BTreeSet<String>) -> Vec<String> {
        let chain = std::iter::once(&inherited.definition).chain(&inherited.parents);
        let own = chain.flat_map(|definition| &definition.files).map(|read| read.text.to_string());
        let files = templates.iter().filter_map(|name| self.sources.file(name));
        own.chain(files.map(|file| file.source.text().to_owned())).collect()
    }

    /// Checks the text of a template that belongs to no definition of the prompt.
    fn check_partial(&mut self, source: &str, file: &CatalogFile) {
        let before = self.checked.findings.len();
        self.check_secrets(source, &file.path, file.source.text());
        for finding in &mut self.checked.findings[before..] {
            finding.error = move_to_file(finding.error.clone(), &file.origin);
        }
    }

    fn add_templates(&mut self, source: &str, names: &BTreeSet<String>) {
        for name in names {
            let Some(file) = self.sources.file(name) else { continue };
            if !self.checked.files.contains(&file.path) && file.first_line().is_some() {
                self.check_partial(source, &file);
            }
            if let Some(first_line) = file.first_line() {
                let text = MarkedText::new(&file.path, file.source.text(), first_line);
                self.checked.texts.extend(text);
            }
            self.checked.files.insert(file.path);
        }
    }

    fn check_body(
        &mut self,
        body: &Definition,
        text: &TemplateText,
        local: Option<&str>,
        variables: &Variables,
        options: &Options,
    ) -> Report {
        let root = self.catalog.root_of(&body.source).unwrap_or(RootKind::Shared);
        let name = self.sources.add_entry(text, root);
        let mut variables = Cow::Borrowed(variables);
        if let Some(local) = local {
            let unknown = Field { shape: Shape::ANY, required: true };
            for name in [local, "loop"] {
                variables.to_mut().fields.known.insert(name.to_owned(), unknown.clone());
            }
        }
        let around = Surroundings { sources: &self.sources, options, functions: &self.options.functions };
        check_template(&name, around, &variables, self.parsed)
    }

    fn template_options(&self, definition: &Definition) -> Options {
        let of_store = definition.source.starts_with("store:");
        let usual = if of_store { UndefinedMode::Error } else { UndefinedMode::Empty };
        let mode = definition.undefined.or(self.options.undefined).unwrap_or(usual);
        Options::default().with_functions(&self.options.functions).with_undefined(mode.into())
    }

    /// What the declarations say about the variables of a prompt.
    pub(super) fn variables(&self, inherited: &Inherited) -> Variables {
        let chain = || std::iter::once(&inherited.definition).chain(&inherited.parents);
        let is_computed = chain().any(|one| !one.hooks.needs_loading.is_empty());
        // A hook may change every variable and add others.
        let is_changed = inherited.definition.hooks.pre_render.is_some() || is_computed;
        let declares = chain().any(|one| !one.parameters.is_empty());
        let of_store = inherited.definition.source.starts_with("store:");
        let complete = declares && !is_changed && !of_store;
        let mut fields = Fields { known: BTreeMap::new(), rest: Some(Shape::ANY) };
        for parameter in inherited.parameters.iter() {
            let field = match is_changed {
                true => Field { shape: Shape::ANY, required: true },
                false => parameter_field(parameter),
            };
            fields.known.insert(parameter.name.clone(), field);
        }
        for name in RESERVED.into_iter().chain(self.providers.iter().map(String::as_str)) {
            let unknown = Field { shape: Shape::ANY, required: true };
            fields.known.entry(name.to_owned()).or_insert(unknown);
        }
        let secrets = inherited.parameters.iter().filter(|parameter| parameter.secret);
        Variables {
            fields,
            complete,
            secrets: secrets.map(|parameter| parameter.name.clone()).collect(),
            tools: Arc::clone(&self.options.tools),
            untrusted: untrusted_names(&inherited.parameters),
            role: None,
        }
    }

    fn add_found(&mut self, source: &str, found: Vec<Found>) {
        for one in found {
            let Some(file) = self.sources.file(&one.template) else { continue };
            let finding = place_finding(one, source, &file.path, file.source.text(), &file.origin);
            self.push(finding);
        }
    }

    /// Reports constant text that alone is longer than the prompt may be.
    fn check_output_limit(&mut self, definition: &Arc<Definition>, text: &str) {
        let Some(most) = definition.limits.max_output_size.filter(|most| text.len() as u64 > *most) else {
            return;
        };
        let constant = text.chars().count() as u64;
        if constant <= most {
            return;
        }
        let message =
            format!("the constant text has {constant} characters, but `max_output_size` allows {most}");
        let file = definition.files.first().map_or(&definition.source, |read| &read.file);
        let error = Error::new(Code::Definition, message).at(Place::of_file(file));
        self.push(Finding::new(&LIMIT_OUTPUT, LIMIT_OUTPUT.level, &*definition.source, error));
    }

    /// Reports what the prompt asks of its model, and the model certainly does not offer.
    fn check_model(&mut self, definition: &Arc<Definition>, body: &Definition, total: &Report) {
        let Some(name) = definition.settings.request_options().model else { return };
        let Some(facts) = self.options.models.find_model(&name) else { return };
        for (capability, cause) in needed_capabilities(definition, body, total) {
            let Some(reason) = facts.reason_to_lack(capability) else { continue };
            let message =
                format!("the model `{name}` does not take {} ({reason}), but {cause}", capability.noun());
            self.push_about_model(&MODEL_CAPABILITY, definition, message);
        }
        // A token has at least one byte.
        let text = &total.constant_text;
        if let Some(context) = facts.context.filter(|context| text.len() as u64 > *context) {
            let least = facts.least_tokens(text);
            if least > context {
                let message = format!(
                    "the constant text has at least {least} tokens, but the model `{name}` takes {context}"
                );
                self.push_about_model(&LIMIT_TOKENS, definition, message);
            }
        }
    }

    /// Reports at the place where the prompt names its model.
    fn push_about_model(&mut self, code: &'static CodeSpec, definition: &Definition, message: String) {
        let error = Error::new(Code::Definition, message);
        let starts = |line: &str| {
            line.trim_start()
                .trim_start_matches(['"', '\''])
                .strip_prefix("model")
                .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with([':', '=']))
        };
        let place = definition.files.iter().find_map(|read| {
            let before: usize =
                read.text.split_inclusive('\n').take_while(|line| !starts(line)).map(str::len).sum();
            let line = read.text.get(before..).filter(|rest| !rest.is_empty())?;
            let offset = before + line.len() - line.trim_start().len();
            Some(Place::in_text(&read.file, &read.text, offset))
        });
        let of_file =
            || Place::of_file(definition.files.first().map_or(&definition.source, |read| &read.file));
        let error = error.at(place.unwrap_or_else(of_file));
        self.push(Finding::new(code, code.level, &*definition.source, error));
    }

    /// Checks the schemas and defaults of the parameters that the prompt itself declares.
    fn check_declarations(&mut self, inherited: &Inherited) {
        for parameter in inherited.definition.parameters.iter() {
            if let Some(Err(error)) = parameter.schema.as_ref().map(jsonschema::validator_for) {
                let message = format!("the schema of `{}` is not valid: {error}", parameter.name);
                self.push_declared(&SYNTAX_SCHEMA, &inherited.definition, parameter, message);
            }
            self.check_default(&inherited.definition, parameter);
        }
    }

    fn check_default(&mut self, definition: &Arc<Definition>, parameter: &Parameter) {
        let Some(default) = parameter.default.as_ref().filter(|default| !default.is_null()) else { return };
        let expected = declared_shape(parameter);
        let fits = expected.kinds.contains(Kinds::from_json(default))
            && expected.values.as_ref().is_none_or(|values| values.contains(default));
        if !fits {
            let message = format!(
                "the default of `{}` is {}, but it is declared as {}",
                parameter.name,
                Kinds::from_json(default).to_noun(),
                expected_noun(&expected)
            );
            self.push_declared(&TYPE_DEFAULT, definition, parameter, message);
        }
    }

    /// Reports values in the files of the prompt that look like keys and passwords.
    fn check_secrets(&mut self, source: &str, file: &str, text: &str) {
        for found in Secrets::built_in().find_secrets(file, text.as_bytes()).iter() {
            let error = Error::new(Code::Definition, format!("this looks like a secret: `{}`", found.rule))
                .at(without_excerpt(Place::in_text(file, text, found.range.start)))
                .with_hint("pass it as a parameter with `secret: true`");
            let length = u32::try_from(found.range.len()).ok();
            let finding = Finding::new(&SECRET_LITERAL, SECRET_LITERAL.level, source, error);
            self.push(Finding { length, ..finding });
        }
    }

    fn check_unused(&mut self, inherited: &Inherited, body: &Definition, total: &Report) {
        let definition = &inherited.definition;
        let knows_all = matches!(body.body, Body::Text(_) | Body::Messages(_))
            && !definition.hooks.has_any()
            && definition.hooks.needs_loading.is_empty()
            && !total.uses_unknown
            && !total.used.contains("variables")
            && !total.used.contains("args");
        if !knows_all || !std::ptr::eq(&raw const **definition, body) {
            return;
        }
        let unused: Vec<Parameter> = definition
            .parameters
            .iter()
            .filter(|parameter| {
                !total.used.contains(&parameter.name) && !self.is_proposed(definition, parameter)
            })
            .cloned()
            .collect();
        for parameter in unused {
            let message = format!("parameter `{}` is declared and never read", parameter.name);
            self.push_declared(&VARIABLE_UNUSED, definition, &parameter, message);
        }
    }

    /// Whether another parameter needs the parameter for its proposed values.
    fn is_proposed(&self, definition: &Definition, parameter: &Parameter) -> bool {
        use hinagata_catalog::definition::Proposals;
        definition.parameters.iter().any(|other| {
            matches!(&other.proposals, Some(Proposals::By { parameter: by, .. }) if *by == parameter.name)
        })
    }

    fn push_declared(
        &mut self,
        code: &'static CodeSpec,
        definition: &Definition,
        parameter: &Parameter,
        message: String,
    ) {
        let error = Error::new(Code::Definition, message);
        let error = match &parameter.place {
            Some(place) => error.at(place.clone()),
            None => error,
        };
        let source = definition.source.clone();
        self.push(Finding::new(code, code.level, source, error));
    }
}

/// What a prompt asks of its model, each with how it shows.
fn needed_capabilities(
    definition: &Definition,
    body: &Definition,
    total: &Report,
) -> Vec<(Capability, &'static str)> {
    let mut needed = Vec::new();
    let output = definition.settings.output.as_ref();
    let has_schema = output
        .is_some_and(|output| ["schema", "type", "properties"].iter().any(|key| output.get(key).is_some()));
    let has_section = match &body.body {
        Body::Module(module) => module.section_names().any(|name| name == "schema"),
        _ => false,
    };
    if has_schema || has_section {
        needed.push((Capability::Schema, "the prompt declares the schema of its answer"));
    }
    let messages = if let Body::Messages(messages) = &body.body { &messages[..] } else { &[] };
    if messages.iter().any(|message| message.role == Role::Tool) {
        needed.push((Capability::Tools, "a message is the answer of a tool"));
    }
    let parts = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Other { kind, .. } => Some(kind.as_str()),
        Part::Text(_) => None,
    });
    let kinds: Vec<&str> = parts.chain(total.media.iter().map(String::as_str)).collect();
    if kinds.iter().any(|kind| kind.contains("image")) {
        needed.push((Capability::Images, "the prompt has a picture"));
    }
    if kinds.iter().any(|kind| kind.contains("audio")) {
        needed.push((Capability::Audio, "the prompt has sound"));
    }
    needed
}

/// The parameters whose values may come from somebody else.
fn untrusted_names(parameters: &Parameters) -> BTreeMap<String, &'static str> {
    let reason = |parameter: &Parameter| match parameter.kind {
        _ if parameter.unknown.get("untrusted") == Some(&Json::Bool(true)) => Some("is declared `untrusted`"),
        ValueType::File => Some("is the text of a file"),
        _ => None,
    };
    parameters.iter().filter_map(|parameter| Some((parameter.name.clone(), reason(parameter)?))).collect()
}

/// One error for each problem of a definition: one that has several tells the others in its details.
pub(super) fn split_problems(error: Error) -> Vec<Error> {
    let problems = error.details().get("problems").and_then(Json::as_array).cloned().unwrap_or_default();
    let Some(place) = error.place().cloned().filter(|_| problems.len() > 1) else { return vec![error] };
    let number = |problem: &Json, key: &str| {
        problem[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
    };
    let split = |problem: &Json| {
        let message = problem["message"].as_str().unwrap_or_default().to_owned();
        let (line, column) = (number(problem, "line"), number(problem, "column"));
        // The excerpt is that of the first problem.
        let excerpt = place.excerpt.clone().filter(|_| line == place.line);
        let place = Place { line, column, excerpt, ..place.clone() };
        let one = Error::new(error.code(), message).at(place);
        match problem["hint"].as_str() {
            Some(hint) => one.with_hint(hint.to_owned()),
            None => one,
        }
    };
    problems.iter().map(split).collect()
}

/// Whether the definition declares a name of the engine.
fn is_reserved(error: &Error) -> bool {
    error.message().ends_with("is reserved and cannot be declared")
}

/// Whether the definition cannot be read because its Python is not valid.
fn is_python_syntax(error: &Error) -> bool {
    let in_python = error.place().is_some_and(|place| place.file.ends_with(".py"));
    in_python && error.reason() == Some(Reason::Syntax) && error.message().starts_with("not valid Python")
}

/// The place without the line of the file, which holds what nobody should see.
fn without_excerpt(place: Place) -> Place {
    Place { excerpt: None, ..place }
}

/// The error at the place in the file of its place in the template.
fn move_to_file(error: Error, origin: &TextOrigin) -> Error {
    let Some(place) = error.place().cloned() else { return error };
    let at = origin.in_file(LineColumn { line: place.line, column: place.column });
    error.at(Place { line: at.line, column: at.column, ..place })
}

/// A template of a body.
pub(crate) struct BodyTemplate {
    pub(crate) text: TemplateText,
    /// The variable of the loop around it.
    pub(crate) local: Option<Arc<str>>,
    /// The role of the message that it is part of.
    role: Option<&'static str>,
}

impl BodyTemplate {
    fn new(text: &TemplateText) -> Self {
        Self { text: text.clone(), local: None, role: None }
    }
}

/// The templates of the body of a definition.
pub(crate) fn body_templates(definition: &Definition) -> Vec<BodyTemplate> {
    match &definition.body {
        Body::Text(text) => vec![BodyTemplate::new(text)],
        Body::Messages(messages) => messages
            .iter()
            .flat_map(|message| {
                let (role, name) = match &message.role {
                    Role::Template(text) => (Some(BodyTemplate::new(text)), None),
                    Role::System => (None, Some("system")),
                    Role::Developer => (None, Some("developer")),
                    _ => (None, None),
                };
                let parts = message.parts.iter().filter_map(move |part| match part {
                    Part::Text(text) => Some(BodyTemplate { role: name, ..BodyTemplate::new(text) }),
                    Part::Other { .. } => None,
                });
                role.into_iter().chain(parts)
            })
            .collect(),
        Body::Module(module) => module
            .templates
            .iter()
            .map(|template| BodyTemplate {
                local: template.local.clone(),
                ..BodyTemplate::new(&template.text)
            })
            .collect(),
        Body::Inherited | Body::NeedsLoading => Vec::new(),
    }
}

pub(super) fn place_finding(
    found: Found,
    source: &str,
    path: &str,
    text: &str,
    origin: &TextOrigin,
) -> Finding {
    let at = LineColumn::at_offset(text, found.span.0 as usize);
    let line = text.lines().nth(at.line as usize - 1).map(|line| line.chars().take(200).collect());
    let place: Place = origin.place(path, at, line);
    let mut error = Error::new(Code::Definition, found.message).at(place).with_near(found.near);
    if let Some(help) = found.help {
        error = error.with_hint(help);
    }
    let length = found.span.1.checked_sub(found.span.0).filter(|length| *length > 0);
    let end = length.and_then(|_| end_in_file(text, found.span.1, origin));
    Finding { length, end, ..Finding::new(found.code, found.level, source, error) }
}

/// Where the file has the end of a part of `text` that ends at the byte `end`: behind its last character, as the next one
/// may be on another line of the file.
fn end_in_file(text: &str, end: u32, origin: &TextOrigin) -> Option<LineColumn> {
    let last = text.get(..end as usize)?.char_indices().next_back()?.0;
    let at = origin.in_file(LineColumn::at_offset(text, last));
    (at.column > 0).then(|| LineColumn { column: at.column + 1, ..at })
}

//! Plans a prompt: finds, reads, compiles and analyses it once for all calls.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use hinagata_catalog::PromptHome;
use hinagata_template::{Cache, Graph, JoinedNames, Language, MessageLayout, Options, SourceText, Template};
use hinagata_value::{Key, Limits};
use serde_json::{Map, Number, Value};

use super::{
    EngineOptions,
    layers::{Layer, long_numbers},
    load::{self, LoadedDefinitions, PlanError},
    module::PlannedModule,
    notices::notices,
    places::with_places,
    rendered::{About, Warning},
    schema::Schemas,
    sources::{Known, PromptSources, TemplateFile},
    tools::{KnownTools, SPACE},
    validate::RESERVED,
};
use crate::{
    Catalog, Code, Error, Hint, PackId, Reason, ResolvedPrompt, Result, TextOrigin, VariableProvider,
    definition::{
        Body, Definition, FileRead, Inherited, Message, Origin, Parameter, ParameterClass, Parameters, Part,
        ProjectValue, Role, TemplateText, UndefinedMode, ValueType, module::LOOP,
    },
    source::{Entry, RootKind},
};

/// The root of a path that reads all variables together, as `.` in a Go template does.
pub(super) const WHOLE: &str = ".";

/// The permissions whose use others can notice.
const EFFECTS: [&str; 3] = ["http_request", "llm_call", "subprocess"];

/// The effects of the hooks of a prompt.
pub(super) fn definition_effects(inherited: &Inherited) -> impl Iterator<Item = String> {
    let definition = &inherited.definition;
    let granted = definition.permissions.granted_names().filter(|name| EFFECTS.contains(name));
    granted.filter(|_| definition.hooks.has_any()).map(str::to_owned)
}

/// The inputs of a plan.
pub(super) struct Planning<'p> {
    /// The requested name.
    pub(super) asked: &'p str,
    pub(super) catalog: &'p Catalog,
    pub(super) cache: &'p Cache,
    pub(super) options: &'p EngineOptions,
    pub(super) loaded: &'p LoadedDefinitions,
    pub(super) tools: Option<Arc<KnownTools>>,
}

/// Everything about a prompt that does not depend on a call.
pub(super) struct Plan {
    pub(super) choice: ResolvedPrompt,
    pub(super) inherited: Inherited,
    /// The first of the workspaces that the prompt and its parents come from that the user does not trust.
    pub(super) untrusted_home: Option<PromptHome>,
    pub(super) body: PlannedBody,
    pub(super) known: Known,
    /// The paths that the names of templates led to.
    pub(super) joined: JoinedNames,
    pub(super) reads: Reads,
    /// The values that a call has to fetch.
    pub(super) fetches: Fetches,
    /// Whether a parameter has other names.
    pub(super) has_aliases: bool,
    /// The names of the parameters in their order. A key remembers its position in the variables of the last call.
    pub(super) keys: Vec<Key>,
    /// Declared defaults by layer; no map is empty.
    pub(super) defaults: Vec<(Layer, Map<String, Value>)>,
    pub(super) schemas: Schemas,
    /// Parameters from system variables, with the name of the system variable.
    pub(super) system: Vec<(String, String)>,
    /// Parameters from shared variables, with the path of the shared variable.
    pub(super) environ: Vec<(String, String)>,
    /// Parameters that come from the project directory.
    pub(super) project: Vec<(String, ProjectValue)>,
    /// Parameters whose value is the path of a file.
    pub(super) files: Vec<String>,
    /// Providers whose namespaces templates reach. See [`super::late`] for dynamically included templates.
    pub(super) providers: Result<Vec<PlannedProvider>>,
    pub(super) undefined: UndefinedMode,
    pub(super) max_output_size: u64,
    /// The limits of templates. The output limit is larger than `max_output_size`, so that an error can state the real size.
    pub(super) limits: Limits,
    /// Whether a call with valid variables only has to run the templates.
    pub(super) is_plain: bool,
    /// Seconds.
    pub(super) max_execution_time: Number,
    /// The warnings of every call.
    pub(super) warnings: Vec<Warning>,
    pub(super) tools: Option<Arc<KnownTools>>,
    pub(super) options: Arc<Options>,
    pub(super) about: Arc<About>,
}

/// The values that a call has to fetch, because a template or a hook can reach them.
#[derive(Clone, Copy, Default)]
pub(super) struct Fetches {
    /// `system`, or a parameter from it.
    pub(super) system: bool,
    /// `environs`, or a parameter from it.
    pub(super) environs: bool,
    /// `variables` or `args`.
    pub(super) call: bool,
    /// Anything, including files and providers.
    pub(super) anything: bool,
}

impl Fetches {
    fn for_plan(plan: &Plan) -> Self {
        let hooks = plan.inherited.definition.hooks.has_any();
        let reaches = |name: &str| hooks || plan.reads.can_reach(name);
        let any = |list: &[(String, String)]| list.iter().any(|(name, _)| reaches(name));
        let system = reaches("system") || any(&plan.system);
        let environs = plan.is_store_prompt() || reaches("environs") || any(&plan.environ);
        let call = ["variables", "args"].into_iter().any(|name| plan.reads.can_reach(name));
        let project = plan.project.iter().any(|(name, _)| reaches(name));
        let providers = !matches!(&plan.providers, Ok(providers) if providers.is_empty());
        Self {
            system,
            environs,
            call,
            anything: system || environs || call || providers || project || !plan.files.is_empty(),
        }
    }
}

/// Converts a limit in seconds; at most one day.
pub(super) fn seconds(number: &Number) -> Duration {
    Duration::from_secs_f64(number.as_f64().unwrap_or(0.0).clamp(0.0, 86_400.0))
}

/// The compiled body.
pub(super) enum PlannedBody {
    /// One template; renders messages if it has structure.
    Text { template: PlannedTemplate, structured: bool, layout: (MessageLayout, bool) },
    /// Declared messages.
    Messages(Vec<PlannedMessage>),
    /// A module.
    Module(Box<PlannedModule>),
}

/// A compiled template of the prompt itself.
#[derive(Clone)]
pub(super) struct PlannedTemplate {
    pub(super) template: Template,
    pub(super) source: SourceText,
    pub(super) origin: TextOrigin,
}

pub(super) struct PlannedMessage {
    pub(super) role: PlannedRole,
    pub(super) parts: Vec<PlannedPart>,
    /// The variable with earlier messages that stand in its place.
    pub(super) history: Option<String>,
}

pub(super) enum PlannedRole {
    Fixed(Box<str>),
    Bound(PlannedTemplate),
}

pub(super) enum PlannedPart {
    Text(PlannedTemplate),
    /// A part of another kind, whose strings are templates too.
    Other {
        kind: String,
        fields: PlannedValue,
        /// The prompt that contains it; its files are in the same directory.
        home: Option<Arc<Entry>>,
    },
}

/// A value of a part, with the templates in it.
pub(super) enum PlannedValue {
    Fixed(Value),
    Text(PlannedTemplate),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

/// The variables that the templates of a prompt can read.
#[derive(Default)]
pub(super) struct Reads {
    roots: HashSet<Arc<str>>,
    /// Whether a template can read any variable, because names are known only during a run.
    pub(super) anything: bool,
    /// Whether a template reads all variables together.
    whole: bool,
    pub(super) graphs: Vec<(TextOrigin, Graph)>,
}

impl Reads {
    /// Whether a template can read the variable called `name`.
    pub(super) fn can_reach(&self, name: &str) -> bool {
        self.anything || self.roots.contains(name)
    }

    /// Whether a template names the variable called `name`.
    pub(super) fn roots_contain(&self, name: &str) -> bool {
        self.roots.contains(name)
    }

    /// The paths that the names of templates led to.
    fn joined(&self) -> JoinedNames {
        let mut all = JoinedNames::default();
        for (_, graph) in &self.graphs {
            all.merge(&graph.joined);
        }
        all
    }

    /// The names of the variables that templates read.
    pub(super) fn roots(&self) -> impl Iterator<Item = &str> {
        self.roots.iter().map(|name| &**name)
    }

    /// Whether a statically known template can read the variable called `name`.
    fn names_before_run(&self, name: &str) -> bool {
        self.whole || self.roots.contains(name)
    }

    /// Removes the variable of a loop and its state from the graphs with index `from` and above.
    pub(super) fn forget_local(&mut self, from: usize, name: Option<&str>) {
        let Some(name) = name else { return };
        for (_, graph) in &mut self.graphs[from..] {
            graph.variables.retain(|item| ![name, LOOP].contains(&&*item.variable.path.root));
        }
        self.roots = self
            .graphs
            .iter()
            .flat_map(|(_, graph)| &graph.variables)
            .map(|item| Arc::clone(&item.variable.path.root))
            .collect();
    }

    fn add(&mut self, origin: TextOrigin, graph: Graph) {
        for item in &graph.variables {
            self.whole |= &*item.variable.path.root == WHOLE;
            self.roots.insert(Arc::clone(&item.variable.path.root));
        }
        self.anything |= self.whole || !graph.dynamic.is_empty();
        self.graphs.push((origin, graph));
    }
}

/// A provider of an active pack.
#[derive(Clone, Debug)]
pub(super) struct PlannedProvider {
    pub(super) pack: PackId,
    pub(super) provider: VariableProvider,
}

impl Plan {
    pub(super) fn build(choice: ResolvedPrompt, with: &Planning<'_>) -> Result<Self, PlanError> {
        let inherited = load::load_inherited(with.catalog, &choice, with.loaded)?;
        let owner = Arc::clone(inherited.body_definition()?);
        let definition = &inherited.definition;
        let undefined =
            definition.undefined.or(with.options.undefined).unwrap_or_else(|| default_mode(definition));
        let tools = with.tools.as_ref().map(|tools| tools.for_parameters(&inherited.parameters));
        let options = tools.as_ref().map(|tools| tools.options.clone()).unwrap_or_default();
        let options = options.with_undefined(undefined.into());
        let root = with.catalog.root_of(&owner.source).unwrap_or(RootKind::Shared);
        let mut builder = Builder {
            with,
            parameters: &inherited.parameters,
            options: Arc::new(options),
            root,
            known: Known::default(),
            reads: Reads::default(),
        };
        let body = builder.body(&owner)?;
        let Builder { options, known, reads, .. } = builder;
        let below = owner.body.limits(&with.options.prompt_limits);
        let workspace = with.catalog.defaults()?;
        let limits = workspace.limits_within(&definition.limits, &below, &with.options.caps);
        let mut warnings: Vec<Warning> =
            stale_resolution_warning(with.catalog, &choice).into_iter().collect();
        warnings.extend(notices(with.catalog, with.asked, &choice, (&inherited, workspace), &reads));
        warnings.extend(capped_time_warning(&inherited.definition, &limits.max_execution_time));
        let providers = providers(with.catalog, &reads, &inherited);
        let named = |origin: Origin| {
            let of = move |parameter: &&Parameter| parameter.origin == origin;
            let pair = |found: &Parameter| {
                (found.name.clone(), found.from.clone().unwrap_or_else(|| found.name.clone()))
            };
            inherited.parameters.iter().filter(of).map(pair).collect::<Vec<_>>()
        };
        let read = files_read(&inherited, &known);
        let definitions = std::iter::once(definition).chain(&inherited.parents);
        let untrusted_home = with
            .catalog
            .untrusted_home(definitions.map(|definition| definition.source.as_str()), with.options.trusted);
        let mut plan = Self {
            fetches: Fetches::default(),
            has_aliases: inherited.parameters.iter().any(|parameter| !parameter.aliases.is_empty()),
            keys: inherited.parameters.iter().map(|parameter| Key::new(parameter.name.as_str())).collect(),
            defaults: defaults(&inherited),
            schemas: Schemas::compile(&inherited.parameters)?,
            system: named(Origin::System),
            environ: named(Origin::Environ),
            project: project_values(&inherited),
            files: inherited
                .parameters
                .iter()
                .filter(|parameter| parameter.kind == ValueType::File)
                .map(|parameter| parameter.name.clone())
                .collect(),
            providers,
            undefined,
            max_output_size: limits.max_output_size,
            limits: Limits {
                output: Some(template_output_limit(limits.max_output_size)),
                ..with.options.limits.clone()
            },
            is_plain: false,
            max_execution_time: limits.max_execution_time,
            warnings,
            tools,
            options,
            about: Arc::new(About {
                id: choice.id.clone(),
                source: choice.entry.source().to_owned(),
                version: with.catalog.version_of(&choice.entry),
                files: read,
                hash: OnceLock::new(),
                settings: inherited.definition.settings.clone(),
            }),
            choice,
            untrusted_home,
            body,
            joined: reads.joined(),
            known,
            reads,
            inherited,
        };
        plan.fetches = Fetches::for_plan(&plan);
        plan.is_plain = !plan.fetches.anything
            && !plan.inherited.definition.hooks.has_any()
            && !plan.uses_tools()
            && plan.warnings.is_empty()
            && plan.undefined != UndefinedMode::Error
            && plan.inherited.parameters.iter().all(|parameter| parameter.schema.is_none())
            && !plan.keys.iter().any(|key| RESERVED.contains(&key.name().as_str()))
            && plan.defaults.iter().all(|(_, defaults)| long_numbers(defaults).next().is_none());
        Ok(plan)
    }

    /// Whether it was built with these tools.
    pub(super) fn has_tools(&self, tools: Option<&Arc<KnownTools>>) -> bool {
        match (&self.tools, tools) {
            (None, None) => true,
            (Some(known), Some(now)) => Arc::ptr_eq(&known.set, &now.set),
            _ => false,
        }
    }

    /// The analyses of all templates that are known before a run.
    fn analyses(&self) -> impl Iterator<Item = &hinagata_template::Analysis> {
        self.reads
            .graphs
            .iter()
            .flat_map(|(_, graph)| graph.templates.iter().map(|(_, analysis)| &**analysis))
    }

    /// Whether a template can call a tool. A dynamically included template may.
    fn uses_tools(&self) -> bool {
        let Some(tools) = &self.tools else { return false };
        // In a prompt that declares `tools`, the name is that variable.
        let is_space = self.inherited.parameters.get(SPACE).is_none();
        let known = |name: &str| (is_space && name == SPACE) || tools.set.tools().contains_key(name);
        self.analyses().any(|analysis| {
            analysis.functions.iter().any(|used| known(&used.name))
                || analysis.variables.iter().any(|used| known(&used.path.root))
                || analysis.templates.iter().any(|used| used.dynamic)
        })
    }

    /// What a render can reach outside of the workspace, sorted: permissions of hooks and providers, and ids of tools;
    /// `tools` where only a render shows which.
    pub(super) fn effects(&self) -> Vec<String> {
        let mut found: BTreeSet<String> = definition_effects(&self.inherited).collect();
        for planned in self.providers.iter().flatten() {
            let granted = planned.provider.permissions().into_iter().filter(|name| EFFECTS.contains(name));
            found.extend(granted.map(str::to_owned));
        }
        if self.uses_tools() {
            let tools = self.tools.iter().map(|tools| tools.set.tools());
            let called = tools.flat_map(|tools| {
                let names = self.analyses().flat_map(|analysis| {
                    let functions = analysis.functions.iter().map(|used| used.name.as_str());
                    functions.chain(analysis.variables.iter().map(|used| &*used.path.root))
                });
                names.filter_map(|name| tools.get(name)).map(|tool| tool.id.clone())
            });
            let before = found.len();
            found.extend(called);
            if found.len() == before {
                found.insert(SPACE.to_owned());
            }
        }
        found.into_iter().collect()
    }

    /// Whether a template or a hook can reach the variable called `name`.
    pub(super) fn reaches(&self, name: &str) -> bool {
        self.inherited.definition.hooks.has_any() || self.reads.can_reach(name)
    }

    /// The sorted names of the variables that templates read and a caller can pass.
    pub(super) fn template_variables(&self) -> Vec<String> {
        let provided: Vec<&str> = match &self.providers {
            Ok(all) => all.iter().map(|planned| planned.provider.namespace.as_str()).collect(),
            Err(_) => Vec::new(),
        };
        let tool = |name: &str| self.tools.as_ref().is_some_and(|tools| tools.set.tools().contains_key(name));
        let given = |name: &&str| {
            !RESERVED.contains(name)
                && !matches!(*name, WHOLE | SPACE)
                && !provided.contains(name)
                && !tool(name)
        };
        let mut names: Vec<String> =
            self.reads.roots.iter().map(|name| &**name).filter(given).map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    /// Whether it is a store prompt, which sees shared variables by their own names.
    pub(super) fn is_store_prompt(&self) -> bool {
        self.choice.entry.store_prompt().is_some()
    }

    /// The file with the hooks of the prompt.
    pub(super) fn hook_file(&self) -> String {
        format!("{}/prompt.py", self.inherited.definition.source)
    }

    /// The file of the prompt's first template.
    pub(super) fn main_file(&self) -> &str {
        let first = self.reads.graphs.first().and_then(|(_, graph)| graph.templates.first());
        first.map_or(&self.about.source, |(name, _)| name)
    }

    /// The names of the secret parameters.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.inherited.parameters.iter().filter(|parameter| parameter.secret).map(|found| found.name.as_str())
    }
}

/// Warns that the recorded resolution is not used, although only one candidate is left.
fn stale_resolution_warning(catalog: &Catalog, choice: &ResolvedPrompt) -> Option<Warning> {
    let recorded = catalog.resolutions().get(&choice.id)?;
    if recorded.source == choice.entry.source() {
        return None;
    }
    let pack = catalog.packs().find(|pack| recorded.source.starts_with(&format!("{}/{pack}/", crate::PACKS)));
    let (why, hint) = match pack {
        Some(pack) => (
            format!("the pack `{pack}` is {}", catalog.approval(pack)),
            Hint::VerifyPack { pack: pack.to_string() }.then("or remove it"),
        ),
        None => (
            "it no longer exists".to_owned(),
            Hint::ShowCandidates { id: choice.id.to_string() }.then("choose again"),
        ),
    };
    let message = format!(
        "the recorded resolution of `{}` is `{}`, which is not used: {why}",
        choice.id, recorded.source
    );
    let error = Error::new(Code::Approval, message).with("source", recorded.source.as_str()).with_hint(hint);
    Some(Warning::new(choice.id.as_str(), error))
}

/// Warns that a cap reduces the time of the prompt's Python.
fn capped_time_warning(definition: &Definition, allowed: &Number) -> Option<Warning> {
    let asked = definition.limits.max_execution_time.as_ref().filter(|_| definition.hooks.has_any())?;
    if asked.as_f64() <= allowed.as_f64() {
        return None;
    }
    let message = format!("`max_execution_time` is capped at {allowed} s; the prompt requests {asked} s");
    let error = Error::definition(Reason::Cap, message)
        .with("limit", allowed.clone())
        .with_hint("raise `caps.max_execution_time` in the settings, or `caps` in defaults.json");
    Some(Warning::new("max_execution_time", error))
}

/// The output limit of templates for a prompt with `max_output_size` `size`, in characters.
fn template_output_limit(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX).saturating_mul(4).saturating_add(1_000_000)
}

fn default_mode(definition: &Definition) -> UndefinedMode {
    if definition.source.starts_with("store:") { UndefinedMode::Error } else { UndefinedMode::Empty }
}

/// Declared defaults by layer; a required variable has none.
fn defaults(inherited: &Inherited) -> Vec<(Layer, Map<String, Value>)> {
    let mut all = [Layer::Optional, Layer::Custom, Layer::Defaults].map(|layer| (layer, Map::new()));
    for parameter in
        inherited.parameters.iter().filter(|parameter| parameter.class != ParameterClass::Required)
    {
        let Some(default) = &parameter.default else { continue };
        let mut definitions = std::iter::once(&inherited.definition).chain(&inherited.parents);
        let is_workspace = !definitions.any(|found| found.parameters.get(&parameter.name).is_some());
        let layer = Layer::of_default(parameter, is_workspace);
        for (_, values) in all.iter_mut().filter(|(known, _)| *known == layer) {
            values.insert(parameter.name.clone(), default.clone());
        }
    }
    all.into_iter().filter(|(_, values)| !values.is_empty()).collect()
}

/// The parameters that come from the project directory.
fn project_values(inherited: &Inherited) -> Vec<(String, ProjectValue)> {
    let from_project = |parameter: &Parameter| match &parameter.origin {
        Origin::Project(value) => Some((parameter.name.clone(), value.clone())),
        Origin::Default | Origin::System | Origin::Environ | Origin::Conversation(_) => None,
    };
    inherited.parameters.iter().filter_map(from_project).collect()
}

fn files_read(inherited: &Inherited, known: &Known) -> Vec<FileRead> {
    let definitions = std::iter::once(&inherited.definition).chain(&inherited.parents);
    let mut all: Vec<FileRead> = definitions.flat_map(|definition| definition.files.clone()).collect();
    let listed: BTreeSet<String> = all.iter().map(|file| file.file.clone()).collect();
    all.extend(known.texts().into_iter().filter(|file| !listed.contains(&file.file)));
    all
}

/// The providers that a template reaches, without namespaces that the prompt declares.
///
/// A namespace that two active packs provide is a conflict if it is used.
fn providers(catalog: &Catalog, reads: &Reads, inherited: &Inherited) -> Result<Vec<PlannedProvider>> {
    let mut found: Vec<PlannedProvider> = Vec::new();
    for (pack, manifest) in catalog.active_manifests() {
        for provider in &manifest.providers {
            let namespace = provider.namespace.as_str();
            if !reads.names_before_run(namespace) || inherited.parameters.get(namespace).is_some() {
                continue;
            }
            if let Some(other) = found.iter().find(|other| other.provider.namespace == namespace) {
                return Err(namespace_conflict(namespace, &other.pack, pack));
            }
            found.push(PlannedProvider { pack: pack.clone(), provider: provider.clone() });
        }
    }
    Ok(found)
}

pub(super) fn namespace_conflict(namespace: &str, first: &PackId, second: &PackId) -> Error {
    Error::new(Code::Conflict, format!("the packs `{first}` and `{second}` both provide `{namespace}`"))
        .with_reason(Reason::Namespace)
        .with("namespace", namespace)
        .with("candidates", vec![first.as_str(), second.as_str()])
        .with_hint(format!("reject one of the packs, or pass `{namespace}` with the call"))
}

pub(super) struct Builder<'b> {
    pub(super) with: &'b Planning<'b>,
    pub(super) parameters: &'b Parameters,
    options: Arc<Options>,
    root: RootKind,
    pub(super) known: Known,
    pub(super) reads: Reads,
}

impl Builder<'_> {
    fn body(&mut self, owner: &Definition) -> Result<PlannedBody> {
        Ok(match &owner.body {
            Body::Text(text) => {
                let template = self.template(text)?;
                let structured = self.reads.graphs.iter().any(|(_, graph)| graph.has_structure());
                PlannedBody::Text { template, structured, layout: (owner.layout, owner.drops_empty) }
            }
            Body::Messages(messages) => {
                let planned: Result<Vec<_>> =
                    messages.iter().map(|message| self.message(owner, message)).collect();
                PlannedBody::Messages(planned?)
            }
            Body::Module(body) => PlannedBody::Module(Box::new(self.plan_module(body)?)),
            Body::NeedsLoading => return Err(load::needs_loading_error(owner)),
            Body::Inherited => {
                return Err(Error::definition(Reason::NoBody, format!("`{}` has no template", owner.id)));
            }
        })
    }

    /// Compiles and analyses a template and every template that it uses.
    pub(super) fn template(&mut self, text: &TemplateText) -> Result<PlannedTemplate> {
        let file = TemplateFile::new(text, self.root.clone());
        let (source, origin) = (file.source.clone(), file.origin.clone());
        let known = Known::with_entry(&text.file, file);
        let sources = PromptSources::new(self.with.catalog, &known);
        let place = |error| with_places(error, &sources);
        let (cache, limits) = (self.with.cache, &self.with.options.limits);
        let template = cache.get(&text.file, &source, &self.options, limits).map_err(place)?;
        let graph = cache.analyze_graph(&text.file, &sources, &self.options, limits).map_err(place)?;
        self.known.merge(&known);
        self.known.merge(&sources.into_found());
        self.reads.add(origin.clone(), graph);
        Ok(PlannedTemplate { template, source, origin })
    }

    fn message(&mut self, owner: &Definition, message: &Message) -> Result<PlannedMessage> {
        let role = match &message.role {
            Role::Template(text) => PlannedRole::Bound(self.template(text)?),
            _ => PlannedRole::Fixed(message.role_name().into()),
        };
        let parts: Result<Vec<_>> = message.parts.iter().map(|part| self.part(owner, part)).collect();
        Ok(PlannedMessage { role, parts: parts?, history: message.history.clone() })
    }

    fn part(&mut self, owner: &Definition, part: &Part) -> Result<PlannedPart> {
        Ok(match part {
            Part::Text(text) => PlannedPart::Text(self.template(text)?),
            Part::Other { kind, fields } => {
                let language = language_of(owner);
                let fields = self.value(owner, language, &Value::Object(fields.clone()))?;
                let home = self.with.catalog.entry_at(&owner.source);
                PlannedPart::Other { kind: kind.clone(), fields, home }
            }
        })
    }

    /// Plans a value of a part. Strings with template syntax are templates.
    fn value(&mut self, owner: &Definition, language: Language, value: &Value) -> Result<PlannedValue> {
        Ok(match value {
            Value::String(text) if text.contains("{{") || text.contains("{%") => {
                let file = owner.files.first().map_or_else(|| owner.source.clone(), |read| read.file.clone());
                let (text, origin) = (text.as_str().into(), TextOrigin::from_line(1));
                let text = TemplateText { engine: language, text, file, origin };
                PlannedValue::Text(self.template(&text)?)
            }
            Value::Array(items) => {
                let items: Result<Vec<_>> =
                    items.iter().map(|item| self.value(owner, language, item)).collect();
                PlannedValue::List(items?)
            }
            Value::Object(map) => {
                let entry =
                    |(key, value): (&String, &Value)| Ok((key.clone(), self.value(owner, language, value)?));
                PlannedValue::Map(map.iter().map(entry).collect::<Result<Vec<_>>>()?)
            }
            other => PlannedValue::Fixed(other.clone()),
        })
    }
}

/// The language of the texts of a list of messages.
fn language_of(owner: &Definition) -> Language {
    let Body::Messages(messages) = &owner.body else { return Language::Jinja };
    let texts = messages.iter().flat_map(|message| &message.parts).find_map(|part| match part {
        Part::Text(text) => Some(text.engine),
        Part::Other { .. } => None,
    });
    texts.unwrap_or(Language::Jinja)
}

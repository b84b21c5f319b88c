//! Builds the trace of a render, which shows where every part of the result came from.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use hinagata_template::{
    Content, Graph, PathPart, Position, TemplateUse, TemplateUseKind, Usage, VariablePath, VariableUse,
};
use hinagata_tokens::TokenCounter;
use serde_json::Value;

use super::{
    layers::{Layer, Layers, Origin, value_at},
    pipeline::Call,
    rendered::RenderedBody,
    trace::{
        Chosen, OverriddenValue, ReadAt, Size, Times, TokensOf, Trace, TracedCall, TracedTemplate, TracedUse,
        TracedVariable,
    },
    validate::RESERVED,
};
use crate::{
    Error, LineColumn, TextOrigin,
    definition::{Parameter, ParameterClass, Parameters},
    secrets::HIDDEN,
};

/// Records what a render does.
pub(super) struct Tracer {
    /// Whether a source map is requested.
    pub(super) is_mapped: bool,
    since: Instant,
    times: Times,
    calls: Vec<TracedCall>,
}

impl Tracer {
    pub(super) fn start(is_mapped: bool) -> Self {
        Self { is_mapped, since: Instant::now(), times: Times::default(), calls: Vec::new() }
    }

    /// Adds the time since the last phase to a phase.
    pub(super) fn record_phase(&mut self, step: impl FnOnce(&mut Times) -> &mut Duration) {
        *step(&mut self.times) += self.since.elapsed();
        self.since = Instant::now();
    }

    /// Records a finished call and returns its number.
    pub(super) fn record_call(
        &mut self,
        kind: &'static str,
        name: &str,
        time: Duration,
        error: Option<&Error>,
    ) -> u32 {
        let error = error.map(|error| error.message().to_owned());
        self.calls.push(TracedCall { kind, name: name.to_owned(), time, error });
        self.calls.len() as u32 - 1
    }

    /// The finished calls, in the order of their numbers.
    pub(super) fn calls(&self) -> &[TracedCall] {
        &self.calls
    }

    pub(super) fn into_trace(self, call: &Call<'_>, layers: &Layers<'_>, body: &RenderedBody) -> Trace {
        let (counter, tokens_of) = call.token_counter();
        Trace {
            chosen: trace_choice(call),
            variables: trace_variables(call, layers),
            templates: trace_templates(call),
            calls: mask_errors(self.calls, call),
            sizes: message_sizes(body, &counter),
            tokens_of,
            times: self.times,
            map: None,
        }
    }
}

/// Masks secrets in the errors of calls.
fn mask_errors(calls: Vec<TracedCall>, call: &Call<'_>) -> Vec<TracedCall> {
    let secrets = call.secrets();
    let mask = |error: Option<String>| error.map(|error| secrets.mask_text(&error));
    calls.into_iter().map(|one| TracedCall { error: mask(one.error), ..one }).collect()
}

fn trace_choice(call: &Call<'_>) -> Chosen {
    let choice = &call.plan.choice;
    let recorded = call.snapshot.catalog.resolutions().get(&choice.id);
    let reason = match recorded {
        _ if choice.entry.id() != &choice.id => "replacement",
        Some(recorded) if recorded.source == choice.entry.source() => "resolution",
        _ => "only",
    };
    Chosen {
        asked: call.request.prompt.to_owned(),
        prompt_id: choice.id.as_str().to_owned(),
        source: choice.entry.source().to_owned(),
        reason,
        extends: call.plan.inherited.chain().into_iter().map(str::to_owned).collect(),
    }
}

impl Call<'_> {
    /// Counts the tokens of the model of the request, or of the prompt.
    pub(super) fn token_counter(&self) -> (TokenCounter, TokensOf) {
        let of_prompt = || self.plan.about.settings.request_options().model;
        let model = self.request.context.named_model().map(str::to_owned).or_else(of_prompt);
        let counter = model.as_deref().map_or_else(TokenCounter::without_model, TokenCounter::for_model);
        let exact = counter.is_exact();
        (counter, TokensOf { model, exact })
    }
}

fn message_sizes(body: &RenderedBody, counter: &TokenCounter) -> Vec<Size> {
    // As in the shares of a source map. A build that cannot tell where tokens start estimates their number.
    let tokens = |text: &&str| match counter.token_starts(text) {
        Some(starts) => starts.len(),
        None => counter.count_tokens(text).tokens,
    };
    let size = |role: Option<String>, texts: &[&str]| Size {
        role,
        characters: texts.iter().map(|text| text.chars().count()).sum(),
        bytes: texts.iter().map(|text| text.len()).sum(),
        tokens: texts.iter().map(tokens).sum(),
    };
    match body {
        RenderedBody::Text(text) => vec![size(None, &[text])],
        RenderedBody::Messages(messages) => messages
            .iter()
            .map(|message| {
                let texts = message.content.iter().filter_map(|content| match content {
                    Content::Text(text) => Some(text.as_str()),
                    Content::Part { .. } => None,
                });
                size(Some(message.role.clone()), &texts.collect::<Vec<_>>())
            })
            .collect(),
    }
}

fn trace_templates(call: &Call<'_>) -> Vec<TracedTemplate> {
    let plan = call.plan;
    let mut all: Vec<TracedTemplate> = Vec::new();
    for (origin, graph) in &plan.reads.graphs {
        for (index, (name, analysis)) in graph.templates.iter().enumerate() {
            let known = plan.known.file(name).filter(|_| index > 0);
            let origin = known.map_or(origin, |file| &file.origin);
            if let Some(known) = all.iter_mut().find(|known| known.file == *name) {
                // The file holds several templates.
                if index == 0 {
                    known.uses.extend(
                        analysis.templates.iter().flat_map(|used| traced_uses(call, name, used, origin)),
                    );
                }
                continue;
            }
            let uses = analysis.templates.iter().flat_map(|used| traced_uses(call, name, used, origin));
            let engine = plan.known.file(name).map_or("jinja", |file| file.source.language().as_str());
            all.push(TracedTemplate { file: name.clone(), engine, uses: uses.collect() });
        }
    }
    all
}

fn traced_uses(call: &Call<'_>, from: &str, used: &TemplateUse, origin: &TextOrigin) -> Vec<TracedUse> {
    let how = match used.kind {
        TemplateUseKind::Extends => "extends",
        TemplateUseKind::Include => "include",
        TemplateUseKind::Import => "import",
        TemplateUseKind::Call => "template",
    };
    let one = |name: &str| TracedUse {
        how,
        name: name.to_owned(),
        file: call.plan.joined.get(from, name).map(str::to_owned),
        line: origin.in_file(line_column(used.position)).line,
    };
    match used.names.as_slice() {
        [] => vec![one("")],
        names => names.iter().map(|name| one(name)).collect(),
    }
}

/// Every variable that the templates can reach, with the origin of its value.
fn trace_variables(call: &Call<'_>, layers: &Layers<'_>) -> Vec<TracedVariable> {
    let mut order: Vec<String> = Vec::new();
    let mut found: HashMap<String, TracedVariable> = HashMap::new();
    for (origin, graph) in graphs(call) {
        for item in graph.variables.iter().filter(|item| !call.is_function(layers, &item.variable)) {
            let name = display_name(&item.variable);
            let entry = found.entry(name.clone()).or_insert_with(|| {
                order.push(name.clone());
                trace_variable(call, layers, &name)
            });
            entry.condition_only &= item.variable.usage == Usage::Condition;
            let place = read_at(call, (origin, graph), &item.template, &item.variable);
            if !entry.read_at.contains(&place) {
                entry.read_at.push(place);
            }
        }
    }
    order.into_iter().filter_map(|name| found.remove(&name)).collect()
}

pub(super) fn graphs<'a>(call: &Call<'a>) -> impl Iterator<Item = (&'a TextOrigin, &'a Graph)> {
    call.plan.reads.graphs.iter().map(|(origin, graph)| (origin, graph))
}

/// The place that reads a variable. A file can hold several templates; `origin` is that of the graph's first one.
pub(super) fn read_at(
    call: &Call<'_>,
    (origin, graph): (&TextOrigin, &Graph),
    template: &str,
    variable: &VariableUse,
) -> ReadAt {
    let is_entry = graph.templates.first().is_some_and(|(name, _)| name == template);
    let known = call.plan.known.file(template).filter(|_| !is_entry);
    let origin = known.map_or(origin, |file| &file.origin);
    let LineColumn { line, column } = origin.in_file(line_column(variable.position));
    ReadAt { file: template.to_owned(), line, column }
}

fn line_column(position: Position) -> LineColumn {
    LineColumn { line: position.line, column: position.column }
}

/// The name in the trace. Under a reserved name, it includes the next step of the path.
fn display_name(variable: &VariableUse) -> String {
    path_name(&variable.path)
}

/// The name of the traced variable that a path belongs to.
pub(super) fn path_name(path: &VariablePath) -> String {
    let root = &path.root;
    match path.parts.first() {
        Some(PathPart::Key(key)) if RESERVED.contains(&&**root) => format!("{root}.{key}"),
        _ => root.to_string(),
    }
}

/// A value of a variable: its layer, where it came from, and the value.
type LayerValue = (Layer, String, Value);

pub(super) fn trace_variable(call: &Call<'_>, layers: &Layers<'_>, name: &str) -> TracedVariable {
    let root = name.split('.').next().unwrap_or(name);
    let is_secret = call.plan.inherited.parameters.get(root).is_some_and(|parameter| parameter.secret);
    let secrets = call.secrets();
    let mask = |value: Value| {
        // A hook may have copied a secret into any variable.
        if is_secret { Value::from(HIDDEN) } else { secrets.mask_value(value) }
    };
    let mut values: VecDeque<LayerValue> = all_values(layers, name).into();
    let is_removed = layers.hits(root).next().is_some_and(|hit| !hit.is_visible);
    let winner = if is_removed { None } else { values.pop_front() };
    let (layer, origin, value) = match winner {
        Some((layer, origin, value)) => (Some(layer), Some(origin), Some(mask(value))),
        None if is_removed => (Some(Layer::Hook), Some(call.plan.hook_file()), None),
        None => (None, None, None),
    };
    values.extend(replaced_defaults(call, layers, name));
    let overridden = |(layer, origin, value)| OverriddenValue { layer, origin, value: mask(value) };
    TracedVariable {
        name: name.to_owned(),
        layer,
        origin,
        value,
        lost: values.into_iter().map(overridden).collect(),
        read_at: Vec::new(),
        condition_only: true,
    }
}

/// All values of a name in the layers, the strongest first.
fn all_values(layers: &Layers<'_>, name: &str) -> Vec<LayerValue> {
    let (root, path) = name.split_once('.').unwrap_or((name, ""));
    let mut hits = layers.hits(root).peekable();
    let mut all = Vec::new();
    while let Some(hit) = hits.next() {
        // `pre_render` returns all variables. Only a changed value is its own.
        if hit.layer == Layer::Hook && hits.peek().is_some_and(|below| below.value == hit.value) {
            continue;
        }
        let origin = match hit.origin {
            Origin::File => {
                let path = hits.next().and_then(|named| named.value.as_str());
                format!("file {}", path.unwrap_or_default())
            }
            origin => origin.describe(root),
        };
        all.extend(value_at(hit.value, path).map(|value| (hit.layer, origin, value.clone())));
        if matches!(hit.origin, Origin::Reserved) {
            break;
        }
    }
    all
}

/// Defaults that another declaration of the same name replaced. No layer contains them.
fn replaced_defaults(call: &Call<'_>, layers: &Layers<'_>, name: &str) -> impl Iterator<Item = LayerValue> {
    let has_default = layers.hits(name).any(|hit| matches!(hit.origin, Origin::Declaration(_)));
    declared_defaults(call, name).into_iter().skip(usize::from(has_default))
}

/// Declared defaults of a name: that of the prompt, those of its parents, that of the workspace.
fn declared_defaults(call: &Call<'_>, name: &str) -> Vec<LayerValue> {
    let inherited = &call.plan.inherited;
    let place = |parameter: &Parameter| parameter.place.as_ref().map(ToString::to_string).unwrap_or_default();
    let declared = |parameters: &Parameters, is_workspace: bool| {
        let parameter =
            parameters.get(name).filter(|parameter| parameter.class != ParameterClass::Required)?;
        Some((Layer::of_default(parameter, is_workspace), place(parameter), parameter.default.clone()?))
    };
    let custom = |parameters: &Parameters| {
        let custom = parameters.get(name)?.custom.as_deref()?;
        Some((Layer::Custom, place(custom), custom.default.clone()?))
    };
    let definitions = std::iter::once(&inherited.definition).chain(&inherited.parents);
    let own = definitions
        .flat_map(|definition| [declared(&definition.parameters, false), custom(&definition.parameters)]);
    let workspace =
        call.snapshot.catalog.defaults().ok().and_then(|defaults| declared(&defaults.parameters, true));
    own.flatten().chain(workspace).collect()
}

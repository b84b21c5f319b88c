//! Why a prompt looks as it does: the trace of one render, made only when somebody asks.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use hinagata_template::{Content, Graph, PathPart, TemplateUse, TemplateUseKind, Usage, VariableUse};
use serde_json::Value;

use super::{
    late::find_provider,
    layers::{Layer, Layers},
    pipeline::Call,
    rendered::RenderedBody,
    trace::{
        Chosen, HIDDEN, OverriddenValue, ReadAt, Size, Times, Trace, TracedCall, TracedTemplate, TracedUse,
        TracedVariable,
    },
    validate::RESERVED,
};
use crate::{
    Agent, Error,
    definition::{Class, Parameter, Parameters},
};

/// Notes what a render does.
pub(super) struct Tracer {
    since: Instant,
    times: Times,
    calls: Vec<TracedCall>,
}

impl Tracer {
    pub(super) fn start() -> Self {
        Self { since: Instant::now(), times: Times::default(), calls: Vec::new() }
    }

    /// Adds the time since the last lap to a step.
    pub(super) fn record_phase(&mut self, step: impl FnOnce(&mut Times) -> &mut Duration) {
        *step(&mut self.times) += self.since.elapsed();
        self.since = Instant::now();
    }

    pub(super) fn record_call(
        &mut self,
        kind: &'static str,
        name: &str,
        time: Duration,
        error: Option<&Error>,
    ) {
        let error = error.map(|error| error.message().to_owned());
        self.calls.push(TracedCall { kind, name: name.to_owned(), time, error });
    }

    pub(super) fn into_trace(
        self,
        call: &Call<'_>,
        layers: &Layers<'_>,
        agent: Option<&Agent>,
        body: &RenderedBody,
    ) -> Trace {
        Trace {
            chosen: trace_choice(call),
            variables: trace_variables(call, layers, agent),
            templates: trace_templates(call),
            calls: mask_errors(self.calls, call),
            sizes: message_sizes(body),
            times: self.times,
        }
    }
}

/// The calls, without what they tell of secrets.
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

fn message_sizes(body: &RenderedBody) -> Vec<Size> {
    let size = |role: Option<String>, texts: Vec<&str>| Size {
        role,
        characters: texts.iter().map(|text| text.chars().count()).sum(),
        bytes: texts.iter().map(|text| text.len()).sum(),
    };
    match body {
        RenderedBody::Text(text) => vec![size(None, vec![text])],
        RenderedBody::Messages(messages) => messages
            .iter()
            .map(|message| {
                let texts = message.content.iter().filter_map(|content| match content {
                    Content::Text(text) => Some(text.as_str()),
                    Content::Part { .. } => None,
                });
                size(Some(message.role.clone()), texts.collect())
            })
            .collect(),
    }
}

fn trace_templates(call: &Call<'_>) -> Vec<TracedTemplate> {
    let plan = call.plan;
    let mut all: Vec<TracedTemplate> = Vec::new();
    for (first_line, graph) in &plan.reads.graphs {
        for (index, (name, analysis)) in graph.templates.iter().enumerate() {
            let known = plan.known.file(name).filter(|_| index > 0);
            let shift = known.map_or(*first_line, |file| file.first_line) - 1;
            if let Some(known) = all.iter_mut().find(|known| known.file == *name) {
                // Another template of the same file.
                if index == 0 {
                    known.uses.extend(
                        analysis.templates.iter().flat_map(|used| traced_uses(call, name, used, shift)),
                    );
                }
                continue;
            }
            let uses = analysis.templates.iter().flat_map(|used| traced_uses(call, name, used, shift));
            let engine = plan.known.file(name).map_or("jinja", |file| file.source.language().as_str());
            all.push(TracedTemplate { file: name.clone(), engine, uses: uses.collect() });
        }
    }
    all
}

fn traced_uses(call: &Call<'_>, from: &str, used: &TemplateUse, shift: u32) -> Vec<TracedUse> {
    let how = match used.kind {
        TemplateUseKind::Extends => "extends",
        TemplateUseKind::Include => "include",
        TemplateUseKind::Import => "import",
        TemplateUseKind::Call => "template",
    };
    let one = |name: &str| TracedUse {
        how,
        name: name.to_owned(),
        file: call.plan.known.joined(from, name).map(str::to_owned),
        line: used.position.line + shift,
    };
    match used.names.as_slice() {
        [] => vec![one("")],
        names => names.iter().map(|name| one(name)).collect(),
    }
}

/// Every variable that the templates can reach, with where its value comes from.
fn trace_variables(call: &Call<'_>, layers: &Layers<'_>, agent: Option<&Agent>) -> Vec<TracedVariable> {
    let mut order: Vec<String> = Vec::new();
    let mut found: HashMap<String, TracedVariable> = HashMap::new();
    for (file_line, graph) in graphs(call) {
        for item in graph.variables.iter().filter(|item| !call.is_function(layers, &item.variable)) {
            let name = display_name(&item.variable);
            let entry = found.entry(name.clone()).or_insert_with(|| {
                order.push(name.clone());
                trace_variable(call, layers, agent, &name)
            });
            entry.condition_only &= item.variable.usage == Usage::Condition;
            let place = read_at(call, (file_line, graph), &item.template, &item.variable);
            if !entry.read_at.contains(&place) {
                entry.read_at.push(place);
            }
        }
    }
    order.into_iter().filter_map(|name| found.remove(&name)).collect()
}

pub(super) fn graphs<'a>(call: &Call<'a>) -> impl Iterator<Item = (u32, &'a Graph)> {
    call.plan.reads.graphs.iter().map(|(line, graph)| (*line, graph))
}

/// Where a variable is read; a file can hold several templates, and the first of a graph knows its own line.
pub(super) fn read_at(
    call: &Call<'_>,
    (first_line, graph): (u32, &Graph),
    template: &str,
    variable: &VariableUse,
) -> ReadAt {
    let is_entry = graph.templates.first().is_some_and(|(name, _)| name == template);
    let known = call.plan.known.file(template).filter(|_| !is_entry);
    let first = known.map_or(first_line, |file| file.first_line);
    ReadAt {
        file: template.to_owned(),
        line: variable.position.line + first.saturating_sub(1),
        column: variable.position.column,
    }
}

/// The name that a trace tells: with one more step where the root alone says nothing.
fn display_name(variable: &VariableUse) -> String {
    let root = &variable.path.root;
    match variable.path.parts.first() {
        Some(PathPart::Key(key)) if RESERVED.contains(&&**root) => format!("{root}.{key}"),
        _ => root.to_string(),
    }
}

fn trace_variable(call: &Call<'_>, layers: &Layers<'_>, agent: Option<&Agent>, name: &str) -> TracedVariable {
    let root = name.split('.').next().unwrap_or(name);
    let parameter = call.plan.inherited.parameters.get(root);
    let secret = parameter.is_some_and(|parameter| parameter.secret);
    let secrets = call.secrets();
    let shown = |value: &Value| match secret {
        true => Value::from(HIDDEN),
        // A hook may have copied a secret to anywhere.
        false => secrets.mask_value(value.clone()),
    };
    let mut values: Vec<(Layer, String, Value)> = all_values(call, layers, agent, name)
        .into_iter()
        .map(|(layer, origin, value)| (layer, origin, shown(&value)))
        .collect();
    let (layer, origin, value) = match values.is_empty() {
        _ if is_removed(layers, name) => (Some(Layer::Hook), Some(hook_file(call)), None),
        true => (None, None, None),
        false => {
            let (layer, origin, value) = values.remove(0);
            (Some(layer), Some(origin), Some(value))
        }
    };
    let lost =
        values.into_iter().map(|(layer, origin, value)| OverriddenValue { layer, origin, value }).collect();
    TracedVariable {
        name: name.to_owned(),
        layer,
        origin,
        value,
        lost,
        read_at: Vec::new(),
        condition_only: true,
    }
}

/// Whether `pre_render` took a variable away.
fn is_removed(layers: &Layers<'_>, name: &str) -> bool {
    layers.before.as_ref().is_some_and(|before| before.contains_key(name)) && layers.get(name).is_none()
}

fn hook_file(call: &Call<'_>) -> String {
    format!("{}/prompt.py", call.plan.inherited.definition.source)
}

/// All values of a name, the one that wins first.
fn all_values(
    call: &Call<'_>,
    layers: &Layers<'_>,
    agent: Option<&Agent>,
    name: &str,
) -> Vec<(Layer, String, Value)> {
    let mut all = Vec::new();
    if let Some((root, _)) = name.split_once('.') {
        let layer = match root {
            "system" => Layer::System,
            "environs" => Layer::Environ,
            _ => Layer::Call,
        };
        all.extend(layers.at_path(name).map(|value| (layer, root.to_owned(), value.clone())));
        return all;
    }
    if let Some(value) = layers.replaced.as_ref().and_then(|replaced| replaced.get(name)) {
        let before = layers.before.as_ref().and_then(|before| before.get(name));
        if before != Some(value) {
            all.push((Layer::Hook, hook_file(call), value.clone()));
        }
    }
    if let Some(value) = layers.given(name) {
        let (origin, value) = match layers.files.get(name) {
            // The caller named a file: its content is the value.
            Some(content) => (format!("file {}", value.as_str().unwrap_or_default()), content),
            None => ("call".to_owned(), value),
        };
        all.push((Layer::Call, origin, value.clone()));
    }
    if let (Some(value), Some(agent)) = (layers.agent.and_then(|variables| variables.get(name)), agent) {
        all.push((Layer::Agent, agent.source.clone(), value.clone()));
    }
    for (layer, known, value) in layers.fetched.iter().filter(|(_, known, _)| known == name) {
        all.push((*layer, fetched_origin(call, *layer, known), value.clone()));
    }
    all.extend(layers.environ(name).map(|value| (Layer::Environ, format!("environs.{name}"), value.clone())));
    all.extend(declared(call, name));
    all
}

fn fetched_origin(call: &Call<'_>, layer: Layer, name: &str) -> String {
    let from = |list: &[(String, String)]| {
        list.iter().find(|(known, _)| known == name).map_or_else(|| name.to_owned(), |(_, from)| from.clone())
    };
    match layer {
        Layer::System => format!("system.{}", from(&call.plan.system)),
        Layer::Environ => format!("environs.{}", from(&call.plan.environ)),
        _ => {
            let found = find_provider(&call.snapshot.catalog, name).ok().flatten();
            found.map_or_else(String::new, |planned| {
                format!("user_data/packs/{}/{}", planned.pack, planned.provider.file)
            })
        }
    }
}

/// Defaults of declarations, the one that counts first, then those of parents and of the workspace.
fn declared(call: &Call<'_>, name: &str) -> Vec<(Layer, String, Value)> {
    let inherited = &call.plan.inherited;
    let of = |parameters: &Parameters, workspace: bool| {
        let parameter = parameters.get(name)?;
        let default = parameter.default.clone().filter(|_| parameter.class != Class::Required)?;
        Some((layer_of(parameter, workspace), origin_of(parameter), default))
    };
    let custom = |parameters: &Parameters| {
        let custom = parameters.get(name)?.custom.as_deref()?;
        Some((Layer::Custom, origin_of(custom), custom.default.clone()?))
    };
    let definitions = std::iter::once(&inherited.definition).chain(&inherited.parents);
    let own = definitions
        .flat_map(|definition| [of(&definition.parameters, false), custom(&definition.parameters)]);
    let workspace = call.snapshot.catalog.defaults().ok().and_then(|defaults| of(&defaults.parameters, true));
    own.flatten().chain(workspace).collect()
}

fn layer_of(parameter: &Parameter, workspace: bool) -> Layer {
    match parameter.class {
        _ if workspace => Layer::Defaults,
        Class::Custom => Layer::Custom,
        Class::Required | Class::Optional => Layer::Optional,
    }
}

fn origin_of(parameter: &Parameter) -> String {
    parameter.place.as_ref().map_or_else(String::new, ToString::to_string)
}

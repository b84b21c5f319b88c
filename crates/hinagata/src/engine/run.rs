//! Runs the templates of a plan in passes, until no template waits for a call.

use std::{borrow::Cow, collections::HashMap, ops::Range, sync::Arc};

use hinagata_module::{CompiledPrompt, escape_headings, may_have_heading};
use hinagata_template::{Cache, Content, Mapped, Message, MessageLayout, Meter, Options, Render, Template};
use hinagata_value::{Call, CallId, Calls, Cancel, Pass, Variables};
use serde_json::{Map, Value};

use super::{
    Engine,
    file_secrets::FileSecrets,
    history,
    late::LateProviders,
    layers::Layers,
    media::{self, PartFiles},
    places::with_places,
    plan::{Plan, PlannedBody, PlannedMessage, PlannedPart, PlannedRole, PlannedTemplate, PlannedValue},
    rendered::RenderedBody,
    request::Request,
    snapshot::Snapshot,
    sources::PromptSources,
    spans::{MappedText, ModuleMap},
};
use crate::{Catalog, Code, Error, Reason, Result, definition::UndefinedMode};

/// The inputs of the template runs of one render.
pub(super) struct Run<'r> {
    pub(super) plan: &'r Plan,
    pub(super) catalog: &'r Catalog,
    pub(super) cache: &'r Cache,
    /// Options that replace those of the plan.
    pub(super) options: Option<Arc<Options>>,
    /// How undefined variables behave.
    pub(super) undefined: UndefinedMode,
    pub(super) cancel: Option<Cancel>,
    /// Redacts secrets in files of parts.
    pub(super) file_secrets: &'r FileSecrets<'r>,
    /// Stops a pass if a template reaches a provider that has not run.
    pub(super) late: Option<&'r LateProviders<'r>>,
    /// Whether to record where each piece of the result comes from.
    pub(super) is_mapped: bool,
}

/// The calls of one render over all passes, for each template.
#[derive(Default)]
pub(super) struct PendingCalls {
    calls: Vec<Calls>,
    /// The numbers of calls in the trace.
    numbers: HashMap<(usize, CallId), u32>,
}

/// A call that a template waits for.
pub(super) struct WantedCall {
    /// The index of the template, and its call.
    pub(super) place: (usize, CallId),
    pub(super) function: String,
    pub(super) arguments: Value,
    pub(super) pure: bool,
}

/// The output of the templates of a prompt.
pub(super) struct RenderOutput {
    pub(super) body: RenderedBody,
    /// The compiled prompt, if the prompt is a module.
    pub(super) module: Option<Arc<CompiledPrompt>>,
    /// Where the texts come from, in their order, if requested.
    pub(super) maps: Vec<MappedText>,
    /// The messages that come from variables.
    pub(super) histories: Vec<HistoryMessages>,
    /// Where the texts of a module come from, if requested.
    pub(super) module_map: Option<ModuleMap>,
}

/// Messages of the result that are those of a variable.
pub(super) struct HistoryMessages {
    /// Their numbers.
    pub(super) messages: Range<usize>,
    pub(super) variable: String,
}

impl From<RenderedBody> for RenderOutput {
    fn from(body: RenderedBody) -> Self {
        Self { body, module: None, maps: Vec::new(), histories: Vec::new(), module_map: None }
    }
}

/// The result of a pass over all templates.
pub(super) enum Step {
    Done(RenderOutput),
    Wait(Vec<WantedCall>),
}

impl PendingCalls {
    /// Sets the result of a call, and its number in the trace.
    pub(super) fn resolve(&mut self, place: (usize, CallId), result: Result<Value, String>, number: u32) {
        self.numbers.insert(place, number);
        if let Some(calls) = self.calls.get(place.0) {
            calls.resolve_call(place.1, result);
        }
    }

    fn calls_of(&mut self, template: usize) -> &Calls {
        while self.calls.len() <= template {
            self.calls.push(Calls::new());
        }
        &self.calls[template]
    }
}

/// One pass. Templates are numbered in the order they run, so that each finds its calls again.
pub(super) struct TemplatePass<'p, 'r> {
    pub(super) run: &'p Run<'r>,
    pub(super) layers: &'p Layers<'p>,
    pending: &'p mut PendingCalls,
    meter: Meter,
    next: usize,
    pub(super) wanted: Vec<WantedCall>,
    pub(super) maps: Vec<MappedText>,
    histories: Vec<HistoryMessages>,
    layout: (MessageLayout, bool),
}

/// Which pieces of an output are texts of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// None: it is a role, or a field of a part.
    Nothing,
    /// All of it is one text.
    Whole,
    Messages,
    Content,
}

impl<'r> Run<'r> {
    /// A run with the options of the plan.
    pub(super) fn new(
        engine: &'r Engine,
        snapshot: &'r Snapshot,
        plan: &'r Plan,
        request: &Request<'_>,
        file_secrets: &'r FileSecrets<'r>,
    ) -> Self {
        Self {
            plan,
            catalog: &snapshot.catalog,
            cache: &engine.0.cache,
            options: None,
            undefined: plan.undefined,
            cancel: request.cancel.clone(),
            file_secrets,
            late: None,
            is_mapped: false,
        }
    }
}

impl Run<'_> {
    /// Runs a prompt that waits for no calls.
    pub(super) fn run_immediately(&self, layers: &Layers<'_>) -> Result<RenderOutput> {
        if let Some(output) = self.run_text(layers) {
            return output;
        }
        match self.run_pass(layers, &mut PendingCalls::default())? {
            Step::Done(output) => Ok(output),
            Step::Wait(_) => {
                Err(Error::new(Code::RenderRuntime, "a template waits for a call, and no tool can answer it"))
            }
        }
    }

    /// Runs a prompt that is one template and waits for no calls; `None` for others.
    pub(super) fn run_text(&self, variables: &dyn Variables) -> Option<Result<RenderOutput>> {
        match &self.plan.body {
            PlannedBody::Text { template, structured, layout } if !self.is_mapped => {
                Some(self.run_template(template, *structured, *layout, variables))
            }
            PlannedBody::Text { .. } | PlannedBody::Messages(_) | PlannedBody::Module(_) => None,
        }
    }

    fn run_template(
        &self,
        template: &PlannedTemplate,
        structured: bool,
        layout: (MessageLayout, bool),
        variables: &dyn Variables,
    ) -> Result<RenderOutput> {
        let sources = self.sources(template);
        let render = self.render(&sources).with_layout(layout.0, layout.1);
        let compiled = self.compiled(template)?;
        match structured {
            false => render.render_text(&compiled, variables).map(RenderedBody::Text),
            true => render.render_messages(&compiled, variables).map(RenderedBody::Messages),
        }
        .map(RenderOutput::from)
        .map_err(|error| with_places(error, &sources))
    }

    /// Runs one pass over all templates.
    pub(super) fn run_pass(&self, layers: &Layers<'_>, pending: &mut PendingCalls) -> Result<Step> {
        let meter = Meter::new(&self.plan.limits);
        let (wanted, maps) = (Vec::new(), Vec::new());
        let layout = (MessageLayout::Trim, false);
        let histories = Vec::new();
        let mut pass =
            TemplatePass { run: self, layers, pending, meter, next: 0, wanted, maps, histories, layout };
        let body = match &self.plan.body {
            PlannedBody::Text { template, structured: false, .. } => pass
                .run_outer(template, Cut::Whole, |_, written| written.into_text())?
                .map(RenderedBody::Text),
            PlannedBody::Text { template, structured: true, layout } => pass
                .with_layout(*layout)
                .run_outer(template, Cut::Messages, |render, written| render.split_messages(&written))?
                .map(RenderedBody::Messages),
            PlannedBody::Messages(messages) => pass.messages(messages)?.map(RenderedBody::Messages),
            PlannedBody::Module(module) => {
                return Ok(match pass.build_module(module)? {
                    Some(output) => Step::Done(output),
                    None => Step::Wait(pass.wanted),
                });
            }
        };
        Ok(match body {
            Some(body) if pass.wanted.is_empty() => {
                let TemplatePass { maps, histories, .. } = pass;
                Step::Done(RenderOutput { maps, histories, ..RenderOutput::from(body) })
            }
            _ => Step::Wait(pass.wanted),
        })
    }

    fn sources<'s>(&'s self, template: &'s PlannedTemplate) -> PromptSources<'s> {
        PromptSources::new(self.catalog, &self.plan.known)
            .starting_at(template)
            .with_late_providers(self.late)
    }

    fn render<'s>(&'s self, sources: &'s PromptSources<'_>) -> Render<'s> {
        let mut render = Render::new()
            .with_limits(self.plan.limits.clone())
            .with_sources(sources)
            .with_joined(&self.plan.joined)
            .with_cache(self.cache);
        if let Some(tools) = &self.plan.tools {
            render = render.with_functions(&tools.functions);
        }
        if let Some(cancel) = &self.cancel {
            render = render.with_cancel(cancel.clone());
        }
        render
    }

    fn compiled<'t>(&self, template: &'t PlannedTemplate) -> Result<Cow<'t, Template>> {
        match &self.options {
            None => Ok(Cow::Borrowed(&template.template)),
            Some(options) => {
                let found =
                    self.cache.get(template.template.name(), &template.source, options, &self.plan.limits);
                found.map(Cow::Owned).map_err(|error| with_places(error, &self.sources(template)))
            }
        }
    }
}

type Written = hinagata_value::Written;

impl TemplatePass<'_, '_> {
    fn with_layout(&mut self, layout: (MessageLayout, bool)) -> &mut Self {
        self.layout = layout;
        self
    }

    /// Runs a template outside of messages; `None` if it waits for calls.
    fn run_outer<T>(
        &mut self,
        template: &PlannedTemplate,
        cut: Cut,
        finish: impl FnOnce(&Render<'_>, Written) -> hinagata_value::Result<T>,
    ) -> Result<Option<T>> {
        self.run_template(template, self.layers, (false, cut), finish)
    }

    /// Runs a template inside a declared message, where no other message can start.
    fn run_inner<T>(
        &mut self,
        template: &PlannedTemplate,
        cut: Cut,
        finish: impl FnOnce(&Render<'_>, Written) -> hinagata_value::Result<T>,
    ) -> Result<Option<T>> {
        self.run_template(template, self.layers, (true, cut), finish)
    }

    fn run_template<T>(
        &mut self,
        template: &PlannedTemplate,
        variables: &dyn Variables,
        (inner, cut): (bool, Cut),
        finish: impl FnOnce(&Render<'_>, Written) -> hinagata_value::Result<T>,
    ) -> Result<Option<T>> {
        let number = self.next;
        self.next += 1;
        let sources = self.run.sources(template);
        let mut render =
            self.run.render(&sources).with_meter(&self.meter).with_layout(self.layout.0, self.layout.1);
        if inner {
            render = render.for_one_message();
        }
        let compiled = self.run.compiled(template)?;
        let calls = self.pending.calls_of(number);
        let placed = |error| with_places(error, &sources);
        let pass = match self.run.is_mapped && cut != Cut::Nothing {
            false => render.run_pass(&compiled, variables, calls).map_err(placed)?,
            true => match render.run_mapped_pass(&compiled, variables, calls).map_err(placed)? {
                Pass::Wait(pending) => Pass::Wait(pending),
                Pass::Done(Mapped { written, mut map }) => {
                    map.number_calls(|call| self.pending.numbers.get(&(number, CallId(call))).copied());
                    let ranges = match cut {
                        Cut::Messages => render.message_ranges(&written),
                        Cut::Content => render.content_ranges(&written),
                        Cut::Whole | Cut::Nothing => std::iter::once(0..written.text.len()).collect(),
                    };
                    let names = map.templates.iter().map(Template::name);
                    let origins = names.map(|name| sources.origin(name)).collect();
                    self.maps.push(MappedText { text: written.text.clone(), map, origins, ranges });
                    Pass::Done(written)
                }
            },
        };
        match pass {
            Pass::Done(written) => finish(&render, written).map(Some).map_err(placed),
            Pass::Wait(pending) => {
                self.wanted.extend(pending.into_iter().map(|call| wanted_call(number, call)));
                Ok(None)
            }
        }
    }

    /// Renders a text of a module with other variables than those of the call. Where it has headings, values cannot open
    /// one.
    pub(super) fn render_module_text(
        &mut self,
        template: &PlannedTemplate,
        variables: &dyn Variables,
        has_headings: bool,
    ) -> Result<Option<String>> {
        let number = self.next;
        let inner = (true, Cut::Whole);
        let text = self.run_template(template, variables, inner, |_, written| written.into_text())?;
        match text {
            Some(text) if has_headings && may_have_heading(&text) => {
                let escaped = self.escape_values(number, template, variables)?;
                Ok(Some(escaped.unwrap_or(text)))
            }
            text => Ok(text),
        }
    }

    /// The text of the template that ran as `number`, with the headings of values escaped; `None` if there are none.
    ///
    /// It runs once more, this time with the origin of each piece: few texts have lines that look like headings.
    fn escape_values(
        &mut self,
        number: usize,
        template: &PlannedTemplate,
        variables: &dyn Variables,
    ) -> Result<Option<String>> {
        let sources = self.run.sources(template);
        let render = self.run.render(&sources).with_meter(&self.meter).for_one_message();
        let compiled = self.run.compiled(template)?;
        let pass = render.run_traced_pass(&compiled, variables, self.pending.calls_of(number));
        Ok(match pass.map_err(|error| with_places(error, &sources))? {
            Pass::Done(traced) => escape_headings(&traced.written.text, |offset| traced.is_value_at(offset)),
            // It waited for nothing before.
            Pass::Wait(_) => None,
        })
    }

    fn text(&mut self, template: &PlannedTemplate) -> Result<Option<String>> {
        self.run_inner(template, Cut::Nothing, |_, written| written.into_text())
    }

    fn messages(&mut self, messages: &[PlannedMessage]) -> Result<Option<Vec<Message>>> {
        let mut all = Vec::with_capacity(messages.len());
        for message in messages {
            if let Some(name) = &message.history {
                let first = all.len();
                all.extend(history::read_history(name, self.layers.get(name))?);
                let (messages, variable) = (first..all.len(), name.clone());
                self.histories.push(HistoryMessages { messages, variable });
                continue;
            }
            let role = self.role(&message.role)?;
            let mut content = Vec::new();
            for part in &message.parts {
                content.extend(self.part(part)?.unwrap_or_default());
            }
            all.push(Message { role: role.unwrap_or_default(), content });
        }
        Ok(self.wanted.is_empty().then_some(all))
    }

    fn role(&mut self, role: &PlannedRole) -> Result<Option<String>> {
        match role {
            PlannedRole::Fixed(name) => Ok(Some(name.to_string())),
            PlannedRole::Bound(template) => {
                let Some(name) = self.text(template)? else { return Ok(None) };
                let name = name.trim();
                if let Ok(role) = hinagata_value::Role::from_data(name) {
                    return Ok(Some(role.as_str().to_owned()));
                }
                let shown: String = name.chars().take(40).collect();
                Err(Error::new(
                    Code::RenderSecurity,
                    format!("a role from data must be user, assistant or tool, not `{shown}`"),
                )
                .with_reason(Reason::Security)
                .with_hint("write any other role literally in the prompt"))
            }
        }
    }

    fn part(&mut self, part: &PlannedPart) -> Result<Option<Vec<Content>>> {
        match part {
            PlannedPart::Text(template) => {
                self.run_inner(template, Cut::Content, |render, written| render.split_content(&written))
            }
            PlannedPart::Other { kind, fields, home } => {
                let Some(content) = self.value(fields)? else { return Ok(None) };
                let (catalog, secrets) = (self.run.catalog, self.run.file_secrets);
                let files = PartFiles { home: home.as_deref(), catalog, secrets };
                let content = media::fill_part(kind, content, &files)?;
                Ok(Some(vec![Content::Part { kind: kind.clone(), content }]))
            }
        }
    }

    fn value(&mut self, value: &PlannedValue) -> Result<Option<Value>> {
        Ok(match value {
            PlannedValue::Fixed(value) => Some(value.clone()),
            PlannedValue::Text(template) => self.text(template)?.map(Value::String),
            PlannedValue::List(items) => {
                let items: Result<Vec<_>> = items.iter().map(|item| self.value(item)).collect();
                items?.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
            }
            PlannedValue::Map(entries) => {
                let mut all = Map::new();
                for (key, value) in entries {
                    all.insert(key.clone(), self.value(value)?.unwrap_or_default());
                }
                Some(Value::Object(all))
            }
        })
    }
}

fn wanted_call(template: usize, call: &Call) -> WantedCall {
    WantedCall {
        place: (template, call.id),
        function: call.request.function.clone(),
        arguments: call.request.arguments.clone(),
        pure: call.request.pure,
    }
}

//! Runs the templates of a plan in passes, until no template waits for a call.

use std::sync::Arc;

use hinagata_module::{CompiledPrompt, escape_headings, may_have_heading};
use hinagata_template::{Cache, Content, Mapped, Message, Meter, Options, Render, Template};
use hinagata_value::{Call, CallId, Calls, Cancel, Pass, Variables};
use serde_json::{Map, Value};

use super::{
    file_secrets::FileSecrets,
    late::LateProviders,
    layers::Layers,
    media::{self, PartFiles},
    places::with_places,
    plan::{Plan, PlannedBody, PlannedMessage, PlannedPart, PlannedRole, PlannedTemplate, PlannedValue},
    rendered::RenderedBody,
    sources::PromptSources,
    spans::MappedText,
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
}

impl From<RenderedBody> for RenderOutput {
    fn from(body: RenderedBody) -> Self {
        Self { body, module: None, maps: Vec::new() }
    }
}

/// The result of a pass over all templates.
pub(super) enum Step {
    Done(RenderOutput),
    Wait(Vec<WantedCall>),
}

impl PendingCalls {
    /// Sets the result of a call.
    pub(super) fn resolve(&self, place: (usize, CallId), result: Result<Value, String>) {
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
    maps: Vec<MappedText>,
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

impl Run<'_> {
    /// Runs a prompt that waits for no calls.
    pub(super) fn run_immediately(&self, layers: &Layers<'_>) -> Result<RenderOutput> {
        match &self.plan.body {
            PlannedBody::Text { template, structured } if !self.is_mapped => {
                let sources = self.sources(template);
                let render = self.render(&sources);
                let compiled = self.compiled(template)?;
                match structured {
                    false => render.render_text(&compiled, layers).map(RenderedBody::Text),
                    true => render.render_messages(&compiled, layers).map(RenderedBody::Messages),
                }
                .map(RenderOutput::from)
                .map_err(|error| with_places(error, &sources))
            }
            PlannedBody::Text { .. } | PlannedBody::Messages(_) | PlannedBody::Module(_) => {
                match self.run_pass(layers, &mut PendingCalls::default())? {
                    Step::Done(output) => Ok(output),
                    Step::Wait(_) => Err(Error::new(
                        Code::RenderRuntime,
                        "a template waits for a call, and no tool can answer it",
                    )),
                }
            }
        }
    }

    /// Runs one pass over all templates.
    pub(super) fn run_pass(&self, layers: &Layers<'_>, pending: &mut PendingCalls) -> Result<Step> {
        let meter = Meter::new(&self.plan.limits);
        let (wanted, maps) = (Vec::new(), Vec::new());
        let mut pass = TemplatePass { run: self, layers, pending, meter, next: 0, wanted, maps };
        let body = match &self.plan.body {
            PlannedBody::Text { template, structured: false } => pass
                .run_outer(template, Cut::Whole, |_, written| written.into_text())?
                .map(RenderedBody::Text),
            PlannedBody::Text { template, structured: true } => pass
                .run_outer(template, Cut::Messages, |render, written| render.split_messages(&written))?
                .map(RenderedBody::Messages),
            PlannedBody::Messages(messages) => pass.messages(messages)?.map(RenderedBody::Messages),
            PlannedBody::Module(module) => {
                return Ok(match pass.build_module(module)? {
                    Some(prompt) => {
                        let body = RenderedBody::from(&*prompt);
                        Step::Done(RenderOutput { body, module: Some(prompt), maps: pass.maps })
                    }
                    None => Step::Wait(pass.wanted),
                });
            }
        };
        Ok(match body {
            Some(body) if pass.wanted.is_empty() => {
                Step::Done(RenderOutput { body, module: None, maps: pass.maps })
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

    fn compiled(&self, template: &PlannedTemplate) -> Result<Template> {
        match &self.options {
            None => Ok(template.template.clone()),
            Some(options) => {
                let found =
                    self.cache.get(template.template.name(), &template.source, options, &self.plan.limits);
                found.map_err(|error| with_places(error, &self.sources(template)))
            }
        }
    }
}

type Written = hinagata_value::Written;

impl TemplatePass<'_, '_> {
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
        let mut render = self.run.render(&sources).with_meter(&self.meter);
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
                Pass::Done(Mapped { written, map }) => {
                    let ranges = match cut {
                        Cut::Messages => render.message_ranges(&written),
                        Cut::Content => render.content_ranges(&written),
                        Cut::Whole | Cut::Nothing => std::iter::once(0..written.text.len()).collect(),
                    };
                    let names = map.templates.iter().map(Template::name);
                    let origins = names.map(|name| sources.origin(name)).collect();
                    self.maps.push(MappedText { text: written.text.clone(), map, origins, ranges });
                    let hinagata_value::Written { text, marks, ends_with_value, .. } = written;
                    Pass::Done(Written { text, marks, ends_with_value, ..Written::default() })
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
        let inner = (true, Cut::Nothing);
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

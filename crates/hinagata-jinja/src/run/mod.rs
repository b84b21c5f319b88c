//! Runs a compiled template.
//!
//! A [`Vm`] walks the code of [`crate::code`]. One lifetime `'a` covers the data, the templates and
//! everything that is borrowed from them. Templates that are loaded during the run are stored in a [`Keep`]
//! that was created before it. The Rust modules: `exec` runs statements, `eval` expressions, `call` and
//! `args` calls, `macros` macros, `loops` loops, and `inherit` blocks, includes and imports. `load` finds
//! templates, `names` finds names, `plain` renders templates that
//! need none of this, and `objects` has the run-time objects.

mod args;
mod call;
mod eval;
mod exec;
mod few;
mod inherit;
mod load;
mod loops;
mod macros;
mod names;
mod objects;
mod plain;
mod quick;
mod render;
mod tracing;

use std::sync::Arc;

use hinagata_value::{
    Budget, Calls, Error, ErrorKind, Functions, Heap, Keep, LimitKind, Output, Place, Provenance, Result,
    Segments, Site, Undefined, Value, Variables, near_names,
};

use self::{few::Few, names::Context as NameContext, objects::ObjectTable};
pub(crate) use self::{objects::global_names, plain::plain_steps, quick::Quick};
pub use self::{
    objects::is_reserved,
    render::{Render, Rendered},
};
use crate::{
    Loader, Template,
    ast::Span,
    code::{Slot, VarPlace},
    context::{Context, Random, Settings},
};

/// Whether a slot is not set: it then holds [`Value::UNDEFINED`].
#[inline]
fn is_unset(value: &Value<'_>) -> bool {
    matches!(value, Value::Undefined(Undefined { name: None, owner: hinagata_value::Owner::Nothing }))
}

/// The variables of a render.
#[derive(Clone)]
pub enum Data<'a> {
    /// Variables by name.
    Variables(&'a dyn Variables),
    /// The entries of a map, as a template of another language passes them.
    Value(Value<'a>),
}

/// Templates of other languages, which the caller renders when a template includes them.
///
/// Names are already joined: see [`Loader::join`].
pub trait Outside<'a> {
    /// Whether a template with this name exists.
    fn contains(&self, name: &str) -> bool;

    /// Renders the template `name` with the entries of `scope` as variables; with a record of origins if
    /// `traced`.
    ///
    /// # Errors
    /// Those of the render.
    fn render(&self, name: &str, scope: Value<'a>, traced: bool) -> Result<Printed<'a>>;
}

/// The output of a template of another language.
#[derive(Debug, Default)]
pub struct Printed<'a> {
    /// The captured text, marked safe so that it is not escaped again.
    pub text: Value<'a>,
    /// Whether a value, even an empty one, was printed after the last mark of the output.
    pub ends_with_value: bool,
    /// The origins of its pieces, if requested.
    pub record: Segments,
}

/// No templates of other languages.
impl<'a> Outside<'a> for () {
    fn contains(&self, _name: &str) -> bool {
        false
    }

    fn render(&self, _name: &str, _scope: Value<'a>, _traced: bool) -> Result<Printed<'a>> {
        Ok(Printed::default())
    }
}

/// What a run borrows from the render it belongs to.
#[derive(Clone, Copy)]
pub struct Run<'r, 'a> {
    /// Creates and reads values.
    pub heap: &'r Heap<'a>,
    /// The settings of the render.
    pub settings: &'a Settings,
    /// The templates that can be included, extended and imported.
    pub loader: &'a dyn Loader,
    /// Templates of another language that can be included.
    pub outside: &'r dyn Outside<'a>,
    /// The functions of the host.
    pub functions: &'a Functions,
    /// The calls of host functions that may not have returned yet.
    pub calls: &'a Calls,
    /// Stores the templates that are loaded during the run. Runs of one render share it: each template is
    /// loaded once and counts once against the limit.
    pub loaded: &'a Keep<Arc<Template>>,
    /// The number of the template in this render, for sites. A loaded template has its position in
    /// `loaded`, counted from 1.
    pub number: u32,
}

impl<'a> Run<'_, 'a> {
    /// Renders `template` with `data` into `out`.
    ///
    /// # Errors
    /// The error of the template, with its place.
    pub fn render<P: Provenance>(
        &self,
        template: &'a Template,
        data: Data<'a>,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        let mut vm = Vm::<P>::new(*self, data, template);
        let context = vm.add_context(None, None, None)?;
        vm.run_root(0, context, out)
    }
}

impl std::fmt::Debug for Run<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// A running template.
struct Vm<'r, 'a, P: Provenance> {
    heap: &'r Heap<'a>,
    budget: &'a Budget,
    inputs: Run<'r, 'a>,
    data: Data<'a>,
    random: Random,
    objects: ObjectTable<'a>,
    /// The slots of all frames. A frame in which a macro was created stays until the end of the run.
    slots: Vec<Value<'a>>,
    /// The start of the frame of the running function.
    base: usize,
    /// Slots below this one are not removed when a function ends.
    floor: usize,
    contexts: Few<NameContext<'a>>,
    context: usize,
    /// Whether no template in the first context sets names, so that a name there is a variable or
    /// undefined.
    plain: bool,
    /// The templates of this run.
    templates: Few<&'a Template>,
    /// Their numbers in this render, as [`Site`] uses them.
    numbers: Few<u32>,
    template: u32,
    autoescape: bool,
    /// The template that the running root extends, and the statement that says so.
    parent: Option<(u32, Span)>,
    /// The result of the last link of a chain, for the next one.
    subject: Value<'a>,
    /// The charge for tables that exist until the run ends.
    run_charges: Charged<'a>,
    /// What the variables in the slots are made of.
    slot_inputs: P::Slots,
}

/// Bytes that are charged until this is dropped.
struct Charged<'b> {
    budget: &'b Budget,
    bytes: usize,
}

impl<'b> Charged<'b> {
    fn new(budget: &'b Budget) -> Self {
        Self { budget, bytes: 0 }
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.budget.charge_bytes(bytes)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        self.budget.release_bytes(self.bytes);
    }
}

impl<'r, 'a, P: Provenance> Vm<'r, 'a, P> {
    fn new(inputs: Run<'r, 'a>, data: Data<'a>, template: &'a Template) -> Self {
        let budget = inputs.heap.budget();
        let autoescape = inputs.settings.autoescape;
        let mut templates = Few::new();
        templates.push(template);
        let mut numbers = Few::new();
        numbers.push(inputs.number);
        Self {
            heap: inputs.heap,
            budget,
            inputs,
            data,
            random: Random::new(0),
            objects: ObjectTable::new(budget, inputs.functions),
            slots: Vec::new(),
            base: 0,
            floor: 0,
            contexts: Few::new(),
            context: 0,
            plain: true,
            templates,
            numbers,
            template: 0,
            autoescape,
            parent: None,
            subject: Value::None,
            run_charges: Charged::new(budget),
            slot_inputs: P::Slots::default(),
        }
    }

    /// The context of the run for the library.
    #[inline]
    fn cx(&self) -> Context<'_, 'a> {
        Context {
            heap: self.heap,
            settings: self.inputs.settings,
            autoescape: self.autoescape,
            objects: &self.objects,
            random: &self.random,
        }
    }

    #[inline]
    fn site(&self, span: Span) -> Site {
        let template = self.numbers.get(self.template as usize).copied().unwrap_or_default();
        Site { template, node: span.start }
    }

    fn current(&self) -> &'a Template {
        self.templates[self.template as usize]
    }

    /// Pushes a frame and makes it the running one; returns the value that [`Vm::leave`] needs.
    #[inline]
    fn enter(&mut self, slots: Slot) -> Result<usize> {
        self.budget.charge_steps(u64::from(slots) >> 3)?;
        let base = self.slots.len();
        let needed = base + slots as usize;
        if needed > self.slots.capacity() {
            let capacity = needed.max(self.slots.capacity() * 2);
            self.budget.charge_bytes((capacity - self.slots.capacity()) * size_of::<Value<'_>>())?;
            self.slots.reserve_exact(capacity - base);
        }
        self.slots.resize(needed, Value::UNDEFINED);
        Ok(std::mem::replace(&mut self.base, base))
    }

    /// Leaves the running frame and removes it, unless a macro was created in it or above it.
    #[inline]
    fn leave(&mut self, before: usize) {
        if self.floor <= self.base {
            self.slots.truncate(self.base);
        }
        self.base = before;
    }

    /// The start of the frame of the function `up` levels outside the one at `base`.
    #[inline]
    fn frame(&self, base: usize, up: u32) -> usize {
        (0..up).fold(base, |base, _| self.slots[base].as_i64().unwrap_or_default() as usize)
    }

    #[inline]
    fn slot(&self, base: usize, place: VarPlace) -> &Value<'a> {
        &self.slots[self.frame(base, place.up) + place.slot as usize]
    }

    #[inline]
    fn set_slot(&mut self, slot: Slot, value: Value<'a>) {
        self.slots[self.base + slot as usize] = value;
    }

    /// Adds the place in the running template to an error that has no place yet.
    #[cold]
    #[inline(never)]
    fn locate(&self, error: Error, span: Span) -> Error {
        error.with_place(|| self.current().source().place(span))
    }

    /// Sets the final place of an error: the line of the statement, the column of the expression.
    #[cold]
    #[inline(never)]
    fn set_final_place(&self, error: Error, span: Span) -> Error {
        if error.has_final_place() || error.kind() == ErrorKind::Suspended {
            return error;
        }
        let source = self.current().source();
        // Infinite recursion is an error of the template, like the RecursionError of Jinja2.
        let error = match error.limit() {
            Some(LimitKind::Calls | LimitKind::Stack) => error.with_kind(ErrorKind::Runtime),
            _ => error,
        };
        let error = error.set_final_place(|place| match place {
            // The place of an expression on the reported line has the better column.
            Some(place) if place.template == source.name() && place.line == span.line => place,
            Some(place) if place.template != source.name() => place,
            _ => source.place(span),
        });
        self.with_near_names(error)
    }

    /// Adds similar names to an error about an undefined name.
    fn with_near_names(&self, error: Error) -> Error {
        // An error about a missing template already has the similar names of templates.
        let about_name = error.near().is_empty() && error.kind() != ErrorKind::NotFound;
        let Some(subject) = error.subject().filter(|_| about_name) else { return error };
        let template = self.current();
        let entries = match &self.data {
            Data::Variables(_) => Vec::new(),
            Data::Value(value) => {
                self.heap.entries(value).into_iter().flatten().map(|(key, _)| key).collect()
            }
        };
        let variable_names = match &self.data {
            Data::Variables(variables) => variables.names(),
            Data::Value(_) => entries.iter().filter_map(Value::as_str).collect(),
        };
        let own =
            template.code.top_level.names.iter().map(|name| &*name.name).chain(self.inputs.functions.names());
        let near = near_names(subject, variable_names.into_iter().chain(own));
        error.with_near(near)
    }

    /// Adds an include, import, macro call or block to the chain of an error.
    #[cold]
    fn with_chain_step(&self, error: Error, span: Span) -> Error {
        if error.kind() == ErrorKind::Suspended {
            return error;
        }
        let place: Place = self.current().source().place(span);
        error.with_chain_step(place)
    }
}

impl<P: Provenance> Drop for Vm<'_, '_, P> {
    fn drop(&mut self) {
        let contexts = self.contexts.len().saturating_sub(1) * names::CONTEXT_BYTES;
        self.budget.release_bytes(self.slots.capacity() * size_of::<Value<'_>>() + contexts);
    }
}

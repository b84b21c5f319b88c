//! Running a compiled template.
//!
//! A [`Vm`] walks the code of [`crate::code`]. One lifetime `'a` covers the data, the templates and
//! everything that is borrowed from them; what is loaded during the run goes into a [`Keep`] that was
//! made before. The files are its parts: `exec` statements, `eval` expressions, `call` calls and
//! macros, `loops`, `inherit` blocks, includes and imports, `names` where names are found, `objects`
//! what only the engine knows.

mod call;
mod eval;
mod exec;
mod inherit;
mod loops;
mod names;
mod objects;
mod render;

use std::sync::Arc;

use hinagata_value::{
    Budget, Calls, Error, ErrorKind, Functions, Heap, Keep, LimitKind, Place, Result, Site, Undefined, Value,
    Variables, near_names,
};

pub use self::render::{Render, Rendered};
use self::{names::Context as NameContext, objects::ObjectTable};
use crate::{
    Loader, Template,
    ast::Span,
    code::{Slot, VarPlace},
    context::{Context, Random, Settings},
};

/// Whether nothing was put into a slot yet: such a slot holds [`Value::UNDEFINED`].
#[inline]
fn is_unset(value: &Value<'_>) -> bool {
    matches!(value, Value::Undefined(Undefined { name: None, owner: hinagata_value::Owner::Other }))
}

/// What a run borrows.
struct Inputs<'a> {
    variables: &'a dyn Variables,
    settings: &'a Settings,
    loader: &'a dyn Loader,
    functions: &'a Functions,
    calls: &'a Calls,
    /// Templates that were loaded during the run.
    loaded: &'a Keep<Arc<Template>>,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// A running template.
struct Vm<'a> {
    heap: Heap<'a>,
    budget: &'a Budget,
    inputs: Inputs<'a>,
    random: Random,
    objects: ObjectTable<'a>,
    /// The slots of all frames; a frame that a macro was made in stays until the end.
    slots: Vec<Value<'a>>,
    /// Where the frame of the running function starts.
    base: usize,
    /// Slots below this one are not taken down when a function ends.
    floor: usize,
    contexts: Vec<NameContext<'a>>,
    context: usize,
    /// The templates of this run; their numbers are those of [`Site`].
    templates: Vec<&'a Template>,
    template: u32,
    autoescape: bool,
    /// The template that the running root extends.
    parent: Option<u32>,
}

impl<'a> Vm<'a> {
    fn new(budget: &'a Budget, inputs: Inputs<'a>, template: &'a Template) -> Self {
        let autoescape = inputs.settings.autoescape;
        Self {
            heap: Heap::new(budget),
            budget,
            inputs,
            random: Random::new(0),
            objects: ObjectTable::new(budget),
            slots: Vec::new(),
            base: 0,
            floor: 0,
            contexts: Vec::new(),
            context: 0,
            templates: vec![template],
            template: 0,
            autoescape,
            parent: None,
        }
    }

    /// The run as the library sees it.
    #[inline]
    fn cx(&self) -> Context<'_, 'a> {
        Context {
            heap: &self.heap,
            settings: self.inputs.settings,
            autoescape: self.autoescape,
            objects: &self.objects,
            random: &self.random,
        }
    }

    #[inline]
    fn site(&self, span: Span) -> Site {
        Site { template: self.template, node: span.start }
    }

    fn current(&self) -> &'a Template {
        self.templates[self.template as usize]
    }

    /// Pushes a frame and makes it the running one; gives what [`Vm::leave`] needs.
    #[inline]
    fn enter(&mut self, slots: Slot) -> Result<usize> {
        let base = self.slots.len();
        let needed = base + slots as usize;
        if needed > self.slots.capacity() {
            let capacity = needed.max(self.slots.capacity() * 2);
            self.budget.charge((capacity - self.slots.capacity()) * size_of::<Value<'_>>())?;
            self.slots.reserve_exact(capacity - base);
        }
        self.slots.resize(needed, Value::UNDEFINED);
        Ok(std::mem::replace(&mut self.base, base))
    }

    /// Leaves the running frame; it is taken down unless a macro was made in or above it.
    #[inline]
    fn leave(&mut self, before: usize) {
        if self.floor <= self.base {
            self.slots.truncate(self.base);
        }
        self.base = before;
    }

    /// Where the frame of the function `up` levels around the running one starts.
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

    /// The error at its place in the running template, unless a place further in is known.
    #[cold]
    #[inline(never)]
    fn locate(&self, error: Error, span: Span) -> Error {
        error.at(|| self.current().source().place(span))
    }

    /// The error with its final place: the line of the statement, the column of the expression.
    #[cold]
    #[inline(never)]
    fn settle(&self, error: Error, span: Span) -> Error {
        if error.is_settled() || error.kind() == ErrorKind::Suspended {
            return error;
        }
        let source = self.current().source();
        // Endless recursion is a fault of the template, as Jinja2's RecursionError is.
        let error = match error.limit() {
            Some(LimitKind::Calls | LimitKind::Stack) => error.with_kind(ErrorKind::Runtime),
            _ => error,
        };
        let error = error.settle(|place| match place {
            // An expression that starts on the reported line knows the column better.
            Some(place) if place.template == source.name() && place.line == span.line => place,
            Some(place) if place.template != source.name() => place,
            _ => source.place(span),
        });
        self.with_near_names(error)
    }

    /// Names that the author may have meant, for an error about a name that is not there.
    fn with_near_names(&self, error: Error) -> Error {
        let Some(subject) = error.subject().filter(|_| error.near().is_empty()) else { return error };
        let template = self.current();
        let names = self.inputs.variables.names().into_iter();
        let own = template.code.top_level.iter().map(|name| &*name.name);
        let near = near_names(subject, names.chain(own).chain(self.inputs.functions.names()));
        error.with_near(near)
    }

    /// The error as seen from outside of an include, import, macro or block.
    #[cold]
    fn via(&self, error: Error, span: Span) -> Error {
        if error.kind() == ErrorKind::Suspended {
            return error;
        }
        let place: Place = self.current().source().place(span);
        error.via(place)
    }
}

impl Drop for Vm<'_> {
    fn drop(&mut self) {
        self.budget.release(self.slots.capacity() * size_of::<Value<'_>>());
    }
}

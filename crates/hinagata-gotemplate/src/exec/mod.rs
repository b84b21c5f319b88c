//! Executes the templates of a set by walking their nodes.
//!
//! Go evaluates by reflection, so the source of a value is visible: a value from a map or list is inside an
//! interface until a pipeline ends. [`Val`] stores that bit with the value. [`Exec::at`] is the node that Go
//! reports in an error, and is set where Go sets it.

mod args;
mod builtin;
mod call;
mod compare;
mod eval;
mod field;
mod index;
mod plain;
mod print;
mod quick;
mod range;
mod tracing;

use std::{borrow::Cow, cell::OnceCell, rc::Weak, sync::Arc};

use hinagata_value::{
    AbsentReason, Budget, Calls, EngineRef, Error, ErrorKind, Function, Functions, Heap, InputsId, List,
    Output, Provenance, Result, Site, StepKind, Value, Variables, near_names,
};

use crate::{
    error::{Part, error_text},
    set::{MissingKey, Set},
    text::quote,
    tree::{At, Branch, Node, Slots, Span, TemplateNode, Tree, Variable, excerpt_at},
    value::view::{Integers, View},
};

/// Maximum depth of template calls, as in Go.
const MOST_CALLS: u32 = 100_000;

/// The data that a template is executed on.
#[derive(Clone)]
pub enum Data<'a> {
    /// A value.
    Value(Value<'a>),
    /// Variables in layers. They are merged only if the template uses all of them as one value.
    Variables(&'a dyn Variables),
}

impl<'a> From<&'a serde_json::Value> for Data<'a> {
    fn from(json: &'a serde_json::Value) -> Self {
        Self::Value(Value::Json(json))
    }
}

impl<'a> From<Value<'a>> for Data<'a> {
    fn from(value: Value<'a>) -> Self {
        Self::Value(value)
    }
}

impl std::fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(value) => f.debug_tuple("Value").field(value).finish(),
            Self::Variables(variables) => f.debug_tuple("Variables").field(&variables.names()).finish(),
        }
    }
}

/// Templates from outside the set, found when a call needs one.
pub trait Templates<'a, P: Provenance> {
    /// The joined name of the template that the source `from` calls `name`, or `name` if it does not exist.
    /// The other methods take joined names.
    ///
    /// # Errors
    /// The name is ambiguous.
    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        let _ = from;
        Ok(Cow::Borrowed(name))
    }

    /// Whether the template `name` exists.
    fn contains(&self, name: &str) -> bool;

    /// All names, to find similar ones if a template does not exist.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Renders the template `name` on `data` into `output`.
    ///
    /// # Errors
    /// The errors of rendering it.
    fn render(&self, name: &str, data: Value<'a>, output: &mut Output<'a, P>) -> Result<()>;
}

/// No templates outside the set.
impl<'a, P: Provenance> Templates<'a, P> for () {
    fn contains(&self, _name: &str) -> bool {
        false
    }

    fn render(&self, _name: &str, _data: Value<'a>, _output: &mut Output<'a, P>) -> Result<()> {
        Ok(())
    }
}

/// The parts of a render that an execution uses.
#[derive(Clone, Copy)]
pub struct Context<'r, 'a, P: Provenance> {
    /// Creates and reads values.
    pub heap: &'r Heap<'a>,
    /// The functions that the template may call.
    pub functions: &'a Functions,
    /// The calls that other programs answer.
    pub calls: &'a Calls,
    /// Templates from outside the set.
    pub templates: &'r dyn Templates<'a, P>,
    /// The number of the set's first template in this render, which sites contain.
    pub first_template: u32,
}

impl<P: Provenance> std::fmt::Debug for Context<'_, '_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("first_template", &self.first_template).finish_non_exhaustive()
    }
}

/// A value, and whether Go has it inside an interface.
#[derive(Clone, Debug)]
struct Val<'a> {
    value: Value<'a>,
    boxed: bool,
}

impl<'a> Val<'a> {
    const INVALID: Self = Self { value: Value::UNDEFINED, boxed: false };

    /// A value with a concrete type.
    #[inline]
    fn plain(value: Value<'a>) -> Self {
        Self { value, boxed: false }
    }

    /// A value from a map, a list or a function that returns `any`: an interface.
    #[inline]
    fn boxed(value: Value<'a>) -> Self {
        Self { value, boxed: true }
    }

    /// The value inside an interface. An invalid value if the interface is nil.
    #[inline]
    fn unboxed(self) -> Self {
        if self.value.is_none() { Self::INVALID } else { Self { boxed: false, ..self } }
    }
}

/// The target of a template call.
enum Target<'n> {
    /// A template of the set, by its number.
    Own(u32),
    /// A template outside the set, by its joined name.
    Outside(Cow<'n, str>),
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Runs the template number `entry` of `set`.
pub(crate) fn execute_template<'a, P: Provenance>(
    set: &'a Set,
    entry: u32,
    data: Data<'a>,
    context: &Context<'_, 'a, P>,
    output: &mut Output<'a, P>,
) -> Result<()> {
    let (root, scope) = match data {
        // Nil data is no value at all, not an interface that is nil.
        Data::Value(value) if value.is_none() => (Value::UNDEFINED, None),
        Data::Value(value) => (value, None),
        Data::Variables(variables) => (Value::Engine(SCOPE), Some(variables)),
    };
    let tree = set.tree(entry);
    let mut exec = Exec {
        set,
        heap: context.heap,
        budget: context.heap.budget(),
        context,
        output,
        tree,
        tree_number: entry,
        at: At::node(0),
        root: Val::plain(root),
        slots: Vec::new(),
        base: 0,
        stack: Vec::new(),
        rare: None,
        scope,
        scope_map: OnceCell::new(),
        depth: 0,
        changed: context.heap.has_changes(),
        only_truth: false,
        slot_inputs: P::Slots::default(),
    };
    let dot = exec.root.clone();
    exec.enter_frame(&dot).map_err(|error| exec.with_current_place(error))
}

/// A value that refers to all variables of the render.
const SCOPE: EngineRef = EngineRef { kind: u8::MAX, index: 1 };

struct Exec<'r, 'a, P: Provenance> {
    set: &'a Set,
    heap: &'r Heap<'a>,
    budget: &'a Budget,
    context: &'r Context<'r, 'a, P>,
    output: &'r mut Output<'a, P>,
    tree: &'a Tree,
    tree_number: u32,
    /// The node that errors report.
    at: At,
    /// `$` of the running template.
    root: Val<'a>,
    /// The variables of all running templates. Those of the innermost one start at `base`.
    slots: Vec<Val<'a>>,
    base: usize,
    /// Arguments of the running calls.
    stack: Vec<Value<'a>>,
    /// Tables that few runs need. Boxed, so that other runs do not pay for them.
    rare: Option<Box<Rare<'a>>>,
    scope: Option<&'a dyn Variables>,
    scope_map: OnceCell<Box<Value<'a>>>,
    depth: u32,
    /// Whether another language or a function changed the caller's data, so that copies replace it.
    changed: bool,
    /// Whether only the truth of the evaluated value matters.
    only_truth: bool,
    /// What the dot and the variables are made of.
    slot_inputs: P::Slots,
}

/// Tables that few runs need.
#[derive(Default)]
struct Rare<'a> {
    /// The host functions by their number in the set, after their lookup.
    functions: Vec<Option<&'a Arc<dyn Function>>>,
    /// Lists that are parts of longer ones.
    windows: Vec<Window<'a>>,
}

/// A list that `slice` created, and the longer list that it is a part of. Slicing it again may reach beyond its
/// end.
struct Window<'a> {
    part: Weak<List<'a>>,
    whole: Value<'a>,
    start: usize,
    /// The end of the part's capacity in the longer list.
    reach: usize,
}

impl<'r, 'a, P: Provenance> Exec<'r, 'a, P> {
    /// The Go value that `value` represents.
    #[inline]
    fn view<'v>(&'v self, value: &'v Value<'a>) -> Result<View<'v, 'a>> {
        match value {
            Value::Engine(_) => self.view_scope(value),
            _ => View::from_value(value, self.set.options.integers),
        }
    }

    #[cold]
    fn view_scope<'v>(&'v self, value: &'v Value<'a>) -> Result<View<'v, 'a>> {
        match self.scope {
            Some(scope) if is_scope(value) => {
                if self.scope_map.get().is_none() {
                    let map = self.merge_variables(scope)?;
                    // This cannot fail: `get` returned nothing above.
                    let _ = self.scope_map.set(Box::new(map));
                }
                View::from_value(self.scope_map.get().map_or(value, |map| &**map), self.set.options.integers)
            }
            _ => View::from_value(value, self.set.options.integers),
        }
    }

    /// All variables of the render as one map.
    fn merge_variables(&self, scope: &'a dyn Variables) -> Result<Value<'a>> {
        let mut map = self.heap.map()?;
        for name in scope.names() {
            if let Some(value) = scope.find(&hinagata_value::Key::new(name)) {
                map.insert(self.heap.string(name)?, Value::Json(value))?;
            }
        }
        Ok(map.finish())
    }

    /// The value, or the map of all variables if the value refers to them.
    fn resolve_scope(&self, value: Value<'a>) -> Result<Value<'a>> {
        if self.scope.is_some() && is_scope(&value) {
            self.view_scope(&value)?;
            return Ok(self.scope_map.get().map_or(value, |map| (**map).clone()));
        }
        Ok(value)
    }

    fn integers(&self) -> Integers {
        self.set.options.integers
    }

    fn site(&self, at: At) -> Site {
        Site { template: self.context.first_template + self.tree_number, node: at.number() }
    }

    // ---- errors ----

    /// Go's error at the current node.
    #[cold]
    #[inline(never)]
    fn fail(&self, format: &str, parts: &[Part<'_>]) -> Error {
        let (line, column) = self.tree.source.line_and_column(self.tree.position(self.at));
        let location = format!("template: {}:{line}:{column}", self.tree.source.name);
        let name = quote::quote_text(&self.tree.name);
        let context = format!(": executing {name} at <{}>: ", excerpt_at(self.tree, self.at));
        Error::runtime(error_text(&location, &context, format, parts)).with_place(|| self.tree.place(self.at))
    }

    /// Wraps the error of a function in Go's message, at `at`. Limits, deadlines and the like stay as they are.
    #[cold]
    #[inline(never)]
    fn fail_calling(&mut self, at: At, name: &str, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Limit | ErrorKind::Deadline | ErrorKind::Cancelled | ErrorKind::Suspended => error,
            _ => {
                self.at = at;
                let parts = [Part::Text(name), Part::Text(error.message())];
                let wrapped = self.fail("error calling %s: %w", &parts);
                // The kind of a sandbox error and the hints are preserved.
                let wrapped = match error.kind() {
                    ErrorKind::Security => wrapped.with_kind(ErrorKind::Security),
                    _ => wrapped,
                };
                let wrapped = wrapped.with_near(error.near().to_vec());
                match error.hint().map(str::to_owned) {
                    Some(hint) => wrapped.with_hint(hint).with_source(error),
                    None => wrapped.with_source(error),
                }
            }
        }
    }

    #[cold]
    fn with_current_place(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Suspended => error,
            _ => error.with_place(|| self.tree.place(self.at)),
        }
    }

    // ---- variables ----

    /// The slot of a variable. `None` if it is not declared.
    #[inline]
    fn slot(&self, slots: &Slots) -> Option<usize> {
        match slots {
            Slots::One(slot) => Some(*slot as usize),
            Slots::Maybe(slots) => {
                slots.iter().map(|slot| *slot as usize).find(|&slot| self.is_declared(slot))
            }
        }
    }

    fn is_declared(&self, slot: usize) -> bool {
        slot == 0
            || !matches!(self.slots[self.base + slot - 1].value, Value::Engine(handle) if handle == UNDECLARED)
    }

    fn get(&self, variable: &Variable) -> Result<&Val<'a>> {
        match self.slot(&variable.slots) {
            Some(0) => Ok(&self.root),
            Some(slot) => Ok(&self.slots[self.base + slot - 1]),
            None => Err(self.fail("undefined variable: %s", &[Part::Text(&variable.name)])),
        }
    }

    /// Like [`Exec::set`], with a fast path for the usual case.
    #[inline]
    fn put(&mut self, variable: &Variable, value: Val<'a>) -> Result<()> {
        match variable.slots {
            Slots::One(slot) if slot > 0 => {
                self.slots[self.base + slot as usize - 1] = value;
                Ok(())
            }
            _ => self.set(variable, value),
        }
    }

    fn set(&mut self, variable: &Variable, value: Val<'a>) -> Result<()> {
        match self.slot(&variable.slots) {
            Some(0) => self.root = value,
            Some(slot) => self.slots[self.base + slot - 1] = value,
            None => return Err(self.fail("undefined variable: %s", &[Part::Text(&variable.name)])),
        }
        Ok(())
    }

    /// Marks the variables as undeclared that the command with the first operand `first` may not declare.
    fn undeclare(&mut self, first: u32) -> Result<()> {
        let tree = self.tree;
        if let Ok(at) = tree.conditional.binary_search_by_key(&first, |(command, _)| *command) {
            let slots = &tree.conditional[at].1;
            self.budget.charge_steps(slots.len() as u64)?;
            for &slot in slots {
                self.slots[self.base + slot as usize - 1] = Val::plain(Value::Engine(UNDECLARED));
            }
        }
        Ok(())
    }

    // ---- templates ----

    /// Runs the current tree with its own variables.
    fn enter_frame(&mut self, dot: &Val<'a>) -> Result<()> {
        // An error before the first node is reported at the start of this tree. Node numbers of other trees are
        // invalid here.
        self.at = At::node(self.tree.root.start);
        let own = self.tree.slots as usize - 1;
        let bytes = own * size_of::<Val<'_>>();
        // An empty template costs a step too: templates that call two others each multiply without end.
        self.budget.charge_steps(1 + (own as u64 >> 2))?;
        self.budget.charge_bytes(bytes)?;
        self.base = self.slots.len();
        self.slots.resize(self.base + own, Val::INVALID);
        let result = self.run_body(self.tree.root, dot);
        self.budget.release_bytes(bytes);
        result.map(drop)
    }

    #[inline(never)]
    fn call_template(&mut self, index: u32, node: &'a TemplateNode, dot: &Val<'a>) -> Result<()> {
        let site = At::node(index);
        let target = match self.set.call_target(self.tree_number, node.call) {
            Some(number) => Target::Own(number),
            None => self.find_outside(&self.tree.calls[node.call as usize])?,
        };
        if self.depth == MOST_CALLS {
            let depth = Part::Int(i64::from(MOST_CALLS));
            return Err(self.fail("exceeded maximum template depth (%d)", &[depth]));
        }
        let mark = self.mark();
        let dot = match node.pipe {
            Some(pipe) => self.eval_pipeline(pipe, dot)?,
            None => Val::INVALID,
        };
        let inputs = self.inputs_since(mark);
        self.forget(mark);
        let _level = self.budget.enter_call()?;
        let target = match target {
            Target::Own(number) => number,
            Target::Outside(name) => {
                self.enter_named(StepKind::Include, site, &name);
                let result = self.render_outside(site, &name, dot.value);
                self.leave_step();
                return result;
            }
        };
        self.enter_named(StepKind::Call, site, &self.set.tree(target).name);
        let before = self.enter_dot(inputs, true);
        let caller = (self.tree, self.tree_number, self.base);
        let caller_root = std::mem::replace(&mut self.root, dot.clone());
        (self.tree, self.tree_number) = (self.set.tree(target), target);
        self.depth += 1;
        let result = self.enter_frame(&dot);
        if let Err(error) = result {
            let error = self.with_current_place(error);
            return Err(if error.kind() == ErrorKind::Suspended {
                error
            } else {
                error.with_chain_step(caller.0.place(site))
            });
        }
        self.depth -= 1;
        self.leave_step();
        self.restore_dot(before);
        self.slots.truncate(self.base);
        (self.tree, self.tree_number, self.base) = caller;
        self.root = caller_root;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn not_defined(&self, name: &str) -> Error {
        let outside = self.context.templates.names();
        let known = self.set.names().into_iter().chain(outside.iter().map(String::as_str));
        let near = near_names(name, known);
        let error = self.fail("template %q not defined", &[Part::Text(name)]);
        error.with_kind(ErrorKind::NotFound).with_near(near).with_subject(name)
    }

    /// Finds the template that the source calls `name` and the set does not define.
    #[cold]
    fn find_outside(&self, name: &'a str) -> Result<Target<'a>> {
        let source = &*self.tree.source.name;
        let joined = self.context.templates.join(source, name).map_err(|error| match error.place() {
            Some(_) => error.with_chain_step(self.tree.place(self.at)),
            None => error,
        })?;
        if *joined == *source {
            // The source itself, under another name.
            if let Some(number) = self.set.template_number(source) {
                return Ok(Target::Own(number));
            }
        }
        if self.context.templates.contains(&joined) {
            Ok(Target::Outside(joined))
        } else {
            Err(self.not_defined(name))
        }
    }

    /// Renders a template outside the set.
    #[cold]
    fn render_outside(&mut self, site: At, name: &str, data: Value<'a>) -> Result<()> {
        let data = self.resolve_scope(data)?;
        let result = self.context.templates.render(name, data, self.output);
        self.changed = self.heap.has_changes();
        self.at = site;
        result.map_err(|error| match (error.kind(), error.place()) {
            (ErrorKind::Suspended, _) => error,
            // The error occurred before the template ran.
            (_, None) => error.with_place(|| self.tree.place(site)),
            (_, Some(_)) => error.with_chain_step(self.tree.place(site)),
        })
    }

    // ---- bodies ----

    fn run_body(&mut self, body: Span, dot: &Val<'a>) -> Result<Flow> {
        let tree = self.tree;
        for (node, index) in tree.nodes[body.range()].iter().zip(body.start..) {
            self.at = At::node(index);
            match node {
                Node::Text(text) => {
                    let site = self.site(At::node(index));
                    self.output.write_literal(&text.text, site)?;
                }
                Node::Action(action) => self.run_action(index, action, dot)?,
                Node::If(branch) => match self.run_if(index, branch, dot)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                },
                Node::Range(range) => match self.run_range(index, range, dot)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                },
                Node::With(branch) => match self.run_with(index, branch, dot)? {
                    Flow::Next => {}
                    flow => return Ok(flow),
                },
                Node::Template(template) => self.call_template(index, template, dot)?,
                Node::Break => return Ok(Flow::Break),
                Node::Continue => return Ok(Flow::Continue),
            }
        }
        Ok(Flow::Next)
    }

    fn run_if(&mut self, index: u32, branch: &'a Branch, dot: &Val<'a>) -> Result<Flow> {
        let tree = self.tree;
        for arm in &tree.arms[branch.arms.range()] {
            let mark = self.mark();
            let holds = self.eval_condition(arm, dot)?;
            let inputs = if holds { InputsId::NONE } else { self.inputs_since(mark) };
            self.forget(mark);
            if holds {
                return self.run_body(arm.body, dot);
            }
            self.record_absent(index, AbsentReason::Condition, inputs);
        }
        branch.otherwise.map_or(Ok(Flow::Next), |body| self.run_body(body, dot))
    }

    fn run_with(&mut self, index: u32, branch: &'a Branch, dot: &Val<'a>) -> Result<Flow> {
        let tree = self.tree;
        for arm in &tree.arms[branch.arms.range()] {
            let mark = self.mark();
            let value = self.in_condition(true, |exec| exec.eval_pipeline(arm.pipe, dot))?;
            let inputs = self.inputs_since(mark);
            self.forget(mark);
            if self.truth(&value.value)? {
                let before = self.enter_dot(inputs, false);
                let flow = self.run_body(arm.body, &value);
                self.restore_dot(before);
                return flow;
            }
            self.record_absent(index, AbsentReason::Condition, inputs);
        }
        branch.otherwise.map_or(Ok(Flow::Next), |body| self.run_body(body, dot))
    }

    /// Whether a value is true: not the zero value of its type.
    #[inline]
    fn truth(&self, value: &Value<'a>) -> Result<bool> {
        Ok(match self.view(value)? {
            View::Invalid | View::Nil | View::TypedNil(_) => false,
            View::Bool(flag) => flag,
            View::Str(text) => !text.is_empty(),
            View::Int(int) => int != 0,
            View::Float(float) => float != 0.0,
            View::List(value) | View::Map(value) => self.heap.len(value).unwrap_or(0) > 0,
            View::Bytes(bytes) => !bytes.is_empty(),
            View::Uint8(byte) => byte != 0,
            View::Complex(re, im) => re != 0.0 || im != 0.0,
            View::Func(_) | View::Opaque => true,
            View::Host(object) => object.get().is_true(),
        })
    }

    fn missing_key(&self) -> MissingKey {
        match self.set.options.missing_key {
            MissingKey::Needed if self.only_truth => MissingKey::Invalid,
            MissingKey::Needed => MissingKey::Error,
            other => other,
        }
    }

    /// Evaluates with `only_truth` set to the given value.
    #[inline]
    fn in_condition<T>(
        &mut self,
        only_truth: bool,
        evaluate: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.only_truth, only_truth);
        let result = evaluate(self);
        self.only_truth = before;
        result
    }
}

/// Marks the slot of a variable whose declaration did not run.
const UNDECLARED: EngineRef = EngineRef { kind: u8::MAX, index: 0 };

fn is_scope(value: &Value<'_>) -> bool {
    matches!(value, Value::Engine(handle) if *handle == SCOPE)
}

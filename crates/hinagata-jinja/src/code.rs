//! The compiled form of a template: a tree whose names are slots and whose filters are functions.
//!
//! [`crate::run`] walks this tree. Names are resolved as far as possible: a variable that the template sets
//! is a slot of a frame, every other name is looked up in the context. Each root, block, macro and call
//! block has one frame; loops and other scopes inside it have their own slots in that frame.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use hinagata_value::Key;

use crate::{
    ast::{BinaryOp, CompareOp, Span},
    library::{filters::Filter, tests::Test},
    run::Quick,
};

/// Statements that run in sequence.
pub(crate) type Code = Vec<Node>;

/// A statement.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) span: Span,
    /// Whether it is skipped once the template has extended another: output of a child outside its blocks.
    pub(crate) muted_by_extends: bool,
}

/// The operation of a statement.
#[derive(Debug)]
pub(crate) enum Op {
    Text(Box<str>),
    Print(Expr),
    If(Vec<Arm>, Code),
    For(Box<For>),
    Set(Target, Expr),
    SetBlock(Box<SetBlock>),
    With(Vec<(Target, Expr)>, Scope),
    Scope(Scope),
    Macro(Target, Box<MacroCode>),
    CallBlock(Box<CallBlock>),
    FilterBlock(Vec<FilterCall>, Scope),
    Block(Box<BlockCall>),
    Extends(Expr),
    Include(Box<Include>),
    Import(Box<Import>),
    FromImport(Box<FromImport>),
    Do(Expr),
    Break,
    Continue,
    AutoEscape(Expr, Scope),
    Message(Expr, Scope),
}

/// A body with its own slots, which are empty when it starts.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) body: Code,
    /// The slots to clear at the start: those that the body sets.
    pub(crate) fresh: Vec<Slot>,
}

/// One `if` or `elif`.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) test: Expr,
    pub(crate) body: Code,
    pub(crate) span: Span,
}

/// The index of a value in the frame of the running function.
pub(crate) type Slot = u32;

/// A loop.
#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iter: Expr,
    pub(crate) filter: Option<LoopFilter>,
    pub(crate) body: Scope,
    pub(crate) otherwise: Scope,
    pub(crate) recursive: bool,
    /// Whether the body uses `loop`. All items are then collected before the first iteration.
    pub(crate) uses_loop: bool,
    /// The slot of the loop object, if the body uses it other than by `loop.name`.
    pub(crate) object: Option<Slot>,
    /// All slots of the loop, including its inner scopes. A recursive call saves and restores them.
    pub(crate) slots: std::ops::Range<Slot>,
}

/// The `if` of a loop, with its own copy of the loop's target.
#[derive(Debug)]
pub(crate) struct LoopFilter {
    pub(crate) target: Target,
    pub(crate) test: Expr,
}

/// `{% set x %}…{% endset %}`.
#[derive(Debug)]
pub(crate) struct SetBlock {
    pub(crate) target: Target,
    pub(crate) filters: Vec<FilterCall>,
    pub(crate) body: Scope,
}

/// A macro, a call block's body, or the body of a template or block.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) body: Code,
    /// The number of slots in its frame. Slot 0 of a nested function holds the frame that it was created
    /// in.
    pub(crate) slots: Slot,
}

/// The code of a macro or of the body of a call block.
#[derive(Debug)]
pub(crate) struct MacroCode {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// The index of each parameter by name.
    pub(crate) places: HashMap<Box<str>, usize>,
    pub(crate) function: Function,
    /// The slots of `caller`, `varargs` and `kwargs`, if the body uses them.
    pub(crate) caller: Option<Slot>,
    pub(crate) varargs: Option<Slot>,
    pub(crate) kwargs: Option<Slot>,
    /// Whether `caller` is a declared parameter.
    pub(crate) explicit_caller: bool,
}

/// A parameter of a macro.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) slot: Slot,
    pub(crate) default: Option<Expr>,
    pub(crate) span: Span,
}

/// `{% call(a) callee(b) %}…{% endcall %}`.
#[derive(Debug)]
pub(crate) struct CallBlock {
    pub(crate) body: MacroCode,
    pub(crate) call: Call,
}

/// The point of a template where a block is printed.
#[derive(Debug)]
pub(crate) struct BlockCall {
    pub(crate) name: String,
    pub(crate) scoped: bool,
    pub(crate) required: bool,
    /// The outer names that a scoped block sees.
    pub(crate) visible: Option<Arc<Visible>>,
}

/// The names of outer scopes that an include or a scoped block sees.
///
/// A scope points to the next outer one, so the names of a scope are stored once, however many scopes see
/// them.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// The names that the innermost scope sets, as seen from its function.
    pub(crate) names: BTreeMap<Box<str>, Arc<Var>>,
    pub(crate) outer: Option<Arc<Visible>>,
    /// The number of function boundaries between this scope and `outer`.
    pub(crate) up: u32,
}

#[derive(Debug)]
pub(crate) struct Include {
    pub(crate) template: Expr,
    pub(crate) ignore_missing: bool,
    pub(crate) with_context: bool,
    pub(crate) visible: Option<Arc<Visible>>,
}

#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) template: Expr,
    pub(crate) target: Target,
    pub(crate) with_context: bool,
    pub(crate) visible: Option<Arc<Visible>>,
}

#[derive(Debug)]
pub(crate) struct FromImport {
    pub(crate) template: Expr,
    pub(crate) names: Vec<(String, Target)>,
    pub(crate) with_context: bool,
    pub(crate) visible: Option<Arc<Visible>>,
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Slot(Slot),
    /// An attribute of a namespace.
    Attr(Box<(Expr, String)>),
    Tuple(Vec<Target>),
}

/// A variable that the template sets somewhere. Its value is that of the first place that holds one.
#[derive(Debug, Clone)]
pub(crate) struct Var {
    pub(crate) place: VarPlace,
    /// Where to look while it is not set.
    pub(crate) otherwise: Otherwise,
    pub(crate) key: Key,
}

/// A slot of this function (`up` is 0) or of the function `up` levels further out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VarPlace {
    pub(crate) up: u32,
    pub(crate) slot: Slot,
}

#[derive(Debug, Clone)]
pub(crate) enum Otherwise {
    /// The same name in an outer scope.
    Outer(Box<(VarPlace, Otherwise)>),
    /// The variables of the render.
    Context,
    Undefined,
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    None,
    Bool(bool),
    Int(i64),
    Big(i128),
    Float(f64),
    Str(String),
    /// Shared by all uses in one scope.
    Var(Arc<Var>),
    /// A name that the template does not set.
    Context(Key),
    /// `base.a.b.c`.
    Path(Box<Path>),
    Item(Box<(Expr, Expr)>, Span),
    Slice(Box<SliceExpr>, Span),
    Call(Box<Call>),
    Filter(Box<(Expr, FilterCall)>),
    Test(Box<(Expr, TestCall)>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>, Span),
    Not(Box<Expr>),
    Neg(Box<Expr>, Span),
    Pos(Box<Expr>, Span),
    Binary(Box<Chain<BinaryOp>>),
    Concat(Vec<Expr>),
    Compare(Box<Chain<CompareOp>>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<Conditional>),
    /// An operand and the operations after it except the last: see [`Links`].
    Links(Box<Links>),
    /// The result of the previous link.
    Subject,
    /// `loop.name` of the innermost loop of this function.
    Loop(LoopField),
}

/// The first operand, and the operators with their right operands.
pub(crate) type Chain<Op> = (Expr, Vec<(Op, Expr, Span)>);

/// The attributes of `loop` that need no loop object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopField {
    Index,
    Index0,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Length,
    Depth,
    Depth0,
    PrevItem,
    NextItem,
}

impl LoopField {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "index" => Self::Index,
            "index0" => Self::Index0,
            "revindex" => Self::RevIndex,
            "revindex0" => Self::RevIndex0,
            "first" => Self::First,
            "last" => Self::Last,
            "length" => Self::Length,
            "depth" => Self::Depth,
            "depth0" => Self::Depth0,
            "previtem" => Self::PrevItem,
            "nextitem" => Self::NextItem,
            _ => return None,
        })
    }
}

/// A chain of operations such as `x[0](1)|f` as a list, so that a long chain adds no depth (as in
/// [`crate::ast`]).
///
/// The last operation is not a link but the node that contains this chain, so that code that prints or
/// tests it can match on its kind. A single operation needs no links.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) base: Expr,
    /// [`Expr::Path`], `Item`, `Slice`, `Call`, `Filter` or `Test`, each on [`Expr::Subject`].
    pub(crate) links: Vec<Expr>,
}

/// `base.a.b.c`: all names are looked up in one loop as long as the values are maps of the caller.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) base: Expr,
    pub(crate) steps: Vec<PathStep>,
    /// The steps that a lookup costs: one for each name, more for long names.
    pub(crate) cost: u64,
}

impl Path {
    pub(crate) fn new(base: Expr, step: PathStep) -> Self {
        let cost = 1 + step.key.steps();
        Self { base, steps: vec![step], cost }
    }

    pub(crate) fn push(&mut self, step: PathStep) {
        self.cost += 1 + step.key.steps();
        self.steps.push(step);
    }
}

#[derive(Debug)]
pub(crate) struct PathStep {
    pub(crate) key: Key,
    /// Whether the name could refer to a method of a map instead of an entry.
    pub(crate) special: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct SliceExpr {
    pub(crate) base: Expr,
    pub(crate) start: Option<Expr>,
    pub(crate) stop: Option<Expr>,
    pub(crate) step: Option<Expr>,
    /// Whether all parts are literals.
    pub(crate) literal: bool,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) args: Args,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum Callee {
    Value(Expr),
    /// `receiver.name(…)`.
    Method(Expr, PathStep),
    /// `loop(items)` of the innermost loop of this function.
    Loop,
    /// `loop.cycle(…)`, `loop.changed(…)`.
    LoopCycle,
    LoopChanged,
}

#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Expr>,
    pub(crate) keywords: Vec<(String, Expr)>,
    pub(crate) args: Option<Expr>,
    pub(crate) kwargs: Option<Expr>,
    /// Whether all of them are literals.
    pub(crate) literal: bool,
}

pub(crate) struct FilterCall {
    pub(crate) name: String,
    /// `None` for an unknown filter, which is an error when it runs.
    pub(crate) filter: Option<Filter>,
    /// The fast path, if one exists for these arguments.
    pub(crate) quick: Option<Quick>,
    pub(crate) args: Args,
    pub(crate) span: Span,
}

impl std::fmt::Debug for FilterCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "|{}({:?})", self.name, self.args)
    }
}

pub(crate) struct TestCall {
    pub(crate) name: String,
    pub(crate) test: Option<Test>,
    pub(crate) negated: bool,
    pub(crate) args: Args,
    pub(crate) span: Span,
    /// `defined` and `undefined` inspect a value without using it.
    pub(crate) defined: Option<bool>,
}

impl std::fmt::Debug for TestCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "is {}({:?})", self.name, self.args)
    }
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) value: Expr,
    /// Evaluated last to first.
    pub(crate) tests: Vec<Expr>,
    pub(crate) otherwise: Option<Expr>,
}

/// A block of a template.
#[derive(Debug)]
pub(crate) struct BlockCode {
    pub(crate) name: String,
    pub(crate) function: Function,
    /// The slots of `super` and `self`, if the block uses them.
    pub(crate) super_slot: Option<Slot>,
    pub(crate) self_slot: Option<Slot>,
}

/// A whole template.
#[derive(Debug, Default)]
pub(crate) struct TemplateCode {
    pub(crate) root: Function,
    pub(crate) self_slot: Option<Slot>,
    pub(crate) blocks: Vec<BlockCode>,
    /// The names that the root sets.
    pub(crate) top_level: TopLevel,
    /// What it takes to render the template, if it only writes texts and prints variables: see [`crate::run::plain_steps`].
    pub(crate) plain_steps: Option<u64>,
}

/// The names that a root sets, in source order.
#[derive(Debug, Default)]
pub(crate) struct TopLevel {
    pub(crate) names: Vec<TopLevelName>,
    places: HashMap<Box<str>, usize>,
}

impl TopLevel {
    pub(crate) fn push(&mut self, name: TopLevelName) {
        self.places.insert(name.name.as_str().into(), self.names.len());
        self.names.push(name);
    }

    pub(crate) fn find(&self, name: &str) -> Option<&TopLevelName> {
        self.places.get(name).and_then(|place| self.names.get(*place))
    }
}

#[derive(Debug)]
pub(crate) struct TopLevelName {
    pub(crate) name: String,
    pub(crate) slot: Slot,
    /// Whether templates that import this one see it.
    pub(crate) exported: bool,
}

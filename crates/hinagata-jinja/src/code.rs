//! What a template is compiled to: a tree whose names are slots and whose filters are functions.
//!
//! The tree is walked as it stands ([`crate::run`]). Names are resolved here as far as they can be:
//! a variable that the template sets is a slot of a frame, everything else is asked from the
//! context. One frame belongs to each root, block, macro and call block; loops and other scopes
//! inside have slots of their own in it.

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

/// Statements that run one after the other.
pub(crate) type Code = Vec<Node>;

/// A statement.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) span: Span,
    /// Whether it is left out once the template extends another one: what a child prints outside of
    /// its blocks.
    pub(crate) muted_by_extends: bool,
}

/// What a statement does.
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

/// A body with slots of its own, which are empty when it starts.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) body: Code,
    /// The slots that must be emptied: those it sets.
    pub(crate) fresh: Vec<Slot>,
}

/// One `if` or `elif`.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) test: Expr,
    pub(crate) body: Code,
    pub(crate) span: Span,
}

/// A place in the frame of the running function.
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
    /// Whether the body uses `loop`: items are then all known before the first turn.
    pub(crate) uses_loop: bool,
    /// Where the loop object is put, when it is used other than by `loop.name` in the body itself.
    pub(crate) object: Option<Slot>,
    /// All slots of the loop and what is in it: kept apart by a recursive call.
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
    /// Slots of its frame. Slot 0 of a function inside another holds the frame it was made in.
    pub(crate) slots: Slot,
}

/// The code of a macro or of the body of a call block.
#[derive(Debug)]
pub(crate) struct MacroCode {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// Which parameter has a name.
    pub(crate) places: HashMap<Box<str>, usize>,
    pub(crate) function: Function,
    /// Where `caller`, `varargs` and `kwargs` go, when the body uses them.
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

/// The place of a block in its template.
#[derive(Debug)]
pub(crate) struct BlockCall {
    pub(crate) name: String,
    pub(crate) scoped: bool,
    pub(crate) required: bool,
    /// What a scoped block sees of the scopes around it.
    pub(crate) visible: Option<Arc<Visible>>,
}

/// The names that an include or a scoped block sees of the scopes around it.
///
/// Scopes point at those around them: what a scope sets is held once, however many look at it.
#[derive(Debug, Default)]
pub(crate) struct Visible {
    /// The names that the innermost scope sets, as its function sees them.
    pub(crate) names: BTreeMap<Box<str>, Arc<Var>>,
    pub(crate) outer: Option<Arc<Visible>>,
    /// How many functions further out that one is.
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

/// What a value is assigned to.
#[derive(Debug)]
pub(crate) enum Target {
    Slot(Slot),
    /// An attribute of a namespace.
    Attr(Box<(Expr, String)>),
    Tuple(Vec<Target>),
}

/// A variable that the template sets somewhere: the first of these places that holds a value.
#[derive(Debug, Clone)]
pub(crate) struct Var {
    pub(crate) place: VarPlace,
    /// Where to look when it was not set yet.
    pub(crate) otherwise: Otherwise,
    pub(crate) key: Key,
}

/// A slot of this function (`up` 0) or of one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VarPlace {
    pub(crate) up: u32,
    pub(crate) slot: Slot,
}

#[derive(Debug, Clone)]
pub(crate) enum Otherwise {
    /// The same name in a scope outside.
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
    /// An operand and the operations behind it, all but the last: see [`Links`].
    Links(Box<Links>),
    /// The value that a link goes on from.
    Subject,
    /// `loop.name` of the innermost loop of this function.
    Loop(LoopField),
}

/// The first operand, and the operators with the operands behind them.
pub(crate) type Chain<Op> = (Expr, Vec<(Op, Expr, Span)>);

/// What `loop.name` can be without a loop object.
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

/// A chain of operations such as `x[0](1)|f`, side by side: what an author writes one behind the other
/// must not become depth, here as in [`crate::ast`].
///
/// The last operation is no link but a node of its own that stands on this one, so that whoever prints or
/// tests it sees what it is. An operation on an operand needs no links at all.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) base: Expr,
    /// [`Expr::Path`], `Item`, `Slice`, `Call`, `Filter` or `Test`, each on [`Expr::Subject`].
    pub(crate) links: Vec<Expr>,
}

/// `base.a.b.c`: the names are walked in one go while the values are maps of the caller.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) base: Expr,
    pub(crate) steps: Vec<PathStep>,
    /// What walking it costs: one for each name, more for long ones.
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
    /// Whether a map could have something else under this name than an entry: a method.
    pub(crate) special: bool,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct SliceExpr {
    pub(crate) base: Expr,
    pub(crate) start: Option<Expr>,
    pub(crate) stop: Option<Expr>,
    pub(crate) step: Option<Expr>,
    /// Whether all of it is written in the template.
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
    /// `None`: not known; an error when it is reached.
    pub(crate) filter: Option<Filter>,
    /// A short way, where there is one for these arguments.
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
    /// `defined` and `undefined` look at a value without using it.
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
    /// Where `super` and `self` go, when the block uses them.
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
    /// Whether those who import the template see it.
    pub(crate) exported: bool,
}

//! What a template says, as a tree.
//!
//! The tree owns its text and every node knows its [`Span`]. Two properties hold for every tree that
//! the parser returns, so that walking, compiling and dropping it may recurse:
//!
//! * What an author writes one after the other lies side by side: `elif` arms, operators of one
//!   precedence (`a + b - c`, `a ~ b`, `a and b`), and everything that follows an operand
//!   (`x.a[0](1)|f is t`) are lists. Length never becomes depth.
//! * What an author writes inside each other is bounded by the limit `nesting`: blocks inside blocks,
//!   and nodes inside nodes of one expression.

mod children;

/// Where a node stands in its source.
///
/// `line` is the line that Jinja2 attributes to the node, which is not always the line of `start`:
/// `{{ a`⏎`.b }}` is an expression of line 2, because the last `.` decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The line, from 1, as Jinja2 counts and attributes it.
    pub line: u32,
}

/// One template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The statements, in source order.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// The whole tag, from its name on; a block statement ends with the tag that closes it.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Text between tags, whitespace control applied and newlines made `\n`. Never empty.
    Text(Box<str>),
    /// `{{ value }}`, or one value of `{% print a, b %}`. Its line is the line of the expression.
    Print(Expr),
    /// `{% if %}…{% elif %}…{% else %}…{% endif %}`.
    If(Box<If>),
    /// `{% for %}…{% else %}…{% endfor %}`.
    For(Box<For>),
    /// `{% set target = value %}`.
    Set(Box<Set>),
    /// `{% set target | filter %}…{% endset %}`.
    SetBlock(Box<SetBlock>),
    /// `{% with a = 1, b = 2 %}…{% endwith %}`.
    With(Box<With>),
    /// `{% macro name(a, b=1) %}…{% endmacro %}`.
    Macro(Box<Macro>),
    /// `{% call(a) callee(b) %}…{% endcall %}`.
    CallBlock(Box<CallBlock>),
    /// `{% filter name %}…{% endfilter %}`.
    FilterBlock(Box<FilterBlock>),
    /// `{% block name %}…{% endblock %}`.
    Block(Box<Block>),
    /// `{% extends template %}`.
    Extends(Expr),
    /// `{% include template %}`.
    Include(Box<Include>),
    /// `{% import template as name %}`.
    Import(Box<Import>),
    /// `{% from template import a, b as c %}`.
    FromImport(Box<FromImport>),
    /// `{% do expression %}`.
    Do(Expr),
    /// `{% break %}`; always inside a loop of the same frame.
    Break,
    /// `{% continue %}`; always inside a loop of the same frame.
    Continue,
    /// `{% autoescape enabled %}…{% endautoescape %}`; a scope of its own.
    AutoEscape(Box<AutoEscape>),
    /// `{% generation %}…{% endgeneration %}`: passes its body through, in a scope of its own.
    Generation(Vec<Stmt>),
    /// `{% message role %}…{% endmessage %}`.
    Message(Box<Message>),
}

/// The arms of an `if`: the first whose test holds runs.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The `if` and every `elif`; never empty.
    pub arms: Vec<Arm>,
    /// The body of `else`, empty when there is none.
    pub otherwise: Vec<Stmt>,
}

/// One `if` or `elif`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The condition.
    pub test: Expr,
    /// What runs when it holds.
    pub body: Vec<Stmt>,
    /// The tag; the line of an `elif` is that of its condition.
    pub span: Span,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// What each item is bound to. Names only: no namespace attributes.
    pub target: Target,
    /// What is iterated.
    pub iter: Expr,
    /// The `if` behind it: items for which it does not hold are skipped.
    pub filter: Option<Expr>,
    /// Whether `loop(items)` may run the body again for other items.
    pub recursive: bool,
    /// What runs for each item.
    pub body: Vec<Stmt>,
    /// What runs when there was no item, empty when there is no `else`.
    pub otherwise: Vec<Stmt>,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// What is assigned.
    pub target: Target,
    /// The value.
    pub value: Expr,
}

/// An assignment of what a body prints.
#[derive(Clone, Debug, PartialEq)]
pub struct SetBlock {
    /// What is assigned.
    pub target: Target,
    /// The filters the text goes through, first to last.
    pub filters: Vec<FilterCall>,
    /// What prints the text.
    pub body: Vec<Stmt>,
}

/// Names that hold inside a body only. The values are evaluated in the scope outside.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The names and their values, in source order; may be empty.
    pub bindings: Vec<(Target, Expr)>,
    /// Where they hold.
    pub body: Vec<Stmt>,
}

/// The definition of a macro.
#[derive(Clone, Debug, PartialEq)]
pub struct Macro {
    /// Its name.
    pub name: Ident,
    /// Its parameters; names are distinct, those without a default come first.
    pub params: Vec<Param>,
    /// Its body.
    pub body: Vec<Stmt>,
}

/// A parameter of a macro or a call block.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its value when the caller passes none.
    pub default: Option<Expr>,
}

/// A call whose callee can call the body back as `caller()`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallBlock {
    /// The parameters of the body.
    pub params: Vec<Param>,
    /// What is called.
    pub callee: Expr,
    /// The arguments it is called with.
    pub args: CallArgs,
    /// The call itself.
    pub call_span: Span,
    /// The body.
    pub body: Vec<Stmt>,
}

/// A body whose text goes through filters.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBlock {
    /// The filters, first to last; never empty.
    pub filters: Vec<FilterCall>,
    /// What prints the text.
    pub body: Vec<Stmt>,
}

/// A block that a child template can replace.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name, unique in the template.
    pub name: Ident,
    /// Whether it sees the local names around it.
    pub scoped: bool,
    /// Whether a child must replace it; the body is whitespace then.
    pub required: bool,
    /// Its body.
    pub body: Vec<Stmt>,
}

/// The text of another template.
#[derive(Clone, Debug, PartialEq)]
pub struct Include {
    /// The name of the template, or a list of which the first that exists is taken.
    pub template: Expr,
    /// Whether a template that does not exist is not an error.
    pub ignore_missing: bool,
    /// Whether the template sees the current names (the default).
    pub with_context: bool,
}

/// The macros and top-level names of another template, as one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The name of the template.
    pub template: Expr,
    /// What the object is bound to.
    pub name: Ident,
    /// Whether the template sees the current names (not the default).
    pub with_context: bool,
}

/// Single names of another template.
#[derive(Clone, Debug, PartialEq)]
pub struct FromImport {
    /// The name of the template.
    pub template: Expr,
    /// The names, in source order; may be empty.
    pub names: Vec<ImportName>,
    /// Whether the template sees the current names (not the default).
    pub with_context: bool,
}

/// One name of a `from … import`.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportName {
    /// The name in the other template; does not start with `_`.
    pub name: Ident,
    /// What it is bound to here, if that is another name.
    pub alias: Option<Ident>,
}

/// A body with escaping switched.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoEscape {
    /// Whether to escape.
    pub enabled: Expr,
    /// Where it holds.
    pub body: Vec<Stmt>,
}

/// A body that is one message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Expr,
    /// The message.
    pub body: Vec<Stmt>,
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name.
    pub name: Box<str>,
    /// Its place.
    pub span: Span,
}

/// What a value is assigned to.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The form.
    pub kind: TargetKind,
    /// Its place.
    pub span: Span,
}

/// The form of a [`Target`].
#[derive(Clone, Debug, PartialEq)]
pub enum TargetKind {
    /// A name; never `true`, `false`, `none` or their capitalised spellings.
    Name(Box<str>),
    /// `namespace.attribute`, in `set` only.
    Attr {
        /// The variable that holds the namespace.
        namespace: Ident,
        /// The attribute that is set.
        attr: Ident,
    },
    /// Several targets for the items of one value; may be empty.
    Tuple(Vec<Target>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The form.
    pub kind: ExprKind,
    /// Its place.
    pub span: Span,
}

/// The form of an [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Const(Const),
    /// A variable.
    Name(Box<str>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `(a, b)`, or `a, b` where the parentheses may be left out.
    Tuple(Vec<Expr>),
    /// `{a: b}`, keys may repeat.
    Dict(Vec<(Expr, Expr)>),
    /// An operand and what follows it: `x.a[0](1)|f is t`.
    Postfix(Box<Postfix>),
    /// `-a`, `+a`, `not a`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic of one precedence: `a + b - c`, `a * b / c` or `a ** b ** c`.
    Binary(Box<Binary>),
    /// `a ~ b ~ c`; two operands at least.
    Concat(Vec<Expr>),
    /// `a < b <= c`, `a in b`.
    Compare(Box<Compare>),
    /// `a and b and c`; two operands at least.
    And(Vec<Expr>),
    /// `a or b or c`; two operands at least.
    Or(Vec<Expr>),
    /// `a if b else c`.
    Conditional(Box<Conditional>),
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// `none` or `None`.
    None,
    /// `true`, `True`, `false` or `False`.
    Bool(bool),
    /// An integer; literals have no sign.
    Int(i128),
    /// An integer beyond 128 bits, as written without underscores.
    HugeInt(Box<str>),
    /// A float; too large a literal is infinite.
    Float(f64),
    /// A string, escapes resolved and adjacent literals joined.
    Str(Box<str>),
}

/// An operand and the operations that follow it, applied first to last.
#[derive(Clone, Debug, PartialEq)]
pub struct Postfix {
    /// The operand; may be a sign (`-x|abs` filters `-x`).
    pub base: Expr,
    /// The operations; never empty.
    pub ops: Vec<PostfixStep>,
}

/// One operation behind an operand.
#[derive(Clone, Debug, PartialEq)]
pub struct PostfixStep {
    /// The operation.
    pub op: PostfixOp,
    /// The operation alone: `.name`, `[0]`, `(…)`, `name(…)` of a filter, `is name`.
    pub span: Span,
}

/// The form of a [`PostfixStep`].
#[derive(Clone, Debug, PartialEq)]
pub enum PostfixOp {
    /// `.name`.
    Attr(Box<str>),
    /// `[key]`, and `.0` with an integer as the key.
    Item(Expr),
    /// `[start:stop:step]`.
    Slice(Box<Slice>),
    /// `(arguments)`.
    Call(CallArgs),
    /// `|name(arguments)`.
    Filter(FilterCall),
    /// `is name(arguments)`, `is not name`.
    Test(TestCall),
}

/// The parts of a slice, each optional.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The first index.
    pub start: Option<Expr>,
    /// The index after the last.
    pub stop: Option<Expr>,
    /// The distance.
    pub step: Option<Expr>,
}

/// A filter and its arguments beside the value.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterCall {
    /// Its name, with dots if it has any.
    pub name: Box<str>,
    /// The arguments.
    pub args: CallArgs,
    /// The name; its line is the line of the filter.
    pub span: Span,
}

/// A test and its arguments beside the value.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCall {
    /// Its name, with dots if it has any.
    pub name: Box<str>,
    /// Whether it is `is not`.
    pub negated: bool,
    /// The arguments.
    pub args: CallArgs,
    /// The name; its line is that of the `is`.
    pub span: Span,
}

/// The arguments of a call, a filter or a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallArgs {
    /// Arguments by position.
    pub positional: Vec<Expr>,
    /// Arguments by name; names are distinct.
    pub keywords: Vec<Keyword>,
    /// `*list`, after the positional ones.
    pub args: Option<Box<Expr>>,
    /// `**map`.
    pub kwargs: Option<Box<Expr>>,
}

/// An argument by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyword {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Expr,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `not`
    Not,
    /// `-`
    Neg,
    /// `+`
    Pos,
}

/// Operands and arithmetic operators of one precedence, applied left to right: `**` too.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// The first operand.
    pub first: Expr,
    /// The operators and the operands behind them; never empty.
    pub rest: Vec<BinaryStep>,
}

/// An operator and the operand behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct BinaryStep {
    /// The operator.
    pub op: BinaryOp,
    /// The operator's place.
    pub span: Span,
    /// The operand.
    pub right: Expr,
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Rem,
    /// `**`
    Pow,
}

/// A chain of comparisons: `a < b <= c` is `a < b and b <= c` with `b` evaluated once.
#[derive(Clone, Debug, PartialEq)]
pub struct Compare {
    /// The first operand.
    pub first: Expr,
    /// The comparisons; never empty.
    pub rest: Vec<CompareStep>,
}

/// A comparison operator and the operand behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareStep {
    /// The operator.
    pub op: CompareOp,
    /// The operator's place.
    pub span: Span,
    /// The operand.
    pub right: Expr,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// `value if test else otherwise`.
///
/// Without an `else` the next `if` takes all before it as its value: `a if b if c else d` is
/// `(a if b) if c else d`. So the last test decides first; `otherwise` belongs to the last one alone,
/// and where an earlier test fails the result is undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// The value when every test holds.
    pub value: Expr,
    /// The tests in source order, evaluated last to first; never empty, mostly one.
    pub tests: Vec<Expr>,
    /// The value when the last test fails; undefined when missing.
    pub otherwise: Option<Expr>,
}

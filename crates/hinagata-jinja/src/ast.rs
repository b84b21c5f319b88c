//! The syntax tree of a template.
//!
//! The tree owns its text and every node has a [`Span`]. Two properties hold for every tree that the parser
//! returns, so that code that walks, compiles or drops it may recurse:
//!
//! * Sequences are lists, not nested nodes: `elif` arms, operators of one precedence (`a + b - c`, `a ~ b`,
//!   `a and b`), and everything that follows an operand (`x.a[0](1)|f is t`). The length of a template
//!   never adds depth to its tree.
//! * Nesting is bounded by the limit `nesting`: blocks inside blocks, and nodes inside nodes of one
//!   expression.

mod children;

/// The bytes and the line of a node in its source.
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
    /// The statements in source order.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// The kind of statement.
    pub kind: StmtKind,
    /// The whole tag, starting at its name. A block statement ends with its closing tag.
    pub span: Span,
}

/// The kind of a [`Stmt`].
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Text between tags, after whitespace control, with `\n` for every newline. Never empty.
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

/// The arms of an `if`; the first whose condition is true runs.
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
    /// The statements that run when the condition is true.
    pub body: Vec<Stmt>,
    /// The tag; the line of an `elif` is that of its condition.
    pub span: Span,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The target that each item is bound to. Names only: no namespace attributes.
    pub target: Target,
    /// The iterated value.
    pub iter: Expr,
    /// The condition after `if`: items for which it is false are skipped.
    pub filter: Option<Expr>,
    /// Whether `loop(items)` may run the body again for other items.
    pub recursive: bool,
    /// The statements that run for each item.
    pub body: Vec<Stmt>,
    /// The body of `else`, which runs when there was no item; empty without an `else`.
    pub otherwise: Vec<Stmt>,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The target of the assignment.
    pub target: Target,
    /// The value.
    pub value: Expr,
}

/// An assignment of the output of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct SetBlock {
    /// The target of the assignment.
    pub target: Target,
    /// The filters that are applied to the text, first to last.
    pub filters: Vec<FilterCall>,
    /// The statements that print the text.
    pub body: Vec<Stmt>,
}

/// Names that are bound inside a body only. The values are evaluated in the outer scope.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The names and their values, in source order; may be empty.
    pub bindings: Vec<(Target, Expr)>,
    /// The body that sees them.
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
    /// The called expression.
    pub callee: Expr,
    /// The arguments of the call.
    pub args: CallArgs,
    /// The call itself.
    pub call_span: Span,
    /// The body.
    pub body: Vec<Stmt>,
}

/// A body whose text is filtered.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterBlock {
    /// The filters, first to last; never empty.
    pub filters: Vec<FilterCall>,
    /// The statements that print the text.
    pub body: Vec<Stmt>,
}

/// A block that a child template can replace.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name, unique in the template.
    pub name: Ident,
    /// Whether it sees the local names around it.
    pub scoped: bool,
    /// Whether a child template must replace it. The body is then whitespace only.
    pub required: bool,
    /// Its body.
    pub body: Vec<Stmt>,
}

/// An `include`: the output of another template.
#[derive(Clone, Debug, PartialEq)]
pub struct Include {
    /// The name of the template, or a list of names, of which the first existing template is used.
    pub template: Expr,
    /// Whether a missing template is ignored.
    pub ignore_missing: bool,
    /// Whether the template sees the current names (the default).
    pub with_context: bool,
}

/// The macros and top-level names of another template, as one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The name of the template.
    pub template: Expr,
    /// The name that the object is bound to.
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
    /// The name that it is bound to in this template, if different.
    pub alias: Option<Ident>,
}

/// A body with its own setting for HTML escaping.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoEscape {
    /// Whether to escape.
    pub enabled: Expr,
    /// The body that the setting applies to.
    pub body: Vec<Stmt>,
}

/// A body whose output is one message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The role of the message.
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

/// The target of an assignment.
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
    /// `(a, b)`, or `a, b` where the parentheses are optional.
    Tuple(Vec<Expr>),
    /// `{a: b}`, keys may repeat.
    Dict(Vec<(Expr, Expr)>),
    /// An operand and the operations after it: `x.a[0](1)|f is t`.
    Postfix(Box<Postfix>),
    /// `-a`, `+a`, `not a`.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic of one precedence: `a + b - c`, `a * b / c` or `a ** b ** c`.
    Binary(Box<Binary>),
    /// `a ~ b ~ c`; at least two operands.
    Concat(Vec<Expr>),
    /// `a < b <= c`, `a in b`.
    Compare(Box<Compare>),
    /// `a and b and c`; at least two operands.
    And(Vec<Expr>),
    /// `a or b or c`; at least two operands.
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
    /// A float; a literal that is too large becomes infinity.
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

/// One operation after an operand.
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
    /// The step between two indexes.
    pub step: Option<Expr>,
}

/// A filter and its arguments, without the filtered value.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterCall {
    /// Its name, with dots if it has any.
    pub name: Box<str>,
    /// The arguments.
    pub args: CallArgs,
    /// The name; its line is the line of the filter.
    pub span: Span,
}

/// A test and its arguments, without the tested value.
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
    /// The operators, each with its right operand; never empty.
    pub rest: Vec<BinaryStep>,
}

/// An operator and its right operand.
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

/// A comparison operator and its right operand.
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
/// Without an `else`, the next `if` takes everything before it as its value: `a if b if c else d` is
/// `(a if b) if c else d`. So the tests are evaluated last to first. `otherwise` belongs to the last test
/// only; when an earlier test fails, the result is undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// The value when every test is true.
    pub value: Expr,
    /// The tests in source order, evaluated last to first; never empty, mostly one.
    pub tests: Vec<Expr>,
    /// The value when the last test fails; undefined when missing.
    pub otherwise: Option<Expr>,
}

//! A compiled template: the output of the parser and the input of the executor.
//!
//! Nodes are in flat lists and refer to each other by number. So a tree of any depth is dropped without
//! recursion, the nodes of a body are consecutive, and an error, a call or a piece of output only stores the
//! number of a node to find its place.

mod print;

use std::{ops::Range, sync::Arc};

use hinagata_value::{Key, Place};

pub(crate) use self::print::excerpt_at;
use crate::{
    parse::lex::Delims,
    text::number::{Ideal, Number},
};

/// A parsed source. The templates defined in it share it.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name, as it appears in errors.
    pub(crate) name: Box<str>,
    pub(crate) text: Box<str>,
    pub(crate) delims: Delims,
}

/// Consecutive entries of one of the lists of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The numbers of the entries.
    pub(crate) fn ids(self) -> Range<u32> {
        self.start..self.end
    }
}

/// One template of a set.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Box<str>,
    pub(crate) source: Arc<Source>,
    /// The offset of its name in the source, 0 for the template of the source itself.
    pub(crate) start: u32,
    pub(crate) root: Span,
    pub(crate) nodes: Vec<Node>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) commands: Vec<Command>,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) keys: Vec<Key>,
    /// The used host functions.
    pub(crate) functions: Vec<HostName>,
    /// Names of the called templates, by the number of the call.
    pub(crate) calls: Vec<Box<str>>,
    /// Maximum number of variables at the same time, including `$`.
    pub(crate) slots: u32,
    /// Variables declared inside an argument that `and` or `or` may skip: the first operand of the command, and
    /// the slots that it declares. Sorted by operand.
    pub(crate) conditional: Vec<(u32, Vec<u32>)>,
    /// What it takes to run the tree, if it only writes texts and prints fields: see [`Tree::count_plain_steps`].
    pub(crate) plain_steps: Option<u64>,
}

/// A piece of a body.
#[derive(Debug)]
pub(crate) enum Node {
    Text(TextNode),
    /// An action that prints its value, unless it declares variables.
    Action(Action),
    If(Branch),
    With(Branch),
    Range(RangeNode),
    Template(TemplateNode),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct TextNode {
    pub(crate) at: u32,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) at: u32,
    pub(crate) pipe: u32,
    pub(crate) path: Option<Path>,
}

/// `if` or `with`, with its `else if` arms.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) arms: Span,
    pub(crate) otherwise: Option<Span>,
}

/// A condition and its body.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) pipe: u32,
    pub(crate) body: Span,
    pub(crate) test: Test,
}

#[derive(Debug)]
pub(crate) struct RangeNode {
    pub(crate) pipe: u32,
    pub(crate) body: Span,
    pub(crate) otherwise: Option<Span>,
}

#[derive(Debug)]
pub(crate) struct TemplateNode {
    pub(crate) at: u32,
    /// The number of the call in [`Tree::calls`].
    pub(crate) call: u32,
    pub(crate) pipe: Option<u32>,
}

/// Commands joined by `|`. Their value may be assigned to variables.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) at: u32,
    pub(crate) variables: Vec<Variable>,
    /// Whether the variables already exist: `=` instead of `:=`.
    pub(crate) assigns: bool,
    pub(crate) commands: Span,
    /// The pipeline as a path, if it is one and sets no variables.
    pub(crate) path: Option<Path>,
}

/// Fields from a known start: the form of most pipelines, evaluated by a fast path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) start: Start,
    pub(crate) keys: Box<[Key]>,
}

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Dot,
    /// `$`. An assignment to it changes the same slot.
    Root,
    /// A variable, by its index in the frame.
    Slot(u32),
}

/// The form of a condition. Some forms need no new values for most data.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Path(Path),
    Compare(Box<Comparison>),
    /// Anything else.
    Any,
}

/// A comparison of two scalars.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) builtin: Builtin,
    pub(crate) left: Scalar,
    pub(crate) right: Scalar,
}

/// One side of a comparison.
#[derive(Clone, Debug)]
pub(crate) enum Scalar {
    Path(Path),
    Text(Box<str>),
    Int(i64),
    Float(f64),
}

/// A declaration, assignment or use of a variable.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// With the dollar sign.
    pub(crate) name: Box<str>,
    /// The slot of its value. Several slots, the innermost first, if only the run decides which one is
    /// declared; none if the variable is undefined at run time.
    pub(crate) slots: Slots,
}

/// The possible slots of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slots {
    One(u32),
    Maybe(Box<[u32]>),
}

/// A function or value with arguments.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) at: u32,
    /// At least one.
    pub(crate) args: Span,
}

/// An operand.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) at: u32,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Dot,
    Nil,
    Bool(bool),
    Number(Box<NumberLiteral>),
    Str(Box<StrLiteral>),
    /// `.a.b`: keys in [`Tree::keys`].
    Field(Span),
    /// `$x.a.b`.
    Variable(Variable, Span),
    /// `(pipeline).a.b`, or a function's result.
    Chain(u32, Span),
    Function(FunctionRef),
    Pipe(u32),
}

#[derive(Debug)]
pub(crate) struct NumberLiteral {
    pub(crate) number: Number,
    pub(crate) ideal: Ideal,
}

#[derive(Debug)]
pub(crate) struct StrLiteral {
    /// The literal as written, with quotes.
    pub(crate) quoted: Box<str>,
    pub(crate) content: Content,
}

/// The value of a string literal.
#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    Bytes(Box<[u8]>),
}

impl Content {
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes(error.into_bytes().into()),
        }
    }
}

/// A function by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionRef {
    Builtin(Builtin),
    /// By its number in [`Tree::functions`].
    Host(u32),
}

/// A function of the host that a tree uses.
#[derive(Debug)]
pub(crate) struct HostName {
    pub(crate) name: Box<str>,
    /// Its number in the set's list of names.
    pub(crate) index: u32,
}

/// The builtin functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Call,
    Eq,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Slice,
    Urlquery,
}

impl Builtin {
    pub(crate) const ALL: [Self; 19] = [
        Self::And,
        Self::Call,
        Self::Eq,
        Self::Ge,
        Self::Gt,
        Self::Html,
        Self::Index,
        Self::Js,
        Self::Le,
        Self::Len,
        Self::Lt,
        Self::Ne,
        Self::Not,
        Self::Or,
        Self::Print,
        Self::Printf,
        Self::Println,
        Self::Slice,
        Self::Urlquery,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Call => "call",
            Self::Eq => "eq",
            Self::Ge => "ge",
            Self::Gt => "gt",
            Self::Html => "html",
            Self::Index => "index",
            Self::Js => "js",
            Self::Le => "le",
            Self::Len => "len",
            Self::Lt => "lt",
            Self::Ne => "ne",
            Self::Not => "not",
            Self::Or => "or",
            Self::Print => "print",
            Self::Printf => "printf",
            Self::Println => "println",
            Self::Slice => "slice",
            Self::Urlquery => "urlquery",
        }
    }

    /// Whether it compares two values.
    pub(crate) fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ge | Self::Gt | Self::Le | Self::Lt | Self::Ne)
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }
}

/// A node of any kind as one number. Errors and pieces of output refer to nodes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At(u32);

/// A node by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtKind {
    Node(u32),
    Pipe(u32),
    Command(u32),
    Expr(u32),
}

impl At {
    const SHIFT: u32 = 30;
    const INDEX: u32 = (1 << Self::SHIFT) - 1;

    pub(crate) const fn node(index: u32) -> Self {
        Self(index)
    }

    pub(crate) const fn pipe(index: u32) -> Self {
        Self(index | 1 << Self::SHIFT)
    }

    pub(crate) const fn command(index: u32) -> Self {
        Self(index | 2 << Self::SHIFT)
    }

    pub(crate) const fn expr(index: u32) -> Self {
        Self(index | 3 << Self::SHIFT)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn kind(self) -> AtKind {
        let index = self.0 & Self::INDEX;
        match self.0 >> Self::SHIFT {
            0 => AtKind::Node(index),
            1 => AtKind::Pipe(index),
            2 => AtKind::Command(index),
            _ => AtKind::Expr(index),
        }
    }
}

/// Maximum bytes of a source, so that numbers for its nodes suffice.
pub(crate) const LARGEST_SOURCE: usize = 1 << 28;

impl Tree {
    /// The steps that running the tree charges at most, besides those for the bytes that it writes, if it only writes texts
    /// and prints fields; `None` for other trees.
    pub(crate) fn count_plain_steps(&self) -> Option<u64> {
        /// The most steps that are charged for a node, and for a key of a path.
        const NODE: u64 = 8;
        let mut steps = NODE;
        for node in &self.nodes[self.root.range()] {
            steps += match node {
                Node::Text(_) => NODE,
                Node::Action(action) => match &action.path {
                    Some(Path { start: Start::Dot | Start::Root, keys }) if !keys.is_empty() => {
                        NODE * (1 + keys.len() as u64) + keys.iter().map(Key::steps).sum::<u64>()
                    }
                    _ => return None,
                },
                _ => return None,
            };
        }
        (self.slots == 1).then_some(steps)
    }

    /// The byte offset of a node in the source.
    pub(crate) fn position(&self, at: At) -> usize {
        let position = match at.kind() {
            AtKind::Node(index) => match self.nodes.get(index as usize) {
                Some(Node::Text(text)) => Some(text.at),
                Some(Node::Action(action)) => Some(action.at),
                Some(Node::Template(template)) => Some(template.at),
                Some(Node::If(branch) | Node::With(branch)) => self
                    .arms
                    .get(branch.arms.start as usize)
                    .and_then(|arm| self.pipes.get(arm.pipe as usize))
                    .map(|pipe| pipe.at),
                Some(Node::Range(range)) => self.pipes.get(range.pipe as usize).map(|pipe| pipe.at),
                _ => None,
            },
            AtKind::Pipe(index) => self.pipes.get(index as usize).map(|pipe| pipe.at),
            AtKind::Command(index) => self.commands.get(index as usize).map(|command| command.at),
            AtKind::Expr(index) => self.exprs.get(index as usize).map(|expr| expr.at),
        };
        position.unwrap_or(0) as usize
    }

    /// The place of a node.
    pub(crate) fn place(&self, at: At) -> Place {
        let position = self.position(at);
        let shown = excerpt_at(self, at);
        self.source.place(position, shown.len().min(80))
    }
}

impl Source {
    /// The line from 1 and the column in bytes from 0, as Go counts them.
    pub(crate) fn line_and_column(&self, position: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..position.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        (line, column)
    }

    /// The place of `length` bytes that start at `position`.
    pub(crate) fn place(&self, position: usize, length: usize) -> Place {
        let (line, column) = self.line_and_column(position);
        let start = position - column;
        let text = self.text.get(start..).unwrap_or_default();
        let excerpt = text.lines().next().unwrap_or_default();
        let characters = excerpt.get(..column).map_or(column, |before| before.chars().count());
        Place {
            template: self.name.to_string(),
            line: line as u32,
            column: characters as u32 + 1,
            span: Some((position as u32, (position + length.max(1)).min(self.text.len()) as u32)),
            excerpt: Some(excerpt.to_owned()),
        }
    }
}

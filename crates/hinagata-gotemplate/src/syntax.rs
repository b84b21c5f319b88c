//! The actions of parsed sources as a tree, for programs that check templates.
//!
//! [`Set::syntax`] copies it from the flat lists that the executor runs. Its depth is that of the source, which the
//! parser limits.

use crate::{
    Set,
    tree::{self, At, Builtin, ExprKind, FunctionRef, Tree, excerpt_at},
};

/// A template of a set.
#[derive(Clone, Debug)]
pub struct Define {
    /// Its name.
    pub name: Box<str>,
    /// The name of the source that defines it.
    pub source: Box<str>,
    /// The byte of its name in the source, 0 for the template of the source itself.
    pub start: u32,
    /// What it consists of.
    pub body: Vec<Node>,
}

/// A piece of a body.
#[derive(Clone, Debug)]
pub enum Node {
    /// Text between actions, after trimming.
    Text(Box<str>),
    /// A pipeline, printed unless it sets variables.
    Action(Pipe),
    /// `if` with its `else if` arms.
    If(Branch),
    /// `with` with its `else with` arms.
    With(Branch),
    /// `range`.
    Range(Pipe, Vec<Node>, Option<Vec<Node>>),
    /// `template`: where it is, the name of the called template, and its data.
    Template(u32, Box<str>, Option<Pipe>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

/// Conditions with their bodies.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The arms in order.
    pub arms: Vec<(Pipe, Vec<Node>)>,
    /// The body of `else`.
    pub otherwise: Option<Vec<Node>>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug)]
pub struct Pipe {
    /// Its first byte in the source.
    pub start: u32,
    /// The variables that it sets, with their dollar signs.
    pub variables: Vec<Box<str>>,
    /// Whether the variables exist already: `=` instead of `:=`.
    pub assigns: bool,
    /// The commands; not empty.
    pub commands: Vec<Command>,
}

/// A function or value with its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its first byte in the source.
    pub start: u32,
    /// The form in which errors show it.
    pub text: Box<str>,
    /// The function or value, then the arguments; not empty.
    pub operands: Vec<Operand>,
}

/// An operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Its first byte in the source, as Go counts it: that of a field chain is its last dot.
    pub start: u32,
    /// The form in which errors show it.
    pub text: Box<str>,
    /// What it is.
    pub kind: OperandKind,
}

/// What an operand is.
#[derive(Clone, Debug)]
pub enum OperandKind {
    /// `.`
    Dot,
    /// `nil`
    Nil,
    /// A number, string or boolean, written as in [`Operand::text`].
    Literal,
    /// A string that is text.
    Text(Box<str>),
    /// `.a.b`
    Field(Vec<Box<str>>),
    /// `$x.a.b`; the name has its dollar sign.
    Variable(Box<str>, Vec<Box<str>>),
    /// `(pipeline).a.b`
    Chain(Box<Operand>, Vec<Box<str>>),
    /// A builtin function.
    Builtin(&'static str),
    /// A function of the host.
    Function(Box<str>),
    /// A pipeline in parentheses.
    Pipe(Pipe),
}

impl Set {
    /// The templates of the set, in the order in which they were added.
    #[must_use]
    pub fn syntax(&self) -> Vec<Define> {
        let define = |tree: &Tree| Define {
            name: tree.name.clone(),
            source: tree.source.name.clone(),
            start: tree.start,
            body: Copy(tree).body(tree.root),
        };
        self.trees().map(define).collect()
    }
}

struct Copy<'t>(&'t Tree);

impl Copy<'_> {
    fn body(&self, span: tree::Span) -> Vec<Node> {
        self.0.nodes[span.range()].iter().map(|node| self.node(node)).collect()
    }

    fn node(&self, node: &tree::Node) -> Node {
        match node {
            tree::Node::Text(text) => Node::Text(text.text.clone()),
            tree::Node::Action(action) => Node::Action(self.pipe(action.pipe)),
            tree::Node::If(branch) => Node::If(self.branch(branch)),
            tree::Node::With(branch) => Node::With(self.branch(branch)),
            tree::Node::Range(range) => Node::Range(
                self.pipe(range.pipe),
                self.body(range.body),
                range.otherwise.map(|body| self.body(body)),
            ),
            tree::Node::Template(used) => Node::Template(
                used.at,
                self.0.calls[used.call as usize].clone(),
                used.pipe.map(|pipe| self.pipe(pipe)),
            ),
            tree::Node::Break => Node::Break,
            tree::Node::Continue => Node::Continue,
        }
    }

    fn branch(&self, branch: &tree::Branch) -> Branch {
        let arms = &self.0.arms[branch.arms.range()];
        Branch {
            arms: arms.iter().map(|arm| (self.pipe(arm.pipe), self.body(arm.body))).collect(),
            otherwise: branch.otherwise.map(|body| self.body(body)),
        }
    }

    fn pipe(&self, index: u32) -> Pipe {
        let pipe = &self.0.pipes[index as usize];
        Pipe {
            start: pipe.at,
            variables: pipe.variables.iter().map(|variable| variable.name.clone()).collect(),
            assigns: pipe.assigns,
            commands: pipe.commands.ids().map(|index| self.command(index)).collect(),
        }
    }

    fn command(&self, index: u32) -> Command {
        let command = &self.0.commands[index as usize];
        Command {
            start: command.at,
            text: excerpt_at(self.0, At::command(index)).into(),
            operands: command.args.ids().map(|index| self.operand(index)).collect(),
        }
    }

    fn operand(&self, index: u32) -> Operand {
        let expr = &self.0.exprs[index as usize];
        let kind = match &expr.kind {
            ExprKind::Dot => OperandKind::Dot,
            ExprKind::Nil => OperandKind::Nil,
            ExprKind::Bool(_) | ExprKind::Number(_) => OperandKind::Literal,
            ExprKind::Str(literal) => match &literal.content {
                tree::Content::Text(text) => OperandKind::Text(text.as_str().into()),
                tree::Content::Bytes(_) => OperandKind::Literal,
            },
            ExprKind::Field(keys) => OperandKind::Field(self.keys(*keys)),
            ExprKind::Variable(variable, keys) => {
                OperandKind::Variable(variable.name.clone(), self.keys(*keys))
            }
            ExprKind::Chain(base, keys) => {
                OperandKind::Chain(Box::new(self.operand(*base)), self.keys(*keys))
            }
            ExprKind::Function(FunctionRef::Builtin(builtin)) => {
                OperandKind::Builtin(Builtin::name(*builtin))
            }
            ExprKind::Function(FunctionRef::Host(index)) => {
                OperandKind::Function(self.0.functions[*index as usize].name.clone())
            }
            ExprKind::Pipe(pipe) => OperandKind::Pipe(self.pipe(*pipe)),
        };
        Operand { start: expr.at, text: excerpt_at(self.0, At::expr(index)).into(), kind }
    }

    fn keys(&self, span: tree::Span) -> Vec<Box<str>> {
        self.0.keys[span.range()].iter().map(|key| key.name().as_str().into()).collect()
    }
}

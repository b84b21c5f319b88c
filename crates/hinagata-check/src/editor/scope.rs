//! The names that a template itself binds at a place: loop variables, `set`, `with`, parameters of macros, imports.

use std::collections::BTreeMap;

use hinagata_jinja::ast::{
    Const, Expr, ExprKind, Param, PostfixOp, Stmt, StmtKind, Target, TargetKind, Template,
};

use crate::{
    shape::{Field, Fields, Kinds, Shape},
    tolerant::find_tags,
};

/// The deepest nesting of blocks that is followed.
const MAX_DEPTH: usize = 100;

/// A name that a template binds.
#[derive(Clone, Debug)]
pub(super) struct Local {
    /// What it can be.
    pub(super) shape: Shape,
    /// Where its name is, in the template.
    pub(super) range: (u32, u32),
    pub(super) kind: LocalKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum LocalKind {
    Variable,
    /// A macro with its parameters.
    Macro(Vec<String>),
    /// The macros of another template.
    Import(Option<String>),
    /// A macro of another template: the template and the name in it.
    Imported(Option<String>, String),
}

pub(super) type Locals = BTreeMap<String, Local>;

/// The names bound at the byte `offset`.
pub(super) fn jinja_locals(tree: &Template, offset: u32, globals: &Fields) -> Locals {
    let mut scope = Scope { offset, globals, locals: Locals::new(), depth: 0 };
    scope.walk(&tree.body);
    scope.locals
}

struct Scope<'g> {
    offset: u32,
    globals: &'g Fields,
    locals: Locals,
    depth: usize,
}

impl Scope<'_> {
    fn walk(&mut self, body: &[Stmt]) {
        if self.depth >= MAX_DEPTH {
            return;
        }
        self.depth += 1;
        for stmt in body {
            if stmt.span.start > self.offset {
                break;
            }
            let is_inside = self.offset <= stmt.span.end;
            self.statement(&stmt.kind, is_inside);
        }
        self.depth -= 1;
    }

    fn statement(&mut self, kind: &StmtKind, is_inside: bool) {
        match kind {
            StmtKind::Set(node) if !is_inside => {
                let shape = self.shape(&node.value);
                self.bind(&node.target, &shape);
            }
            StmtKind::SetBlock(node) => {
                if is_inside {
                    self.walk(&node.body);
                } else {
                    self.bind(&node.target, &Shape::of_kinds(Kinds::STRING));
                }
            }
            // Its bodies are no scopes of their own.
            StmtKind::If(node) => {
                for arm in &node.arms {
                    self.walk(&arm.body);
                }
                self.walk(&node.otherwise);
            }
            StmtKind::For(node) if is_inside => {
                let is_in_else = node.otherwise.first().is_some_and(|first| first.span.start <= self.offset);
                if is_in_else {
                    return self.walk(&node.otherwise);
                }
                let item = self.shape(&node.iter).item();
                self.bind(&node.target, &item);
                self.insert("loop", loop_shape(&item), (0, 0), LocalKind::Variable);
                self.walk(&node.body);
            }
            StmtKind::With(node) if is_inside => {
                let values: Vec<Shape> = node.bindings.iter().map(|(_, value)| self.shape(value)).collect();
                for ((target, _), shape) in node.bindings.iter().zip(values) {
                    self.bind(target, &shape);
                }
                self.walk(&node.body);
            }
            StmtKind::Macro(node) => {
                let parameters = node.params.iter().map(|param| param.name.name.to_string()).collect();
                let range = (node.name.span.start, node.name.span.end);
                let shape = Shape::of_kinds(Kinds::OTHER);
                self.insert(&node.name.name, shape, range, LocalKind::Macro(parameters));
                if is_inside {
                    self.bind_params(&node.params);
                    self.walk(&node.body);
                }
            }
            StmtKind::CallBlock(node) if is_inside => {
                self.bind_params(&node.params);
                self.walk(&node.body);
            }
            StmtKind::Import(node) => {
                let template = literal_text(&node.template);
                let range = (node.name.span.start, node.name.span.end);
                let shape = Shape::of_kinds(Kinds::OTHER);
                self.insert(&node.name.name, shape, range, LocalKind::Import(template));
            }
            StmtKind::FromImport(node) => {
                let template = literal_text(&node.template);
                for name in &node.names {
                    let bound = name.alias.as_ref().unwrap_or(&name.name);
                    let kind = LocalKind::Imported(template.clone(), name.name.name.to_string());
                    let range = (bound.span.start, bound.span.end);
                    self.insert(&bound.name, Shape::of_kinds(Kinds::OTHER), range, kind);
                }
            }
            StmtKind::FilterBlock(node) if is_inside => self.walk(&node.body),
            StmtKind::Block(node) if is_inside => self.walk(&node.body),
            StmtKind::AutoEscape(node) if is_inside => self.walk(&node.body),
            StmtKind::Generation(body) if is_inside => self.walk(body),
            StmtKind::Message(node) if is_inside => self.walk(&node.body),
            _ => {}
        }
    }

    fn bind_params(&mut self, params: &[Param]) {
        for param in params {
            let range = (param.name.span.start, param.name.span.end);
            self.insert(&param.name.name, Shape::ANY, range, LocalKind::Variable);
        }
    }

    fn bind(&mut self, target: &Target, shape: &Shape) {
        match &target.kind {
            TargetKind::Name(name) => {
                let range = (target.span.start, target.span.end);
                self.insert(name, shape.clone(), range, LocalKind::Variable);
            }
            TargetKind::Attr { .. } => {}
            TargetKind::Tuple(targets) => {
                for target in targets {
                    self.bind(target, &shape.item());
                }
            }
        }
    }

    fn insert(&mut self, name: &str, shape: Shape, range: (u32, u32), kind: LocalKind) {
        self.locals.insert(name.to_owned(), Local { shape, range, kind });
    }

    /// What an expression can be, as far as paths and a few filters tell.
    fn shape(&self, expr: &Expr) -> Shape {
        match &expr.kind {
            ExprKind::Const(Const::Str(_)) | ExprKind::Concat(_) => Shape::of_kinds(Kinds::STRING),
            ExprKind::Const(Const::Int(_)) => Shape::of_kinds(Kinds::INT),
            ExprKind::Const(Const::Float(_)) => Shape::of_kinds(Kinds::FLOAT),
            ExprKind::Const(Const::Bool(_)) | ExprKind::Compare(_) => Shape::of_kinds(Kinds::BOOL),
            ExprKind::Name(name) => self.name_shape(name),
            ExprKind::List(items) => {
                let joined = items.iter().map(|item| self.shape(item)).reduce(|a, b| a.join(&b));
                Shape::list_of(joined.unwrap_or(Shape::ANY))
            }
            ExprKind::Dict(pairs) => {
                let known = pairs.iter().filter_map(|(key, value)| {
                    let field = Field { shape: self.shape(value), required: true };
                    Some((literal_text(key)?, field))
                });
                Shape::map_of(Fields { known: known.collect(), rest: None })
            }
            ExprKind::Postfix(postfix) => {
                let mut shape = self.shape(&postfix.base);
                for step in &postfix.ops {
                    shape = match &step.op {
                        PostfixOp::Attr(name) => member_shape(&shape, name),
                        PostfixOp::Item(key) => match literal_text(key) {
                            Some(name) => member_shape(&shape, &name),
                            None => shape.item(),
                        },
                        PostfixOp::Slice(_) => shape,
                        PostfixOp::Filter(filter) => filtered_shape(&shape, &filter.name),
                        PostfixOp::Test(_) => Shape::of_kinds(Kinds::BOOL),
                        PostfixOp::Call(_) => Shape::ANY,
                    };
                }
                shape
            }
            ExprKind::Or(operands) => {
                let all = operands.iter().map(|operand| self.shape(operand));
                all.reduce(|a, b| a.join(&b)).unwrap_or(Shape::ANY)
            }
            ExprKind::Conditional(node) => self.shape(&node.value),
            _ => Shape::ANY,
        }
    }

    fn name_shape(&self, name: &str) -> Shape {
        if let Some(local) = self.locals.get(name) {
            return local.shape.clone();
        }
        self.globals.known.get(name).map_or(Shape::ANY, |field| field.shape.clone())
    }
}

fn filtered_shape(shape: &Shape, filter: &str) -> Shape {
    match filter {
        "list" | "sort" | "reverse" | "unique" | "select" | "selectattr" | "reject" | "rejectattr"
        | "default" | "d" => shape.clone(),
        "first" | "last" | "random" | "min" | "max" => shape.item(),
        "length" | "count" | "int" | "wordcount" => Shape::of_kinds(Kinds::INT),
        "join" | "upper" | "lower" | "title" | "trim" | "replace" | "string" | "capitalize" | "indent"
        | "tojson" | "truncate" | "escape" | "e" => Shape::of_kinds(Kinds::STRING),
        "batch" | "slice" => Shape::list_of(shape.clone()),
        _ => Shape::ANY,
    }
}

/// The object `loop` in a loop over items of this shape.
fn loop_shape(item: &Shape) -> Shape {
    let of = |kinds| Field { shape: Shape::of_kinds(kinds), required: true };
    let numbers = ["index", "index0", "revindex", "revindex0", "length", "depth", "depth0"];
    let mut known: BTreeMap<String, Field> =
        numbers.iter().map(|name| ((*name).to_owned(), of(Kinds::INT))).collect();
    for name in ["first", "last"] {
        known.insert(name.to_owned(), of(Kinds::BOOL));
    }
    for name in ["previtem", "nextitem"] {
        known.insert(name.to_owned(), Field { shape: item.clone(), required: false });
    }
    for name in ["cycle", "changed"] {
        known.insert(name.to_owned(), of(Kinds::OTHER));
    }
    Shape::map_of(Fields { known, rest: None })
}

/// The shape of a field, or of an item for a number.
pub(super) fn member_shape(shape: &Shape, name: &str) -> Shape {
    if name == "*" || name.parse::<u32>().is_ok() {
        return shape.item();
    }
    let Some(fields) = &shape.fields else { return Shape::ANY };
    match fields.known.get(name) {
        Some(field) => field.shape.clone(),
        None => fields.rest.clone().unwrap_or(Shape::UNDEFINED),
    }
}

/// The shape at a path of names.
pub(super) fn path_shape<'p>(shape: Shape, path: impl IntoIterator<Item = &'p str>) -> Shape {
    path.into_iter().fold(shape, |shape, name| member_shape(&shape, name))
}

pub(super) fn literal_text(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Const(Const::Str(text)) => Some(text.to_string()),
        _ => None,
    }
}

/// What a Go template sees at a place.
pub(super) struct GoScope {
    /// What the dot is.
    pub(super) dot: Shape,
    /// Whether the dot is all variables, and not a part of one.
    pub(super) is_root: bool,
    /// The variables that are set before.
    pub(super) locals: Locals,
}

/// What a Go template sees at the byte `offset`.
pub(super) fn go_scope(text: &str, offset: usize, root: &Fields) -> GoScope {
    let root = Shape::map_of(root.clone());
    let mut dots: Vec<(Shape, bool)> = vec![(root.clone(), true)];
    let mut locals = Locals::new();
    for (start, end, is_closed) in find_tags(text) {
        if end > offset || !is_closed {
            break;
        }
        let inner = text[start + 2..end - 2].trim_matches(|c: char| c == '-' || c.is_whitespace());
        let (word, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
        let (dot, is_root) = dots.last().cloned().unwrap_or((Shape::ANY, false));
        let (names, value) = match rest.split_once(":=") {
            Some((names, value)) => (names, value),
            None if inner.starts_with('$') => inner.split_once(":=").unwrap_or(("", "")),
            None => ("", rest),
        };
        let shape = go_path_shape(value.trim(), &dot, &root, &locals);
        let is_loop = word == "range";
        let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| name.starts_with('$')).collect();
        for (number, name) in names.iter().enumerate() {
            let shape = match (is_loop, number + 1 == names.len()) {
                (true, true) => shape.item(),
                (true, false) => Shape::of_kinds(Kinds::INT | Kinds::STRING),
                (false, _) => shape.clone(),
            };
            let at = text[start..end].find(name).unwrap_or(0) + start;
            let range = (at as u32, (at + name.len()) as u32);
            locals.insert((*name).to_owned(), Local { shape, range, kind: LocalKind::Variable });
        }
        match word {
            "range" => dots.push((shape.item(), false)),
            "with" => dots.push((shape, false)),
            "if" => dots.push((dot, is_root)),
            "block" | "define" => dots.push((Shape::ANY, false)),
            "end" if dots.len() > 1 => drop(dots.pop()),
            _ => {}
        }
    }
    let (dot, is_root) = dots.pop().unwrap_or((root, true));
    GoScope { dot, is_root, locals }
}

/// What a path such as `.a.b`, `$.a` or `$x.a` is.
pub(super) fn go_path_shape(path: &str, dot: &Shape, root: &Shape, locals: &Locals) -> Shape {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$');
    if path.is_empty() || !path.chars().all(is_path) {
        return Shape::ANY;
    }
    let mut parts = path.split('.');
    let start = match parts.next() {
        Some("") => dot.clone(),
        Some("$") => root.clone(),
        Some(name) if name.starts_with('$') => {
            locals.get(name).map_or(Shape::ANY, |local| local.shape.clone())
        }
        _ => return Shape::ANY,
    };
    path_shape(start, parts.filter(|part| !part.is_empty()))
}

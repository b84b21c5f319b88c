//! The walk over expressions: what they read, and which data their value comes from.

use hinagata_value::analysis::{
    DataShape, NameUse, PathPart, RoleUse, Usage, VariablePath, VariableUse, add_shapes,
};

use super::statement::Walker;
use crate::ast::{
    CallArgs, Const, Expr, ExprKind, FilterCall, Postfix, PostfixOp, PostfixStep, Span, TestCall, UnaryOp,
};

/// The value of an operand while the walk follows the operations after it.
struct Reach {
    shapes: Vec<DataShape>,
    /// Whether the paths in `shapes` still have to be reported.
    fresh: bool,
    /// The source from the name to the last part of the path.
    span: Span,
}

impl Reach {
    /// An unknown value.
    fn unknown(span: Span) -> Self {
        Self { shapes: Vec::new(), fresh: false, span }
    }

    /// Moves to a part of the value.
    fn step(&mut self, part: &PathPart, span: Span) {
        self.shapes = self
            .shapes
            .iter()
            .filter_map(|shape| match (shape, part) {
                (DataShape::At(path), part) => Some(DataShape::At(path.with_parts([part.clone()]))),
                (DataShape::Of(path), PathPart::Index(_) | PathPart::Each) => {
                    Some(DataShape::At(path.clone()))
                }
                _ => None,
            })
            .collect();
        self.fresh = true;
        self.span.end = span.end;
    }

    /// The items of the value, each as a path.
    fn items(&self) -> Vec<VariablePath> {
        self.shapes.iter().filter_map(DataShape::item).collect()
    }
}

impl<'t> Walker<'t> {
    /// Records what `expr` reads and returns the data that its value may come from.
    pub(super) fn expr(&mut self, expr: &'t Expr, usage: Usage) -> Vec<DataShape> {
        match &expr.kind {
            ExprKind::Const(_) => Vec::new(),
            ExprKind::Name(name) => {
                let reach = self.name(name, expr.span);
                self.report(&reach, usage);
                reach.shapes
            }
            ExprKind::List(_)
            | ExprKind::Tuple(_)
            | ExprKind::Dict(_)
            | ExprKind::Binary(_)
            | ExprKind::Concat(_)
            | ExprKind::Compare(_) => self.values(expr.children()),
            ExprKind::Postfix(postfix) => self.postfix(postfix, expr.span, usage),
            ExprKind::Unary(op, operand) => {
                let usage = if *op == UnaryOp::Not { Usage::Condition } else { Usage::Value };
                self.expr(operand, usage);
                Vec::new()
            }
            ExprKind::And(operands) => self.operands(operands, usage, Usage::Condition),
            ExprKind::Or(operands) => self.operands(operands, usage, Usage::Default),
            ExprKind::Conditional(node) => {
                for test in &node.tests {
                    self.expr(test, Usage::Condition);
                }
                let mut shapes = self.expr(&node.value, usage);
                if let Some(otherwise) = &node.otherwise {
                    add_shapes(&mut shapes, &self.expr(otherwise, usage));
                }
                shapes
            }
        }
    }

    fn values(&mut self, exprs: impl IntoIterator<Item = &'t Expr>) -> Vec<DataShape> {
        for expr in exprs {
            self.expr(expr, Usage::Value);
        }
        Vec::new()
    }

    /// Records operands of `and` or `or`. The last has the usage of the whole expression; the others may be
    /// undefined.
    fn operands(&mut self, operands: &'t [Expr], usage: Usage, before: Usage) -> Vec<DataShape> {
        let mut shapes = Vec::new();
        let last = operands.len() - 1;
        for (index, operand) in operands.iter().enumerate() {
            let usage = if index == last || usage == Usage::Condition { usage } else { before };
            let found = self.expr(operand, usage);
            // The useful value of `a and b` is `b`: `a` is the value only if it is false.
            if before == Usage::Default || index == last {
                add_shapes(&mut shapes, &found);
            }
        }
        shapes
    }

    fn name(&mut self, name: &str, span: Span) -> Reach {
        self.note_special(name);
        let meaning = self.scopes.look_up(name);
        let mut shapes = meaning.shapes;
        if meaning.free && !self.is_bound_later(name) {
            add_shapes(&mut shapes, &[DataShape::At(VariablePath::new(name))]);
        }
        Reach { shapes, fresh: true, span }
    }

    /// Records that the enclosing macro reads `varargs`, `kwargs` or `caller`.
    fn note_special(&mut self, name: &str) {
        let Some(specials) = self.specials.last_mut() else { return };
        match name {
            "varargs" => specials.varargs = true,
            "kwargs" => specials.kwargs = true,
            "caller" => specials.caller = true,
            _ => {}
        }
    }

    fn report(&mut self, reach: &Reach, usage: Usage) {
        if !reach.fresh {
            return;
        }
        let position = self.position(reach.span);
        for shape in &reach.shapes {
            if let DataShape::At(path) = shape {
                self.analysis.variables.push(VariableUse { path: path.clone(), usage, position });
            }
        }
    }

    fn report_paths(&mut self, paths: &[VariablePath], span: Span) {
        let position = self.position(span);
        let uses = paths.iter().map(|path| VariableUse { path: path.clone(), usage: Usage::Value, position });
        self.analysis.variables.extend(uses);
    }

    fn postfix(&mut self, postfix: &'t Postfix, span: Span, usage: Usage) -> Vec<DataShape> {
        let reach = self.chain(&postfix.base, &postfix.ops, span, usage);
        self.report(&reach, usage);
        reach.shapes
    }

    /// Follows the operations after an operand. The resulting value is not reported yet.
    fn chain(&mut self, base: &'t Expr, ops: &'t [PostfixStep], span: Span, usage: Usage) -> Reach {
        let mut rest = ops;
        let mut reach = match &base.kind {
            ExprKind::Name(name) => {
                if let Some(len) = called_name_len(ops) {
                    self.note_function(name, &ops[..len], Span { end: ops[len].span.start, ..span });
                    if len == 0 {
                        rest = &ops[1..];
                        self.note_special(name);
                        self.note_role(name, &ops[0]);
                        self.call_values(&ops[0]);
                        Reach::unknown(span)
                    } else {
                        self.name(name, base.span)
                    }
                } else {
                    self.name(name, base.span)
                }
            }
            _ => Reach { shapes: self.expr(base, usage), fresh: false, span: base.span },
        };
        while let Some((step, behind)) = rest.split_first() {
            rest = behind;
            if let (PostfixOp::Attr(method), Some((call, behind))) = (&step.op, behind.split_first())
                && let PostfixOp::Call(args) = &call.op
            {
                rest = behind;
                self.report(&reach, Usage::Value);
                self.call_values(call);
                reach = method_result(&reach, method, args, call.span);
                continue;
            }
            self.step(&mut reach, step);
        }
        reach
    }

    fn step(&mut self, reach: &mut Reach, step: &'t PostfixStep) {
        match &step.op {
            PostfixOp::Attr(name) => reach.step(&PathPart::Key((&**name).into()), step.span),
            PostfixOp::Item(key) => {
                let part = constant_part(key);
                if part == PathPart::Each {
                    self.expr(key, Usage::Value);
                }
                reach.step(&part, step.span);
            }
            PostfixOp::Slice(_) => {
                self.report(reach, Usage::Value);
                self.values(step.op.exprs());
                reach.shapes = reach.items().into_iter().map(DataShape::Of).collect();
                reach.fresh = false;
            }
            PostfixOp::Call(_) => {
                self.report(reach, Usage::Value);
                self.call_values(step);
                *reach = Reach::unknown(reach.span);
            }
            PostfixOp::Filter(filter) => self.filter(reach, filter),
            PostfixOp::Test(test) => self.test(reach, test),
        }
    }

    /// Records the callee and the arguments of a call block.
    pub(super) fn call(&mut self, callee: &'t Expr, args: &'t CallArgs, span: Span) {
        let (base, ops) = match &callee.kind {
            ExprKind::Postfix(postfix) => (&postfix.base, &postfix.ops[..]),
            _ => (callee, &[][..]),
        };
        let dotted = ops.iter().all(|step| matches!(step.op, PostfixOp::Attr(_)));
        if let (ExprKind::Name(name), true) = (&base.kind, dotted) {
            self.note_function(name, ops, callee.span);
            if let Some((_, object)) = ops.split_last() {
                let reach = self.chain(base, object, Span { end: span.start, ..callee.span }, Usage::Value);
                self.report(&reach, Usage::Value);
            }
        } else {
            self.expr(callee, Usage::Value);
        }
        self.values(args.exprs());
    }

    fn call_values(&mut self, call: &'t PostfixStep) {
        if let PostfixOp::Call(args) = &call.op {
            self.values(args.exprs());
        }
    }

    /// Records a called function, unless the template binds its first name (a macro or an import).
    fn note_function(&mut self, root: &str, attributes: &[PostfixStep], span: Span) {
        if self.scopes.look_up(root).bound || self.is_bound_later(root) {
            return;
        }
        let mut name = root.to_owned();
        for step in attributes {
            if let PostfixOp::Attr(part) = &step.op {
                name.push('.');
                name.push_str(part);
            }
        }
        let position = self.position(span);
        self.analysis.functions.push(NameUse { name, position });
    }

    fn note_role(&mut self, name: &str, call: &PostfixStep) {
        if let PostfixOp::Call(args) = &call.op
            && name == "role"
            && !self.scopes.look_up(name).bound
        {
            let role = args.positional.first().and_then(text_of).map(Into::into);
            let position = self.position(call.span);
            self.analysis.roles.push(RoleUse { role, position });
        }
    }

    /// Records the filters of a block.
    pub(super) fn filter_calls(&mut self, filters: &'t [FilterCall]) {
        for filter in filters {
            self.filter(&mut Reach::unknown(filter.span), filter);
        }
    }

    fn filter(&mut self, reach: &mut Reach, filter: &'t FilterCall) {
        let name = &*filter.name;
        let usage = if matches!(name, "default" | "d") { Usage::Default } else { Usage::Value };
        self.report(reach, usage);
        reach.fresh = false;
        let used = self.name_use(name, filter.span);
        self.analysis.filters.push(used);
        self.values(filter.args.exprs());
        self.note_argument_names(filter);
        let items = reach.items();
        let attribute = attribute_of(filter);
        if let Some(attribute) = attribute {
            let paths: Vec<VariablePath> = items.iter().map(|item| attribute_path(item, attribute)).collect();
            self.report_paths(&paths, filter.span);
        }
        reach.shapes = match name {
            "default" | "d" => return,
            "map" => {
                let paths =
                    attribute.map(|attribute| items.iter().map(|item| attribute_path(item, attribute)));
                paths.into_iter().flatten().map(DataShape::Of).collect()
            }
            "list" | "sort" | "reverse" | "unique" | "select" | "reject" | "selectattr" | "rejectattr" => {
                items.into_iter().map(DataShape::Of).collect()
            }
            "first" | "last" | "random" | "min" | "max" => items.into_iter().map(DataShape::At).collect(),
            "items" | "dictsort" => items.into_iter().map(DataShape::Pairs).collect(),
            _ => Vec::new(),
        };
    }

    /// Records filters and tests whose names are arguments, as in `map('upper')`.
    fn note_argument_names(&mut self, filter: &FilterCall) {
        let (position, test) = match &*filter.name {
            "map" => (0, false),
            "select" | "reject" => (0, true),
            "selectattr" | "rejectattr" => (1, true),
            _ => return,
        };
        let Some(argument) = filter.args.positional.get(position) else { return };
        if let Some(name) = text_of(argument) {
            let used = self.name_use(name, argument.span);
            if test { self.analysis.tests.push(used) } else { self.analysis.filters.push(used) }
        }
    }

    fn test(&mut self, reach: &mut Reach, test: &'t TestCall) {
        let asks = matches!(&*test.name, "defined" | "undefined" | "none");
        self.report(reach, if asks { Usage::Condition } else { Usage::Value });
        let used = self.name_use(&test.name, test.span);
        self.analysis.tests.push(used);
        self.values(test.args.exprs());
        *reach = Reach::unknown(reach.span);
    }
}

/// The number of attributes before the first call, if only attributes come before it.
fn called_name_len(ops: &[PostfixStep]) -> Option<usize> {
    let len = ops.iter().take_while(|step| matches!(step.op, PostfixOp::Attr(_))).count();
    matches!(ops.get(len)?.op, PostfixOp::Call(_)).then_some(len)
}

/// The result of a method of a map or a list.
fn method_result(reach: &Reach, method: &str, args: &CallArgs, span: Span) -> Reach {
    let mut result = Reach { shapes: Vec::new(), fresh: false, span: Span { end: span.end, ..reach.span } };
    match method {
        "items" => result.shapes = reach.items().into_iter().map(DataShape::Pairs).collect(),
        "values" => result.shapes = reach.items().into_iter().map(DataShape::Of).collect(),
        "copy" => result.shapes = reach.shapes.clone(),
        "get" => {
            result.shapes = reach.shapes.clone();
            result.step(&args.positional.first().map_or(PathPart::Each, constant_part), span);
        }
        _ => {}
    }
    result
}

/// The part of a path that a subscript refers to.
fn constant_part(key: &Expr) -> PathPart {
    let index = |value: i128| i64::try_from(value).map_or(PathPart::Each, PathPart::Index);
    match &key.kind {
        ExprKind::Const(Const::Str(text)) => PathPart::Key((&**text).into()),
        ExprKind::Const(Const::Int(value)) => index(*value),
        ExprKind::Unary(UnaryOp::Neg, operand) => match operand.kind {
            ExprKind::Const(Const::Int(value)) => index(-value),
            _ => PathPart::Each,
        },
        _ => PathPart::Each,
    }
}

/// The attribute of the items that a filter reads, if it is a string literal.
fn attribute_of(filter: &FilterCall) -> Option<&str> {
    let by_keyword = filter.args.keywords.iter().find(|keyword| &*keyword.name.name == "attribute");
    let position = match &*filter.name {
        "selectattr" | "rejectattr" | "groupby" | "sum" => Some(0),
        "map" | "sort" | "unique" | "min" | "max" | "join" => None,
        _ => return None,
    };
    let positional = position.and_then(|position: usize| filter.args.positional.get(position));
    by_keyword.map(|keyword| &keyword.value).or(positional).and_then(text_of)
}

/// The path to an `attribute` of a filter: keys and numbers separated by dots.
fn attribute_path(item: &VariablePath, attribute: &str) -> VariablePath {
    let part = |part: &str| part.parse().map_or_else(|_| PathPart::Key(part.into()), PathPart::Index);
    item.with_parts(attribute.split('.').map(part))
}

/// The text of a string literal.
pub(super) fn text_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Const(Const::Str(text)) => Some(text),
        _ => None,
    }
}

/// The template names that an expression may evaluate to, and whether it may evaluate to others.
pub(super) fn template_names(expr: &Expr) -> (Vec<String>, bool) {
    let mut names = Vec::new();
    let mut dynamic = false;
    collect_names(expr, &mut names, &mut dynamic);
    (names, dynamic)
}

fn collect_names(expr: &Expr, names: &mut Vec<String>, dynamic: &mut bool) {
    match &expr.kind {
        ExprKind::Const(Const::Str(text)) => names.push(text.to_string()),
        ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Or(items) => {
            items.iter().for_each(|item| collect_names(item, names, dynamic));
        }
        ExprKind::Conditional(node) if node.tests.len() == 1 && node.otherwise.is_some() => {
            collect_names(&node.value, names, dynamic);
            node.otherwise.iter().for_each(|otherwise| collect_names(otherwise, names, dynamic));
        }
        _ => *dynamic = true,
    }
}

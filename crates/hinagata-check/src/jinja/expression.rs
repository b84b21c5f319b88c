//! The shapes of expressions, and what conditions say about names.

use std::collections::{BTreeMap, HashSet};

use hinagata_jinja::ast::{
    Compare, CompareOp, Conditional, Const, Expr, ExprKind, Postfix, PostfixOp, Span, TestCall, UnaryOp,
};
use serde_json::Value as Json;

use super::{
    JinjaWalker,
    names::{is_repeatable, names_of},
    span_of,
};
use crate::{
    builtins::has_builtin,
    check::{Need, noun},
    codes::{NAME_FUNCTION, TYPE_COMPARISON, TYPE_PATH},
    probe::{Outcome, has_samples},
    shape::{Field, Fields, Kinds, Shape},
};

/// Maximum number of combinations of values that an expression is evaluated with.
const MAX_COMBINATIONS: usize = 16;

impl<'w> JinjaWalker<'w, '_> {
    /// The shape of an expression. Reports what is wrong with it.
    pub(super) fn eval(&mut self, expr: &'w Expr, need: Need) -> Shape {
        if let Some(shape) = self.eval_exactly(expr, need) {
            self.check_exact_equality(expr);
            return shape;
        }
        self.eval_parts(expr, need)
    }

    /// Evaluates an expression whose names all have known values.
    fn eval_exactly(&mut self, expr: &'w Expr, need: Need) -> Option<Shape> {
        if let ExprKind::Const(value) = &expr.kind {
            return Some(const_shape(value));
        }
        if matches!(expr.kind, ExprKind::Name(_)) || self.mutates {
            return None;
        }
        let combinations = self.combinations(expr)?;
        let (mut joined, mut failure): (Option<Shape>, _) = (None, None);
        for values in &combinations {
            match self.check.jinja.eval(expr.clone(), values) {
                Outcome::Unknown => return None,
                Outcome::Fails(error) => failure = failure.or(Some(error)),
                Outcome::Result(observed) => {
                    let shape = observed.into_shape();
                    joined = Some(joined.map_or(shape.clone(), |joined| joined.join(&shape)));
                }
            }
        }
        self.touch_names(expr, need);
        match (joined, failure) {
            (Some(shape), _) => Some(shape),
            (None, Some(error)) => {
                self.check.report_failure(self.template, span_of(expr.span), &error);
                Some(Shape::ANY)
            }
            (None, None) => None,
        }
    }

    /// Counts the names of an expression as read.
    fn touch_names(&mut self, expr: &'w Expr, need: Need) {
        if let ExprKind::Name(name) = &expr.kind {
            self.lookup(name, expr.span, need);
        }
        let need = if need == Need::Value { Need::Optional } else { need };
        for child in expr.children() {
            self.touch_names(child, need);
        }
    }

    /// The values of the names of an expression, in every combination; `None` if some are unknown.
    fn combinations(&self, expr: &Expr) -> Option<Vec<Json>> {
        if !self.has_known_values(expr) || !is_repeatable(expr, &|name| self.is_bound(name)) {
            return None;
        }
        let mut read = HashSet::new();
        names_of(expr, &mut read);
        let mut all = vec![serde_json::Map::new()];
        let mut sorted: Vec<&String> = read.iter().collect();
        sorted.sort_unstable();
        for name in sorted {
            if matches!(name.as_str(), "range" | "dict") && !self.is_bound(name) {
                continue;
            }
            let shape = self.peek(name)?;
            if shape.kinds == Kinds::UNDEFINED {
                continue;
            }
            let values = shape.values.as_ref().filter(|_| !shape.kinds.contains(Kinds::OTHER))?;
            let missing = shape.kinds.contains(Kinds::UNDEFINED);
            if values.is_empty() || all.len() * (values.len() + usize::from(missing)) > MAX_COMBINATIONS {
                return None;
            }
            let with = |before: &serde_json::Map<String, Json>, value: &Json| {
                let mut one = before.clone();
                one.insert(name.clone(), value.clone());
                one
            };
            let mut next: Vec<_> =
                all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
            if missing {
                next.append(&mut all);
            }
            all = next;
        }
        Some(all.into_iter().map(Json::Object).collect())
    }

    /// Whether the values of all names of an expression may be known.
    fn has_known_values(&self, expr: &Expr) -> bool {
        let is_known = match &expr.kind {
            ExprKind::Name(name) => {
                let is_function = matches!(&**name, "range" | "dict") && !self.is_bound(name);
                is_function
                    || self.peek(name).is_some_and(|shape| {
                        shape.kinds == Kinds::UNDEFINED
                            || (shape.values.is_some() && !shape.kinds.contains(Kinds::OTHER))
                    })
            }
            _ => true,
        };
        is_known && expr.children().all(|child| self.has_known_values(child))
    }

    /// The shape of a name, without reporting anything; `None` if it is unknown.
    pub(super) fn peek(&self, name: &str) -> Option<Shape> {
        if self.check.is_partial() {
            return None;
        }
        if let Some((_, shape)) = self.narrowed.iter().rev().find(|(narrowed, _)| narrowed == name) {
            return Some(shape.clone());
        }
        if let Some(shape) = self.frames.iter().rev().find_map(|frame| frame.names.get(name)) {
            return Some(shape.clone());
        }
        if self.deferred > 0 && self.bound.contains(name) {
            return None;
        }
        if let Some(shape) = self.scope.get(name) {
            return Some(shape.clone());
        }
        if self.bound.contains(name) || name == "self" {
            return None;
        }
        let fields = &self.check.variables.fields;
        match (fields.known.get(name), &fields.rest) {
            (Some(Field { shape, required }), _) => {
                let shape = if *required { shape.clone() } else { shape.join(&Shape::UNDEFINED) };
                Some(if self.mutates { shape.widen_containers() } else { shape })
            }
            (None, _) if self.is_global(name) => None,
            (None, None) => Some(Shape::UNDEFINED),
            (None, Some(rest)) => Some(rest.clone()),
        }
    }

    fn eval_parts(&mut self, expr: &'w Expr, need: Need) -> Shape {
        match &expr.kind {
            ExprKind::Const(value) => const_shape(value),
            ExprKind::Name(name) => self.lookup(name, expr.span, need),
            ExprKind::List(items) => {
                let shapes: Vec<Shape> = items.iter().map(|item| self.eval(item, Need::Optional)).collect();
                let joined = shapes.into_iter().reduce(|a, b| a.join(&b));
                Shape::list_of(joined.unwrap_or(Shape::of_kinds(Kinds::NONE)))
            }
            ExprKind::Tuple(items) => {
                for item in items {
                    self.eval(item, Need::Optional);
                }
                Shape::of_kinds(Kinds::OTHER)
            }
            ExprKind::Dict(pairs) => self.dict(pairs),
            ExprKind::Postfix(postfix) => self.postfix(postfix, need),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr.span, need),
            ExprKind::Binary(binary) => {
                let mut left = self.eval(&binary.first, Need::Value);
                for step in &binary.rest {
                    let right = self.eval(&step.right, Need::Value);
                    left = self.binary(&left, step.op, &right, (expr.span, step.span));
                }
                left
            }
            ExprKind::Concat(items) => {
                for item in items {
                    self.eval(item, Need::Value);
                }
                self.text_shape()
            }
            ExprKind::Compare(compare) => self.compare(compare, expr.span),
            ExprKind::And(items) => self.junction(items, need, true),
            ExprKind::Or(items) => self.junction(items, need, false),
            ExprKind::Conditional(node) => self.conditional(node, need),
        }
    }

    /// The shape of a text that the template makes.
    pub(super) fn text_shape(&self) -> Shape {
        match self.check.surroundings.options.settings.autoescape {
            true => Shape::ANY,
            false => Shape::of_kinds(Kinds::STRING),
        }
    }

    fn dict(&mut self, pairs: &'w [(Expr, Expr)]) -> Shape {
        let mut known = BTreeMap::new();
        let mut rest = None;
        for (key, value) in pairs {
            let key = self.eval(key, Need::Value);
            let shape = self.eval(value, Need::Optional);
            match key.only_value().and_then(Json::as_str) {
                Some(key) => drop(known.insert(key.to_owned(), Field { shape, required: true })),
                None => rest = Some(Shape::ANY),
            }
        }
        Shape::map_of(Fields { known, rest })
    }

    fn unary(&mut self, op: UnaryOp, operand: &'w Expr, span: Span, need: Need) -> Shape {
        if op == UnaryOp::Not {
            self.eval(operand, if need == Need::Optional { need } else { Need::Condition });
            return Shape::of_kinds(Kinds::BOOL);
        }
        let shape = self.eval(operand, Need::Value);
        self.sign(op, &shape, span)
    }

    fn junction(&mut self, items: &'w [Expr], need: Need, is_and: bool) -> Shape {
        let mark = self.narrowed.len();
        let mut joined: Option<Shape> = None;
        let mut muted = 0;
        for (at, item) in items.iter().enumerate() {
            let is_last = at + 1 == items.len();
            let inner = match (need, is_last, is_and) {
                (Need::Value, false, false) => Need::Optional,
                (Need::Value, false, true) => Need::Condition,
                (need, ..) => need,
            };
            let shape = self.eval(item, inner);
            let shape = match (is_last, is_and) {
                (false, false) => shape.without(Kinds::UNDEFINED | Kinds::NULL),
                _ => shape,
            };
            joined = Some(joined.map_or(shape.clone(), |joined| joined.join(&shape)));
            if !is_last {
                self.narrow(item, is_and);
                let is_dead = self.truth(item) == Some(!is_and) || self.is_impossible();
                muted += u32::from(is_dead);
                self.check.muted += u32::from(is_dead);
            }
        }
        self.check.muted -= muted;
        self.narrowed.truncate(mark);
        joined.unwrap_or(Shape::ANY)
    }

    fn conditional(&mut self, node: &'w Conditional, need: Need) -> Shape {
        let mark = self.narrowed.len();
        let mut dead = false;
        for test in &node.tests {
            self.eval(test, Need::Condition);
            dead |= self.truth(test) == Some(false);
            self.narrow(test, true);
        }
        dead |= self.is_impossible();
        self.check.muted += u32::from(dead);
        let value = self.eval(&node.value, need);
        self.check.muted -= u32::from(dead);
        self.narrowed.truncate(mark);
        let Some(otherwise) = &node.otherwise else { return value.join(&Shape::UNDEFINED) };
        let always = node.tests.iter().all(|test| self.truth(test) == Some(true));
        if let [test] = &*node.tests {
            self.narrow(test, false);
        }
        self.check.muted += u32::from(always);
        let other = self.eval(otherwise, need);
        self.check.muted -= u32::from(always);
        self.narrowed.truncate(mark);
        value.join(&other)
    }

    fn compare(&mut self, compare: &'w Compare, span: Span) -> Shape {
        let mut left = self.eval(&compare.first, Need::Value);
        for step in &compare.rest {
            let right = self.eval(&step.right, Need::Value);
            if matches!(step.op, CompareOp::Eq | CompareOp::Ne) {
                self.check_equality(&left, &right, span);
            }
            self.comparison(&left, step.op, &right, (span, step.span));
            left = right;
        }
        Shape::of_kinds(Kinds::BOOL)
    }

    /// Checks a comparison that was evaluated as a whole.
    fn check_exact_equality(&mut self, expr: &'w Expr) {
        let ExprKind::Compare(compare) = &expr.kind else { return };
        if let [step] = &*compare.rest
            && matches!(step.op, CompareOp::Eq | CompareOp::Ne)
        {
            let left = self.eval(&compare.first, Need::Optional);
            let right = self.eval(&step.right, Need::Optional);
            self.check_equality(&left, &right, expr.span);
        }
    }

    fn check_equality(&mut self, left: &Shape, right: &Shape, span: Span) {
        if !(left.declared || right.declared) || left.is_unknown() || right.is_unknown() {
            return;
        }
        let numbers = Kinds::BOOL | Kinds::INT | Kinds::FLOAT;
        let widen = |kinds: Kinds| if kinds.overlaps(numbers) { kinds | numbers } else { kinds };
        let message = if !widen(left.kinds).overlaps(widen(right.kinds)) {
            // A value that may be missing is compared with what it would be.
            if left.kinds == Kinds::UNDEFINED || right.kinds == Kinds::UNDEFINED {
                return;
            }
            format!("{} is never equal to {}", noun(left), noun(right))
        } else if let (Some(a), Some(b)) = (&left.values, &right.values)
            && !a.iter().any(|value| b.iter().any(|other| is_same(value, other)))
        {
            let (declared, other) = if left.declared { (a, b) } else { (b, a) };
            format!("{} is none of the declared values {}", list_values(other), list_values(declared))
        } else {
            return;
        };
        self.check.report(self.template, span_of(span), &TYPE_COMPARISON, message, Vec::new(), None);
    }

    fn postfix(&mut self, postfix: &'w Postfix, need: Need) -> Shape {
        let first = postfix.ops.first().map(|step| &step.op);
        let inner = match first {
            Some(PostfixOp::Filter(filter)) if is_default(&filter.name) => Need::Optional,
            Some(PostfixOp::Test(test)) if asks_definition(test) => Need::Optional,
            Some(PostfixOp::Attr(_) | PostfixOp::Item(_))
                if need == Need::Optional || is_optional(postfix) =>
            {
                Need::Optional
            }
            _ => Need::Value,
        };
        let mut ops = &postfix.ops[..];
        let of_tool = self.tool_call(postfix);
        let mut shape = match (&postfix.base.kind, first) {
            _ if of_tool.is_some() => {
                ops = ops.get(of_tool.unwrap_or_default()..).unwrap_or_default();
                Shape::ANY
            }
            (ExprKind::Name(name), Some(PostfixOp::Call(args)))
                if !self.is_bound(name) || self.is_macro(name) =>
            {
                let result = self.call_name(name, args, (postfix.base.span, ops[0].span));
                ops = &ops[1..];
                result
            }
            _ => self.eval(&postfix.base, inner),
        };
        let optional = inner == Need::Optional;
        while let Some((step, rest)) = ops.split_first() {
            let next = rest.first().map(|step| &step.op);
            shape = match (&step.op, next) {
                (PostfixOp::Attr(name), Some(PostfixOp::Call(args))) => {
                    let result = self.method(&shape, name, args, (postfix.base.span, step.span));
                    ops = &rest[1..];
                    if rest.len() > 1 {
                        shape = result;
                        continue;
                    }
                    return result;
                }
                (PostfixOp::Attr(name), _) => {
                    self.attribute(&shape, name, (postfix.base.span, step.span), optional)
                }
                (PostfixOp::Item(key), _) => {
                    let key = self.eval(key, Need::Value);
                    self.subscript(&shape, &key, (postfix.base.span, step.span), optional)
                }
                (PostfixOp::Slice(slice), _) => {
                    for part in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                        self.eval(part, Need::Value);
                    }
                    if Kinds::STRING.contains(shape.kinds) {
                        shape.without(Kinds::NONE).unvalued()
                    } else {
                        Shape::ANY
                    }
                }
                (PostfixOp::Call(args), _) => {
                    self.arguments(args);
                    Shape::ANY
                }
                (PostfixOp::Filter(filter), _) => self.filter(&shape, filter, need),
                (PostfixOp::Test(test), _) => self.test(&shape, test),
            };
            ops = rest;
        }
        shape
    }

    fn is_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name)
    }

    fn call_name(
        &mut self,
        name: &'w str,
        args: &'w hinagata_jinja::ast::CallArgs,
        spans: (Span, Span),
    ) -> Shape {
        if self.is_macro(name) {
            self.arguments(args);
            self.check_macro_call(name, args, join_spans(spans.0, spans.1), false);
            return Shape::of_kinds(Kinds::STRING | Kinds::OTHER);
        }
        if name == "role" && !self.scope.contains_key(name) {
            self.role_call(args);
            return Shape::of_kinds(Kinds::OTHER);
        }
        let is_known = self.is_global(name)
            || self.bound.contains(name)
            || self.scope.contains_key(name)
            || matches!(name, "super" | "self" | "loop" | "caller");
        let variables = self.check.variables;
        let is_declared = variables.fields.known.contains_key(name) || self.check.is_partial();
        if !is_known && !is_declared && variables.complete {
            self.arguments(args);
            let functions = self.check.surroundings.functions;
            let builtins = hinagata_jinja::builtin_names().filter(|(kind, _)| *kind == "global");
            let known =
                builtins.map(|(_, name)| name).chain(functions.names()).chain(["role", "media", "resource"]);
            let known = known.chain(self.bound.iter().map(String::as_str));
            let near = hinagata_value::near_names(name, known);
            let message = format!("unknown function `{name}`");
            self.check.report(self.template, span_of(spans.0), &NAME_FUNCTION, message, near, None);
            return Shape::ANY;
        }
        if is_known && !self.bound.contains(name) && !self.scope.contains_key(name) {
            return self.call_global(name, args, spans);
        }
        let callee = self.lookup(name, spans.0, Need::Value);
        self.arguments(args);
        if !callee.is_unknown() && !callee.kinds.is_empty() {
            self.report_not_callable(name, &callee, spans.0);
        }
        Shape::ANY
    }

    fn attribute(&mut self, shape: &Shape, name: &str, spans: (Span, Span), optional: bool) -> Shape {
        if let Some(result) = self.undefined_access(shape, name, spans) {
            return result;
        }
        if shape.is_unknown() {
            return Shape::ANY;
        }
        if name.starts_with('_') || is_method(shape, name) {
            return Shape::ANY;
        }
        self.field(shape, name, spans, optional)
    }

    /// Reports an attribute of a value that is certainly undefined.
    fn undefined_access(&mut self, shape: &Shape, name: &str, spans: (Span, Span)) -> Option<Shape> {
        (shape.kinds == Kinds::UNDEFINED).then(|| {
            self.probe_attribute(shape, name, spans);
            Shape::UNDEFINED
        })
    }

    fn subscript(&mut self, shape: &Shape, key: &Shape, spans: (Span, Span), optional: bool) -> Shape {
        match key.only_value() {
            Some(Json::String(name)) => {
                if let Some(result) = self.undefined_access(shape, name, spans) {
                    return result;
                }
                if shape.is_unknown() { Shape::ANY } else { self.field(shape, name, spans, optional) }
            }
            Some(Json::Number(_)) if shape.kinds == Kinds::LIST => {
                let items = shape.listed_items();
                if items.kinds.is_empty() { Shape::UNDEFINED } else { items.join(&Shape::UNDEFINED) }
            }
            _ => Shape::ANY,
        }
    }

    /// A field of a value of known kinds.
    fn field(&mut self, shape: &Shape, name: &str, spans: (Span, Span), optional: bool) -> Shape {
        let kinds = shape.kinds.without(Kinds::UNDEFINED);
        let mut found = if kinds.overlaps(Kinds::MAP) { shape.field(name) } else { Shape::UNDEFINED };
        if kinds.without(Kinds::MAP) != Kinds::NONE || shape.kinds.contains(Kinds::UNDEFINED) {
            found = found.join(&Shape::UNDEFINED);
        }
        found.declared = shape.declared;
        if found.kinds == Kinds::UNDEFINED && shape.declared && !kinds.is_empty() {
            self.report_path(shape, name, spans, optional);
        }
        found
    }

    fn report_path(&mut self, shape: &Shape, name: &str, spans: (Span, Span), optional: bool) {
        let names = shape.field_names().unwrap_or_default();
        let near = match optional {
            true => hinagata_value::close_names(name, names.iter().copied()),
            false => hinagata_value::near_names(name, names.iter().copied()),
        };
        if optional && near.is_empty() {
            return;
        }
        let message = match shape.kinds.overlaps(Kinds::MAP) {
            true => format!("the declared object has no field `{name}`"),
            false => format!("{} has no field `{name}`", noun(shape)),
        };
        let level = match self.check.is_strict() && !optional {
            true => crate::Level::Error,
            false => crate::Level::Warning,
        };
        let span = span_of(spans.1);
        self.check.report_at(level, self.template, span, &TYPE_PATH, message, near, None);
    }

    /// Whether a condition is always true or always false.
    pub(super) fn truth(&mut self, test: &'w Expr) -> Option<bool> {
        if let Some(truth) = self.kind_truth(test) {
            return Some(truth);
        }
        if self.mutates {
            return None;
        }
        let combinations = match &test.kind {
            ExprKind::Const(_) => vec![Json::Object(serde_json::Map::new())],
            _ => self.combinations(test)?,
        };
        let mut truth = None;
        for values in &combinations {
            let negated =
                Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(test.clone())), span: test.span };
            let Outcome::Result(observed) = self.check.jinja.eval(negated, values) else { return None };
            let is_true = observed.value == Some(Json::Bool(false));
            if truth.is_some_and(|truth| truth != is_true) {
                return None;
            }
            truth = Some(is_true);
        }
        truth
    }

    /// The truth that follows from the kinds of a name alone: `x is string`, `x is defined`.
    fn kind_truth(&self, test: &Expr) -> Option<bool> {
        let (name, call) = kind_test(test)?;
        let shape = self.peek(name)?;
        let tested = tested_kinds(&call.name)?;
        if shape.kinds.is_empty() {
            return None;
        }
        let truth = match (shape.kinds.overlaps(tested), shape.kinds.overlaps(Kinds::ANY.without(tested))) {
            (true, false) => true,
            (false, true) => false,
            _ => return None,
        };
        (!shape.is_unknown()).then_some(truth != call.negated)
    }

    /// Whether a condition reads a declared variable with known values.
    pub(super) fn depends_on_declared(&self, test: &Expr) -> bool {
        let mut read = HashSet::new();
        names_of(test, &mut read);
        let is_declared = |name: &String| self.peek(name).is_some_and(|shape| shape.declared);
        !read.is_empty() && read.iter().all(is_declared)
    }

    /// Remembers what a condition that holds, or does not hold, says about names.
    pub(super) fn narrow(&mut self, test: &'w Expr, holds: bool) {
        match &test.kind {
            ExprKind::Name(name) => {
                if holds {
                    self.narrow_name(name, Kinds::ANY.without(Kinds::UNDEFINED | Kinds::NULL));
                }
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.narrow(operand, !holds),
            ExprKind::And(items) if holds => items.iter().for_each(|item| self.narrow(item, true)),
            ExprKind::Or(items) if !holds => items.iter().for_each(|item| self.narrow(item, false)),
            _ => {
                if let Some((name, call)) = kind_test(test)
                    && let Some(tested) = tested_kinds(&call.name)
                {
                    let keep = match holds != call.negated {
                        true => tested,
                        // What the test refuses is not known for objects that JSON does not have.
                        false => {
                            Kinds::ANY.without(tested.and(Kinds::JSON | Kinds::UNDEFINED)) | Kinds::OTHER
                        }
                    };
                    self.narrow_name(name, keep);
                }
            }
        }
    }

    fn narrow_name(&mut self, name: &str, keep: Kinds) {
        if let Some(shape) = self.peek(name) {
            self.narrowed.push((name.to_owned(), shape.only(keep)));
        }
    }

    /// Reports a value that is called.
    fn report_not_callable(&mut self, name: &str, shape: &Shape, span: Span) {
        if has_samples(shape) {
            let message = format!("`{name}` is {} and cannot be called", noun(shape));
            let code = &crate::codes::TYPE_OPERATION;
            self.check.report(self.template, span_of(span), code, message, Vec::new(), None);
        }
    }
}

/// A test of a single name: `x is string`.
fn kind_test(test: &Expr) -> Option<(&str, &TestCall)> {
    let ExprKind::Postfix(postfix) = &test.kind else { return None };
    let (ExprKind::Name(name), [step]) = (&postfix.base.kind, &*postfix.ops) else { return None };
    match &step.op {
        PostfixOp::Test(call) => Some((name, call)),
        _ => None,
    }
}

/// The kinds for which a test holds; `None` if their values matter.
fn tested_kinds(test: &str) -> Option<Kinds> {
    Some(match test {
        "defined" => Kinds::ANY.without(Kinds::UNDEFINED),
        "undefined" => Kinds::UNDEFINED,
        "none" => Kinds::NULL,
        "string" => Kinds::STRING | Kinds::OTHER,
        "mapping" => Kinds::MAP | Kinds::OTHER,
        "boolean" => Kinds::BOOL,
        "integer" => Kinds::INT,
        "float" => Kinds::FLOAT,
        "number" => Kinds::BOOL | Kinds::INT | Kinds::FLOAT | Kinds::OTHER,
        "sequence" | "iterable" => Kinds::STRING | Kinds::LIST | Kinds::MAP | Kinds::UNDEFINED | Kinds::OTHER,
        _ => return None,
    })
}

fn is_default(filter: &str) -> bool {
    matches!(filter, "default" | "d")
}

fn asks_definition(test: &TestCall) -> bool {
    matches!(&*test.name, "defined" | "undefined" | "none")
}

/// Whether a chain ends in `default` or `is defined`, so that its parts may be missing.
fn is_optional(postfix: &Postfix) -> bool {
    postfix.ops.iter().any(|step| match &step.op {
        PostfixOp::Filter(filter) => is_default(&filter.name),
        PostfixOp::Test(test) => asks_definition(test),
        _ => false,
    })
}

fn const_shape(value: &Const) -> Shape {
    match value {
        Const::None => Shape::of_value(Json::Null),
        Const::Bool(value) => Shape::of_value((*value).into()),
        Const::Int(value) => {
            i64::try_from(*value).map_or(Shape::of_kinds(Kinds::INT), |value| Shape::of_value(value.into()))
        }
        Const::HugeInt(_) => Shape::of_kinds(Kinds::OTHER),
        Const::Float(value) => serde_json::Number::from_f64(*value)
            .map_or(Shape::of_kinds(Kinds::FLOAT), |number| Shape::of_value(Json::Number(number))),
        Const::Str(value) => Shape::of_value((&**value).into()),
    }
}

/// Whether a value of one of the kinds has the method `name`.
pub(super) fn is_method(shape: &Shape, name: &str) -> bool {
    let kinds = [
        (Kinds::STRING, "str"),
        (Kinds::LIST, "list"),
        (Kinds::MAP, "dict"),
        (Kinds::INT | Kinds::BOOL, "int"),
        (Kinds::FLOAT, "float"),
    ];
    kinds.into_iter().any(|(kind, of)| shape.kinds.overlaps(kind) && has_builtin(of, name))
}

pub(super) fn join_spans(first: Span, last: Span) -> Span {
    Span { end: last.end, ..first }
}

fn is_same(a: &Json, b: &Json) -> bool {
    let number = |value: &Json| match value {
        Json::Bool(value) => Some(f64::from(u8::from(*value))),
        value => value.as_f64(),
    };
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

fn list_values(values: &[Json]) -> String {
    let shown: Vec<String> = values.iter().take(8).map(|value| format!("`{value}`")).collect();
    shown.join(", ")
}

impl Shape {
    /// The same kinds without values.
    pub(super) fn unvalued(self) -> Self {
        Self { values: None, ..self }
    }
}

//! Single operations: operators, filters, tests, methods, calls. The engine itself says whether they fail.

use hinagata_jinja::ast::{
    Binary, BinaryOp, BinaryStep, CallArgs, Compare, CompareOp, CompareStep, Expr, ExprKind, FilterCall,
    Keyword, Postfix, PostfixOp, PostfixStep, Span, TestCall, UnaryOp,
};
use hinagata_value::{Error, near_names};
use serde_json::{Map, Value as Json};

use super::{
    JinjaWalker,
    expression::{is_method, join_spans},
    span_of,
};
use crate::{
    builtins::has_builtin,
    check::{Need, noun},
    codes::{NAME_ARGUMENTS, NAME_FILTER, NAME_METHOD, NAME_TEST},
    probe::{Outcome, has_samples, placeholder, placeholder_name, samples},
    shape::{Kinds, Shape},
};

/// Maximum number of combinations of samples.
const MAX_RUNS: usize = 2_000;

/// Operations that fail or not by the values of their operands, not by their types.
const BY_VALUE: [&str; 14] = [
    "index",
    "rindex",
    "remove",
    "pop",
    "format",
    "format_map",
    "encode",
    "decode",
    "split",
    "rsplit",
    "partition",
    "rpartition",
    "popitem",
    "fromkeys",
];

impl<'w> JinjaWalker<'w, '_> {
    /// Evaluates arguments. Their shapes, if all are passed one by one.
    pub(super) fn arguments(&mut self, args: &'w CallArgs) -> Option<Vec<Shape>> {
        let positional = args.positional.iter();
        let all = positional.chain(args.keywords.iter().map(|keyword| &keyword.value));
        let shapes: Vec<Shape> = all.map(|arg| self.eval(arg, Need::Optional)).collect();
        let splats: Vec<&'w Expr> =
            [&args.args, &args.kwargs].into_iter().flatten().map(|arg| &**arg).collect();
        for splat in &splats {
            self.eval(splat, Need::Value);
        }
        splats.is_empty().then_some(shapes)
    }

    /// Runs an operation with samples of its operands. Returns its error if it fails with all of them.
    ///
    /// Operands of unknown kind take part with samples of every kind, so that only what fails for all of JSON fails; the
    /// caller decides whether that says something.
    fn failure(
        &mut self,
        operation: &str,
        operands: &[Shape],
        build: &dyn Fn(Vec<Expr>) -> Expr,
        span: Span,
    ) -> Option<Error> {
        if self.check.is_known_sound(operation, operands) {
            return None;
        }
        let all: Vec<Vec<Option<Json>>> = operands.iter().map(samples).collect();
        let places = (0..operands.len()).map(|number| placeholder(number, span)).collect();
        let expr = build(places);
        let mut indexes = vec![0; all.len()];
        let mut first = None;
        for _ in 0..MAX_RUNS {
            let mut variables = Map::new();
            for (number, (values, &index)) in all.iter().zip(&indexes).enumerate() {
                if let Some(value) = values.get(index)?.clone() {
                    variables.insert(placeholder_name(number), value);
                }
            }
            match self.check.jinja.eval(expr.clone(), &Json::Object(variables)) {
                Outcome::Fails(error) => first = first.or(Some(error)),
                Outcome::Result(_) | Outcome::Unknown => {
                    self.check.remember_sound(operation, operands);
                    return None;
                }
            }
            let Some(next) = indexes.iter().zip(&all).position(|(index, values)| index + 1 < values.len())
            else {
                return first;
            };
            indexes[next] += 1;
            indexes[..next].fill(0);
        }
        None
    }

    /// As [`Self::failure`], for operands of which all are known.
    fn known_failure(
        &mut self,
        operation: &str,
        operands: &[Shape],
        build: &dyn Fn(Vec<Expr>) -> Expr,
        span: Span,
    ) -> Option<Error> {
        if !operands.iter().all(has_samples) {
            return None;
        }
        self.failure(operation, operands, build, span)
    }

    pub(super) fn sign(&mut self, op: UnaryOp, shape: &Shape, span: Span) -> Shape {
        let build =
            |mut operands: Vec<Expr>| Expr { kind: ExprKind::Unary(op, Box::new(operands.remove(0))), span };
        if let Some(error) = self.known_failure(&format!("{op:?}"), std::slice::from_ref(shape), &build, span)
        {
            self.check.report_failure(self.template, span_of(span), &error);
            return Shape::ANY;
        }
        let numbers = Kinds::INT | Kinds::FLOAT;
        if numbers.contains(shape.kinds) { Shape::of_kinds(shape.kinds) } else { Shape::ANY }
    }

    pub(super) fn binary(&mut self, left: &Shape, op: BinaryOp, right: &Shape, spans: (Span, Span)) -> Shape {
        // Whether a format fits depends on its text.
        let is_format = op == BinaryOp::Rem && left.kinds.overlaps(Kinds::STRING) && left.values.is_none();
        let build = |mut operands: Vec<Expr>| {
            let right = operands.remove(1);
            let step = BinaryStep { op, span: spans.1, right };
            let binary = Binary { first: operands.remove(0), rest: vec![step] };
            Expr { kind: ExprKind::Binary(Box::new(binary)), span: spans.0 }
        };
        let operands = [left.clone(), right.clone()];
        let operation = format!("{op:?}");
        if !is_format && let Some(error) = self.known_failure(&operation, &operands, &build, spans.0) {
            self.check.report_failure(self.template, span_of(spans.0), &error);
            return Shape::ANY;
        }
        binary_result(left.kinds, op, right.kinds)
    }

    pub(super) fn comparison(&mut self, left: &Shape, op: CompareOp, right: &Shape, spans: (Span, Span)) {
        if matches!(op, CompareOp::Eq | CompareOp::Ne) && !self.check.is_strict() {
            return;
        }
        let build = |mut operands: Vec<Expr>| {
            let right = operands.remove(1);
            let step = CompareStep { op, span: spans.1, right };
            let compare = Compare { first: operands.remove(0), rest: vec![step] };
            Expr { kind: ExprKind::Compare(Box::new(compare)), span: spans.0 }
        };
        let operands = [left.clone(), right.clone()];
        if let Some(error) = self.known_failure(&format!("{op:?}"), &operands, &build, spans.0) {
            self.check.report_failure(self.template, span_of(spans.0), &error);
        }
    }

    /// Reports an attribute that fails for every value of the shape.
    pub(super) fn probe_attribute(&mut self, shape: &Shape, name: &str, spans: (Span, Span)) {
        let step = PostfixStep { op: PostfixOp::Attr(name.into()), span: spans.1 };
        let span = join_spans(spans.0, spans.1);
        let build = |operands: Vec<Expr>| postfix(operands, vec![step.clone()], span);
        let operation = format!(".{name}");
        if let Some(error) = self.known_failure(&operation, std::slice::from_ref(shape), &build, span) {
            self.check.report_failure(self.template, span_of(span), &error);
        }
    }

    pub(super) fn method(
        &mut self,
        shape: &Shape,
        name: &'w str,
        args: &'w CallArgs,
        (base, step): (Span, Span),
    ) -> Shape {
        let passed = self.arguments(args);
        let declared_field = shape.fields.as_ref().is_some_and(|fields| fields.known.contains_key(name));
        if !has_samples(shape) {
            return Shape::ANY;
        }
        let span = join_spans(base, step);
        let exact = shape.values.is_some();
        let has_method = is_method(shape, name);
        if !has_method
            && !declared_field
            && !exact
            && shape.kinds.overlaps(Kinds::MAP)
            && shape.fields.is_none()
        {
            // A field of an object without a schema cannot be called either, but its name may be a tool's.
            return Shape::ANY;
        }
        let Some(passed) = passed else { return Shape::ANY };
        if !has_method {
            self.report_method(shape, name, (base, step));
            return Shape::ANY;
        }
        let operands: Vec<Shape> = std::iter::once(shape.clone()).chain(passed).collect();
        let build = |operands: Vec<Expr>| {
            let (first, args) = split_arguments(operands, args);
            let attr = PostfixStep { op: PostfixOp::Attr(name.into()), span: step };
            let call = PostfixStep { op: PostfixOp::Call(args), span: step };
            postfix(vec![first], vec![attr, call], span)
        };
        let by_value = BY_VALUE.contains(&name) && !operands.iter().all(|operand| operand.values.is_some());
        if let Some(error) = self.operand_failure(&describe_call(".", name, args), &operands, &build, span)
            && (!by_value || is_argument_error(&error))
        {
            self.check.report_failure(self.template, span_of(step), &error);
            return Shape::ANY;
        }
        method_result(shape, name)
    }

    /// The failure of an operation whose first operand is known. Unknown arguments take part with every kind of JSON, and
    /// only the number and names of arguments are judged then.
    fn operand_failure(
        &mut self,
        operation: &str,
        operands: &[Shape],
        build: &dyn Fn(Vec<Expr>) -> Expr,
        span: Span,
    ) -> Option<Error> {
        let is_known = operands.iter().all(has_samples);
        if is_known {
            return self.failure(operation, operands, build, span);
        }
        let any = |shape: &Shape| match has_samples(shape) {
            true => shape.clone(),
            false => Shape::of_kinds(Kinds::JSON),
        };
        let widened: Vec<Shape> = operands.iter().map(any).collect();
        self.failure(operation, &widened, build, span).filter(is_argument_error)
    }

    fn report_method(&mut self, shape: &Shape, name: &str, (_, step): (Span, Span)) {
        let known = hinagata_jinja::builtin_names().filter(|(kind, _)| {
            let kinds = match *kind {
                "str" => Kinds::STRING,
                "list" => Kinds::LIST,
                "dict" => Kinds::MAP,
                "int" => Kinds::INT,
                "float" => Kinds::FLOAT,
                _ => return false,
            };
            shape.kinds.overlaps(kinds)
        });
        let near = near_names(name, known.map(|(_, name)| name));
        if shape.kinds == Kinds::UNDEFINED && !self.fails_when_called(shape, name, step) {
            return;
        }
        let message = format!("{} has no method `{name}`", noun(shape));
        self.check.report(self.template, span_of(step), &NAME_METHOD, message, near, None);
    }

    fn fails_when_called(&mut self, shape: &Shape, name: &str, step: Span) -> bool {
        let build = |operands: Vec<Expr>| {
            let attr = PostfixStep { op: PostfixOp::Attr(name.into()), span: step };
            let call = PostfixStep { op: PostfixOp::Call(CallArgs::default()), span: step };
            postfix(operands, vec![attr, call], step)
        };
        self.known_failure(&format!(".{name}()"), std::slice::from_ref(shape), &build, step).is_some()
    }

    pub(super) fn filter(&mut self, shape: &Shape, filter: &'w FilterCall, _need: Need) -> Shape {
        let name = &*filter.name;
        let passed = self.arguments(&filter.args);
        if !has_builtin("filter", name) {
            let all = hinagata_jinja::builtin_names().filter(|(kind, _)| *kind == "filter");
            let near = near_names(name, all.map(|(_, name)| name));
            let message = format!("no filter named '{name}'");
            self.check.report(self.template, span_of(filter.span), &NAME_FILTER, message, near, None);
            return Shape::ANY;
        }
        self.check_named_operations(filter);
        let Some(passed) = passed else { return Shape::ANY };
        let first = if self.mutates { shape.widen_containers() } else { shape.clone() };
        let operands: Vec<Shape> = std::iter::once(first).chain(passed).collect();
        let build = |operands: Vec<Expr>| {
            let (first, args) = split_arguments(operands, &filter.args);
            let call = FilterCall { name: filter.name.clone(), args, span: filter.span };
            let step = PostfixStep { op: PostfixOp::Filter(call), span: filter.span };
            postfix(vec![first], vec![step], filter.span)
        };
        let by_value =
            matches!(name, "format" | "attr" | "map" | "select" | "reject" | "selectattr" | "rejectattr");
        if let Some(error) =
            self.operand_failure(&describe_call("|", name, &filter.args), &operands, &build, filter.span)
            && (!by_value || is_argument_error(&error) || operands.iter().all(|one| one.values.is_some()))
        {
            self.check.report_failure(self.template, span_of(filter.span), &error);
            return Shape::ANY;
        }
        self.filter_result(&operands, name)
    }

    /// Reports filters and tests that an argument names: `map("uper")`.
    fn check_named_operations(&mut self, filter: &'w FilterCall) {
        let (kind, at) = match &*filter.name {
            "map" => ("filter", 0),
            "select" | "reject" => ("test", 0),
            "selectattr" | "rejectattr" => ("test", 1),
            _ => return,
        };
        let Some(ExprKind::Const(hinagata_jinja::ast::Const::Str(name))) =
            filter.args.positional.get(at).map(|arg| &arg.kind)
        else {
            return;
        };
        let all = || hinagata_jinja::builtin_names().filter(|(of, _)| *of == kind).map(|(_, name)| name);
        if !all().any(|known| known == &**name) {
            let code = if kind == "filter" { &NAME_FILTER } else { &NAME_TEST };
            let span = span_of(filter.args.positional[at].span);
            let near = near_names(name, all());
            // Nothing fails while the list is empty.
            let message = format!("no {kind} named '{name}'");
            self.check.report_at(crate::Level::Warning, self.template, span, code, message, near, None);
        }
    }

    fn filter_result(&self, operands: &[Shape], name: &str) -> Shape {
        let of = &operands[0];
        let text = || self.text_shape();
        match name {
            "upper" | "lower" | "title" | "capitalize" | "trim" | "replace" | "center" | "indent"
            | "wordwrap" | "truncate" | "join" | "string" | "format" | "striptags" | "urlencode"
            | "filesizeformat" | "pprint" => text(),
            "length" | "count" | "wordcount" => Shape::of_kinds(Kinds::INT),
            "int" if operands.len() == 1 => Shape::of_kinds(Kinds::INT),
            "float" if operands.len() == 1 => Shape::of_kinds(Kinds::FLOAT),
            "round" => Shape::of_kinds(Kinds::INT | Kinds::FLOAT),
            "abs" if (Kinds::INT | Kinds::FLOAT).contains(of.kinds) => Shape::of_kinds(of.kinds),
            "default" | "d" => match operands.get(1) {
                Some(default) => of.without(Kinds::UNDEFINED).join(default),
                None => of.without(Kinds::UNDEFINED).join(&Shape::of_kinds(Kinds::STRING)),
            },
            "first" | "last" | "min" | "max" | "random" if of.kinds == Kinds::LIST => {
                of.listed_items().join(&Shape::UNDEFINED).unvalued()
            }
            "list" | "sort" if of.kinds == Kinds::LIST => Shape { values: None, ..of.clone() },
            _ => Shape::ANY,
        }
    }

    pub(super) fn test(&mut self, shape: &Shape, test: &'w TestCall) -> Shape {
        let passed = self.arguments(&test.args);
        let name = &*test.name;
        let all =
            || hinagata_jinja::builtin_names().filter(|(kind, _)| *kind == "test").map(|(_, name)| name);
        if !all().any(|known| known == name) {
            let message = format!("no test named '{name}'");
            let span = span_of(test.span);
            self.check.report(self.template, span, &NAME_TEST, message, near_names(name, all()), None);
        } else if let Some(passed) = passed {
            let operands: Vec<Shape> = std::iter::once(shape.clone()).chain(passed).collect();
            let build = |operands: Vec<Expr>| {
                let (first, args) = split_arguments(operands, &test.args);
                let call = TestCall { name: test.name.clone(), negated: false, args, span: test.span };
                let step = PostfixStep { op: PostfixOp::Test(call), span: test.span };
                postfix(vec![first], vec![step], test.span)
            };
            if let Some(error) =
                self.operand_failure(&describe_call("is", name, &test.args), &operands, &build, test.span)
            {
                self.check.report_failure(self.template, span_of(test.span), &error);
            }
        }
        Shape::of_kinds(Kinds::BOOL)
    }

    /// A call of a builtin function.
    pub(super) fn call_global(&mut self, name: &'w str, args: &'w CallArgs, spans: (Span, Span)) -> Shape {
        let passed = self.arguments(args);
        let span = join_spans(spans.0, spans.1);
        if name == "media" {
            let named = args.keywords.iter().find(|keyword| &*keyword.name.name == "type");
            if let Some(kind) = args.positional.get(1).or(named.map(|keyword| &keyword.value)) {
                let kind = self.eval(kind, Need::Optional);
                self.check.add_media(&kind);
            }
        }
        let is_builtin = matches!(name, "range" | "dict" | "lipsum" | "cycler" | "joiner" | "namespace");
        if let Some(passed) = passed.filter(|_| is_builtin) {
            let build = |operands: Vec<Expr>| {
                let base = Expr { kind: ExprKind::Name(name.into()), span: spans.0 };
                let all = std::iter::once(base).chain(operands).collect();
                let (callee, args) = split_arguments(all, args);
                let call = PostfixStep { op: PostfixOp::Call(args), span: spans.1 };
                postfix(vec![callee], vec![call], span)
            };
            if let Some(error) = self.operand_failure(&describe_call("", name, args), &passed, &build, span) {
                self.check.report_failure(self.template, span_of(span), &error);
            }
        }
        if self.check.surroundings.functions.get(name).is_some() {
            return Shape::ANY;
        }
        Shape::of_kinds(Kinds::OTHER)
    }

    /// Checks the arguments of a call of a macro of this template.
    pub(super) fn check_macro_call(&mut self, name: &str, args: &'w CallArgs, span: Span, is_block: bool) {
        let Some(signature) = self.macros.get(name).cloned() else { return };
        if args.args.is_some() || args.kwargs.is_some() {
            return;
        }
        let mut problem = None;
        if args.positional.len() > signature.parameters.len() && !signature.varargs {
            problem = Some((
                format!(
                    "macro `{name}` takes at most {} arguments, but {} were given",
                    signature.parameters.len(),
                    args.positional.len()
                ),
                Vec::new(),
            ));
        }
        for keyword in &args.keywords {
            let key = &*keyword.name.name;
            let known = || signature.parameters.iter().map(|(name, _)| name.as_str());
            let at = known().position(|known| known == key);
            if at.is_some_and(|at| at < args.positional.len()) {
                problem = Some((format!("macro `{name}` gets its argument `{key}` twice"), Vec::new()));
            } else if at.is_none() && !signature.kwargs && key != "caller" {
                let message = format!("macro `{name}` has no argument called `{key}`");
                problem = Some((message, near_names(key, known())));
            }
        }
        if is_block && !signature.caller {
            problem = Some((format!("macro `{name}` does not use `caller()`"), Vec::new()));
        }
        if let Some((message, near)) = problem {
            self.check.report(self.template, span_of(span), &NAME_ARGUMENTS, message, near, None);
        }
    }
}

/// A call for [`Check::is_known_sound`](crate::check::Check::is_known_sound): what is called, and how arguments are passed.
fn describe_call(sign: &str, name: &str, args: &CallArgs) -> String {
    let mut text = format!("{sign}{name}/{}", args.positional.len());
    for keyword in &args.keywords {
        text.push('/');
        text.push_str(&keyword.name.name);
    }
    text
}

fn postfix(mut operands: Vec<Expr>, ops: Vec<PostfixStep>, span: Span) -> Expr {
    let base = operands.remove(0);
    Expr { kind: ExprKind::Postfix(Box::new(Postfix { base, ops })), span }
}

/// The first operand, and the others as the arguments that `like` has.
fn split_arguments(mut operands: Vec<Expr>, like: &CallArgs) -> (Expr, CallArgs) {
    let mut args = operands.split_off(1);
    let named = args.split_off(like.positional.len());
    let keywords = like.keywords.iter().zip(named);
    let keywords = keywords.map(|(keyword, value)| Keyword { name: keyword.name.clone(), value });
    let args = CallArgs { positional: args, keywords: keywords.collect(), args: None, kwargs: None };
    (operands.remove(0), args)
}

fn is_argument_error(error: &Error) -> bool {
    crate::check::is_about_arguments(error.message())
}

fn binary_result(left: Kinds, op: BinaryOp, right: Kinds) -> Shape {
    let (int, float) = (Kinds::INT | Kinds::BOOL, Kinds::FLOAT);
    let are = |kinds: Kinds| kinds.contains(left) && kinds.contains(right);
    Shape::of_kinds(match op {
        BinaryOp::Div if are(int | float) => float,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Rem if are(int) => {
            Kinds::INT
        }
        BinaryOp::Pow if are(int | float) => Kinds::INT | float,
        _ if are(int | float) => Kinds::INT | float,
        BinaryOp::Add if are(Kinds::STRING) => Kinds::STRING,
        BinaryOp::Add if are(Kinds::LIST) => Kinds::LIST,
        BinaryOp::Mul if left == Kinds::STRING && right == Kinds::INT => Kinds::STRING,
        BinaryOp::Rem if left == Kinds::STRING => Kinds::STRING,
        _ => Kinds::ANY,
    })
}

fn method_result(shape: &Shape, name: &str) -> Shape {
    if shape.kinds != Kinds::STRING {
        return Shape::ANY;
    }
    match name {
        "upper" | "lower" | "strip" | "lstrip" | "rstrip" | "title" | "capitalize" | "replace" | "join"
        | "format" | "zfill" | "center" | "ljust" | "rjust" | "casefold" | "swapcase" | "removeprefix"
        | "removesuffix" => Shape::of_kinds(Kinds::STRING),
        "split" | "rsplit" | "splitlines" => Shape::list_of(Shape::of_kinds(Kinds::STRING)),
        "startswith" | "endswith" => Shape::of_kinds(Kinds::BOOL),
        "find" | "rfind" | "count" | "index" | "rindex" => Shape::of_kinds(Kinds::INT),
        _ => Shape::ANY,
    }
}

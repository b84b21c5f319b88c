//! Asks the engines themselves what one operation does with given values, so that no table can disagree with them.
//!
//! Only operations of the languages run: the functions of the host are replaced, so no tool is called.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use hinagata_gotemplate::{Context, Options as GoOptions, Set};
use hinagata_jinja::{
    Render, Settings, Source, Template,
    ast::{self, CallArgs, Expr, ExprKind, Postfix, PostfixOp, PostfixStep, Span, Stmt, StmtKind},
};
use hinagata_value::{
    Arguments, Budget, Calls, Closure, Error, ErrorKind, Function, Functions, Heap, Host, Kind, LimitKind,
    Limits, Output, Result, Signature, Value, to_json,
};
use serde_json::{Map, Value as Json};

use crate::shape::{Kinds, Shape, is_small};

/// The function that receives the result of an operation.
const OUT: &str = "hina__out";
/// The message of a replaced function of the host.
const UNKNOWN: &str = "the result is unknown";

/// What an operation does with some values.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It has this result.
    Result(Observed),
    /// It fails.
    Fails(Error),
    /// It cannot be known.
    Unknown,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observed {
    pub(crate) kinds: Kinds,
    /// The value, if JSON can express it.
    pub(crate) value: Option<Json>,
}

impl Observed {
    pub(crate) fn into_shape(self) -> Shape {
        match self.value {
            Some(value) => Shape::of_value(value),
            None => Shape::of_kinds(self.kinds),
        }
    }

    fn from_value<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Self {
        let kinds = match value.kind() {
            Kind::Undefined => Kinds::UNDEFINED,
            Kind::None => Kinds::NULL,
            Kind::Bool => Kinds::BOOL,
            Kind::Int => Kinds::INT,
            Kind::Float => Kinds::FLOAT,
            Kind::Str if !value.is_safe() => Kinds::STRING,
            Kind::List => Kinds::LIST,
            Kind::Map => Kinds::MAP,
            _ => return Self { kinds: Kinds::OTHER, value: None },
        };
        let value = if kinds == Kinds::UNDEFINED { None } else { to_json(heap, value).ok() };
        // A value that reads differently as JSON, such as an integer of 128 bits or a list of tuples, is not followed.
        let value = value.filter(|json| Kinds::from_json(json) == kinds && is_small(json));
        Self { kinds, value }
    }
}

type Slot = Arc<Mutex<Option<Observed>>>;

/// The functions of a probe: the one that receives the result, and replaced ones of the host.
fn probe_functions(slot: &Slot, replaced: &Functions) -> Functions {
    let mut functions = Functions::new();
    for name in replaced.names() {
        let signature = replaced.get(name).and_then(|function| function.signature().cloned());
        functions.insert(Replaced { name: name.to_owned(), signature });
    }
    let slot = Arc::clone(slot);
    functions.insert(Closure::new(OUT, move |host: &Host<'_, '_>, arguments: &Arguments<'_, '_>| {
        let observed = arguments.positional.first().map(|value| Observed::from_value(host.heap, value));
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = observed;
        Ok(Value::None)
    }));
    functions
}

/// Has the signature of a function of the host, and no result.
struct Replaced {
    name: String,
    signature: Option<Signature>,
}

impl Function for Replaced {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    fn call<'a>(&self, _host: &Host<'_, 'a>, _arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
        Err(Error::new(ErrorKind::Cancelled, UNKNOWN))
    }
}

fn probe_limits() -> Limits {
    Limits { steps: 200_000, bytes: 4 << 20, ..Limits::default() }
}

fn outcome(result: Result<()>, slot: &Slot) -> Outcome {
    let observed = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    match result {
        Ok(()) => observed.map_or(Outcome::Unknown, Outcome::Result),
        Err(error) => match (error.kind(), error.limit()) {
            (ErrorKind::Limit, Some(LimitKind::RangeItems | LimitKind::Fill | LimitKind::Integer)) => {
                Outcome::Fails(error)
            }
            (ErrorKind::Runtime | ErrorKind::Undefined | ErrorKind::Security | ErrorKind::Syntax, None)
                if !error.message().contains(UNKNOWN) =>
            {
                Outcome::Fails(error)
            }
            _ => Outcome::Unknown,
        },
    }
}

/// Runs operations of Jinja.
pub(crate) struct JinjaProbe {
    settings: Settings,
    functions: Functions,
    slot: Slot,
    limits: Limits,
}

impl JinjaProbe {
    pub(crate) fn new(settings: Settings) -> Self {
        let slot = Slot::default();
        let functions = probe_functions(&slot, &Functions::new());
        Self { settings, functions, slot, limits: probe_limits() }
    }

    /// The result of `expr` with these variables.
    pub(crate) fn eval(&self, expr: Expr, variables: &Json) -> Outcome {
        let span = expr.span;
        let args = CallArgs { positional: vec![expr], ..CallArgs::default() };
        let call = PostfixStep { op: PostfixOp::Call(args), span };
        let base = Expr { kind: ExprKind::Name(OUT.into()), span };
        let print = Expr { kind: ExprKind::Postfix(Box::new(Postfix { base, ops: vec![call] })), span };
        self.run(vec![Stmt { kind: StmtKind::Print(print), span }], variables)
    }

    /// Whether a statement fails with these variables.
    pub(crate) fn exec(&self, stmt: Stmt, variables: &Json) -> Outcome {
        let span = stmt.span;
        let done = Expr { kind: ExprKind::Const(ast::Const::None), span };
        match self.run(vec![stmt], variables) {
            // The statement ran, but has no result.
            Outcome::Unknown => self.eval(done, &Json::Null),
            other => other,
        }
    }

    fn run(&self, body: Vec<Stmt>, variables: &Json) -> Outcome {
        let tree = ast::Template { body };
        let run = || {
            let template = Template::compile_tree(tree, Source::new("", ""), &self.limits)?;
            let render = Render::new()
                .with_settings(self.settings.clone())
                .with_limits(self.limits.clone())
                .with_functions(&self.functions);
            render.render_text(&template, variables).map(drop)
        };
        outcome(run(), &self.slot)
    }
}

/// Runs operations of Go templates.
pub(crate) struct GoProbe {
    options: GoOptions,
    functions: Functions,
    slot: Slot,
    limits: Limits,
    sets: HashMap<String, Option<Set>>,
}

impl GoProbe {
    pub(crate) fn new(options: &GoOptions, functions: &Functions) -> Self {
        let slot = Slot::default();
        let functions = probe_functions(&slot, functions);
        let options = GoOptions { left: String::new(), right: String::new(), ..options.clone() };
        Self { options, functions, slot, limits: probe_limits(), sets: HashMap::new() }
    }

    /// The result of the command `text` after the actions `before`, on this data.
    pub(crate) fn eval(&mut self, before: &str, text: &str, data: &Map<String, Json>) -> Outcome {
        self.exec(&format!("{before}{{{{{OUT} ({text})}}}}"), data)
    }

    /// Whether `source` fails on this data.
    pub(crate) fn exec(&mut self, source: &str, data: &Map<String, Json>) -> Outcome {
        let (options, functions, limits) = (&self.options, &self.functions, &self.limits);
        if self.sets.len() > 4096 {
            self.sets.clear();
        }
        let set = self.sets.entry(source.to_owned()).or_insert_with(|| {
            let mut set = Set::new(options.clone(), functions);
            set.parse("probe", source, &Budget::new(limits.clone())).ok().map(|()| set)
        });
        let Some(set) = set else { return Outcome::Unknown };
        let data = Json::Object(data.clone());
        let budget = Budget::new(limits.clone());
        let calls = Calls::new();
        let heap = Heap::new(&budget);
        let mut output: Output<'_> = Output::new(&budget);
        let context = Context { heap: &heap, functions, calls: &calls, templates: &(), first_template: 0 };
        let result = set.execute("probe", &data, &context, &mut output);
        outcome(result, &self.slot)
    }
}

/// Values of the kinds of a shape, such that an operation that fails with all of them fails with every value.
pub(crate) fn samples(shape: &Shape) -> Vec<Option<Json>> {
    let mut all: Vec<Option<Json>> = match &shape.values {
        Some(values) => values.iter().cloned().map(Some).collect(),
        None => SAMPLES
            .iter()
            .filter(|(kind, _)| shape.kinds.contains(*kind))
            .flat_map(|(_, values)| values.iter().cloned().map(Some))
            .collect(),
    };
    if shape.kinds.contains(Kinds::UNDEFINED) {
        all.push(None);
    }
    all
}

/// The first sample of a kind is the most likely to succeed.
const SAMPLE_TEXTS: [(Kinds, &[&str]); 7] = [
    (
        Kinds::STRING,
        &["\"a\"", "\"\"", "\"1\"", "\"1.5\"", "\"a b\"", "\"%s\"", "\"%d\"", "\"{}\"", "\"utf-8\""],
    ),
    (Kinds::INT, &["1", "0", "2", "-1", "7", "65"]),
    (Kinds::FLOAT, &["1.5", "0.0", "-2.0", "3.0"]),
    (Kinds::BOOL, &["true", "false"]),
    (
        Kinds::LIST,
        &[
            "[]",
            "[\"a\", \"b\"]",
            "[1]",
            "[\"a\"]",
            "[1, 2, 3]",
            "[[\"a\", 1], [\"b\", 2]]",
            "[{\"a\": 1, \"name\": \"b\"}]",
        ],
    ),
    (Kinds::MAP, &["{\"a\": 1}", "{}", "{\"name\": \"a\", \"1\": [1]}"]),
    (Kinds::NULL, &["null"]),
];

/// The samples, parsed.
static SAMPLES: LazyLock<Vec<(Kinds, Vec<Json>)>> = LazyLock::new(|| {
    let parse = |texts: &[&str]| texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    SAMPLE_TEXTS.iter().map(|(kind, texts)| (*kind, parse(texts))).collect()
});

/// What to do with the kinds of operands of which samples are made: an operand of unknown kind has none.
pub(crate) fn has_samples(shape: &Shape) -> bool {
    !shape.is_unknown() && !shape.kinds.is_empty()
}

/// An expression for a placeholder.
pub(crate) fn placeholder(number: usize, span: Span) -> Expr {
    Expr { kind: ExprKind::Name(placeholder_name(number).into()), span }
}

/// The name of a placeholder, which no template uses.
pub(crate) fn placeholder_name(number: usize) -> String {
    format!("hina__{number}")
}

//! Runs cases the way Go would be used: parse sources in order, execute one.

use hinagata_gotemplate::{Context, Integers, MissingKey, Options, Set};
use hinagata_value::{Budget, Calls, Error, Heap, Limits, Output};
use serde_json::Value as Json;

use super::functions::functions;

/// A case of the recorded format.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Names and sources in the order of parsing.
    pub sources: Vec<(String, String)>,
    pub entry: String,
    pub data: Json,
    pub ints: bool,
    pub missing_key: String,
    pub delims: (String, String),
}

impl Case {
    /// A template alone.
    pub(crate) fn single(template: &str, data: Json) -> Self {
        Self {
            sources: vec![("main".into(), template.into())],
            entry: "main".into(),
            data,
            ints: false,
            missing_key: "default".into(),
            delims: Default::default(),
        }
    }
}

/// What a case leads to.
#[derive(Debug)]
pub(crate) enum Outcome {
    Output(Vec<u8>),
    Parse(Error),
    Exec(Error, Vec<u8>),
}

/// Runs a case under `limits`.
pub(crate) fn run(case: &Case, limits: &Limits) -> Outcome {
    let integers = if case.ints { Integers::Exact } else { Integers::Float };
    let functions = functions(integers);
    let options = Options {
        left: case.delims.0.clone(),
        right: case.delims.1.clone(),
        missing_key: MissingKey::from_name(&case.missing_key).expect("is one of Go's"),
        integers,
    };
    let budget = Budget::new(limits.clone());
    let mut set = Set::new(options, &functions);
    for (name, source) in &case.sources {
        if let Err(error) = set.parse(name, source, &budget) {
            return Outcome::Parse(error);
        }
    }
    let calls = Calls::new();
    let heap = Heap::new(&budget);
    let mut output: Output<'_> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
    let result = set.execute(&case.entry, &case.data, &context, &mut output);
    let written = output.finish().into_bytes();
    match result {
        Ok(()) => Outcome::Output(written),
        Err(error) => Outcome::Exec(error, written),
    }
}

/// Runs `work` on a thread with a stack of `size` bytes.
pub(crate) fn on_stack<T: Send + 'static>(size: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(size)
        .spawn(work)
        .expect("a thread starts")
        .join()
        .expect("no panic")
}

//! Our Go template engine, from `serde_json::Value` data, with its default limits.

use std::hint::black_box;

use anyhow::Result;
use hinagata_gotemplate::{Options, Set};
use hinagata_value::{Budget, Closure, Functions, Limits, Signature, Type, Value};

use crate::side::Entrant;
use crate::workload::GoWorkload;

const NAME: &str = "main";

/// The engine with the template of `work` parsed, and the function `add`.
pub(crate) fn entrant(work: &GoWorkload) -> Entrant {
    match prepare(work) {
        Ok(entrant) => entrant,
        Err(error) => Entrant::Absent(format!("{error:#}")),
    }
}

fn prepare(work: &GoWorkload) -> Result<Entrant> {
    let mut functions = Functions::new();
    insert_add(&mut functions);
    let mut set = Set::new(Options::default(), &functions);
    set.parse(NAME, &work.template, &Budget::new(Limits::default()))?;
    let data = work.data.clone();
    let (same, same_functions, same_data) = (set.clone(), functions.clone(), data.clone());
    Ok(Entrant::local(
        "",
        move || Ok(same.render(NAME, &same_data, &same_functions, Limits::default())?.into_bytes()),
        move || drop(black_box(set.render(NAME, &data, &functions, Limits::default()))),
    ))
}

/// Adds the function that the templates of the workloads call.
pub(crate) fn insert_add(functions: &mut Functions) {
    functions.insert(Closure::with_signature(
        "add",
        Signature { parameters: vec![Type::Int; 2], result: Type::Int, ..Signature::default() },
        |_, arguments| {
            let int = |at: usize| arguments.positional[at].as_i64().unwrap_or_default();
            Ok(Value::Int(int(0).wrapping_add(int(1))))
        },
    ));
}

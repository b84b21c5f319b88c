//! The crate gotmpl, with its data converted beforehand: only executing is timed.

use std::hint::black_box;
use std::rc::Rc;

use anyhow::Result;
use gotmpl::{Template, Value};
use serde_json::Value as Json;

use crate::side::Entrant;
use crate::workload::GoWorkload;

pub(crate) fn entrant(work: &GoWorkload) -> Entrant {
    match prepare(work) {
        Ok(entrant) => entrant,
        Err(error) => Entrant::Absent(format!("{error:#}")),
    }
}

fn prepare(work: &GoWorkload) -> Result<Entrant> {
    let add = |arguments: &[Value]| Ok(Value::Int(arguments.iter().filter_map(Value::as_int).sum()));
    let template = Rc::new(Template::new("main").func("add", add).parse(&work.template)?);
    let data = Rc::new(gotmpl::to_value(&with_floats(work.data.clone()))?);
    let (again, same) = (Rc::clone(&template), Rc::clone(&data));
    let mut buffer = Vec::new();
    Ok(Entrant::local(
        "gotmpl 0.6.1",
        move || Ok(again.execute_to_string(&same)?.into_bytes()),
        move || {
            buffer.clear();
            let _ = black_box(template.execute(&mut buffer, &data));
        },
    ))
}

/// Every number as a float, which is what Go decodes numbers to.
fn with_floats(data: Json) -> Json {
    match data {
        Json::Number(number) => number.as_f64().map_or(Json::Null, Json::from),
        Json::Array(items) => items.into_iter().map(with_floats).collect(),
        Json::Object(entries) => entries.into_iter().map(|(key, value)| (key, with_floats(value))).collect(),
        other => other,
    }
}

//! minijinja, with its context converted beforehand: only rendering is timed.

use std::hint::black_box;

use anyhow::Result;
use minijinja::value::Serde;
use minijinja::{Environment, Value};

use crate::side::Entrant;
use crate::workload::JinjaWorkload;

pub(crate) fn entrant(work: &JinjaWorkload) -> Entrant {
    match prepare(work) {
        Ok(entrant) => entrant,
        Err(error) => Entrant::Absent(format!("{error:#}")),
    }
}

fn prepare(work: &JinjaWorkload) -> Result<Entrant> {
    // The sides live as long as the process, and a template borrows its environment.
    let environment: &'static mut Environment<'static> = Box::leak(Box::new(Environment::new()));
    for (name, source) in &work.templates {
        environment.add_template_owned(name.clone(), source.clone())?;
    }
    let template = environment.get_template(&work.entry)?;
    let again = template.clone();
    let context = Value::from(Serde(&work.data));
    let same = context.clone();
    Ok(Entrant::local(
        "minijinja 3.0.5",
        move || Ok(again.render(same.clone())?.into_bytes()),
        move || drop(black_box(template.render(context.clone()))),
    ))
}

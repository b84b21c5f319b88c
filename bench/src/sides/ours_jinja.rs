//! Our Jinja engine, from `serde_json::Value` data, with its default limits.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result};
use hinagata_jinja::{Loader, ParseOptions, Render, Template};
use hinagata_value::Limits;

use crate::side::Entrant;
use crate::workload::JinjaWorkload;

/// The engine with the templates of `work` compiled.
pub(crate) fn entrant(work: &JinjaWorkload) -> Entrant {
    match prepare(work) {
        Ok(entrant) => entrant,
        Err(error) => Entrant::Absent(format!("{error:#}")),
    }
}

fn prepare(work: &JinjaWorkload) -> Result<Entrant> {
    let limits = Limits::default();
    let mut templates = HashMap::new();
    for (name, source) in &work.templates {
        let template = Template::compile(name, source, &ParseOptions::default(), &limits)?;
        templates.insert(name.clone(), Arc::new(template));
    }
    // The sides live as long as the process, and a render borrows its loader.
    let templates: &'static HashMap<_, _> = Box::leak(Box::new(templates));
    let entry = templates.load(&work.entry)?.context("the entry is one of the templates")?;
    let render = Render::new().with_loader(templates);
    let (again, same, data) = (entry.clone(), render.clone(), work.data.clone());
    let same_data = data.clone();
    Ok(Entrant::local(
        "",
        move || Ok(same.render_text(&again, &same_data)?.into_bytes()),
        move || drop(black_box(render.render_text(&entry, &data))),
    ))
}

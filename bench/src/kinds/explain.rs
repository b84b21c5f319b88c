//! A render with a record of its origins, and the source map that is made of it, beside the plain render.

use std::hint::black_box;

use anyhow::{Context, Result};
use hinagata_template::{Language, Mapped, MemorySources, Options, Render, SourceText, Template};
use hinagata_value::{Functions, Limits};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::Entrant;
use crate::sides::ours_gotemplate::insert_add;
use crate::workload::{self, GoWorkload, JinjaWorkload};

const KIND: &str = "explain";
const RECORDED: Goal = Goal { must: 1.5, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let mut contests = Vec::new();
    for name in ["small", "medium", "large"] {
        let work: JinjaWorkload = workload::load(&workload::path(&installer.home, "jinja", name))?;
        let source = work.templates.get(&work.entry).context("the entry is one of the templates")?.clone();
        let templates = work.templates.iter().map(|(name, text)| (name.clone(), text.clone())).collect();
        let prompt =
            Prompt { language: Language::Jinja, name: work.entry, source, templates, data: work.data };
        contests.extend(contests_of(&format!("jinja {name}"), prompt)?);
    }
    for name in ["small", "medium", "range50", "large"] {
        let work: GoWorkload = workload::load(&workload::path(&installer.home, "gotemplate", name))?;
        let (language, templates) = (Language::Go, Vec::new());
        let prompt =
            Prompt { language, name: "main".to_owned(), source: work.template, templates, data: work.data };
        contests.extend(contests_of(&format!("go {name}"), prompt)?);
    }
    Ok(contests)
}

struct Prompt {
    language: Language,
    name: String,
    source: String,
    templates: Vec<(String, String)>,
    data: serde_json::Value,
}

/// How a prompt is rendered.
#[derive(Clone, Copy)]
enum How {
    Plain,
    /// With a record of origins.
    Recorded,
    /// With the source map, which is made of the record.
    Mapped,
}

/// Two contests: the render with its record, which has a goal; and the same with the map, which has none.
fn contests_of(name: &str, prompt: Prompt) -> Result<[Contest; 2]> {
    let mut functions = hinagata_template::structure_functions();
    insert_add(&mut functions);
    let functions: &'static Functions = Box::leak(Box::new(functions));
    let options = Options::default().with_functions(functions);
    let template =
        Template::compile(prompt.language, &prompt.name, &prompt.source, &options, &Limits::default())?;
    let mut sources = MemorySources::new();
    for (name, text) in prompt.templates {
        sources.insert_source(name, SourceText::new(prompt.language, text));
    }
    // The sides live as long as the process, and a render borrows its sources.
    let sources: &'static MemorySources = Box::leak(Box::new(sources));
    let data: &'static serde_json::Value = Box::leak(Box::new(prompt.data));
    let cache: &'static hinagata_template::Cache = Box::leak(Box::default());
    let render = Render::new().with_sources(sources).with_functions(functions).with_cache(cache);
    let side = |how: How| {
        let (render, again) = (render.clone(), render.clone());
        let (template, same) = (template.clone(), template.clone());
        let text = move || -> Result<Vec<u8>> {
            Ok(match how {
                How::Plain => again.render_text(&same, data)?,
                How::Recorded => again.render_recorded(&same, data)?.written.text,
                How::Mapped => Mapped::from(again.render_recorded(&same, data)?).written.text,
            }
            .into_bytes())
        };
        Entrant::local("", text, move || match how {
            How::Plain => drop(black_box(render.render_text(&template, data))),
            How::Recorded => drop(black_box(render.render_recorded(&template, data))),
            How::Mapped => drop(black_box(render.render_recorded(&template, data).map(Mapped::from))),
        })
    };
    let contest = |name: String, how: How, goal: Option<Goal>| Contest {
        kind: KIND,
        name,
        expected: None,
        ours: side(how),
        peers: vec![Peer { name: "plain render", goal, entrant: side(How::Plain) }],
    };
    Ok([
        contest(name.to_owned(), How::Recorded, Some(RECORDED)),
        contest(format!("{name}, with the map"), How::Mapped, None),
    ])
}

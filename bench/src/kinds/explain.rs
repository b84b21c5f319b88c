//! A render with its source map beside the plain render of the same template.

use std::hint::black_box;

use anyhow::{Context, Result};
use hinagata_template::{Language, MemorySources, Options, Render, SourceText, Template};
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
        contests.push(contest(format!("jinja {name}"), prompt)?);
    }
    for name in ["small", "medium", "large"] {
        let work: GoWorkload = workload::load(&workload::path(&installer.home, "gotemplate", name))?;
        let (language, templates) = (Language::Go, Vec::new());
        let prompt =
            Prompt { language, name: "main".to_owned(), source: work.template, templates, data: work.data };
        contests.push(contest(format!("go {name}"), prompt)?);
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

fn contest(name: String, prompt: Prompt) -> Result<Contest> {
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
    let side = |mapped: bool| {
        let (render, again) = (render.clone(), render.clone());
        let (template, same) = (template.clone(), template.clone());
        let text = move || -> Result<Vec<u8>> {
            Ok(match mapped {
                true => again.render_mapped(&same, data)?.written.text,
                false => again.render_text(&same, data)?,
            }
            .into_bytes())
        };
        Entrant::local("", text, move || match mapped {
            true => drop(black_box(render.render_mapped(&template, data))),
            false => drop(black_box(render.render_text(&template, data))),
        })
    };
    Ok(Contest {
        kind: KIND,
        name,
        expected: None,
        ours: side(true),
        peers: vec![Peer { name: "plain render", goal: Some(RECORDED), entrant: side(false) }],
    })
}

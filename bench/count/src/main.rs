//! `hinagata-count HOW WORKLOAD TIMES`: renders a workload, for a program that counts instructions.
//!
//! `HOW` is `bare` (the language alone) or `plain` (with templates of both languages); with the feature
//! `recorded` also `recorded` (with a record of origins) and `mapped` (with its source map).

use std::{collections::HashMap, error::Error, hint::black_box, sync::Arc};

use hinagata_gotemplate::Set;
use hinagata_jinja::{Loader, ParseOptions};
use hinagata_template::{Cache, Language, MemorySources, Options, Render, SourceText, Template};
use hinagata_value::{Budget, Closure, Functions, Limits, Signature, Type, Value};
use serde_json::Value as Json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, path, times] = &arguments[..] else { return Err("use: hinagata-count HOW WORKLOAD TIMES".into()) };
    let work: Json = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let (times, data) = (times.parse()?, &work["data"]);
    match (how.as_str(), &work["templates"]) {
        ("bare", Json::Object(templates)) => bare_jinja(templates, text_of(&work["entry"]), data, times),
        ("bare", _) => bare_go(text_of(&work["template"]), data, times),
        (how, _) => whole(how, &work, data, times),
    }
}

fn text_of(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn bare_jinja(
    sources: &serde_json::Map<String, Json>,
    entry: &str,
    data: &Json,
    times: u64,
) -> Result<(), Box<dyn Error>> {
    let mut templates = HashMap::new();
    for (name, source) in sources {
        let options = ParseOptions::default();
        let template =
            hinagata_jinja::Template::compile(name, text_of(source), &options, &Limits::default())?;
        templates.insert(name.clone(), Arc::new(template));
    }
    let template = templates.load(entry)?.ok_or("no entry")?;
    let render = hinagata_jinja::Render::new().with_loader(&templates);
    for _ in 0..times {
        black_box(render.render_text(&template, data)?);
    }
    Ok(())
}

fn bare_go(source: &str, data: &Json, times: u64) -> Result<(), Box<dyn Error>> {
    let mut functions = Functions::new();
    insert_add(&mut functions);
    let mut set = Set::new(hinagata_gotemplate::Options::default(), &functions);
    set.parse("main", source, &Budget::new(Limits::default()))?;
    for _ in 0..times {
        black_box(set.render("main", data, &functions, Limits::default())?);
    }
    Ok(())
}

fn whole(how: &str, work: &Json, data: &Json, times: u64) -> Result<(), Box<dyn Error>> {
    let mut functions = hinagata_template::structure_functions();
    insert_add(&mut functions);
    let options = Options::default().with_functions(&functions);
    let mut sources = MemorySources::new();
    let (language, name, source) = match &work["templates"] {
        Json::Object(templates) => {
            for (name, text) in templates {
                sources.insert_source(name.clone(), SourceText::new(Language::Jinja, text_of(text)));
            }
            let entry = text_of(&work["entry"]);
            (Language::Jinja, entry, text_of(&work["templates"][entry]))
        }
        _ => (Language::Go, "main", text_of(&work["template"])),
    };
    let template = Template::compile(language, name, source, &options, &Limits::default())?;
    let cache = Cache::default();
    let render = Render::new().with_sources(&sources).with_functions(&functions).with_cache(&cache);
    for _ in 0..times {
        match how {
            "plain" => drop(black_box(render.render_text(&template, data)?)),
            #[cfg(feature = "recorded")]
            "recorded" => drop(black_box(render.render_recorded(&template, data)?)),
            #[cfg(feature = "recorded")]
            "mapped" => drop(black_box(render.render_mapped(&template, data)?)),
            _ => return Err(format!("unknown: {how}").into()),
        }
    }
    Ok(())
}

/// Adds the function that the templates of the workloads call.
fn insert_add(functions: &mut Functions) {
    functions.insert(Closure::with_signature(
        "add",
        Signature { parameters: vec![Type::Int; 2], result: Type::Int, ..Signature::default() },
        |_, arguments| {
            let int = |at: usize| arguments.positional[at].as_i64().unwrap_or_default();
            Ok(Value::Int(int(0).wrapping_add(int(1))))
        },
    ));
}

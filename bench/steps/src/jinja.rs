//! Jinja: every filter, test, method and global; operators and statements.

mod cases;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use hinagata_jinja::{Data, Loader, ParseOptions, Run, Settings, Template, builtin_names};
use hinagata_value::{Budget, Calls, Functions, Heap, Keep, Limits, Output};
use serde_json::Value as Json;

use self::cases::{BUILTINS, FORMS};
use crate::{Case, Language, Spent, cases, processor_time, wide_limits};

/// Templates that cases include, import and extend.
const TEMPLATES: &[(&str, &str)] = &[
    ("empty", ""),
    ("names", "{% set a = 1 %}{% set b = 2 %}{% macro m(x) %}{% endmacro %}"),
    ("many_names", "MANY"),
    ("base", "{% block a %}{% endblock %}{% block b %}{% endblock %}"),
    ("child", "{% extends 'base' %}{% block a %}{{ super() }}x{% endblock %}"),
];

pub(crate) struct Jinja<'d> {
    data: &'d Json,
    templates: HashMap<String, Arc<Template>>,
    settings: Settings,
}

impl<'d> Jinja<'d> {
    pub(crate) fn new(data: &'d Json) -> Result<Self> {
        let mut templates = HashMap::new();
        for (name, source) in TEMPLATES {
            let source = match *source {
                "MANY" => (0..2_000).map(|at| format!("{{% set name{at} = {at} %}}")).collect(),
                source => source.to_owned(),
            };
            templates.insert((*name).to_owned(), Arc::new(compile(name, &source)?));
        }
        Ok(Self { data, templates, settings: Settings { chat_host: false, ..Settings::default() } })
    }
}

fn compile(name: &str, source: &str) -> Result<Template> {
    let options = ParseOptions { generation: true, ..ParseOptions::default() };
    Ok(Template::compile(name, source, &options, &Limits::default())?)
}

impl Language for Jinja<'_> {
    fn label(&self) -> &'static str {
        "jinja"
    }

    fn cases(&self) -> Vec<Case> {
        let mut all = cases(BUILTINS);
        all.extend(cases(FORMS));
        all
    }

    fn names(&self) -> Vec<String> {
        // Raising an error ends the render: it is done once.
        let builtins = builtin_names().filter(|(_, name)| *name != "raise_exception");
        let builtins = builtins.map(|(kind, name)| format!("{kind} {name}"));
        builtins.chain(FORMS.iter().map(|(name, _, _)| (*name).to_owned())).collect()
    }

    fn run(&self, case: &Case, repeats: u64) -> Result<Spent> {
        let (setup, body) = case.written();
        let has_tags = body.contains("{%") || body.contains("{{");
        let body = if has_tags { body } else { format!("{{% set _ = {body} %}}") };
        let source = format!("{setup}{{% for _ in range({repeats}) %}}{body}{{% endfor %}}");
        let template = compile("main", &source)?;
        // The `tojson` of chat templates is another one than Jinja's.
        let chat_host = case.name == "global strftime_now" || setup.contains("chat_host");
        let settings = Settings { chat_host, ..self.settings.clone() };
        let loader: &dyn Loader = &self.templates;
        let start = processor_time();
        let budget = Budget::new(wide_limits());
        {
            let (loaded, calls, heap) = (Keep::new(), Calls::new(), Heap::new(&budget));
            let run = Run {
                heap: &heap,
                settings: &settings,
                loader,
                outside: &(),
                functions: Functions::empty(),
                calls: &calls,
                loaded: &loaded,
                number: 0,
            };
            let mut output: Output<'_> = Output::with_capacity(&budget, 0)?;
            run.render(&template, Data::Variables(self.data), &mut output)?;
        }
        Ok(Spent { time: processor_time() - start, steps: budget.steps_used() })
    }
}

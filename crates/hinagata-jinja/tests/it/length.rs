//! No production of the grammar, however often it is repeated, can overflow the stack or run forever: every
//! source within the limit ends in a text or in an error, through every walk over its tree and its code.

use std::{collections::HashMap, thread};

use crate::productions::{Production, lists, nested, operators, statements};
use hinagata_jinja::{Loader, ParseOptions, Render, Sources, Template, check_names, parse};
use hinagata_value::{Arguments, Budget, Error, Function, Functions, Host, Limits, Result, Value};
use serde_json::{Value as Json, json};

/// Rust's default stack size for threads.
const STACK: usize = 2 << 20;

/// A function that returns itself, so that `f()()()` works.
struct Itself;

impl Function for Itself {
    fn name(&self) -> &str {
        "f"
    }

    fn call<'a>(&self, host: &Host<'_, 'a>, _: &Arguments<'_, 'a>) -> Result<Value<'a>> {
        Ok(host.function("f").unwrap_or_default())
    }
}

fn data() -> Json {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"next": inner}));
    json!({"a": "", "data": deep})
}

/// Parses, checks, analyses, compiles and renders a source.
fn walk(source: &str, limits: &Limits) -> Result<()> {
    let options = ParseOptions::default();
    let budget = Budget::new(limits.clone());
    let tree = parse("t", source, &options, &budget)?;
    assert_eq!(check_names(&tree, &|_, _| true), None);
    assert!(tree.clone() == tree);
    drop(tree);
    let template = Template::compile("t", source, &options, limits)?;
    drop(template.analysis().clone());
    assert!(!format!("{template:?}").is_empty());
    let other = "{% macro a() %}{{ x1 }}{% endmacro %}{% block b0 %}{% endblock %}".to_owned();
    let sources = HashMap::from([("t".to_owned(), source.to_owned()), ("other".to_owned(), other)]);
    let loader = Sources::new(sources, options, limits.clone());
    drop(loader.load("t"));
    let mut functions = Functions::new();
    functions.insert(Itself);
    let data = data();
    let render = Render::new().with_limits(limits.clone()).with_loader(&loader).with_functions(&functions);
    let text = render.render_text(&template, &data);
    let traced = render.render_traced(&template, &data);
    assert_eq!(text.is_ok(), traced.is_ok(), "a record changes nothing");
    text.map(drop)
}

/// Runs on a thread with the default stack size. A stack overflow would end the whole process.
fn on_small_stack(source: String, limits: Limits) -> Result<(), Error> {
    let walker = thread::Builder::new().stack_size(STACK).spawn(move || walk(&source, &limits));
    walker.expect("a thread starts").join().expect("nothing panics")
}

fn sizes(production: &Production, limits: &Limits) -> Vec<usize> {
    let most = production.most(limits.source);
    [1, 150, 199, 3_000, most].into_iter().filter(|size| *size <= most).collect()
}

fn walk_all(productions: Vec<Production>) {
    let limits = Limits::default();
    for production in productions {
        for size in sizes(&production, &limits) {
            let result = on_small_stack(production.source(size), limits.clone());
            if let Err(error) = result {
                assert!(!error.message().is_empty(), "{}", production.name());
            }
        }
    }
}

#[test]
fn chains_of_operators_end_at_every_length() {
    walk_all(operators());
}

#[test]
fn lists_end_at_every_length() {
    walk_all(lists());
}

#[test]
fn nested_expressions_end_at_every_length() {
    walk_all(nested());
}

#[test]
fn statements_end_at_every_length() {
    walk_all(statements());
}

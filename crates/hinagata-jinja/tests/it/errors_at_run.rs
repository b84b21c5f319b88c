//! Errors at run time: similar names, and the chain of templates that leads to the place.

use std::collections::HashMap;

use hinagata_jinja::{Loader as _, ParseOptions, Render, Settings, Sources, UndefinedMode};
use hinagata_value::{Error, Limits};
use serde_json::json;

fn failure(templates: &[(&str, &str)]) -> Error {
    let sources: HashMap<_, _> =
        templates.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let sources = Sources::new(sources, ParseOptions::default(), Limits::default());
    let main = sources.load("main").expect("compiles").expect("is there");
    let settings = Settings { undefined: UndefinedMode::Jinja, ..Settings::default() };
    let data = json!({"agent_name": "Rumi", "tools": []});
    Render::new().with_settings(settings).with_loader(&sources).render_text(&main, &data).expect_err("fails")
}

#[test]
fn a_misspelt_variable_comes_with_the_one_that_was_meant() {
    let error = failure(&[("main", "{{ agent_nmae.first }}")]);
    assert_eq!(error.near(), ["agent_name"]);
    assert_eq!(error.subject(), Some("agent_nmae"));
}

#[test]
fn a_misspelt_name_that_the_template_sets_is_found_too() {
    let error = failure(&[("main", "{% set greeting = 1 %}{{ greting() }}")]);
    assert_eq!(error.near(), ["greeting"]);
}

#[test]
fn a_template_that_does_not_compile_shows_the_way_to_it() {
    for main in [
        "a\n{% include 'part' %}",
        "a\n{% import 'part' as p %}",
        "a\n{% from 'part' import p %}",
        "a\n{% extends 'part' %}",
    ] {
        let error = failure(&[("main", main), ("part", "x\n\n{% if %}")]);
        let place = error.place().expect("has a place");
        assert_eq!((place.template.as_str(), place.line), ("part", 3), "{main}");
        let chain: Vec<_> = error.chain().iter().map(|place| (place.template.as_str(), place.line)).collect();
        assert_eq!(chain, [("main", 2)], "{main}");
    }
}

//! Properties of every render, for any template and data: it ends within its limits and is deterministic.
//!
//! The templates are those of the differential test, and random sequences of pieces.

use std::{collections::HashMap, thread};

use hinagata_jinja::{Data, Loader, ParseOptions, Render, Run, Settings, Sources, UndefinedMode};
use hinagata_value::{
    Budget, Calls, Error, Functions, Heap, Keep, Limits, Off, Output, Provenance, Segments,
};
use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use serde_json::{Map, Value as Json, json};

use crate::differential::{pieces, statements};

/// Rust's default stack size for threads, which the limits are designed for.
const STACK: usize = 2 << 20;

/// The bytes by which one allocation may exceed the limit: it is counted, and the next one is refused.
const ONE_ALLOCATION: usize = 64 << 10;

const PIECES: &[&str] = &[
    "{{ x }}",
    "{{ m(x, *c, **d) }}",
    "{{ loop.index }}",
    "{{ loop(c) }}",
    "{{ caller(x) }}",
    "{{ super() }}",
    "{{ self.b() }}",
    "{{ x ~ x ~ c }}",
    "{{ c|sort|groupby(0)|list }}",
    "{{ 'a' * 1000 }}",
    "{{ c * 50 }}",
    "{{ x|center(300) }}",
    "{{ range(500)|list|tojson }}",
    "{{ d.items()|list|pprint }}",
    "{{ '%500d' % a }}",
    "{{ '{:>500}'.format(x) }}",
    "{{ 9 ** 30 }}",
    "{{ c[x:a:-1] }}",
    "{{ x|indent(100)|wordwrap(5)|urlize|striptags|e }}",
    "{% if x %}",
    "{% elif c %}",
    "{% else %}",
    "{% endif %}",
    "{% for x in c %}",
    "{% for x, y in d.items() if x %}",
    "{% for x in c recursive %}",
    "{% for i in range(99) %}",
    "{% endfor %}",
    "{% break %}",
    "{% continue %}",
    "{% set x = c %}",
    "{% set x = x ~ x %}",
    "{% set x %}",
    "{% endset %}",
    "{% set ns = namespace(a=1) %}",
    "{% set ns.a = ns %}",
    "{% do c.append(c) %}",
    "{% do d.update(k=d) %}",
    "{% macro m(a, b=x) %}",
    "{% macro n() %}{{ n() }}{% endmacro %}",
    "{% endmacro %}",
    "{% call(a) m(1) %}",
    "{% endcall %}",
    "{% filter upper|center(200) %}",
    "{% endfilter %}",
    "{% block b %}",
    "{% block c scoped %}",
    "{% endblock %}",
    "{% extends 't1' %}",
    "{% include 't1' %}",
    "{% include 't0' %}",
    "{% import 't1' as x %}",
    "{% from 't1' import m, x with context %}",
    "{% with x = c, c = x %}",
    "{% endwith %}",
    "{% autoescape true %}",
    "{% endautoescape %}",
    "{% message 'user' %}",
    "{% endmessage %}",
    "{% raw %}{{{% endraw %}",
    "{# c #}",
    " text <&> \n",
];

/// The input of a render.
#[derive(Clone, Debug)]
struct Subject {
    sources: Vec<String>,
    data: Json,
}

/// A document of a few levels.
fn document() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-10_i64..10).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        ".{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::vec((".{0,4}", inner), 0..5)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

/// Templates from the grammar, pieces in any order, or both.
fn subject() -> impl Strategy<Value = Subject> {
    let pieces =
        || prop::collection::vec(prop::sample::select(PIECES), 0..16).prop_map(|pieces| pieces.concat());
    let data =
        prop::collection::vec((prop::sample::select(&["x", "c", "d", "a", "xs"][..]), document()), 0..5);
    (any::<u64>(), any::<bool>(), pieces(), pieces(), data).prop_map(
        |(seed, generated, first, second, given)| {
            let (mut sources, mut data) = match generated {
                true => {
                    let case = statements::case(seed);
                    (case.templates.iter().map(|pieces| pieces::source(pieces)).collect(), case.data)
                }
                false => {
                    let mut data = Map::new();
                    data.insert("c".to_owned(), json!([1, "b", [2, [3]]]));
                    data.insert("d".to_owned(), json!({"k": [1], "x": {}}));
                    (vec![first, second.clone()], data)
                }
            };
            if seed % 4 == 0 {
                sources[0].push_str(&second);
            }
            data.extend(given.into_iter().map(|(name, value)| (name.to_owned(), value)));
            Subject { sources, data: Json::Object(data) }
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let number = |most: usize| prop_oneof![0..most, 0..most / 20 + 1, Just(most)];
    (number(20_000), number(200_000), prop::option::of(number(5_000)), number(60), number(60), number(200))
        .prop_map(|(steps, bytes, output, calls, nesting, value_depth)| Limits {
            steps: steps as u64,
            bytes,
            output,
            calls: calls as u32,
            nesting: nesting as u32,
            value_depth,
            ..Limits::default()
        })
}

fn settings(undefined: UndefinedMode) -> Settings {
    Settings { undefined, ..Settings::default() }
}

fn loader(subject: &Subject) -> Sources {
    let numbered = subject.sources.iter().enumerate();
    let sources: HashMap<_, _> =
        numbered.map(|(number, source)| (format!("t{number}"), source.clone())).collect();
    Sources::new(sources, ParseOptions::default(), Limits::default())
}

fn text(subject: &Subject, undefined: UndefinedMode, limits: Limits) -> Result<String, Error> {
    let loader = loader(subject);
    let template = loader.load("t0")?.expect("there is a first template");
    Render::new()
        .with_settings(settings(undefined))
        .with_limits(limits)
        .with_loader(&loader)
        .render_text(&template, &subject.data)
}

/// Renders and returns the text, the peak memory in bytes, and the steps.
fn measured<P: Provenance>(
    subject: &Subject,
    limits: &Limits,
) -> Result<(String, usize, u64), TestCaseError> {
    let loader = loader(subject);
    let Ok(template) = loader.load("t0") else { return Ok(Default::default()) };
    let template = template.expect("there is a first template");
    let budget = Budget::new(limits.clone());
    let (loaded, calls, settings) = (Keep::new(), Calls::new(), Settings::default());
    let heap = Heap::new(&budget);
    let run = Run {
        heap: &heap,
        settings: &settings,
        loader: &loader,
        outside: &(),
        functions: Functions::empty(),
        calls: &calls,
        loaded: &loaded,
        number: 0,
    };
    let mut out = Output::<P>::new(&budget);
    let result = run.render(&template, Data::Variables(&subject.data), &mut out);
    let written = out.finish().into_bytes();
    prop_assert!(budget.bytes_peak() <= limits.bytes + ONE_ALLOCATION, "{} bytes", budget.bytes_peak());
    prop_assert!(budget.steps_used() <= limits.steps, "{} steps", budget.steps_used());
    if let Some(most) = limits.output {
        prop_assert!(String::from_utf8_lossy(&written).chars().count() <= most);
    }
    let text = match result {
        Ok(()) => String::from_utf8_lossy(&written).into_owned(),
        Err(error) => {
            // An error has a place, unless it reports a reached limit.
            prop_assert!(error.place().is_some() || error.limit().is_some(), "{error}");
            format!("{:?} {:?} {error}", error.kind(), error.place())
        }
    };
    Ok((text, budget.bytes_peak(), budget.steps_used()))
}

/// Runs a property on a thread with the default stack size.
fn check<S: Strategy>(
    cases: u32,
    strategy: impl FnOnce() -> S + Send + 'static,
    law: impl Fn(S::Value) -> Result<(), TestCaseError> + Send + 'static,
) {
    let run = move || {
        let mut runner = TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
        runner.run(&strategy(), law).map_err(|error| error.to_string())
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread starts");
    if let Err(error) = thread.join().expect("nothing panics") {
        panic!("{error}");
    }
}

#[test]
fn every_render_ends_within_its_limits() {
    check(1_500, || (subject(), limits()), |(subject, limits)| measured::<Off>(&subject, &limits).map(drop));
}

#[test]
fn the_same_render_gives_the_same_bytes_and_takes_the_same_steps() {
    check(
        300,
        || (subject(), limits()),
        |(subject, limits)| {
            prop_assert_eq!(measured::<Off>(&subject, &limits)?, measured::<Off>(&subject, &limits)?);
            Ok(())
        },
    );
}

#[test]
fn the_record_of_origins_changes_no_text() {
    check(300, subject, |subject| {
        // No limit for memory: the record of origins uses memory, so only the traced render would reach it.
        let limits = Limits { steps: 200_000, ..Limits::default() };
        prop_assert_eq!(measured::<Off>(&subject, &limits)?.0, measured::<Segments>(&subject, &limits)?.0);
        Ok(())
    });
}

#[test]
fn the_data_of_the_caller_never_changes() {
    check(200, subject, |mut subject| {
        subject.sources[0].insert_str(0, "{% do c.append(1) %}{% do d.update(k=c) %}{% do d.clear() %}");
        let before = subject.data.to_string();
        let _ = text(&subject, UndefinedMode::Empty, Limits { steps: 50_000, ..Limits::default() });
        prop_assert_eq!(before, subject.data.to_string());
        Ok(())
    });
}

#[test]
fn what_renders_as_in_jinja2_renders_the_same_where_undefined_is_empty() {
    check(800, subject, |subject| {
        // The one difference, which Jinja2 has too: a chainable undefined value is escaped, a plain one is
        // not.
        prop_assume!(!subject.sources.iter().any(|source| source.contains("escaped")));
        let limits = Limits { steps: 100_000, ..Limits::default() };
        if let Ok(strict) = text(&subject, UndefinedMode::Jinja, limits.clone()) {
            prop_assert_eq!(
                strict,
                text(&subject, UndefinedMode::Empty, limits)
                    .map_err(|e| TestCaseError::fail(e.to_string()))?
            );
        }
        Ok(())
    });
}

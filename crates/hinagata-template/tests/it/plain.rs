//! The short way of templates that only write texts and print variables: it has the result of the general way, or its
//! error. A render with a meter always takes the general way.

use hinagata_template::{Language, Meter, Options, Recorded, Render, Template};
use hinagata_value::{Error, Limits};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A piece of a plain template: a text, or the path that it prints.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Print(&'static str),
}

fn piece() -> impl Strategy<Value = Piece> {
    let paths = prop::sample::select(vec!["a", "b", "c", "m.a", "m.n.b", "m.items", "missing", "a.b", "m"]);
    prop_oneof!["[a é雛\\n]{1,70}".prop_map(Piece::Text), paths.prop_map(Piece::Print)]
}

fn source(language: Language, pieces: &[Piece]) -> String {
    let print = |path: &str| match language {
        Language::Jinja => format!("{{{{ {path} }}}}"),
        Language::Go => format!("{{{{ .{path} }}}}"),
    };
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Print(path) => print(path),
        })
        .collect()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => "[a<é雛]{0,90}".prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(|float| json!(float)),
        1 => Just(json!(u64::MAX)),
        1 => prop_oneof![Just(json!(null)), Just(json!(true)), Just(json!(["x"])), Just(json!({"x": 1}))],
    ]
}

fn data() -> impl Strategy<Value = Value> {
    [value(), value(), value(), value()].prop_map(
        |[a, b, c, d]| json!({"a": a, "b": b, "c": c, "m": {"a": d, "n": {"b": "deep"}, "items": 1}}),
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let steps = prop_oneof![0..60_u64, Just(5_000), Just(20_000_000)];
    let output = prop_oneof![Just(None), (0..200_usize).prop_map(Some)];
    let bytes = prop::sample::select(vec![0, 100, 4096, 5000, 64 << 20]);
    let most = (0..2_usize, 0..2_u32);
    (steps, output, bytes, most).prop_map(|(steps, output, bytes, (templates, calls))| {
        let defaults = Limits::default();
        let templates = if templates == 0 { defaults.templates } else { 0 };
        let calls = if calls == 0 { defaults.calls } else { 0 };
        Limits { steps, output, bytes, templates, calls, ..defaults }
    })
}

fn same_result<T, U>(
    short: Result<T, Error>,
    general: Result<U, Error>,
    same: impl FnOnce(&T, &U) -> bool,
) -> Result<(), TestCaseError> {
    match (short, general) {
        (Ok(short), Ok(general)) => prop_assert!(same(&short, &general)),
        (Err(short), Err(general)) => prop_assert_eq!(short.to_string(), general.to_string()),
        (short, general) => {
            prop_assert!(false, "{:?} beside {:?}", short.map(drop), general.map(drop));
        }
    }
    Ok(())
}

fn same_map(short: &Recorded<'_>, general: &Recorded<'_>) -> bool {
    let (a, b) = (short.source_map(), general.source_map());
    short.written.text == general.written.text
        && short.written.ends_with_value == general.written.ends_with_value
        && (a.spans, a.values, a.inputs, a.absent) == (b.spans, b.values, b.inputs, b.absent)
        && (a.is_complete, a.steps) == (b.is_complete, b.steps)
}

fn check(language: Language, pieces: &[Piece], data: &Value, limits: Limits) -> Result<(), TestCaseError> {
    let source = source(language, pieces);
    let template = Template::compile(language, "t", &source, &Options::default(), &Limits::default())
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    let (first, second) = (Meter::new(&limits), Meter::new(&limits));
    let short = Render::new().with_limits(limits);
    let (general, again) = (short.clone().with_meter(&first), short.clone().with_meter(&second));
    same_result(short.render_text(&template, data), general.render_text(&template, data), String::eq)?;
    same_result(short.render_recorded(&template, data), again.render_recorded(&template, data), same_map)
}

proptest! {
    #[test]
    fn the_short_way_has_the_result_of_the_general_one(
        pieces in prop::collection::vec(piece(), 0..8),
        data in data(),
        limits in limits(),
    ) {
        check(Language::Jinja, &pieces, &data, limits.clone())?;
        check(Language::Go, &pieces, &data, limits)?;
    }

    #[test]
    fn without_narrow_limits_too(pieces in prop::collection::vec(piece(), 0..8), data in data()) {
        check(Language::Jinja, &pieces, &data, Limits::default())?;
        check(Language::Go, &pieces, &data, Limits::default())?;
    }
}

#[test]
fn a_text_that_could_use_up_a_chunk_of_steps_takes_the_general_way() {
    let data = json!({"a": "x".repeat(300 << 10)});
    let all = [Piece::Print("a"), Piece::Text(" and ".to_owned()), Piece::Print("a")];
    check(Language::Jinja, &all, &data, Limits::default()).expect("the same");
    let cancelled = hinagata_value::Cancel::default();
    cancelled.cancel();
    let template = Template::compile(
        Language::Jinja,
        "t",
        &source(Language::Jinja, &all),
        &Options::default(),
        &Limits::default(),
    )
    .expect("compiles");
    let error = Render::new().with_cancel(cancelled).render_text(&template, &data).expect_err("cancelled");
    assert_eq!(error.kind(), hinagata_value::ErrorKind::Cancelled);
}

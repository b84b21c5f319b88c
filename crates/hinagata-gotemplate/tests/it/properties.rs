//! No source and no data makes the engine panic or run without end.

use crate::support::{
    functions::functions,
    generate,
    run::{Case, run},
};
use hinagata_gotemplate::{Integers, Options, Set};
use hinagata_value::{Budget, Error, Limits};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn limits() -> Limits {
    Limits { steps: 200_000, bytes: 4 << 20, ..Limits::default() }
}

/// Pieces that mean something, so that random sources get past the lexer.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "{{", "}}", "{{- ", " -}}", "{{.a}}", "{{if .b}}", "{{else}}", "{{else if .c}}", "{{end}}", "{{range .l}}",
            "{{range $i, $e := .m}}", "{{with .m}}", "{{break}}", "{{continue}}", "{{define \"d\"}}", "{{template \"d\" .}}",
            "{{block \"e\" .}}", "{{$x := .a}}", "{{$x = 1}}", "{{$x}}", "(", ")", "|", ":=", "=", ",", " ", "\n", ".", ".a.b", "$",
            "$x", "nil", "true", "1", "-0x1p4", "1e3", "2i", "'a'", "\"s\"", "`r`", "printf \"%[2]*.[1]*f\" 1 2 3", "index .l 1",
            "slice .l 1 2", "print .m", "call .f 1", "and .a .b", "or .a ($y := 1)", "eq .a .b", "len .l", "html .a", "/*", "*/",
            "list 1 2", "dict \"k\" 1", "json .m", "upper \"x\"",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn documents() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "l", "m", "f"]), inner), 0..6)
                .prop_map(|entries| entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
        ]
    })
}

proptest! {
    // PROPTEST_CASES asks for more.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3_000), ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_or_refused(source in any::<String>(), left in "[^ ]{0,3}", right in "[^ ]{0,3}") {
        let functions = functions(Integers::Float);
        let mut set = Set::new(Options { left, right, ..Options::default() }, &functions);
        let _ = set.parse("main", &source, &Budget::new(limits())).map_err(|error| check(&error));
    }

    #[test]
    fn any_template_runs_or_fails(source in fragments(), data in documents(), ints in any::<bool>()) {
        let mut case = Case::single(&source, data);
        case.ints = ints;
        run(&case, &limits());
        let functions = functions(Integers::Float);
        let mut set = Set::new(Options::default(), &functions);
        if set.parse("main", &source, &Budget::new(limits())).is_ok() {
            prop_assert!(set.analyze_template("main").is_some());
        }
    }

    #[test]
    fn any_format_is_printed(format in any::<String>(), directives in "(%[-+# 0]{0,3}([0-9]|\\[[0-9]\\]|\\*|\\.){0,4}[a-zA-Z%]){0,6}", data in documents()) {
        let template = "{{printf .f .a .b .c 1 2.5 1i nil}}{{printf .a .f}}";
        for format in [format, directives] {
            let mut data = data.clone();
            if let Some(map) = data.as_object_mut() {
                map.insert("f".to_owned(), Json::from(format));
            }
            run(&Case::single(template, data), &limits());
        }
    }

    #[test]
    fn generated_templates_run_or_fail(seed in any::<u64>()) {
        run(&generate::case(seed), &limits());
    }
}

/// An error says something.
fn check(error: &Error) {
    assert!(!error.message().is_empty());
}

#[test]
fn the_same_input_gives_the_same_output() {
    let data = json!({"m": {"b": 1, "a": 2, "c": [1, {"z": 1, "y": 2}]}});
    let mut case =
        Case::single("{{.m}}{{range $k, $v := .m}}{{$k}}{{$v}}{{end}}{{printf \"%v %#v\" .m .m}}", data);
    let first = format!("{:?}", run(&case, &limits()));
    for _ in 0..10 {
        assert_eq!(format!("{:?}", run(&case, &limits())), first);
    }
    case.data = json!({"m": {"c": [1, {"y": 2, "z": 1}], "a": 2, "b": 1}});
    assert_eq!(format!("{:?}", run(&case, &limits())), first, "the order of keys does not show");
}

//! Random sources: none panics, and the results of the parser are consistent.

use hinagata_jinja::{ParseOptions, Source, analyze_template, check_names, parse};
use hinagata_value::{Budget, Limits};
use proptest::prelude::*;

/// Pieces of templates, whole and broken.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{%-",
    "-%}",
    "{{-",
    "-}}",
    "{%+",
    "+%}",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "-",
    "{% raw %}",
    "{% endraw %}",
    "{%- raw -%}",
    "{# c #}",
    "text",
    "日本",
    "é",
    "²",
    "\u{1f}",
    "\u{a0}",
    "x",
    "y.z",
    "x[0]",
    "x[1:2]",
    "f(1, a=2, *b, **c)",
    "|upper",
    "|f(",
    " is ",
    " is not defined",
    " not in ",
    " if ",
    " else ",
    "and ",
    "or ",
    "not ",
    "in ",
    "+",
    "-",
    "**",
    "*",
    "//",
    "/",
    "%",
    "~",
    "==",
    "<=",
    "=",
    ".",
    ",",
    ":",
    ";",
    "|",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'s'",
    "\"",
    "'",
    "\\",
    "\\x4",
    "'\\u12'",
    "1",
    "0x1f",
    "1_0",
    "1.5e3",
    "1e",
    "99999999999999999999999999999999999999999",
    "true",
    "none",
    "loop",
    "caller",
    "{% if x %}",
    "{% elif y %}",
    "{% else %}",
    "{% endif %}",
    "{% for a, b in c %}",
    "{% endfor %}",
    "{% set a = 1 %}",
    "{% set a.b %}",
    "{% endset %}",
    "{% macro m(a, b=1) %}",
    "{% endmacro %}",
    "{% call(x) m() %}",
    "{% endcall %}",
    "{% filter f|g %}",
    "{% endfilter %}",
    "{% block b %}",
    "{% endblock b %}",
    "{% block c required %}",
    "{% extends 'p' %}",
    "{% include ['a'] ignore missing %}",
    "{% import 'm' as n %}",
    "{% from 'm' import a as b with context %}",
    "{% with a = 1, (b, c) = d %}",
    "{% endwith %}",
    "{% do x %}",
    "{% break %}",
    "{% continue %}",
    "{% autoescape x %}",
    "{% endautoescape %}",
    "{% print a, b %}",
    "{% generation %}",
    "{% endgeneration %}",
    "{% message 'user' %}",
    "{% endmessage %}",
    "{% unknown %}",
    "$",
];

fn options() -> impl Strategy<Value = ParseOptions> {
    any::<(bool, bool, bool, bool, bool)>().prop_map(|(trim, lstrip, keep, generation, messages)| {
        ParseOptions {
            trim_blocks: trim,
            lstrip_blocks: lstrip,
            keep_trailing_newline: keep,
            generation,
            messages,
            ..ParseOptions::default()
        }
    })
}

fn check(source: &str, options: &ParseOptions) {
    let budget = Budget::new(Limits::default());
    match parse("t", source, options, &budget) {
        Ok(template) => {
            let _ = check_names(&template, &|_, name| name.len() > 1);
            let found = analyze_template(&template, &Source::new("t", source));
            for position in found.variables.iter().map(|item| item.position) {
                check_span(source, position.start, position.end);
            }
            for span in template.body.iter().map(|stmt| stmt.span) {
                check_span(source, span.start, span.end);
            }
        }
        Err(error) => {
            let place = error.place().expect("every error has a place");
            let lines = Source::new("t", source);
            assert!(place.line >= 1 && lines.line_text(place.line).is_some(), "{place:?}");
            let (start, end) = place.span.expect("every error has a span");
            check_span(source, start, end);
            assert!(place.column as usize <= source.chars().count() + 1);
        }
    }
}

fn check_span(source: &str, start: u32, end: u32) {
    assert!(source.get(start as usize..end as usize).is_some(), "{start}..{end} in {source:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(source in ".*", options in options()) {
        check(&source, &options);
    }

    #[test]
    fn no_tag_panics(inside in "[ -~\\n]{0,40}", options in options()) {
        check(&format!("{{{{ {inside} }}}}"), &options);
        check(&format!("{{% {inside} %}}"), &options);
    }

    #[test]
    fn no_pieces_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24), options in options()) {
        check(&pieces.concat(), &options);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), options in options()) {
        check(&String::from_utf8_lossy(&bytes), &options);
    }

    /// A template without tags parses to its own text, except for newlines.
    #[test]
    fn text_stays_text(source in "[^{\\r]*") {
        let budget = Budget::new(Limits::default());
        let options = ParseOptions { keep_trailing_newline: true, ..ParseOptions::default() };
        let template = parse("t", &source, &options, &budget).expect("text parses");
        let text = template.body.iter().map(|stmt| &source[stmt.span.start as usize..stmt.span.end as usize]);
        prop_assert_eq!(text.collect::<String>(), source);
    }
}

//! Syntax errors as a template author sees them: message, place and hint.

use hinagata_jinja::{ParseOptions, Source, parse};
use hinagata_value::{Budget, ErrorKind, Limits};

/// The error of a source: line, column, message, and the hint or the similar names.
fn describe_error(source: &str) -> String {
    let budget = Budget::new(Limits::default());
    let error = parse("t", source, &ParseOptions::default(), &budget).expect_err(source);
    assert_eq!(error.kind(), ErrorKind::Syntax, "{source}");
    let place = error.place().expect("has a place");
    assert_eq!(place.template, "t");
    assert_eq!(place.excerpt.as_deref(), Source::new("t", source).line_text(place.line), "{source}");
    let mut text = format!("{}:{}: {}", place.line, place.column, error.message());
    if let Some(hint) = error.hint() {
        text = format!("{text} | {hint}");
    }
    if !error.near().is_empty() {
        text = format!("{text} | near: {}", error.near().join(" "));
    }
    text
}

#[test]
fn errors_say_what_was_wanted_what_was_found_and_where() {
    for (source, expected) in [
        ("{{ }}", "1:4: expected an expression, found the end of the print tag"),
        ("日本\n  {{ 1 2 }}", "2:8: expected the end of the print tag, found an integer"),
        (
            "{{ x = 1 }}",
            "1:6: expected the end of the print tag, found `=` | `==` compares; `{% set %}` assigns",
        ),
        (
            "{{ a not b }}",
            "1:6: expected the end of the print tag, found `not` | the operators are `not in` and `is not`",
        ),
        ("{{ a && b }}", "1:6: unexpected character `&` | write `and`"),
        ("{{ a ? b : c }}", "1:6: unexpected character `?` | write `value if test else other`"),
        ("{{ 'abc }}", "1:4: the string is not closed | close it with `'`"),
        ("{{ '\\x4' }}", "1:4: `\\x` requires two hexadecimal digits"),
        ("{{ a² }}", "1:4: `a²` is not a valid name"),
        ("{{ (\n1 ] }}", "2:3: found `]`, expected `)` for the `(` of line 1"),
        ("{{ 1) }}", "1:5: unmatched `)`"),
        ("{{ x. }}", "1:7: expected a name or a number, found the end of the print tag"),
        ("{{ x is a is b }}", "1:11: tests cannot be chained with `is` | join them: `x is a and x is b`"),
        (
            "{{ f(a=1, 2) }}",
            "1:5: arguments are out of order | by position first, then by name; then `*list` and `**map`, once each",
        ),
        ("{{ f(a=1, a=2) }}", "1:11: duplicate argument `a`"),
        (
            "{{ x[1:2, 3] }}",
            "1:5: a slice cannot be combined with other subscripts | write separate subscripts: `x[1:2][3]`",
        ),
        ("{# a", "1:1: the comment is not closed by `#}`"),
        (
            "{% raw %}{{ x }}{% endrow %}",
            "1:10: the raw block is not closed by `endraw` | close it with `{% endraw %}`",
        ),
    ] {
        assert_eq!(describe_error(source), expected, "{source}");
    }
}

#[test]
fn unknown_and_missing_tags_name_what_is_open() {
    for (source, expected) in [
        ("{% frobnicate %}", "1:4: unknown tag `frobnicate`"),
        ("{% inlcude 'x' %}", "1:4: unknown tag `inlcude` | near: include"),
        ("{% elseif %}", "1:4: unknown tag `elseif` | write `elif`"),
        ("{% endif %}", "1:4: unknown tag `endif` | no `if` is open here, or another block inside it is"),
        (
            "{% if a %}\n{% for b in c %}{% endif %}",
            "2:20: unknown tag `endif`, where `endfor` or `else` was expected; the innermost open block is `for` of line 2 \
             | no `if` is open here, or another block inside it is",
        ),
        (
            "\n{% if a %}\n{% ednif %}",
            "3:4: unknown tag `ednif`, where `elif`, `else` or `endif` was expected; the innermost open block is `if` of \
             line 2 | near: endif",
        ),
        (
            "{% block a %}\ntext",
            "1:4: the template ends, but `endblock` was expected; the innermost open block is `block` of line 1",
        ),
        ("{% %}", "1:4: expected the name of a tag, found the end of the tag"),
        ("{% trans %}", "1:4: unknown tag `trans` | translations are not supported"),
    ] {
        let message = describe_error(source);
        assert!(message.starts_with(expected), "{source}\n  {message}\n  {expected}");
    }
}

#[test]
fn rules_of_statements_are_told_with_advice() {
    for (source, expected) in [
        ("{% break %}", "1:4: `break` outside of a loop"),
        (
            "{% for a in b %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
            "1:35: `continue` outside of a loop",
        ),
        ("{% for a in b %}{% else %}{% break %}{% endfor %}", "1:30: `break` outside of a loop"),
        ("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", "2:4: duplicate block `a`"),
        (
            "{% block a-b %}{% endblock %}",
            "1:11: the name of a block cannot contain a hyphen | write an underscore",
        ),
        (
            "{% block a required %}x{% endblock %}",
            "1:36: a required block may contain comments and whitespace only | a child template must replace `a`; leave it empty",
        ),
        (
            "{% with %}{% extends 'a' %}{% endwith %}",
            "1:14: `extends` is allowed only at the top level and inside `if` | move it to the beginning of the template",
        ),
        (
            "{% macro m(a=1, b) %}{% endmacro %}",
            "1:18: a parameter without a default follows one with a default",
        ),
        ("{% macro m(a, a) %}{% endmacro %}", "1:15: duplicate parameter `a`"),
        (
            "{% macro m(caller) %}{{ caller() }}{% endmacro %}",
            "1:4: a parameter `caller` that is used must have a default | leave it out: `caller` is there without a parameter",
        ),
        (
            "{% call f %}{% endcall %}",
            "1:4: a `call` block requires a call | write `{% call name(arguments) %}`",
        ),
        (
            "{% for 1 in x %}{% endfor %}",
            "1:8: a number cannot be assigned to | assign to a name, to an attribute of a namespace with `set`, or to \
             several with commas",
        ),
        (
            "{% for loop in x %}{% endfor %}",
            "1:8: `loop` cannot be assigned inside a loop | choose another name",
        ),
        ("{% macro true() %}{% endmacro %}", "1:10: `true` cannot be assigned to"),
        (
            "{% from 'm' import _a %}",
            "1:20: `_a` cannot be imported | names that start with an underscore are private to their template",
        ),
    ] {
        assert_eq!(describe_error(source), expected, "{source}");
    }
}

#[test]
fn what_the_grammar_refuses_is_told_before_what_only_later_stages_refuse() {
    assert_eq!(
        describe_error("{% break %}\n{{ 1 2 }}"),
        "2:6: expected the end of the print tag, found an integer"
    );
}

#[test]
fn what_jinja2_accepts_is_no_error() {
    for source in [
        "{% raw %}",
        "{#",
        "a #} b }} c %}",
        "{{ if }}",
        "{% if x: %}{% else: %}{% endif %}",
        "{% print %}",
        "{% with %}{% endwith %}",
        "{% from 'm' import with context %}",
        "{% from 'm' import a, with context %}",
        "{% from 'm' import with %}",
        "{% for x in a, recursive %}{% endfor %}",
        "{% block a required %} {# c #}\n{% endblock %}",
        "{% extends 'a' %}{% extends 'b' %}",
        "{% if x %}{% extends 'a' %}{% endif %}",
        "{% macro m(caller) %}{% endmacro %}",
        "{% macro m(caller) %}{% set caller = 1 %}{{ caller }}{% endmacro %}",
        "{% macro m(caller) %}{% block b %}{{ caller }}{% endblock %}{% endmacro %}",
        "{% for a in b %}{% for c in d %}{% else %}{% break %}{% endfor %}{% endfor %}",
        "{% for a in b %}{% with %}{% set x %}{% break %}{% endset %}{% endwith %}{% endfor %}",
        "{% with loop = 1 %}{% endwith %}{% set loop = 1 %}",
    ] {
        let budget = Budget::new(Limits::default());
        let parsed = parse("t", source, &ParseOptions::default(), &budget);
        assert!(parsed.is_ok(), "{source}: {:?}", parsed.err());
    }
}

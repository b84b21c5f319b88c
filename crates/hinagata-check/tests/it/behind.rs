//! What cannot be compiled hides nothing else in the template.

use hinagata_check::{CheckOptions, Language, NoSources, check_text};

/// The codes of the findings, each with its line.
fn found(language: Language, text: &str) -> Vec<(&'static str, u32)> {
    let findings = check_text("main", text, language, &NoSources, &CheckOptions::default());
    findings.iter().map(|one| (one.code.code, one.place().map_or(0, |place| place.line))).collect()
}

#[test]
fn everything_behind_an_unknown_filter_is_checked() {
    let text = "{{ a|uper }}\n{{ 'x' + 1 }}\n{% if b is strng %}{{ 1|lenght }}{% endif %}\n{{ c|trmi }}\n";
    assert_eq!(
        found(Language::Jinja, text),
        [("name.filter", 1), ("type.operation", 2), ("name.test", 3), ("name.filter", 3), ("name.filter", 4)]
    );
}

#[test]
fn everything_behind_a_broken_tag_is_checked() {
    assert_eq!(
        found(Language::Jinja, "{{ a. }}\n{{ 'x' + 1 }}\n{% for x in 5 %}{{ x|uper }}{% endfor %}\n"),
        [("syntax.template", 1), ("type.operation", 2), ("type.operation", 3), ("name.filter", 3)]
    );
    assert_eq!(
        found(Language::Go, "{{ .a ) }}\n{{ len 5 }}\n{{ if .b }}{{ index 1 2 }}{{ end }}\n"),
        [("syntax.template", 1), ("type.operation", 2), ("type.operation", 3)]
    );
    assert_eq!(
        found(Language::Go, "{{ frob .a }}\n{{ frab .b }}\n{{ len 5 }}\n"),
        [("name.function", 1), ("name.function", 2), ("type.operation", 3)]
    );
}

#[test]
fn what_follows_from_a_broken_tag_is_no_finding() {
    for (text, first) in [
        // What the broken tag would have bound has any value.
        ("{% set a = 1 %}\n{% set a = 'x' + | %}\n{{ a + 'y' }}{{ a.b.c }}\n", ("syntax.template", 2)),
        ("{% macro m(a b) %}x{% endmacro %}\n{{ m(1, 2, 3) }}\n", ("syntax.template", 1)),
        ("{% for x in %}\n{{ loop.index + x }}{% endfor %}\n", ("syntax.template", 1)),
        ("{% block a %}{{ super( }}{% endblock %}\n", ("syntax.template", 1)),
    ] {
        let all = found(Language::Jinja, text);
        assert_eq!(all, [first], "{text}");
    }
    let go = "{{ $a := ) }}\n{{ $a }}{{ if }}x{{ end }}\n";
    assert_eq!(found(Language::Go, go), [("syntax.template", 1)]);
}

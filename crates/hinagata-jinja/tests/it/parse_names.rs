//! Unknown filters and tests: where Jinja2 reports them when it compiles, and where only at run time.

use hinagata_jinja::{NameKind, ParseOptions, check_names, parse};
use hinagata_value::{Budget, Limits};

/// The first unknown name and its line; only `f` and `t` are known.
fn unknown(source: &str) -> Option<(String, u32)> {
    let budget = Budget::new(Limits::default());
    let options = ParseOptions { generation: true, ..ParseOptions::default() };
    let template = parse("t", source, &options, &budget).unwrap_or_else(|error| panic!("{source}: {error}"));
    let known = |kind, name: &str| name == if kind == NameKind::Filter { "f" } else { "t" };
    check_names(&template, &known).map(|unknown| (unknown.name.to_owned(), unknown.span.line))
}

#[test]
fn a_name_that_may_never_be_used_is_left_to_the_run() {
    for source in [
        "{% if y %}{{ x|no }}{% endif %}",
        "{% if x|no %}{% endif %}",
        "{% if y %}{% elif x is no %}{% else %}{{ x|no }}{% endif %}",
        "{{ x|no if y else z }}",
        "{{ x if y|no else z|no }}",
        "{{ [f(x|no)] if y }}",
        "{% if y %}{% for a in x|no %}{% endfor %}{% endif %}",
        "{% if y %}{% with a = x|no %}{% endwith %}{% set b = x|no %}{% do x|no %}{% include x|no %}{% endif %}",
        "{% if y %}{% for a in b %}{% if c %}{{ x|no }}{% endif %}{% endfor %}{% endif %}",
        "{{ false and x|no }}{{ 1 or x|no }}{{ '' and x|no }}{{ 1 and 0 and x|no }}{{ [1] or x|no }}",
        "{% extends 'p' %}{{ x|no }}{% for a in b %}{{ x|no }}{% endfor %}",
        "{% extends 'p' %}{% extends 'q' %}{% set a = x|no %}",
        "{{ x|f('no') is t }}",
    ] {
        assert_eq!(unknown(source), None, "{source}");
    }
}

#[test]
fn any_other_unknown_name_is_found_where_it_stands() {
    for (source, name, line) in [
        ("{{ x|no }}", "no", 1),
        ("{{ x is not no.way }}", "no.way", 1),
        ("{{ x\n|no1\n|no2(y|no3) }}", "no2", 3),
        ("{{ x|f(y|no3)\n|f }}", "no3", 1),
        ("{{ y and x|no }}{{ y or x|no }}", "no", 1),
        ("{{ x and 0 and x|no }}{{ 1 and x|no }}", "no", 1),
        ("{% if y %}{% for a in b %}{{ x|no }}{% endfor %}{% endif %}", "no", 1),
        ("{% if y %}{% for a in b if x|no %}{% endfor %}{% endif %}", "no", 1),
        ("{% if y %}{% for a in b %}{% else %}{{ x|no }}{% endfor %}{% endif %}", "no", 1),
        ("{% if y %}{% set a %}{{ x|no }}{% endset %}{% endif %}", "no", 1),
        ("{% if y %}{% set a|no %}{% endset %}{% endif %}", "no", 1),
        ("{% if y %}{% with %}{{ x|no }}{% endwith %}{% endif %}", "no", 1),
        ("{% if y %}{% macro m(a=x|no) %}{% endmacro %}{% endif %}", "no", 1),
        ("{% if y %}{% call m() %}{{ x|no }}{% endcall %}{% endif %}", "no", 1),
        ("{% if y %}{% filter no %}{% endfilter %}{% endif %}", "no", 1),
        ("{% if y %}{% block b %}\n{{ x|no }}{% endblock %}{% endif %}", "no", 2),
        ("{% if y %}{% autoescape x|no %}{% endautoescape %}{% endif %}", "no", 1),
        ("{% if y %}{% generation %}{{ x|no }}{% endgeneration %}{% endif %}", "no", 1),
        ("{% extends 'p' %}{% set a = x|no %}", "no", 1),
        ("{% extends 'p' %}{% block b %}{{ x|no }}{% endblock %}", "no", 1),
        ("{% extends 'p' %}{% macro m() %}{{ x|no }}{% endmacro %}", "no", 1),
        ("{% if z %}{% extends 'p' %}{% endif %}{{ x|no }}", "no", 1),
        ("{% block b %}{{ x|no1 }}{% endblock %}\n{{ x|no2 }}", "no2", 2),
    ] {
        assert_eq!(unknown(source), Some((name.to_owned(), line)), "{source}");
    }
}

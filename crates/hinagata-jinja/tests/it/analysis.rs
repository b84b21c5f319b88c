//! Results of the static analysis as a table: a template, and each list of the result as one line.

use std::fmt::Write as _;

use hinagata_jinja::{ParseOptions, Source, analyze_template, parse};
use hinagata_value::{
    Budget, Limits,
    analysis::{Analysis, PassedVariables, Usage},
};

fn analysis(source: &str) -> Analysis {
    let budget = Budget::new(Limits::default());
    let template = parse("t", source, &ParseOptions::default(), &budget).expect("the template parses");
    analyze_template(&template, &Source::new("t", source))
}

/// The variables: `?` after those that may be undefined, `!` after those that are only used in conditions.
fn variables(analysis: &Analysis) -> String {
    let mut out = String::new();
    for (index, item) in analysis.variables.iter().enumerate() {
        let mark = match item.usage {
            Usage::Value => "",
            Usage::Default => "?",
            Usage::Condition => "!",
        };
        let space = if index > 0 { " " } else { "" };
        write!(out, "{space}{}{mark}", item.path).expect("to a string");
    }
    out
}

#[test]
fn variables_are_paths_to_where_their_values_come_from() {
    let cases = [
        ("plain text", ""),
        ("{{ user.profile.name }}", "user.profile.name"),
        ("{{ x[0].name }} {{ x['a b'].c }} {{ x[-1] }} {{ x.0 }}", "x[0].name x[\"a b\"].c x[-1] x[0]"),
        ("{{ x[i].name }}", "x[].name i"),
        ("{{ x[1:n].y }}", "x n"),
        // Loops.
        ("{% for t in tools %}{{ t.name }}{% endfor %}", "tools tools[].name"),
        ("{% for t in tools if t.on %}{{ loop.index }}{% endfor %}{{ t }}", "tools tools[].on! t"),
        ("{% for t in tools %}{% else %}{{ t }}{% endfor %}", "tools t"),
        ("{% for a, b in pairs %}{{ a }}{{ b.c }}{% endfor %}", "pairs pairs[][0] pairs[][1].c"),
        ("{% for k, v in m.items() %}{{ k }}{{ v.x }}{% endfor %}", "m m[].x"),
        ("{% for k, v in m|dictsort %}{{ v.x }}{% endfor %}", "m m[].x"),
        ("{% for a in x %}{% for b in a.y %}{{ b.z }}{% endfor %}{% endfor %}", "x x[].y x[].y[].z"),
        ("{% for m in messages[1:] %}{{ m.role }}{% endfor %}", "messages messages[].role"),
        ("{% for t in tools or [] %}{{ t.name }}{% endfor %}", "tools? tools[].name"),
        // Assignments.
        ("{% set u = user.profile %}{{ u.name }}", "user.profile user.profile.name"),
        ("{{ x }}{% set x = 1 %}{{ x }}", "x"),
        ("{% set x = x.y %}{{ x.z }}", "x.y x.y.z"),
        ("{% set a, b = pair %}{{ b.c }}", "pair pair[1].c"),
        ("{% set x %}{{ y }}{% endset %}{{ x }}", "y"),
        ("{% set ns = namespace(a=b) %}{% set ns.a = c %}{{ ns.a.d }}", "b c"),
        ("{% for i in xs %}{% set y = i %}{% endfor %}{{ y }}", "xs xs[] y"),
        ("{% with a = u.v, b = a %}{{ a.w }}{{ b }}{% endwith %}{{ a }}", "u.v a u.v.w a a"),
        // A name that only one branch of an `if` binds may be unbound after it.
        ("{% if c %}{% set x = a %}{% endif %}{{ x.y }}", "c! a a.y x.y"),
        ("{% if c %}{% set x = a %}{% else %}{% set x = b %}{% endif %}{{ x.y }}", "c! a b a.y b.y"),
        ("{% set x = a %}{% if c %}{% set x = b %}{% endif %}{{ x.y }}", "a c! b b.y a.y"),
        ("{% if not d is defined %}{% set d = 'x' %}{% endif %}{{ d }}", "d! d"),
        // Macros, calls, blocks.
        ("{% macro m(a, b=c) %}{{ a.x }}{{ d }}{{ varargs }}{% endmacro %}{{ m(e) }}", "c d e"),
        (
            "{% macro m() %}{{ later }}{{ n() }}{% endmacro %}{% set later = 1 %}{% macro n() %}{% endmacro %}",
            "",
        ),
        ("{% call(x) m(a) %}{{ x }}{{ y }}{% endcall %}", "a y"),
        ("{% for i in xs %}{% block b %}{{ i }}{% endblock %}{% endfor %}", "xs i"),
        ("{% for i in xs %}{% block b scoped %}{{ i }}{% endblock %}{% endfor %}", "xs xs[]"),
        ("{% set t = 1 %}{% block b %}{{ t }}{{ super() }}{{ self.b() }}{% endblock %}", ""),
        ("{% import 'm' as m %}{% from 'n' import a, b as c %}{{ m.x }}{{ a }}{{ b }}{{ c }}", "b"),
        // The usage of a variable.
        ("{% if a and not b.c or d %}{% elif e > f %}{% endif %}", "a! b.c! d! e f"),
        ("{{ a if b else c }}{{ d or e }}{{ f and g }}", "a b! c d? e f! g"),
        ("{{ a|default('x') }}{{ b.c|d(e) }}{{ f|upper }}", "a? b.c? e f"),
        ("{{ a is defined }}{{ b.c is none }}{{ d is string }}", "a! b.c! d"),
        ("{{ (a|default({})).b }}{{ (c or d).e }}", "a? a.b c? c.e d.e d"),
        // Filters that return items of their input.
        (
            "{% for t in tools|selectattr('on')|sort(attribute='p.q') %}{{ t.n }}{% endfor %}",
            "tools tools[].on tools[].p.q tools[].n",
        ),
        (
            "{% for n in tools|map(attribute='name') %}{{ n.x }}{% endfor %}",
            "tools tools[].name tools[].name.x",
        ),
        ("{{ (tools|first).name }}{{ (tools|list)[0].id }}", "tools tools[].name tools tools[].id"),
        // Calls.
        ("{{ f(a) }}{{ user.get('name').x }}{{ name.upper() }}{{ g.h(b).c }}", "a user user.name.x name g b"),
        ("{{ 'x'.join(parts) }}{{ [a, (b, {c: d})] }}{{ a ~ b * -c }}", "parts a b c d a b c"),
        ("{% include t %}{% extends 'p' if q else r %}", "t q! r"),
    ];
    for (source, expected) in cases {
        assert_eq!(variables(&analysis(source)), expected, "{source}");
    }
}

#[test]
fn a_use_points_at_the_path_it_reads() {
    let source = "{{ a }}\n{{ user.profile['name']|upper }}";
    let found = &analysis(source).variables[1];
    assert_eq!(&source[found.position.start as usize..found.position.end as usize], "user.profile['name']");
    assert_eq!((found.position.line, found.position.column), (2, 4));
}

#[test]
fn filters_tests_and_functions_are_listed_in_source_order() {
    let found = analysis(
        "{{ f(x)|upper|map('trim')|select('odd') }}{% filter a.b %}{% endfilter %}{{ x is not eq(1) }}\
         {% macro m() %}{{ caller() }}{{ kwargs }}{% endmacro %}{% call m() %}{% endcall %}\
         {{ tools.web.search(q).go() }}{% set s|lower %}{% endset %}{{ loop.cycle() }}",
    );
    let filters: Vec<_> = found.filters.iter().map(|item| &*item.name).collect();
    assert_eq!(filters, ["upper", "map", "trim", "select", "a.b", "lower"]);
    let tests: Vec<_> = found.tests.iter().map(|item| &*item.name).collect();
    assert_eq!(tests, ["odd", "eq"]);
    let functions: Vec<_> = found.functions.iter().map(|item| &*item.name).collect();
    assert_eq!(functions, ["f", "tools.web.search", "loop.cycle"], "not those that the template binds");
    let [m] = &found.macros[..] else { panic!("one macro") };
    assert_eq!((m.varargs, m.kwargs, m.caller), (false, true, true));
}

#[test]
fn templates_blocks_macros_and_roles_are_listed() {
    let found = analysis(
        "{% extends 'base' %}{% include ['a', 'b'] ignore missing without context %}{% include 'x/' ~ y %}\
         {% import 'm' as m with context %}{% from 'n' if z else 'o' import p %}\
         {% block head scoped %}{% block inner required %} {% endblock %}{% endblock %}\
         {% macro q(a, b=1) %}{% endmacro %}{{ role('system') }}{% message 'user' %}{{ role(r) }}{% endmessage %}",
    );
    let templates: Vec<_> = found
        .templates
        .iter()
        .map(|item| {
            let with_context = item.passes != PassedVariables::Nothing;
            (item.names.join("|"), item.dynamic, item.ignore_missing, with_context)
        })
        .collect();
    assert_eq!(
        templates,
        [
            ("base".into(), false, false, true),
            ("a|b".into(), false, true, false),
            (String::new(), true, false, true),
            ("m".into(), false, false, true),
            ("n|o".into(), false, false, false),
        ]
    );
    let blocks: Vec<_> = found.blocks.iter().map(|item| (&*item.name, item.scoped, item.required)).collect();
    assert_eq!(blocks, [("head", true, false), ("inner", false, true)]);
    let [q] = &found.macros[..] else { panic!("one macro") };
    let params: Vec<_> = q.parameters.iter().map(|param| (&*param.name, param.optional)).collect();
    assert_eq!((&*q.name, params), ("q", vec![("a", false), ("b", true)]));
    let roles: Vec<_> = found.roles.iter().map(|item| item.role.as_deref()).collect();
    assert_eq!(roles, [Some("system"), Some("user"), None]);
}

#[test]
fn assigning_a_name_to_a_part_of_itself_does_not_cost_the_square() {
    let source = "{% set x = x.a %}".repeat(10_000);
    let found = analysis(&source);
    assert_eq!(found.variables.len(), 10_000);
    assert!(found.variables.iter().all(|item| item.path.parts.len() <= 16));
}

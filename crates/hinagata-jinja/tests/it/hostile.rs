//! Templates that try to exhaust the stack or the memory of the process. Each must end, with an error or
//! within its limits, on a thread with Rust's default stack size.

use std::{collections::HashMap, thread};

use allocation_counter::measure;
use hinagata_jinja::{Loader, ParseOptions, Render, Sources};
use hinagata_value::{Error, LimitKind, Limits};
use serde_json::{Value as Json, json};

/// Rust's default stack size for threads.
const STACK: usize = 2 << 20;

/// The limit for the memory of a template in these tests.
const BYTES: usize = 4 << 20;

fn render(sources: &[(&str, String)], limits: &Limits) -> Result<String, Error> {
    let sources: HashMap<_, _> =
        sources.iter().map(|(name, source)| ((*name).to_owned(), source.clone())).collect();
    // Sources of any size are allowed: only the run is measured.
    let loader =
        Sources::new(sources, ParseOptions::default(), Limits { source: 4 << 20, ..Limits::default() });
    let template = loader.load("t")?.expect("there is a first template");
    let data: Json = json!({"tree": {"children": []}, "text": "word ".repeat(200), "list": [3, 1, 2]});
    Render::new().with_limits(limits.clone()).with_loader(&loader).render_text(&template, &data)
}

/// Runs on a thread with the default stack size. A stack overflow would end the whole process.
fn on_a_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .expect("a thread starts")
        .join()
        .expect("nothing panics")
}

/// One level of each kind of nesting around `inner`.
fn nested(kind: usize, level: usize, inner: &str) -> String {
    match kind % 9 {
        0 => format!("{{% if true %}}{inner}{{% endif %}}"),
        1 => format!("{{% for x{level} in [1] %}}{inner}{{% endfor %}}"),
        2 => format!("{{% filter upper %}}{inner}{{% endfilter %}}"),
        3 => format!("{{% with w{level} = 1 %}}{inner}{{% endwith %}}"),
        4 => format!("{{% call wrap(1) %}}{inner}{{% endcall %}}"),
        5 => format!("{{% set s{level} %}}{inner}{{% endset %}}"),
        6 => format!("{{% autoescape true %}}{inner}{{% endautoescape %}}"),
        7 => format!("{{% for x{level} in [[1]] recursive %}}{{{{ loop.index }}}}{inner}{{% endfor %}}"),
        _ => format!("{{% block b{level} scoped %}}{inner}{{% endblock %}}"),
    }
}

/// A macro that calls itself inside `depth` levels of nesting; `kind` 9 mixes all kinds.
fn recursion(kind: usize, depth: usize, call: &str) -> String {
    let mut body = call.to_owned();
    for level in 0..depth {
        let kind = if kind == 9 { level } else { kind };
        // A block is allowed in a macro, but each name only once.
        body = nested(kind, level, &body);
    }
    format!(
        "{{% macro wrap(a) %}}{{{{ caller() }}}}{{% endmacro %}}{{% macro m(n) %}}{body}{{% endmacro %}}{{{{ m(1) }}}}"
    )
}

#[test]
fn recursion_through_every_kind_of_nesting_ends_with_an_error() {
    let deep_expression = format!("{{{{ {}m(n){} }}}}", "[(".repeat(40), ")|list]".repeat(40));
    let deep_filter = format!("{{{{ m(n){} }}}}", "|default(m(n)|upper|default(m(n)))".repeat(3));
    let arguments = format!("{{{{ {}m(*[n], **{{}}){} }}}}", "wrap(".repeat(40), ")".repeat(40));
    let tests = format!("{{% if {}m(n){} %}}{{% endif %}}", "not (".repeat(40), ")".repeat(40));
    let calls =
        ["{{ m(n) }}", "{% set q = m(n) ~ m(n) %}", &deep_expression, &deep_filter, &arguments, &tests]
            .map(str::to_owned);
    on_a_thread(move || {
        for call in &calls {
            for kind in 0..10 {
                for depth in [0, 1, 5, 60] {
                    let source = recursion(kind, depth, call);
                    for stack in [STACK / 2, STACK / 4] {
                        let limits = Limits { stack, ..Limits::default() };
                        let result = render(&[("t", source.clone())], &limits);
                        let limit = result.as_ref().err().and_then(Error::limit);
                        let expected = matches!(limit, Some(LimitKind::Calls | LimitKind::Stack));
                        assert!(expected, "{kind} {depth} {call}: {result:?}");
                    }
                }
            }
        }
    });
}

#[test]
fn templates_that_load_each_other_for_ever_end_with_an_error() {
    for tag in [
        "{% include 't' %}",
        "{% include 'u' %}",
        "{% import 't' as x %}",
        "{% from 'u' import x with context %}",
        "{% extends 't' %}",
        "{% extends 'u' %}",
        "{% block b scoped %}{% include 'u' %}{% endblock %}",
        "{% block b %}{{ self.b() }}{% endblock %}",
        "{% filter upper %}{% include 't' %}{% endfilter %}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% for x in [1] recursive %}{% set l = loop %}{% for y in [1] %}{{ l([1]) }}{% endfor %}{% endfor %}",
    ] {
        let tag = tag.to_owned();
        on_a_thread(move || {
            let sources = [("t", tag.clone()), ("u", "{% if true %}{% include 't' %}{% endif %}".to_owned())];
            assert!(render(&sources, &Limits::default()).is_err(), "{tag}");
        });
    }
}

#[test]
fn values_that_contain_themselves_end_with_an_error_or_a_sign() {
    for source in [
        "{% do list.append(list) %}{{ list }}",
        "{% do list.append(list) %}{{ list|tojson }}",
        "{% do list.append(list) %}{{ list|pprint }}",
        "{% do list.append(list) %}{{ list == [3, 1, 2, list] }}",
        "{% do list.append(list) %}{{ list|string|length }}",
        "{% do list.append(list) %}{{ list in list }}",
        "{% set d = {} %}{% do d.update(d=d) %}{{ d }}{{ d == {'d': d} }}",
        "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}",
        "{% set a = [] %}{% set b = [a] %}{% do a.append(b) %}{{ a == b }}{{ a < b }}",
        "{% set a = [] %}{% do a.append(a) %}{{ [a, a]|sort }}{{ [a, a]|unique|list }}",
        "{% set ns = namespace(v=[]) %}{% for i in range(5000) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}",
        "{% set ns = namespace(v={}) %}{% for i in range(5000) %}{% set ns.v = {'k': ns.v} %}{% endfor %}{{ ns.v|tojson }}",
        "{% set ns = namespace(v=()) %}{% for i in range(9000) %}{% set ns.v = (ns.v, 1) %}{% endfor %}{{ ns.v == ns.v }}{{ {ns.v: 1} }}",
    ] {
        on_a_thread(move || {
            // Success and failure are both fine: the template has to end.
            let _ = render(&[("t", source.to_owned())], &Limits::default());
        });
    }
}

fn names(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect()
}

/// Templates that create many objects of one kind.
fn greedy() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let single_template = |source: &str| vec![("t", source.to_owned())];
    let many_blocks = names(3_000, |n| format!("{{% block b{n} %}}{{% endblock %}}"));
    let many_names = names(3_000, |n| format!("{{% set a{n} = {n} %}}"));
    let big_frame = names(2_000, |n| format!("{{% set a{n} = x %}}"));
    vec![
        ("macros", single_template("{% for i in range(90000) %}{% macro m(a) %}{{ i }}{% endmacro %}{% endfor %}")),
        ("macros that are kept", single_template("{% set l = [] %}{% for i in range(90000) %}{% macro m(a) %}{{ i }}{% endmacro %}{% do l.append(m) %}{% endfor %}")),
        ("call blocks", single_template("{% macro m() %}{{ caller() }}{% endmacro %}{% for i in range(90000) %}{% call m() %}x{% endcall %}{% endfor %}")),
        ("cyclers", single_template("{% for i in range(90000) %}{% set c = cycler(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) %}{% endfor %}")),
        ("joiners", single_template("{% for i in range(90000) %}{% set c = joiner() %}{% endfor %}")),
        ("bound methods", single_template("{% set l = [] %}{% for i in range(90000) %}{% do l.append('x'.upper) %}{% endfor %}")),
        ("loop objects", single_template("{% set l = [] %}{% for i in range(90000) %}{% for j in [1] %}{% do l.append(loop) %}{% endfor %}{% endfor %}")),
        ("namespaces", single_template("{% set l = [] %}{% for i in range(90000) %}{% do l.append(namespace(a=1)) %}{% endfor %}")),
        ("ranges", single_template("{% set l = [] %}{% for i in range(90000) %}{% do l.append(range(i)) %}{% endfor %}")),
        ("includes", vec![("t", "{% for i in range(90000) %}{% include 'u' %}{% endfor %}".to_owned()), ("u", "x".to_owned())]),
        ("includes of blocks", vec![("t", "{% for i in range(90000) %}{% include 'u' %}{% endfor %}".to_owned()), ("u", many_blocks.clone())]),
        ("extends of blocks", vec![("t", "{% for i in range(90000) %}{% include 'u' %}{% endfor %}".to_owned()), ("u", format!("{{% extends 'v' %}}{many_blocks}")), ("v", many_blocks.clone())]),
        ("imports", vec![("t", "{% for i in range(90000) %}{% import 'u' as u %}{% endfor %}".to_owned()), ("u", many_names.clone())]),
        ("imports of macros", vec![("t", "{% for i in range(90000) %}{% from 'u' import m %}{% endfor %}".to_owned()), ("u", "{% macro m() %}{% endmacro %}".to_owned())]),
        ("self", vec![("t", format!("{many_blocks}{{% block x %}}{{% set q = self %}}{{% set z = self.b1 %}}{{% endblock %}}{{% for i in range(90000) %}}{{{{ self.x() }}}}{{% endfor %}}"))]),
        ("super", vec![("t", "{% extends 'u' %}{% block b %}{% for i in range(90000) %}{{ super() }}{% endfor %}{% endblock %}".to_owned()), ("u", "{% block b %}x{% endblock %}".to_owned())]),
        ("scoped blocks", single_template("{% for i in range(90000) %}{% block b scoped %}{{ i }}{% endblock %}{% endfor %}")),
        ("big frames", vec![("t", format!("{{% macro m(x) %}}{big_frame}{{{{ m(x) }}}}{{% endmacro %}}{{{{ m(1) }}}}"))]),
        ("big recursive loops", vec![("t", format!("{{% for x in [1] recursive %}}{big_frame}{{{{ loop([1]) }}}}{{% endfor %}}"))]),
        ("many arguments", single_template("{% macro m() %}{{ m(*varargs) }}{% endmacro %}{{ m(*range(20000)) }}")),
        ("many named arguments", single_template("{% set d = {} %}{% for i in range(5000) %}{% do d.update({i|string: i}) %}{% endfor %}{% macro m() %}{{ m(**kwargs) }}{% endmacro %}{{ m(**d) }}")),
        ("marks", single_template("{% for i in range(90000) %}{% message 'user' %}{% endmessage %}{% endfor %}")),
        ("captured marks", single_template("{% set x %}{% for i in range(90000) %}{% message 'user' %}x{% endmessage %}{% endfor %}{% endset %}{{ x }}{{ x }}")),
        ("captures in captures", single_template("{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}{% endfor %}")),
        ("concatenation", single_template("{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}")),
        ("lists", single_template("{% set ns = namespace(x=[1, 2]) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}")),
        ("a list of letters", single_template("{% set l = [] %}{% for i in range(9999) %}{% do l.append(text|list) %}{% endfor %}")),
        ("sort", single_template("{% set l = [] %}{% for i in range(99) %}{% do l.append(range(9000)|list|sort(reverse=true)) %}{% endfor %}")),
        ("sort of a range", single_template("{{ range(99999)|sort(attribute='x')|length }}{{ range(99999)|sort(reverse=true)|sort|length }}")),
        ("groupby", single_template("{% set l = [] %}{% for i in range(20000) %}{% do l.append({'a': i}) %}{% endfor %}{{ l|groupby('a')|length }}{{ l|groupby('a')|list|length }}")),
        ("unique", single_template("{{ range(99999)|unique|list|length }}")),
        ("batch and slice", single_template("{{ range(99999)|batch(2)|list|length }}{{ range(99999)|slice(50000)|list|length }}")),
        ("map and select", single_template("{{ range(99999)|map('string')|select|map('upper')|list|length }}")),
        ("tojson", single_template("{% set l = range(50000)|list %}{% for i in range(99) %}{% set x = l|tojson(indent=4) %}{% endfor %}{{ l|pprint }}")),
        ("split", single_template("{% set l = [] %}{% for i in range(9999) %}{% do l.append((text * 9).split(' ')) %}{% endfor %}")),
        ("replace", single_template("{% for i in range(99) %}{% set x = (text * 90).replace('', text) %}{% endfor %}")),
        ("wordwrap", single_template("{{ (text * 900)|wordwrap(1) }}{{ (text * 900)|urlize }}{{ (text * 900)|striptags|title|indent(99, true) }}")),
        ("format", single_template("{{ '%99999d' % 1 }}{{ '{:99999}'.format(1) }}{{ ('%s' * 9000) % (range(9000)|map('string')|list) }}")),
        ("translate", single_template("{% for i in range(99) %}{% set x = (text * 900)|e|forceescape|urlencode %}{% endfor %}")),
        ("keys", single_template("{% set d = {} %}{% for i in range(99999) %}{% do d.update({i: i}) %}{% endfor %}{{ d|dictsort|length }}")),
        ("copies of data", single_template("{% for i in range(99999) %}{% do list.append(i) %}{% do tree.children.append(list) %}{% endfor %}")),
        ("nested lists", single_template("{% set ns = namespace(v=[]) %}{% for i in range(99999) %}{% set ns.v = [ns.v] %}{% endfor %}{{ ns.v }}")),
    ]
}

#[test]
fn no_template_makes_the_process_hold_twice_its_bytes() {
    let wrong = on_a_thread(|| {
        let mut wrong = Vec::new();
        for (name, sources) in greedy() {
            let limits = Limits { bytes: BYTES, steps: 3_000_000, source: 4 << 20, ..Limits::default() };
            // Memory for compiling does not count; the compiled template is reused in the second run.
            let mut outcome = String::new();
            let compiled = measure(|| drop(render(&sources, &Limits { steps: 0, ..limits.clone() })));
            let info = measure(|| {
                outcome = match render(&sources, &limits) {
                    Ok(text) => format!("{} bytes of text", text.len()),
                    Err(error) => error.to_string(),
                };
            });
            let run_bytes = info.bytes_max.saturating_sub(compiled.bytes_max);
            // A growing list exists twice for a moment.
            if run_bytes > (2 * BYTES + BYTES / 8) as u64 {
                wrong.push(format!("{name}: {run_bytes} bytes, {outcome}"));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "more than twice {BYTES} bytes:\n{}", wrong.join("\n"));
}

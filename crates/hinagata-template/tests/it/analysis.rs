//! What templates read, use and define, in one form for both languages; alone and as a graph.

use std::sync::Arc;

use hinagata_template::{
    Analysis, Cache, Graph, Language, MemorySources, NameUse, Options, SourceText, Template, TemplateUseKind,
    Usage, analyze_graph,
};
use hinagata_value::{ErrorKind, LimitKind, Limits};

fn analyze(name: &str, source: &str) -> Analysis {
    let (options, limits) = (Options::default(), Limits::default());
    let template =
        Template::compile(Language::from_file_name(name), name, source, &options, &limits).expect("compiles");
    Analysis::clone(template.analysis())
}

/// The variables: `?` behind those that may be missing, `!` behind those that are only asked for.
fn variables(analysis: &Analysis) -> Vec<String> {
    let shown = |item: &hinagata_template::VariableUse| {
        let mark = match item.usage {
            Usage::Value => "",
            Usage::Default => "?",
            Usage::Condition => "!",
        };
        format!("{}{mark}", item.path)
    };
    analysis.variables.iter().map(shown).collect()
}

fn names(uses: &[NameUse]) -> Vec<&str> {
    uses.iter().map(|used| used.name.as_str()).collect()
}

#[test]
fn both_languages_answer_in_one_form() {
    let jinja = "{{ role('system') }}{% for t in tools %}{{ t.name }}{% endfor %}{% if debug %}{{ user.name }}{% endif %}";
    let go = "{{role \"system\"}}{{range .tools}}{{.name}}{{end}}{{if .debug}}{{.user.name}}{{end}}";
    for (name, source) in [("a.md", jinja), ("a.gotmpl", go)] {
        let analysis = analyze(name, source);
        assert_eq!(variables(&analysis), ["tools", "tools[].name", "debug!", "user.name"], "{name}");
        assert_eq!(names(&analysis.functions), ["role"], "{name}");
        assert_eq!(analysis.roles.len(), 1, "{name}");
        assert_eq!(analysis.roles[0].role.as_deref(), Some("system"), "{name}");
    }
}

#[test]
fn positions_are_lines_and_columns_in_characters() {
    for (name, source) in [("a.md", "é\né {{ a.b }}"), ("a.gotmpl", "é\né {{ .a.b }}")] {
        let analysis = analyze(name, source);
        let position = analysis.variables[0].position;
        assert_eq!((position.line, position.column), (2, 6), "{name}");
        assert!(source[position.start as usize..position.end as usize].ends_with("a.b"), "{name}");
    }
}

#[test]
fn names_that_are_used_and_defined_are_listed() {
    let jinja = analyze(
        "a.md",
        "{% extends 'base.md' %}{% import 'lib.md' as lib %}{% block b %}{{ x|upper is odd }}{{ ask(1) }}{% endblock %}{% macro m() %}{% include [name, 'c.gotmpl'] ignore missing %}{% endmacro %}{{ role(r) }}",
    );
    assert_eq!(names(&jinja.filters), ["upper"]);
    assert_eq!(names(&jinja.tests), ["odd"]);
    assert_eq!((jinja.blocks.len(), &*jinja.blocks[0].name), (1, "b"));
    assert_eq!((jinja.macros.len(), &*jinja.macros[0].name), (1, "m"));
    assert_eq!(names(&jinja.functions), ["ask", "role"]);
    assert_eq!(jinja.roles[0].role, None);
    let uses: Vec<_> =
        jinja.templates.iter().map(|used| (used.kind, used.names.len(), used.dynamic)).collect();
    assert_eq!(
        uses,
        [
            (TemplateUseKind::Extends, 1, false),
            (TemplateUseKind::Import, 1, false),
            (TemplateUseKind::Include, 1, true),
        ]
    );
    let go = analyze(
        "a.gotmpl",
        "{{define \"d\"}}{{end}}{{template \"d\"}}{{template \"x.md\" .user}}{{len .a}}{{role .r}}",
    );
    assert_eq!((go.macros.len(), &*go.macros[0].name), (1, "d"));
    assert_eq!(names(&go.functions), ["len", "role"]);
    assert_eq!(go.roles[0].role, None);
    assert_eq!(go.templates.len(), 1, "what the source defines itself is no other template");
    assert_eq!((go.templates[0].kind, &*go.templates[0].names[0]), (TemplateUseKind::Call, "x.md"));
}

fn graph(sources: &[(&str, &str)]) -> Graph {
    let sources = MemorySources::from_iter(sources.iter().copied());
    analyze_graph("main.md", &sources, &Options::default(), &Limits::default()).expect("within the limits")
}

fn graph_variables(graph: &Graph) -> Vec<String> {
    graph.variables.iter().map(|item| format!("{}: {}", item.template, item.variable.path)).collect()
}

#[test]
fn variables_are_followed_across_the_languages() {
    let graph = graph(&[
        ("main.md", "{% for t in tools %}{% include 'row.gotmpl' %}{% endfor %}{{ title }}"),
        (
            "row.gotmpl",
            "{{.t.name}}{{.free}}{{template \"cell.md\" .t.owner}}{{range .t.tags}}{{template \"tag.gotmpl\" .}}{{end}}",
        ),
        ("cell.md", "{{ address.city }}"),
        ("tag.gotmpl", "{{.}}"),
    ]);
    let expected = [
        "main.md: tools",
        "main.md: title",
        "row.gotmpl: tools[].name",
        "row.gotmpl: free",
        "row.gotmpl: tools[].tags",
        "cell.md: tools[].owner.address.city",
        "tag.gotmpl: tools[].tags[]",
    ];
    assert_eq!(graph_variables(&graph), expected);
    let names: Vec<_> = graph.templates.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["main.md", "row.gotmpl", "cell.md", "tag.gotmpl"]);
}

#[test]
fn an_import_and_a_call_without_data_see_no_variables() {
    let graph = graph(&[
        ("main.md", "{% import 'lib.md' as lib %}{% include 'go.gotmpl' without context %}{{ a }}"),
        ("lib.md", "{{ b }}"),
        ("go.gotmpl", "{{.c}}{{template \"other.gotmpl\"}}"),
        ("other.gotmpl", "{{.d}}"),
    ]);
    assert_eq!(graph_variables(&graph), ["main.md: a"]);
    assert_eq!(graph.templates.len(), 4);
}

#[test]
fn a_template_sees_the_names_that_are_bound_where_it_is_used() {
    let graph = graph(&[
        ("main.md", "{% extends 'base' %}{% set title = site.title %}{% block b %}{{ x }}{% endblock %}"),
        (
            "base",
            "{{ title.text }}{% for t in tools %}{% include 'tool' %}{% endfor %}{% include 'tool' without context %}",
        ),
        (
            "tool",
            "{{ t.name }}{{ user }}{% include 'main.md' ignore missing %}{% include n %}{% include 'gone' %}",
        ),
    ]);
    let expected = [
        "main.md: site.title",
        "main.md: x",
        "base: site.title.text",
        "base: tools",
        "tool: tools[].name",
        "tool: user",
        "tool: n",
    ];
    assert_eq!(graph_variables(&graph), expected);
    assert_eq!((graph.missing.len(), graph.dynamic.len()), (1, 1));
}

#[test]
fn a_graph_that_multiplies_itself_ends_at_the_budget() {
    let sets: String = (0..3000).map(|n| format!("{{% set v{n} = 1 %}}{{% include 'b' %}}")).collect();
    let reads: String = (0..3000).map(|n| format!("{{{{ r{n} }}}}")).collect();
    let sources = MemorySources::from_iter([("a", sets), ("b", reads)]);
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    let error = analyze_graph("a", &sources, &Options::default(), &limits).expect_err("too much");
    assert_eq!(error.limit(), Some(LimitKind::Steps));
}

#[test]
fn a_template_that_is_rendered_from_a_cache_is_compiled_and_analysed_once() {
    let texts = [("main.md", "{{ a }}{% include 'row.gotmpl' %}"), ("row.gotmpl", "{{.b}}")];
    let (sources, cache) = (MemorySources::from_iter(texts), Cache::new(10));
    let (options, limits) = (Arc::new(Options::default()), Limits::default());
    let entry = SourceText::new(Language::Jinja, texts[0].1);
    let template = cache.get("main.md", &entry, &options, &limits).expect("compiles");
    let first = cache.analyze_graph("main.md", &sources, &options, &limits).expect("within the limits");
    let second = cache.analyze_graph("main.md", &sources, &options, &limits).expect("within the limits");
    assert_eq!(graph_variables(&first), ["main.md: a", "row.gotmpl: b"]);
    assert_eq!(cache.compiled_count(), 2);
    assert!(Arc::ptr_eq(template.analysis(), &first.templates[0].1));
    assert!(Arc::ptr_eq(&first.templates[1].1, &second.templates[1].1));
}

#[test]
fn what_is_missing_dynamic_or_broken_is_reported() {
    let graph = graph(&[
        (
            "main.md",
            "{% include 'gone.md' %}{% include x %}{% include ['no.md', 'a.gotmpl'] %}{% include 'bad.gotmpl' %}",
        ),
        ("a.gotmpl", "{{template \"nowhere\" .}}{{.a}}"),
        ("bad.gotmpl", "{{if}}"),
    ]);
    let missing: Vec<_> =
        graph.missing.iter().map(|item| (item.template.as_str(), item.used.names[0].as_str())).collect();
    assert_eq!(missing, [("main.md", "gone.md"), ("a.gotmpl", "nowhere")]);
    assert_eq!(graph.dynamic.len(), 1);
    assert_eq!((graph.broken.len(), graph.broken[0].0.as_str()), (1, "bad.gotmpl"));
    assert_eq!(graph.broken[0].1.kind(), ErrorKind::Syntax);
    assert_eq!(graph_variables(&graph), ["main.md: x", "a.gotmpl: a"], "the rest is there");
}

#[test]
fn circles_are_found_and_end() {
    let graph = graph(&[
        ("main.md", "{{ a }}{% include 'b.gotmpl' %}"),
        ("b.gotmpl", "{{.b}}{{template \"c.md\" .}}"),
        ("c.md", "{{ c }}{% include 'b.gotmpl' %}{% include 'c.md' %}"),
    ]);
    assert_eq!(graph.cycles, [vec!["b.gotmpl", "c.md"], vec!["c.md"]]);
    assert_eq!(graph_variables(&graph), ["main.md: a", "b.gotmpl: b", "c.md: c"]);
}

#[test]
fn a_graph_is_bounded() {
    let many: Vec<(String, String)> = (0..600)
        .map(|number| (format!("t{number}.md"), format!("{{% include 't{}.md' %}}", number + 1)))
        .collect();
    let sources = MemorySources::from_iter(many);
    let error =
        analyze_graph("t0.md", &sources, &Options::default(), &Limits::default()).expect_err("too many");
    assert_eq!(error.limit(), Some(LimitKind::Templates));
    // Each level doubles the ways; the variables stay few.
    let doubling = |number: usize| {
        let (jinja, go) = (format!("j{number}.md"), format!("g{number}.gotmpl"));
        let next = number + 1;
        [
            (
                jinja,
                format!(
                    "{{{{ v{number} }}}}{{% include 'g{number}.gotmpl' %}}{{% include 'g{number}.gotmpl' %}}"
                ),
            ),
            (go, format!("{{{{template \"j{next}.md\" .}}}}{{{{template \"j{next}.md\" .}}}}")),
        ]
    };
    let sources = MemorySources::from_iter((0..100).flat_map(doubling));
    let graph = analyze_graph("j0.md", &sources, &Options::default(), &Limits::default()).expect("ends");
    assert_eq!(graph.variables.len(), 100);
    assert_eq!(graph.missing.len(), 2);
}

#[test]
fn an_entry_that_does_not_exist_is_an_error_with_near_names() {
    let sources = MemorySources::from_iter([("main.md", "")]);
    let error =
        analyze_graph("mian.md", &sources, &Options::default(), &Limits::default()).expect_err("not there");
    assert_eq!((error.kind(), error.near()), (ErrorKind::NotFound, &["main.md".to_owned()][..]));
}

//! Names that mean different templates depending on the template they are written in.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::BTreeSet,
};

use hinagata_template::{
    Cache, Graph, Language, MemorySources, Options, Render, SourceText, Sources, Template, analyze_graph,
};
use hinagata_value::{Error, ErrorKind, LimitKind, Limits, Result};
use serde_json::json;

/// Templates in roots, kept as `root:name`. A name is looked up in the root of the template it is
/// written in, then in the root `shared`.
struct Roots {
    kept: MemorySources,
    /// The joined names that were asked for and are there.
    loaded: RefCell<BTreeSet<String>>,
    joins: Cell<usize>,
}

impl Roots {
    fn new(templates: &[(&str, &str)]) -> Self {
        Self {
            kept: MemorySources::from_iter(templates.iter().copied()),
            loaded: RefCell::default(),
            joins: Cell::new(0),
        }
    }
}

impl Sources for Roots {
    fn source(&self, name: &str) -> Result<Option<SourceText>> {
        let source = self.kept.source(name)?;
        if source.is_some() {
            self.loaded.borrow_mut().insert(name.to_owned());
        }
        Ok(source)
    }

    fn join<'n>(&self, from: &str, name: &'n str) -> Result<Cow<'n, str>> {
        self.joins.set(self.joins.get() + 1);
        if name == "both.md" {
            return Err(Error::runtime("two packs have both.md"));
        }
        let own = from.split_once(':').map_or("", |(root, _)| root);
        let mut places = [own, "shared"].into_iter().map(|root| format!("{root}:{name}"));
        let found = places.find(|place| matches!(self.kept.source(place), Ok(Some(_))));
        Ok(found.map_or(Cow::Borrowed(name), Cow::Owned))
    }

    fn names(&self) -> Vec<String> {
        self.kept.names()
    }
}

fn compile(sources: &Roots, main: &str) -> Template {
    let source = sources.kept.source(main).expect("can be read").expect("is there");
    Template::compile(source.language(), main, source.text(), &Options::default(), &Limits::default())
        .expect("compiles")
}

fn render(sources: &Roots, main: &str) -> Result<String> {
    Render::new().with_sources(sources).render_text(&compile(sources, main), &json!({"x": "X"}))
}

fn graph(sources: &Roots, main: &str) -> Graph {
    analyze_graph(main, sources, &Options::default(), &Limits::default()).expect("within the limits")
}

/// What it shows, templates of which the first is the entry, and what that gives.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const CASES: &[Case] = &[
    (
        "include",
        &[
            ("a:main.md", "{% include 'part.md' %} {% include 'all.md' %}"),
            ("a:part.md", "a"),
            ("b:part.md", "b"),
            ("shared:part.md", "shared"),
            ("shared:all.md", "all+{% include 'part.md' %}"),
        ],
        "a all+shared",
    ),
    (
        "the first of a list that exists",
        &[
            (
                "a:main.md",
                "{% include ['no.md', 'part.md'] %}{% include ['no.md', 'part.gotmpl', 'part.md'] %}",
            ),
            ("a:part.md", "a"),
            ("a:part.gotmpl", " go of a"),
            ("shared:part.md", "shared"),
        ],
        "a go of a",
    ),
    (
        "a block stands in the template that defines it",
        &[
            (
                "a:main.md",
                "{% extends 'base.md' %}{% block one %}{% include 'part.md' %}<{{ super() }}>{% endblock %}",
            ),
            ("a:part.md", "a"),
            (
                "shared:base.md",
                "{% block one %}{% include 'part.md' %}{% endblock %} {% block two %}{% include 'part.md' %}{% endblock %}",
            ),
            ("shared:part.md", "shared"),
        ],
        "a<shared> shared",
    ),
    (
        "a parent with the name of its child",
        &[
            ("a:main.md", "{% extends 'lib/main.md' %}{% block b %}a{{ super() }}{% endblock %}"),
            ("shared:lib/main.md", "{% extends 'main.md' %}{% block b %}b{{ super() }}{% endblock %}"),
            ("shared:main.md", "({% block b %}c{% endblock %})"),
        ],
        "(abc)",
    ),
    (
        "a macro stands in the template that defines it",
        &[
            (
                "a:main.md",
                "{% import 'lib.md' as lib %}{{ lib.show() }} {% from 'lib.md' import show as again %}{{ again() }} {% include 'part.md' %} {% call lib.around() %}{% include 'part.md' %}{% endcall %}",
            ),
            ("a:part.md", "a"),
            (
                "shared:lib.md",
                "{% macro show() %}{% include 'part.md' %}{% endmacro %}{% macro around() %}[{{ caller() }}]{% endmacro %}",
            ),
            ("shared:part.md", "shared"),
        ],
        "shared shared a [a]",
    ),
    (
        "Go, Jinja, Go",
        &[
            ("a:main.gotmpl", "{{define \"own\"}}own{{end}}{{template \"own\"}} {{template \"mid.md\" .}}"),
            ("a:leaf.gotmpl", "a{{.x}}"),
            ("shared:own", "not this one"),
            ("shared:mid.md", "mid {% include 'leaf.gotmpl' %} {% include 'last.gotmpl' %}"),
            ("shared:leaf.gotmpl", "shared{{.x}}"),
            ("shared:last.gotmpl", "{{template \"leaf.gotmpl\" .}}"),
        ],
        "own mid sharedX sharedX",
    ),
    (
        "Jinja, Go, Jinja",
        &[
            ("a:main.md", "{% include 'go.gotmpl' %}{% include 'leaf.md' %}"),
            ("a:leaf.md", "a"),
            ("shared:go.gotmpl", "{{block \"leaf.md\" .}}block{{end}} {{template \"other.md\" .}} "),
            ("shared:other.md", "{% include 'leaf.md' %}"),
            ("shared:leaf.md", "shared"),
        ],
        "block shared a",
    ),
    (
        "one name in both languages and both roots",
        &[
            ("a:main.md", "{% include 'x' %}{% include 'y.gotmpl' %}"),
            ("a:x", "jinja of a"),
            ("shared:x", "jinja of shared"),
            ("shared:y.gotmpl", " {{template \"x\" .}}"),
        ],
        "jinja of a jinja of shared",
    ),
];

#[test]
fn a_name_means_what_it_means_where_it_is_written() {
    for (what, templates, expected) in CASES {
        let sources = Roots::new(templates);
        assert_eq!(render(&sources, templates[0].0).expect(what), *expected, "{what}");
    }
}

#[test]
fn the_graph_holds_what_a_run_loads() {
    for (what, templates, _) in CASES {
        let sources = Roots::new(templates);
        render(&sources, templates[0].0).expect(what);
        let mut run = sources.loaded.take();
        run.insert(templates[0].0.to_owned());
        let graph = graph(&sources, templates[0].0);
        let known: BTreeSet<String> = graph.templates.into_iter().map(|(name, _)| name).collect();
        assert!(known.is_superset(&run), "{what}: {run:?} is in {known:?}");
        // A choice of several loads the first that is there; everything else is loaded by a run too.
        assert!(what.contains("list") || known == run, "{what}: {known:?} is {run:?}");
        assert_eq!((graph.broken.len(), graph.cycles.len()), (0, 0), "{what}");
    }
}

#[test]
fn variables_are_followed_through_joined_names() {
    let sources = Roots::new(&[
        ("a:main.md", "{% include 'lib.md' %}{% for t in tools %}{% include 'row.gotmpl' %}{% endfor %}"),
        ("a:row.gotmpl", "{{.t.name}}"),
        ("shared:row.gotmpl", "{{.t.never}}"),
        ("shared:lib.md", "{% include 'part.md' %}"),
        ("shared:part.md", "{{ title }}"),
        ("a:part.md", "{{ never }}"),
    ]);
    let graph = graph(&sources, "a:main.md");
    let variables: Vec<_> =
        graph.variables.iter().map(|item| format!("{} {}", item.template, item.variable.path)).collect();
    assert_eq!(variables, ["a:main.md tools", "a:row.gotmpl tools[].name", "shared:part.md title"]);
}

#[test]
fn what_does_not_exist_is_named_as_it_is_written() {
    for (name, source) in [
        ("a:main.md", "{% include 'prat.md' %}"),
        ("a:main.md", "{% extends 'prat.md' %}"),
        ("a:main.md", "{% import 'prat.md' as p %}"),
        ("a:main.md", "{% from 'prat.md' import p %}"),
        ("a:main.gotmpl", "{{template \"prat.md\" .}}"),
    ] {
        let sources = Roots::new(&[(name, source), ("b:part.md", "")]);
        let error = render(&sources, name).expect_err("is not there");
        assert_eq!((error.kind(), error.subject()), (ErrorKind::NotFound, Some("prat.md")), "{source}");
        assert_eq!(error.place().map(|place| place.template.as_str()), Some(name), "{source}");
        let graph = graph(&sources, name);
        assert_eq!(
            (graph.missing[0].template.as_str(), &*graph.missing[0].used.names),
            (name, &["prat.md".to_owned()][..])
        );
    }
    let sources = Roots::new(&[(
        "a:main.md",
        "{% include 'no.md' ignore missing %}{% include ['no.md', 'nor.md'] ignore missing %}x",
    )]);
    assert_eq!(render(&sources, "a:main.md").expect("nothing is needed"), "x");
}

#[test]
fn a_name_that_cannot_be_joined_is_an_error_at_its_use() {
    for (name, source) in [
        ("a:main.md", "x\n{% include 'both.md' %}"),
        ("a:main.md", "x\n{% include 'both.md' ignore missing %}"),
        ("a:main.md", "x\n{% include ['no.md', 'both.md'] %}"),
        ("a:main.md", "x\n{% extends 'both.md' %}"),
        ("a:main.gotmpl", "x\n{{template \"both.md\" .}}"),
    ] {
        let sources = Roots::new(&[(name, source)]);
        let error = render(&sources, name).expect_err("two packs");
        let place = error.place().expect("has one");
        assert_eq!(
            (error.message(), &*place.template, place.line),
            ("two packs have both.md", name, 2),
            "{source}"
        );
        let graph = graph(&sources, name);
        assert_eq!((graph.broken.len(), &*graph.broken[0].0), (1, "both.md"), "{source}");
        assert!(graph.missing.is_empty(), "{source}");
    }
}

#[test]
fn places_ways_and_origins_have_joined_names() {
    let sources = Roots::new(&[
        ("a:main.md", "{% include 'mid.gotmpl' %}"),
        ("shared:mid.gotmpl", "{{template \"leaf.md\" .}}"),
        ("shared:leaf.md", "{{ x }}{{ 1 // 0 if bad }}"),
    ]);
    let main = compile(&sources, "a:main.md");
    let error =
        Render::new().with_sources(&sources).render_text(&main, &json!({"bad": true})).expect_err("divides");
    assert_eq!(error.place().expect("has one").template, "shared:leaf.md");
    let way: Vec<_> = error.chain().iter().map(|place| place.template.as_str()).collect();
    assert_eq!(way, ["shared:mid.gotmpl", "a:main.md"]);
    let mapped =
        Render::new().with_sources(&sources).render_mapped(&main, &json!({"x": "X"})).expect("renders");
    let origins: Vec<_> = mapped
        .map
        .spans
        .iter()
        .filter_map(|span| mapped.map.place(span.place))
        .map(|place| place.template)
        .collect();
    assert_eq!(origins, ["shared:leaf.md"]);
}

#[test]
fn circles_are_found_by_joined_names() {
    // Each of these includes a template of its own name in another root, which is no circle …
    let line = [
        ("a:main.md", "{% include 'x.gotmpl' %}"),
        ("a:x.gotmpl", "{{template \"y.md\" .}}"),
        ("shared:y.md", "{% include 'x.gotmpl' %}"),
        ("shared:x.gotmpl", "end"),
    ];
    assert_eq!(render(&Roots::new(&line), "a:main.md").expect("ends"), "end");
    // … and these come back to the same file.
    let sources = Roots::new(&[line[0], line[1], line[2], ("shared:x.gotmpl", "{{template \"y.md\" .}}")]);
    let error = render(&sources, "a:main.md").expect_err("a circle");
    assert!(error.message().contains("shared:y.md → shared:x.gotmpl → shared:y.md"), "{error}");
    assert_eq!(graph(&sources, "a:main.md").cycles, [["shared:y.md", "shared:x.gotmpl"]]);
}

#[test]
fn a_template_that_calls_itself_is_found_in_its_run() {
    let jinja = "{{ x }}{% set x = x - 1 %}{% if x %}{% include 'main.md' %}{% endif %}";
    let go = "{{.v}}{{with .next}}{{template \"main.gotmpl\" .}}{{end}}";
    for (name, source) in [("a:main.md", jinja), ("a:main.gotmpl", go)] {
        let sources = Roots::new(&[(name, source)]);
        let data = json!({"x": 3, "v": 3, "next": {"v": 2, "next": {"v": 1}}});
        let text =
            Render::new().with_sources(&sources).render_text(&compile(&sources, name), &data).expect("ends");
        assert_eq!(text, "321", "{name}");
        assert!(sources.loaded.borrow().is_empty(), "{name} is not loaded again");
    }
}

#[test]
fn templates_of_one_name_are_cached_apart() {
    let sources = Roots::new(CASES[0].1);
    let (cache, main) = (Cache::default(), compile(&sources, "a:main.md"));
    for _ in 0..3 {
        let text = Render::new()
            .with_sources(&sources)
            .with_cache(&cache)
            .render_text(&main, &json!({}))
            .expect("renders");
        assert_eq!(text, CASES[0].2);
    }
    assert_eq!(cache.compiled_count(), 3);
}

#[test]
fn a_name_is_joined_once_in_a_render_and_once_in_a_graph() {
    let sources = Roots::new(&[
        (
            "a:main.md",
            "{% for i in range(50) %}{% include 'x.gotmpl' %}{% include 'y.md' %}{% endfor %}{% include 'y.md' %}",
        ),
        ("a:x.gotmpl", "{{template \"y.md\" .}}{{template \"y.md\" .}}"),
        ("a:y.md", "."),
    ]);
    assert_eq!(render(&sources, "a:main.md").expect("renders").len(), 151);
    assert_eq!(sources.joins.take(), 3);
    graph(&sources, "a:main.md");
    assert_eq!(sources.joins.take(), 3);
}

#[test]
fn many_names_of_one_template_stay_within_the_limits() {
    /// Every name leads to one template.
    struct One;
    impl Sources for One {
        fn source(&self, name: &str) -> Result<Option<SourceText>> {
            Ok((name == "one").then(|| SourceText::new(Language::Jinja, ".")))
        }
        fn join<'n>(&self, _from: &str, _name: &'n str) -> Result<Cow<'n, str>> {
            Ok(Cow::Owned("one".to_owned()))
        }
    }
    let source = "{% for i in range(2000) %}{% include i ~ '.md' %}{% endfor %}";
    let main = Template::compile(Language::Jinja, "main", source, &Options::default(), &Limits::default())
        .expect("compiles");
    let text =
        Render::new().with_sources(&One).render_text(&main, &json!({})).expect("one template is loaded");
    assert_eq!(text.len(), 2000);
    let limits = Limits { templates: 1, ..Limits::default() };
    let error = Render::new()
        .with_sources(&One)
        .with_limits(limits)
        .render_text(&main, &json!({}))
        .expect_err("one too many");
    assert_eq!(error.limit(), Some(LimitKind::Templates));
}

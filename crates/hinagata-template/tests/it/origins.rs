//! Where each piece of an output came from, through both languages.

use hinagata_template::{Language, MemorySources, Options, Render, Template};
use hinagata_value::Limits;
use serde_json::json;

/// Each piece of the output with its place and its variable.
fn origins(language: Language, name: &str, source: &str, sources: &MemorySources) -> Vec<String> {
    let template =
        Template::compile(language, name, source, &Options::default(), &Limits::default()).expect("compiles");
    let data = json!({
        "name": "Rumi",
        "user": {"name": "Yuki"},
        "tools": [{"name": "search", "tags": ["x", "y"]}, {"name": "read", "tags": ["z"]}],
    });
    let render = Render::new().with_sources(sources);
    let traced = render.render_traced(&template, &data).expect("renders");
    assert_eq!(
        traced.written.text,
        render.render_text(&template, &data).expect("renders"),
        "the text is the same"
    );
    let segments = &traced.written.provenance;
    let mut from = 0;
    let shown = segments.segments().iter().map(|segment| {
        let text = &traced.written.text[from..segment.end as usize];
        from = segment.end as usize;
        let origin = traced.map.origin(segments, segment).expect("every segment has an origin");
        let variable = origin.variable.map(|variable| format!(" {variable}")).unwrap_or_default();
        format!("{text:?} {}{variable}", origin.place)
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!(from, traced.written.text.len(), "the segments cover the text");
    shown
}

#[test]
fn a_piece_of_jinja_knows_its_place_and_its_variable() {
    let source = "Hi {{ name }},\n{% for t in tools %}{% for tag in t.tags %}{{ tag }}{{ t.name|upper }}{% endfor %}{% endfor %}{{ name ~ user.name }}";
    let given = origins(Language::Jinja, "a.md", source, &MemorySources::new());
    let expected = [
        r#""Hi " a.md:1:1"#,
        r#""Rumi" a.md:1:4 name"#,
        r#"",\n" a.md:1:14"#,
        r#""x" a.md:2:44 tools[0].tags[0]"#,
        r#""SEARCH" a.md:2:53 tools[0].name"#,
        r#""y" a.md:2:44 tools[0].tags[1]"#,
        r#""SEARCH" a.md:2:53 tools[0].name"#,
        r#""z" a.md:2:44 tools[1].tags[0]"#,
        r#""READ" a.md:2:53 tools[1].name"#,
        r#""RumiYuki" a.md:2:95"#,
    ];
    assert_eq!(given, expected);
}

#[test]
fn the_order_of_a_sorted_loop_is_not_taken_for_that_of_the_data() {
    let source = "{% for t in tools|sort(attribute='name') %}{{ t.name }}{% endfor %}";
    let given = origins(Language::Jinja, "a.md", source, &MemorySources::new());
    assert_eq!(given, [r#""read" a.md:1:44 tools[].name"#, r#""search" a.md:1:44 tools[].name"#]);
}

#[test]
fn origins_reach_through_includes_of_both_languages() {
    let sources = MemorySources::from_iter([
        ("row.gotmpl", "- {{.t.name}}{{template \"tail.md\" .}}"),
        ("tail.md", "\n{{ user.name }}"),
    ]);
    let source = "{% for t in tools %}{% include 'row.gotmpl' %}{% endfor %}";
    let given = origins(Language::Jinja, "main.md", source, &sources);
    let expected = [
        r#""- " row.gotmpl:1:1"#,
        r#""search" row.gotmpl:1:5 t.name"#,
        r#""\n" tail.md:1:1"#,
        r#""Yuki" tail.md:2:1 user.name"#,
        r#""- " row.gotmpl:1:1"#,
        r#""read" row.gotmpl:1:5 t.name"#,
        r#""\n" tail.md:1:1"#,
        r#""Yuki" tail.md:2:1 user.name"#,
    ];
    assert_eq!(given, expected);
}

#[test]
fn a_piece_of_go_knows_its_place_and_its_variable() {
    let source = "Hi {{.name}},\n{{range $t := .tools}}{{range .tags}}{{.}}{{$t.name | printf \"%q\"}}{{end}}{{end}}{{with .user}}{{.name}}{{end}}{{define \"d\"}}{{.}}{{end}}{{template \"d\" .name}}{{printf \"%s%s\" .name .user.name}}";
    let given = origins(Language::Go, "a.gotmpl", source, &MemorySources::new());
    let expected = [
        r#""Hi " a.gotmpl:1:1"#,
        r#""Rumi" a.gotmpl:1:6 name"#,
        r#"",\n" a.gotmpl:1:13"#,
        r#""x" a.gotmpl:2:40 tools[0].tags[0]"#,
        r#""\"search\"" a.gotmpl:2:45 tools[0].name"#,
        r#""y" a.gotmpl:2:40 tools[0].tags[1]"#,
        r#""\"search\"" a.gotmpl:2:45 tools[0].name"#,
        r#""z" a.gotmpl:2:40 tools[1].tags[0]"#,
        r#""\"read\"" a.gotmpl:2:45 tools[1].name"#,
        r#""Yuki" a.gotmpl:2:98 user.name"#,
        r#""Rumi" a.gotmpl:2:128 name"#,
        r#""RumiYuki" a.gotmpl:2:162"#,
    ];
    assert_eq!(given, expected);
}

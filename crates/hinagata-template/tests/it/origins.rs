//! Where each piece of an output came from, through both languages.

use hinagata_template::{DataOrigin, Language, MemorySources, Options, Render, SpanKind, Template};
use hinagata_value::Limits;
use serde_json::json;

/// Each span of the output: its text, kind, place and variables, and the steps to it.
fn origins(language: Language, name: &str, source: &str, sources: &MemorySources) -> Vec<String> {
    let template =
        Template::compile(language, name, source, &Options::default(), &Limits::default()).expect("compiles");
    let data = json!({
        "name": "Rumi",
        "user": {"name": "Yuki", "age": 7},
        "tools": [{"name": "search", "tags": ["x", "y"]}, {"name": "read", "tags": ["z"]}],
    });
    let render = Render::new().with_sources(sources);
    let mapped = render.render_mapped(&template, &data).expect("renders");
    let text = render.render_text(&template, &data).expect("renders");
    assert_eq!(mapped.written.text, text, "the text is the same");
    let map = &mapped.map;
    let mut from = 0;
    let shown = map.spans.iter().map(|span| {
        let text = &mapped.written.text[from..span.end];
        from = span.end;
        let place = map.place(span.place).expect("every span has a place");
        let origin = |origin: &DataOrigin| match origin {
            DataOrigin::Variable(path) => path.to_string(),
            other => format!("{other:?}"),
        };
        let what = match span.kind {
            SpanKind::Text => {
                let (start, end) = (span.place.start as usize, span.place.end as usize);
                let source = map.templates[span.place.template as usize].source().text();
                assert_eq!(source[start..end].replace("\r\n", "\n"), text, "a text is that of its file");
                "text".to_owned()
            }
            SpanKind::Value { value, from } => {
                let value = &map.values[value as usize];
                assert_eq!(&value.text[from..from + text.len()], text, "a value is that of its variable");
                format!("value {}", origin(&value.origin))
            }
            SpanKind::Derived { inputs } => {
                let inputs: Vec<_> = map.inputs[inputs as usize].iter().map(origin).collect();
                let filters = map.filters_at(span.place).join("|");
                format!("derived {} by {filters}", inputs.join("+"))
            }
            SpanKind::Computed => "computed".to_owned(),
        };
        let via: String = map
            .steps_to(span.step)
            .iter()
            .map(|step| match &step.name {
                Some(name) => format!(" > {:?} {name}", step.kind),
                None => format!(" > {}", step.turn),
            })
            .collect();
        format!("{text:?} {place} {what}{via}")
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!(from, mapped.written.text.len(), "the spans cover the text");
    shown
}

#[test]
fn a_piece_of_jinja_knows_its_place_and_its_variable() {
    let source = "Hi {{ name }},\n{% for t in tools %}{% for tag in t.tags %}{{ tag }}{{ t.name|upper }}{% endfor %}{% endfor %}{{ name ~ user.name }}";
    let given = origins(Language::Jinja, "a.md", source, &MemorySources::new());
    let expected = [
        r#""Hi " a.md:1:1 text"#,
        r#""Rumi" a.md:1:4 value name"#,
        r#"",\n" a.md:1:14 text"#,
        r#""x" a.md:2:44 value tools[0].tags[0] > 0 > 0"#,
        r#""SEARCH" a.md:2:53 derived tools[0].name by upper > 0 > 0"#,
        r#""y" a.md:2:44 value tools[0].tags[1] > 0 > 1"#,
        r#""SEARCH" a.md:2:53 derived tools[0].name by upper > 0 > 1"#,
        r#""z" a.md:2:44 value tools[1].tags[0] > 1 > 0"#,
        r#""READ" a.md:2:53 derived tools[1].name by upper > 1 > 0"#,
        r#""Rumi" a.md:2:95 value name"#,
        r#""Yuki" a.md:2:95 value user.name"#,
    ];
    assert_eq!(given, expected);
}

#[test]
fn items_of_a_sorted_loop_keep_their_places_in_the_data() {
    let source = "{% for t in tools|sort(attribute='name') %}{{ t.name }}{% endfor %}";
    let given = origins(Language::Jinja, "a.md", source, &MemorySources::new());
    assert_eq!(
        given,
        [r#""read" a.md:1:44 value tools[1].name > 0"#, r#""search" a.md:1:44 value tools[0].name > 1"#,]
    );
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
        r#""- " row.gotmpl:1:1 text > 0 > Include row.gotmpl"#,
        r#""search" row.gotmpl:1:5 value tools[0].name > 0 > Include row.gotmpl"#,
        r#""\n" tail.md:1:1 text > 0 > Include row.gotmpl > Include tail.md"#,
        r#""Yuki" tail.md:2:1 value user.name > 0 > Include row.gotmpl > Include tail.md"#,
        r#""- " row.gotmpl:1:1 text > 1 > Include row.gotmpl"#,
        r#""read" row.gotmpl:1:5 value tools[1].name > 1 > Include row.gotmpl"#,
        r#""\n" tail.md:1:1 text > 1 > Include row.gotmpl > Include tail.md"#,
        r#""Yuki" tail.md:2:1 value user.name > 1 > Include row.gotmpl > Include tail.md"#,
    ];
    assert_eq!(given, expected);
}

#[test]
fn a_piece_of_go_knows_its_place_and_its_variable() {
    let source = "Hi {{.name}},\n{{range $t := .tools}}{{range .tags}}{{.}}{{$t.name | printf \"%q\"}}{{end}}{{end}}{{with .user}}{{.name}}{{end}}{{define \"d\"}}{{.}}{{end}}{{template \"d\" .name}}{{printf \"%s%s\" .name .user.name}}";
    let given = origins(Language::Go, "a.gotmpl", source, &MemorySources::new());
    let expected = [
        r#""Hi " a.gotmpl:1:1 text"#,
        r#""Rumi" a.gotmpl:1:6 value name"#,
        r#"",\n" a.gotmpl:1:13 text"#,
        r#""x" a.gotmpl:2:40 value tools[0].tags[0] > 0 > 0"#,
        r#""\"" a.gotmpl:2:45 derived tools[0].name by printf > 0 > 0"#,
        r#""search" a.gotmpl:2:45 value tools[0].name > 0 > 0"#,
        r#""\"" a.gotmpl:2:45 derived tools[0].name by printf > 0 > 0"#,
        r#""y" a.gotmpl:2:40 value tools[0].tags[1] > 0 > 1"#,
        r#""\"" a.gotmpl:2:45 derived tools[0].name by printf > 0 > 1"#,
        r#""search" a.gotmpl:2:45 value tools[0].name > 0 > 1"#,
        r#""\"" a.gotmpl:2:45 derived tools[0].name by printf > 0 > 1"#,
        r#""z" a.gotmpl:2:40 value tools[1].tags[0] > 1 > 0"#,
        r#""\"" a.gotmpl:2:45 derived tools[1].name by printf > 1 > 0"#,
        r#""read" a.gotmpl:2:45 value tools[1].name > 1 > 0"#,
        r#""\"" a.gotmpl:2:45 derived tools[1].name by printf > 1 > 0"#,
        r#""Yuki" a.gotmpl:2:98 value user.name"#,
        r#""Rumi" a.gotmpl:2:128 value name > Call d"#,
        r#""Rumi" a.gotmpl:2:162 value name"#,
        r#""Yuki" a.gotmpl:2:162 value user.name"#,
    ];
    assert_eq!(given, expected);
}

#[test]
fn names_are_followed_to_the_variable_behind_them() {
    let source = "{% set n = user.name %}{{ n }}{% with m = n %}{{ m }}{% endwith %}{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(name) }}{{ f(name)|upper }}{% set ns = namespace(best='') %}{% for t in tools %}{% set ns.best = t.name %}{% endfor %}{{ ns.best }}{% set age = user.age + 1 %}{{ age }}{{ loop }}{{ tools|map(attribute='name')|join(', ') }}{{ missing }}";
    let given: Vec<String> = origins(Language::Jinja, "a.md", source, &MemorySources::new())
        .into_iter()
        .map(|line| {
            let (text, rest) = line.split_once(" a.md:").expect("has a place");
            let (_, what) = rest.split_once(' ').expect("has a kind");
            format!("{text} {what}")
        })
        .collect();
    let expected = [
        r#""Yuki" value user.name"#,
        r#""Yuki" value user.name"#,
        r#""<" text > Call f"#,
        r#""Rumi" value name > Call f"#,
        r#"">" text > Call f"#,
        r#""<RUMI>" derived name by upper"#,
        r#""read" value tools[1].name"#,
        r#""8" derived user.age by "#,
        r#""search" value tools[0].name"#,
        r#"", " derived tools by map|join"#,
        r#""read" value tools[1].name"#,
    ];
    assert_eq!(given, expected);
}

//! One budget for both languages: whatever includes whatever, a render ends by its limits.

use hinagata_template::{Language, MemorySources, Options, Render, Template};
use hinagata_value::{Cancel, Error, ErrorKind, LimitKind, Limits};
use serde_json::json;

fn render(sources: &MemorySources, main: &str, limits: Limits) -> Result<String, Error> {
    let source = hinagata_template::Sources::source(sources, main)?.expect("is there");
    let template =
        Template::compile(source.language(), main, source.text(), &Options::default(), &Limits::default())?;
    Render::new().with_sources(sources).with_limits(limits).render_text(&template, &json!({"x": "data"}))
}

/// A line of templates in turns of the languages, each of which includes the next one `times` times.
fn line(length: usize, times: usize) -> MemorySources {
    let name =
        |number: usize| format!("t{number}.{}", if number.is_multiple_of(2) { "md" } else { "gotmpl" });
    (0..length)
        .map(|number| {
            let next = name(number + 1);
            let text = match (number + 1 == length, number % 2) {
                (true, _) => "x".to_owned(),
                (_, 0) => format!("{{% include '{next}' %}}").repeat(times),
                _ => format!("{{{{template \"{next}\" .}}}}").repeat(times),
            };
            (name(number), text)
        })
        .collect()
}

/// Runs on a thread with the stack that Rust gives its threads.
fn on_a_small_stack<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn_scoped(scope, run).expect("a thread starts").join().expect("no overflow, no panic")
    })
}

#[test]
fn a_bomb_of_includes_through_both_languages_ends_by_its_steps() {
    let sources = line(40, 10);
    let error = on_a_small_stack(|| {
        let limits = Limits { steps: 300_000, ..Limits::default() };
        render(&sources, "t0.md", limits).expect_err("too much")
    });
    assert_eq!(error.limit(), Some(LimitKind::Steps), "{error:?}");
    assert!(error.chain().len() > 30, "the way there is known");
}

#[test]
fn a_line_of_includes_through_both_languages_ends_by_its_depth() {
    let sources = line(450, 1);
    let error = on_a_small_stack(|| render(&sources, "t0.md", Limits::default()).expect_err("too deep"));
    assert!(matches!(error.limit(), Some(LimitKind::Calls | LimitKind::Stack)), "{error:?}");
}

#[test]
fn a_line_within_the_limits_renders_on_a_small_stack() {
    let sources = line(60, 1);
    let text = on_a_small_stack(|| render(&sources, "t0.md", Limits::default()).expect("renders"));
    assert_eq!(text, "x");
}

#[test]
fn templates_are_counted_over_both_languages() {
    let sources = line(10, 1);
    let limits = |templates| Limits { templates, ..Limits::default() };
    assert_eq!(render(&sources, "t0.md", limits(10)).expect("just enough"), "x");
    let error = render(&sources, "t0.md", limits(9)).expect_err("one too many");
    assert_eq!(error.limit(), Some(LimitKind::Templates));
}

#[test]
fn output_is_counted_over_both_languages() {
    let sources = MemorySources::from_iter([
        ("main.md", "{% for i in range(10) %}{% include 'row.gotmpl' %}{% endfor %}"),
        ("row.gotmpl", "{{.x}}{{template \"cell.md\" .}}"),
        ("cell.md", "[{{ x }}]"),
    ]);
    let limits = |output| Limits { output: Some(output), ..Limits::default() };
    assert_eq!(render(&sources, "main.md", limits(100)).expect("fits").len(), 100);
    let error = render(&sources, "main.md", limits(99)).expect_err("one too many");
    assert_eq!(error.limit(), Some(LimitKind::Output));
}

#[test]
fn a_source_that_is_too_large_is_refused_wherever_it_is() {
    let sources = MemorySources::from_iter([
        ("main.md".to_owned(), "{% include 'big.gotmpl' %}".to_owned()),
        ("main.gotmpl".to_owned(), "{{template \"big.md\" .}}".to_owned()),
        ("big.gotmpl".to_owned(), "x".repeat(2000)),
        ("big.md".to_owned(), "x".repeat(2000)),
    ]);
    for main in ["main.md", "main.gotmpl"] {
        let limits = Limits { source: 1000, ..Limits::default() };
        let error = render(&sources, main, limits).expect_err("too large");
        assert_eq!(error.limit(), Some(LimitKind::Source), "{main}");
    }
}

#[test]
fn a_cancelled_render_stops_inside_of_an_include() {
    let sources = MemorySources::from_iter([(
        "loop.gotmpl",
        "{{range .many}}{{range $.many}}{{range $.many}}{{end}}{{end}}{{end}}",
    )]);
    let source = "{% include 'loop.gotmpl' %}";
    let template =
        Template::compile(Language::Jinja, "main.md", source, &Options::default(), &Limits::default())
            .expect("compiles");
    let cancel = Cancel::default();
    cancel.cancel();
    let data = json!({"many": vec![0; 1000]});
    let render = Render::new().with_sources(&sources).with_cancel(cancel);
    assert_eq!(render.render_text(&template, &data).expect_err("stops").kind(), ErrorKind::Cancelled);
}

#[test]
fn parts_are_charged() {
    let source =
        "{% set all = [] %}{% for i in range(1000) %}{% do all.append(media(url=big)) %}{% endfor %}";
    let template = Template::compile(Language::Jinja, "t", source, &Options::default(), &Limits::default())
        .expect("compiles");
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let data = json!({"big": "x".repeat(10_000)});
    let error = Render::new().with_limits(limits).render_text(&template, &data).expect_err("too many bytes");
    assert_eq!(error.limit(), Some(LimitKind::Bytes));
}

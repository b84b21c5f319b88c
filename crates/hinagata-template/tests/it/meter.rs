//! Several renders on one budget.

use std::time::Duration;

use hinagata_template::{
    Language, MemorySources, Meter, Options, Render, Template, Used, structure_functions,
};
use hinagata_value::{Calls, Closure, Functions, LimitKind, Limits, Pass, Request};
use serde_json::{Value as Json, json};

fn compile(language: Language, source: &str, functions: &Functions) -> Template {
    let options = Options::default().with_functions(functions);
    Template::compile(language, "main", source, &options, &Limits::default()).expect("compiles")
}

/// A loop in each language; every turn prints two characters of four bytes.
fn loops() -> [Template; 2] {
    let functions = Functions::new();
    [
        compile(Language::Jinja, "{% for i in range(100) %}é{{ x }}{% endfor %}", &functions),
        compile(Language::Go, "{{range .list}}é{{$.x}}{{end}}", &functions),
    ]
}

fn data() -> Json {
    json!({"x": "雛", "list": vec![0; 100]})
}

/// What one render uses.
fn used(template: &Template) -> Used {
    let meter = Meter::new(&Limits::default());
    Render::new().with_meter(&meter).render_text(template, &data()).expect("renders");
    meter.used()
}

#[test]
fn a_meter_tells_what_a_render_used() {
    for template in loops() {
        let used = used(&template);
        assert!(used.steps >= 100, "{used:?}");
        assert_eq!((used.output, used.templates, used.time), (200, 1, Duration::ZERO), "{used:?}");
        let meter = Meter::new(&Limits::default());
        let render = Render::new().with_meter(&meter);
        render.render_text(&template, &data()).expect("renders");
        let before = meter.used();
        render.render_traced(&template, &data()).expect("renders");
        assert_eq!(meter.used().spent_since(before).output, 200, "each render can be told from the others");
    }
}

#[test]
fn renders_share_steps_to_the_last_one() {
    for template in loops() {
        let once = used(&template).steps;
        for (steps, fits) in [(3 * once, true), (3 * once - 1, false)] {
            let limits = Limits { steps, ..Limits::default() };
            let meter = Meter::new(&limits);
            let render = Render::new().with_limits(limits).with_meter(&meter);
            for _ in 0..2 {
                render.render_text(&template, &data()).expect("there is enough");
            }
            let last = render.render_text(&template, &data());
            assert_eq!(last.is_ok(), fits, "{last:?}");
            if let Err(error) = last {
                assert_eq!(error.limit(), Some(LimitKind::Steps));
                assert!(error.message().contains(&steps.to_string()), "the limit that was set: {error}");
                assert!(render.render_text(&template, &data()).is_err(), "what a failed render used is gone");
            }
        }
    }
}

#[test]
fn renders_share_the_characters_of_the_output() {
    for template in loops() {
        for (output, fits) in [(400, true), (399, false)] {
            let limits = Limits { output: Some(output), ..Limits::default() };
            let meter = Meter::new(&limits);
            let render = Render::new().with_limits(limits).with_meter(&meter);
            render.render_text(&template, &data()).expect("there is enough");
            let last = render.render_text(&template, &data());
            assert_eq!(last.is_ok(), fits, "{last:?}");
            assert_eq!(meter.output_used(), if fits { 400 } else { 200 });
            if let Err(error) = last {
                assert_eq!(error.message(), "the output has more than 399 characters");
                assert!(error.place().is_some());
            }
        }
    }
}

#[test]
fn renders_share_the_count_of_templates() {
    let sources = MemorySources::from_iter([("a.md", "a"), ("b.gotmpl", "{{template \"a.md\" .}}")]);
    let template = compile(
        Language::Jinja,
        "{% include 'a.md' %}{% include 'b.gotmpl' %}{% include 'a.md' %}",
        &Functions::new(),
    );
    for (templates, results) in
        [(6, [true, true, false]), (5, [true, false, false]), (3, [true, false, false])]
    {
        let limits = Limits { templates, ..Limits::default() };
        let meter = Meter::new(&limits);
        let render = Render::new().with_sources(&sources).with_limits(limits).with_meter(&meter);
        let given = results.map(|_| {
            let result = render.render_text(&template, &json!({}));
            assert!(result.as_ref().err().is_none_or(|error| error.limit() == Some(LimitKind::Templates)));
            result.is_ok()
        });
        assert_eq!(given, results, "{templates}");
    }
}

#[test]
fn the_own_limits_of_a_render_hold_too() {
    let [template, _] = loops();
    let meter = Meter::new(&Limits::default());
    let render =
        Render::new().with_limits(Limits { output: Some(250), ..Limits::default() }).with_meter(&meter);
    for _ in 0..5 {
        render.render_text(&template, &data()).expect("each has its own 250 characters");
    }
    let render =
        Render::new().with_limits(Limits { output: Some(150), ..Limits::default() }).with_meter(&meter);
    assert_eq!(
        render.render_text(&template, &data()).expect_err("too long").limit(),
        Some(LimitKind::Output)
    );
}

#[test]
fn renders_share_the_time_of_a_deadline() {
    let [template, _] = loops();
    let limits = Limits { deadline: Some(Duration::from_secs(3_600)), ..Limits::default() };
    let meter = Meter::new(&limits);
    let render = Render::new().with_limits(limits).with_meter(&meter);
    render.render_text(&template, &data()).expect("an hour is enough");
    let once = meter.used().time;
    assert!(once > Duration::ZERO);
    render.render_text(&template, &data()).expect("an hour is enough");
    assert!(meter.used().time > once);
}

/// `ask(x)` waits for the outside.
fn asking() -> Functions {
    let mut functions = structure_functions();
    functions.insert(Closure::new("ask", |host, _| {
        host.start_call(Request { function: "ask".to_owned(), arguments: json!([]), pure: true })
    }));
    functions
}

#[test]
fn a_render_that_waits_counts_once() {
    let functions = asking();
    // The first leaves a hole, the second stops.
    for source in ["{{ ask() }}{{ x }}", "{{ x }}{{ ask()|upper }}"] {
        let template = compile(Language::Jinja, source, &functions);
        let meter = Meter::new(&Limits::default());
        let render = Render::new().with_functions(&functions).with_meter(&meter);
        let calls = Calls::new();
        match render.run_pass(&template, &data(), &calls).expect("waits") {
            Pass::Wait(waiting) => {
                waiting.iter().for_each(|call| calls.resolve_call(call.id, Ok(json!("yes"))));
            }
            Pass::Done(written) => panic!("nothing answered yet: {written:?}"),
        }
        assert_eq!(meter.used(), Used::default(), "{source}");
        assert!(matches!(render.run_pass(&template, &data(), &calls), Ok(Pass::Done(_))), "{source}");
        assert_eq!((meter.output_used(), meter.used().templates), (4, 1), "{source}");
    }
}

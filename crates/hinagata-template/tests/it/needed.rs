//! The undefined mode `Needed`: what is asked about may be absent, what is used may not.

use hinagata_template::{Language, Options, Render, Template, UndefinedMode};
use hinagata_value::{ErrorKind, Limits};
use serde_json::json;

fn render(language: Language, source: &str) -> Result<String, ErrorKind> {
    let options = Options::default().with_undefined(UndefinedMode::Needed);
    let template = Template::compile(language, "t", source, &options, &Limits::default()).expect("compiles");
    let data = json!({"a": {"b": 1, "none": null}, "empty": ""});
    Render::new().render_text(&template, &data).map_err(|error| error.kind())
}

#[test]
fn jinja_conditions_may_ask_for_what_is_not_there() {
    for (source, expected) in [
        ("{% if x %}y{% else %}n{% endif %}", "n"),
        ("{% if x.y.z and a %}y{% else %}n{% endif %}", "n"),
        ("{% if not a.x %}y{% endif %}", "y"),
        ("{{ x or 'd' }}{{ x.y or a.b }}", "d1"),
        ("{{ x | default('d') }}{{ a.x | default('e') }}{{ x.y.z | default('f') }}", "def"),
        ("{{ x is defined }}{{ x.y is defined }}", "FalseFalse"),
        ("{{ 'y' if x.y else 'n' }}", "n"),
    ] {
        assert_eq!(render(Language::Jinja, source).as_deref(), Ok(expected), "{source}");
    }
    for source in [
        "{{ x }}",
        "{{ a.x }}",
        "{{ x.y.z }}",
        "{% for i in x %}{% endfor %}",
        "{{ x == 1 }}",
        "{{ x + 1 }}",
        "{{ x | length }}",
    ] {
        assert_eq!(render(Language::Jinja, source), Err(ErrorKind::Undefined), "{source}");
    }
}

#[test]
fn go_conditions_may_ask_for_what_is_not_there() {
    for (source, expected) in [
        ("{{if .x}}y{{else}}n{{end}}", "n"),
        ("{{if .x.y.z}}y{{else if .a.b}}b{{end}}", "b"),
        ("{{if and .a .a.x.y}}y{{else}}n{{end}}", "n"),
        ("{{if not .a.none.x}}y{{end}}", "y"),
        ("{{with .x}}y{{else}}n{{end}}{{with .a}}{{.b}}{{end}}", "n1"),
        ("{{or .x .a.b}}", "1"),
        ("{{if or (not .x) (eq .a.b 2.0)}}y{{end}}", "y"),
    ] {
        assert_eq!(render(Language::Go, source).as_deref(), Ok(expected), "{source}");
    }
    for source in [
        "{{.x}}",
        "{{.a.x}}",
        "{{if eq .x 1}}{{end}}",
        "{{with .a}}{{.x}}{{end}}",
        "{{range .x}}{{end}}",
        "{{or .x .y}}",
        "{{if .a}}{{.x}}{{end}}",
        "{{len .x}}",
    ] {
        assert_eq!(render(Language::Go, source), Err(ErrorKind::Undefined), "{source}");
    }
}

//! Templates of strangers: whatever they ask for ends in an error that names the limit, on a thread of
//! the usual size.

use crate::support::{functions::functions, run::on_stack};
use hinagata_gotemplate::{Context, Integers, Options, Set};
use hinagata_value::{Budget, Calls, Error, ErrorKind, Heap, LimitKind, Limits, Output};
use serde_json::{Value as Json, json};

/// The size that Rust gives its threads.
const STACK: usize = 2 << 20;

/// What a template leads to under the product's limits.
fn render(template: &str, data: &Json) -> Result<String, Error> {
    render_within(template, data, Limits::default())
}

fn render_within(template: &str, data: &Json, limits: Limits) -> Result<String, Error> {
    let functions = functions(Integers::Float);
    let budget = Budget::new(limits);
    let mut set = Set::new(Options::default(), &functions);
    set.parse("main", template, &budget)?;
    let (calls, heap) = (Calls::new(), Heap::new(&budget));
    let mut output: Output<'_> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
    set.execute("main", data, &context, &mut output)?;
    output.finish().into_text()
}

#[track_caller]
fn reaches(template: impl Into<String>, limit: LimitKind) {
    let template = template.into();
    let shown: String = template.chars().take(80).collect();
    let error = on_stack(STACK, move || render(&template, &Json::Null).expect_err("is too much"));
    assert_eq!((error.kind(), error.limit()), (ErrorKind::Limit, Some(limit)), "{shown}: {error}");
}

#[test]
fn endless_recursion_ends() {
    reaches(r#"{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}"#, LimitKind::Calls);
    reaches(
        r#"{{define "a"}}{{template "b"}}{{end}}{{define "b"}}{{template "a"}}{{end}}{{template "a"}}"#,
        LimitKind::Calls,
    );
}

#[test]
fn calls_inside_deep_blocks_end_before_the_stack_does() {
    for (open, close) in [("{{if true}}", "{{end}}"), ("{{range 1}}", "{{end}}"), ("{{with 1}}", "{{end}}")] {
        let body = format!("{}{{{{template \"r\"}}}}{}", open.repeat(190), close.repeat(190));
        let template = format!("{{{{define \"r\"}}}}{body}{{{{end}}}}{{{{template \"r\"}}}}");
        let error = on_stack(STACK, move || render(&template, &Json::Null).expect_err("is too deep"));
        assert!(matches!(error.limit(), Some(LimitKind::Calls | LimitKind::Stack)), "{error}");
    }
    let parens = format!("{}template_argument{}", "(print ".repeat(190), ")".repeat(190));
    let template =
        format!("{{{{define \"r\"}}}}{{{{template \"r\" {parens}}}}}{{{{end}}}}{{{{template \"r\" 1}}}}");
    let template = template.replace("template_argument", ".");
    let error = on_stack(STACK, move || render(&template, &Json::Null).expect_err("is too deep"));
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn deep_nesting_is_refused_when_parsing() {
    reaches(format!("{{{{{}1{}}}}}", "(".repeat(5_000), ")".repeat(5_000)), LimitKind::Nesting);
    for block in ["if true", "range 1", "with 1"] {
        let open = format!("{{{{{block}}}}}");
        reaches(format!("{}{}", open.repeat(5_000), "{{end}}".repeat(5_000)), LimitKind::Nesting);
    }
    reaches("{{block \"b\" .}}".repeat(5_000), LimitKind::Nesting);
    reaches("x".repeat(300 << 10), LimitKind::Source);
}

#[test]
fn length_is_not_depth() {
    let arms = format!("{{{{if false}}}}{}{{{{else}}}}last{{{{end}}}}", "{{else if false}}".repeat(10_000));
    let withs = format!("{{{{with false}}}}{}{{{{else}}}}last{{{{end}}}}", "{{else with 0}}".repeat(10_000));
    let stages = format!("{{{{1{}}}}}", " | print".repeat(10_000));
    let arguments = format!("{{{{len (print{})}}}}", " 1".repeat(50_000));
    let fields = format!("{{{{.a{}}}}}", ".b".repeat(50_000));
    let variables = format!("{}{{{{$v}}}}", "{{$v := 1}}".repeat(20_000));
    let comments = "{{/**/}}".repeat(30_000);
    for (template, expected) in [
        (arms, "last"),
        (withs, "last"),
        (stages, "1"),
        (arguments, "99999"),
        (fields, "<no value>"),
        (variables, "1"),
        (comments, ""),
    ] {
        let output = on_stack(STACK, move || render(&template, &json!({})).expect("is flat"));
        assert_eq!(output, expected);
    }
}

#[test]
fn loops_end() {
    reaches("{{range 1000000000}}{{end}}", LimitKind::RangeItems);
    reaches("{{range 100000}}{{range 100000}}{{end}}{{end}}", LimitKind::Steps);
    reaches(
        "{{range 100000}}{{range 100000}}{{break}}{{end}}{{range 10000}}{{end}}{{end}}",
        LimitKind::Steps,
    );
}

#[test]
fn values_do_not_grow_without_end() {
    reaches("{{$x := \"aaaa\"}}{{range 60}}{{$x = print $x $x}}{{end}}", LimitKind::Bytes);
    reaches(
        "{{$x := list 1 1}}{{range 60}}{{$x = list $x $x $x $x}}{{end}}{{len (print $x)}}",
        LimitKind::Steps,
    );
    reaches("{{range 100000}}{{printf \"%1000d\" 1}}{{end}}", LimitKind::Bytes);
    let data = json!({"l": vec![1; 1000]});
    let slices = "{{$x := list}}{{range 10000}}{{$x = list $x (slice $.l 0 999)}}{{end}}";
    let error = render(slices, &data).expect_err("is too much");
    assert_eq!(error.limit(), Some(LimitKind::Bytes), "{error}");
}

#[test]
fn widths_and_precisions_are_refused_before_they_are_made() {
    assert_eq!(render("{{len (printf \"%1000000d\" 1)}}", &Json::Null).expect("fits"), "1000000");
    for format in
        ["%9999999d", "%.9999999f", "%.9999999d", "%.9999999U", "%9999999s", "%09999999.3f", "%9999999x"]
    {
        reaches(format!("{{{{printf \"{format}\" 1}}}}"), LimitKind::Fill);
    }
    let repeated = "%1000000d".repeat(2_000);
    let arguments = " 1".repeat(2_000);
    reaches(format!("{{{{printf \"{repeated}\"{arguments}}}}}"), LimitKind::Bytes);
}

#[test]
fn deep_values_are_printed_up_to_a_depth_and_dropped_at_any() {
    let deep = "{{$x := 1}}{{range 100000}}{{$x = list $x}}{{end}}";
    let output = on_stack(STACK, move || render(deep, &Json::Null).expect("is made and dropped"));
    assert_eq!(output, "");
    reaches(format!("{deep}{{{{$x}}}}"), LimitKind::ValueDepth);
    reaches(format!("{deep}{{{{printf \"%#v\" $x}}}}"), LimitKind::ValueDepth);
    let maps = "{{$x := 1}}{{range 100000}}{{$x = dict \"k\" $x}}{{end}}";
    reaches(format!("{maps}{{{{html $x}}}}"), LimitKind::ValueDepth);
}

#[test]
fn output_ends_where_its_limit_says() {
    let limits = Limits { output: Some(10), ..Limits::default() };
    let error = render_within("{{range 100}}ab{{end}}", &Json::Null, limits).expect_err("is too long");
    assert_eq!(error.limit(), Some(LimitKind::Output));
    assert_eq!(error.place().map(|place| place.line), Some(1));
}

#[test]
fn a_limit_is_told_with_its_place() {
    let error = render("a\n {{range 1000000000}}{{end}}", &Json::Null).expect_err("is too much");
    let place = error.place().expect("is known");
    assert_eq!((place.template.as_str(), place.line, place.column), ("main", 2, 10));
    assert_eq!(place.excerpt.as_deref(), Some(" {{range 1000000000}}{{end}}"));
}

/// The steps that a template takes, parsing it not counted.
fn steps(template: &str, data: &Json) -> u64 {
    let functions = functions(Integers::Float);
    let mut set = Set::new(Options::default(), &functions);
    set.parse("main", template, &Budget::new(Limits::default())).expect("is right");
    let budget = Budget::new(Limits::default());
    let (calls, heap) = (Calls::new(), Heap::new(&budget));
    let mut output: Output<'_> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
    set.execute("main", data, &context, &mut output).expect("is within the limits");
    budget.steps_used()
}

#[test]
fn empty_templates_that_call_each_other_end() {
    let levels: String = (0..60)
        .map(|level| {
            let next = format!("{{{{template \"t{}\"}}}}", level + 1);
            format!("{{{{define \"t{level}\"}}}}{next}{next}{{{{end}}}}")
        })
        .collect();
    let template = format!("{levels}{{{{define \"t60\"}}}}{{{{end}}}}{{{{template \"t0\"}}}}");
    let limits = Limits { steps: 100_000, ..Limits::default() };
    let error = render_within(&template, &Json::Null, limits).expect_err("2^60 calls are too many");
    assert_eq!(error.limit(), Some(LimitKind::Steps), "{error}");
}

#[test]
fn what_takes_long_takes_steps() {
    let data = json!({
        "text": "x<".repeat(50_000), "wide": "é".repeat(50_000), "huge": 1.7e308, "tiny": 5e-324,
        "brackets": "%[".repeat(5_000), "flags": format!("%{}d", "0".repeat(100_000)), "nothing": null,
        "zeros": format!("%.{}f", "0".repeat(100_000)),
        "keys": {"b": 1, "a".repeat(100_000): 2, "a".repeat(99_999) + "b": 3},
    });
    let arguments = |start: &str| format!("{{{{$x := {start}{}}}}}", " 1".repeat(10_000));
    let declarations: String = (0..1_000).map(|number| format!("{{{{$v{number} := 1}}}}")).collect();
    let frame = format!(
        "{{{{define \"f\"}}}}{{{{if .}}}}{declarations}{{{{end}}}}{{{{end}}}}{}",
        "{{template \"f\"}}".repeat(10)
    );
    for (template, least) in [
        ("{{$x := js .text}}", 5_000),
        ("{{$x := html .text}}", 5_000),
        ("{{$x := urlquery .text}}", 5_000),
        ("{{js .text}}", 5_000),
        (&arguments("and"), 10_000),
        (&arguments("print"), 10_000),
        (&arguments("eq 2"), 10_000),
        (&arguments("print").replace("$x := ", ""), 10_000),
        ("{{$x := printf \"%.0f\" .huge}}", 600),
        ("{{$x := printf \"%.500e\" .tiny}}", 1_000),
        ("{{$x := printf \"%.20e\" .tiny}}", 40),
        ("{{$x := printf \"%.40000s\" .wide}}", 5_000),
        ("{{$x := printf .brackets 1}}", 350_000),
        ("{{$x := printf .flags 1}}", 1_500),
        ("{{$x := printf .zeros 1.0}}", 1_500),
        ("{{range .keys}}{{break}}{{end}}", 3_000),
        (&frame, 2_500),
    ] {
        let taken = steps(template, &data);
        let shown: String = template.chars().take(60).collect();
        assert!(taken >= least, "{shown}: {taken} steps, and not {least}");
    }
}

#[test]
fn what_is_called_is_named_in_the_error_alone() {
    let long = "x".repeat(100_000);
    let template = format!("{{{{call (fnval (or \"\" \"version\" \"{long}\"))}}}}");
    assert_eq!(render(&template, &Json::Null).expect("is called"), "v1.2.3");
    let template = format!("{{{{call (or \"{long}\")}}}}");
    let error = render(&template, &Json::Null).expect_err("is no function");
    assert!(error.message().ends_with(&format!("non-function or \"{long}\" of type string")), "{error}");
}

#[test]
fn a_limit_that_is_reached_on_the_way_into_a_template_is_told() {
    let before = "{{if true}}x{{end}}".repeat(50);
    let declarations: String = (0..1_000).map(|number| format!("{{{{$v{number} := 1}}}}")).collect();
    for (defined, limits) in [
        ("{{if false}}y{{end}}", Limits { steps: 101, ..Limits::default() }),
        (&*declarations, Limits { bytes: 10_000, ..Limits::default() }),
        ("y", Limits { output: Some(50), ..Limits::default() }),
        ("{{- /* nothing */ -}}", Limits { steps: 101, ..Limits::default() }),
    ] {
        let template = format!("{{{{define \"d\"}}}}{defined}{{{{end}}}}{before}{{{{template \"d\"}}}}");
        let functions = functions(Integers::Float);
        let mut set = Set::new(Options::default(), &functions);
        set.parse("main", &template, &Budget::new(Limits::default())).expect("is right");
        let error = set.render("main", &Json::Null, &functions, limits).expect_err("is too much");
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.place().is_some(), "{error}");
    }
}

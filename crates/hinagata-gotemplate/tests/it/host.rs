//! The host's side: functions, calls that take a while, templates from outside, layers of variables,
//! origins of output.

use hinagata_gotemplate::{Context, Data, MissingKey, Options, Set, Templates};
use hinagata_value::{
    Arguments, Budget, Calls, Closure, Error, ErrorKind, Functions, Heap, Host, Key, Limits, Output, Pass,
    Provenance, Request, Result, Segments, Signature, Type, Value, Variables,
};
use serde_json::{Value as Json, json};

fn set(source: &str, functions: &Functions) -> Set {
    let mut set = Set::new(Options::default(), functions);
    set.parse("main", source, &Budget::new(Limits::default())).expect("is right");
    set
}

/// Functions with one tool, whose calls are answered later.
fn tools() -> Functions {
    let mut functions = Functions::new();
    let signature = Signature { parameters: vec![Type::String], rest: None, result: Type::Any, fails: true };
    functions.insert(Closure::with_signature(
        "ask",
        signature,
        |host: &Host<'_, '_>, arguments: &Arguments<'_, '_>| {
            let question = arguments.positional[0].as_str().unwrap_or_default();
            let request =
                Request { function: "ask".into(), arguments: json!({"question": question}), pure: true };
            host.start_call(request)
        },
    ));
    let any = Signature { parameters: vec![Type::Any], ..Signature::default() };
    functions.insert(Closure::with_signature(
        "id",
        any,
        |_: &Host<'_, '_>, arguments: &Arguments<'_, '_>| {
            assert!(!arguments.positional[0].is_pending(), "functions get values that are there");
            Ok(arguments.positional[0].clone())
        },
    ));
    functions
}

/// Renders with tools that answer with `answer`; the output, and how many calls each pass waited for.
fn with_tools(source: &str, answer: fn(&str) -> Json) -> Result<(String, Vec<usize>)> {
    let functions = tools();
    let set = set(source, &functions);
    let (calls, limits) = (Calls::new(), Limits::default());
    let mut waits = Vec::new();
    loop {
        calls.begin_pass(&limits)?;
        let budget = Budget::new(limits.clone());
        let heap = Heap::new(&budget);
        let mut output: Output<'_> = Output::new(&budget);
        let context =
            Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
        let result = set.execute("main", &Json::Null, &context, &mut output).map(|()| output);
        match calls.end_pass(result)? {
            Pass::Done(output) => return Ok((output.finish().into_text()?, waits)),
            Pass::Wait(outstanding) => {
                waits.push(outstanding.len());
                for call in outstanding {
                    let question = call.request.arguments["question"].as_str().unwrap_or_default();
                    calls.resolve_call(call.id, Ok(answer(question)));
                }
            }
        }
    }
}

#[test]
fn calls_that_are_only_printed_run_at_the_same_time() {
    let source = r#"{{ask "a"}} and {{ask "b"}}{{range 2}} {{ask "c"}}{{end}}"#;
    let (output, waits) = with_tools(source, |question| json!(question.to_uppercase())).expect("is answered");
    assert_eq!(output, "A and B C C");
    assert_eq!(waits, [3], "all of them in one pass");
}

#[test]
fn a_call_that_is_needed_is_waited_for() {
    for (source, expected, passes) in [
        (r#"{{if ask "a"}}{{ask "b"}}{{end}}"#, "b", 2),
        (r#"{{(ask "a") | printf "%q"}}"#, "\"a\"", 1),
        (r#"{{len (ask "four")}}"#, "4", 1),
        (r#"{{ask (print (ask "a") "!")}}"#, "a!", 2),
        (r#"{{with ask "a"}}{{.}}{{end}}"#, "a", 1),
        (r#"{{id (ask "a")}}{{ask "b" | id}}"#, "ab", 2),
        (r#"{{or (ask "") (ask "b")}}{{and 1 (ask "c")}}"#, "bc", 2),
        (r#"{{$x := ask "a"}}{{$x}}{{eq $x "a"}}"#, "atrue", 1),
        (r#"{{range (ask "l").items}}{{.}}{{end}}"#, "12", 1),
    ] {
        let answer = |question: &str| match question {
            "l" => json!({"items": [1, 2]}),
            _ => json!(question),
        };
        let (output, waits) = with_tools(source, answer).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!((output.as_str(), waits.len()), (expected, passes), "{source}");
    }
}

/// Templates that are written down here.
struct Outside;

impl<'a, P: Provenance> Templates<'a, P> for Outside {
    fn contains(&self, name: &str) -> bool {
        name == "outside" || name == "broken"
    }

    fn render(&self, name: &str, data: Value<'a>, output: &mut Output<'a, P>) -> Result<()> {
        match name {
            "broken" => Err(Error::runtime("it is broken")),
            _ => output.write(&format!("<{:?}>", data.kind()), hinagata_value::Site::default()),
        }
    }
}

/// What a template is run on.
#[derive(Clone, Copy)]
enum Input<'i> {
    Json(&'i Json),
    Variables(&'i dyn Variables),
}

fn run(source: &str, input: Input<'_>, options: Options) -> Result<String> {
    let functions = Functions::new();
    let mut set = Set::new(options, &functions);
    set.parse("main", source, &Budget::new(Limits::default()))?;
    let (budget, calls) = (Budget::new(Limits::default()), Calls::new());
    let heap = Heap::new(&budget);
    let data = match input {
        Input::Json(json) => Data::from(json),
        Input::Variables(variables) => Data::Variables(variables),
    };
    let mut output: Output<'_> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &Outside, first_template: 0 };
    set.execute("main", data, &context, &mut output)?;
    output.finish().into_text()
}

#[test]
fn templates_from_outside_are_found_by_name() {
    let data = json!({"x": [1]});
    let source =
        r#"{{template "outside" .x}}{{template "outside"}}{{template "inside"}}{{define "inside"}}!{{end}}"#;
    assert_eq!(run(source, Input::Json(&data), Options::default()).expect("is right"), "<List><Undefined>!");

    let error =
        run("a\n{{template \"gone\" .x.y.z}}", Input::Json(&data), Options::default()).expect_err("is gone");
    assert_eq!(
        error.message(),
        "template: main:2:11: executing \"main\" at <{{template \"gone\" .x.y.z}}>: template \"gone\" not defined"
    );
    let error =
        run(r#"{{template "broken"}}"#, Input::Json(&data), Options::default()).expect_err("is broken");
    assert_eq!((error.message(), error.place().map(|place| place.column)), ("it is broken", Some(12)));
}

/// Two documents, of which the first one that has a name wins.
struct Layers([Json; 2]);

impl Variables for Layers {
    fn find(&self, key: &Key) -> Option<&Json> {
        self.0.iter().find_map(|layer| layer.find(key))
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.iter().flat_map(Variables::names).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[test]
fn layers_of_variables_are_data() {
    let (upper, lower) = (json!({"name": "Rumi"}), json!({"name": "nobody", "lang": "ja"}));
    let layers = Layers([upper, lower]);
    let data = Input::Variables(&layers);
    let shown = |source: &str| run(source, data, Options::default());
    assert_eq!(
        shown("{{.name}} {{.lang}} {{$.name}} {{.gone}}").expect("is right"),
        "Rumi ja Rumi <no value>"
    );
    assert_eq!(
        shown("{{.}} {{len .}}{{range $k, $v := .}} {{$k}}={{$v}}{{end}}").expect("is right"),
        "map[lang:ja name:Rumi] 2 lang=ja name=Rumi"
    );
    assert_eq!(
        shown(r#"{{define "d"}}{{.name}}{{end}}{{template "d" .}}{{with $}}{{.lang}}{{end}}"#)
            .expect("is right"),
        "Rumija"
    );
    assert_eq!(shown(r#"{{if .}}{{index . "lang"}}{{end}}{{(print .) | len}}"#).expect("is right"), "ja22");
    let strict = Options { missing_key: MissingKey::Error, ..Options::default() };
    let error = run("{{.gone}}", data, strict).expect_err("is missing");
    assert_eq!(error.kind(), ErrorKind::Undefined);
    assert!(error.message().ends_with("map has no entry for key \"gone\""), "{error}");
}

#[test]
fn every_piece_of_output_knows_its_origin() {
    let functions = Functions::new();
    let source = "Hi {{.name}}!\n{{range .tags}}#{{.}} {{end}}{{template \"t\" .}}{{define \"t\"}}{{printf \"%d\" 3}}{{end}}";
    let set = set(source, &functions);
    let data = json!({"name": "Rumi", "tags": ["a", "b"]});
    let (budget, calls) = (Budget::new(Limits::default()), Calls::new());
    let heap = Heap::new(&budget);
    let mut output: Output<'_, Segments> = Output::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 7 };
    set.execute("main", &data, &context, &mut output).expect("is right");
    let written = output.finish();
    assert_eq!(written.text, "Hi Rumi!\n#a #b 3");
    let origin = |offset: usize| {
        let segment = written.provenance.segment_at(offset).expect("is inside");
        let place = set.place(segment.site, 7).expect("is a node of the set");
        let turns: Vec<_> = written.provenance.steps_to(segment.step).map(|turn| turn.index).collect();
        (set.excerpt_at(segment.site, 7).expect("is a node"), place.line, place.column, turns)
    };
    assert_eq!(origin(0), (String::new(), 1, 1, vec![]));
    assert_eq!(origin(4), ("{{.name}}".to_owned(), 1, 6, vec![]));
    assert_eq!(origin(10), ("{{.}}".to_owned(), 2, 19, vec![0]));
    assert_eq!(origin(13), ("{{.}}".to_owned(), 2, 19, vec![1]));
    assert_eq!(origin(15).0, "{{printf \"%d\" 3}}");
}

#[test]
fn an_error_knows_the_calls_that_led_to_it() {
    let functions = Functions::new();
    let source = "{{define \"in\"}}\n{{index .l 5}}{{end}}{{define \"mid\"}}{{template \"in\" .}}{{end}}{{template \"mid\" .}}";
    let error = set(source, &functions)
        .render("main", &json!({"l": []}), &functions, Limits::default())
        .expect_err("is wrong");
    let lines: Vec<_> = error.chain().iter().map(|place| (place.line, place.column)).collect();
    assert_eq!(error.place().map(|place| (place.line, place.column)), Some((2, 3)));
    assert_eq!(lines.len(), 2, "the call in mid, and the call of mid: {lines:?}");
}

#[test]
fn unknown_names_come_with_near_ones() {
    let functions = tools();
    let mut set = set("{{define \"header\"}}{{end}}", &functions);
    let error =
        set.parse("x", "{{aks \"q\"}}{{prinft 1}}", &Budget::new(Limits::default())).expect_err("is wrong");
    assert_eq!((error.kind(), error.near()[0].as_str()), (ErrorKind::Syntax, "ask"));
    let error = set.render("heder", &Json::Null, &functions, Limits::default()).expect_err("is wrong");
    assert_eq!((error.kind(), error.near()), (ErrorKind::NotFound, &["header".to_owned()][..]));
    assert!(set.contains("main") && !set.contains("x"), "a source that fails adds nothing");
}

#[test]
fn a_later_definition_replaces_an_earlier_one_unless_it_is_empty() {
    let functions = Functions::new();
    let budget = Budget::new(Limits::default());
    let mut set = Set::new(Options::default(), &functions);
    set.parse("a", "{{define \"x\"}}one{{end}}{{template \"x\"}}", &budget).expect("is right");
    set.parse("b", "{{define \"x\"}} \n{{end}}", &budget).expect("is right");
    assert_eq!(set.render("a", &Json::Null, &functions, Limits::default()).expect("is right"), "one");
    set.parse("c", "{{define \"x\"}}two{{end}}", &budget).expect("is right");
    assert_eq!(set.render("a", &Json::Null, &functions, Limits::default()).expect("is right"), "two");
    assert_eq!(set.names(), ["a", "b", "c", "x"]);
}

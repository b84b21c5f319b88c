//! Wrong files: every problem with its place.

use hinagata_test::read_cases;

fn problems(text: &str) -> Vec<String> {
    let problems = read_cases("tests/a.yaml", text, Some("greeting")).err().unwrap_or_default();
    problems
        .iter()
        .map(|error| {
            let place = error.place().map(ToString::to_string).unwrap_or_default();
            format!("{place} {}", error.message())
        })
        .collect()
}

#[test]
fn every_problem_of_a_file_has_its_place() {
    let text = "\
vars: {a: 1}
asert: []
tests:
- name: one
  contex: {}
  context: {now: soon, zone: x}
  assert:
  - containz: x
  - {type: contains}
  - {type: regex, value: '('}
  - {contains: x, equals: y}
  - {on: request.nobody, contains: x}
  - {path: '$[', equals: x}
  - {contains: x, weight: heavy}
  - {type: schema, value: {type: nothing}}
  - {type: expression, value: '1 +'}
  - contains
- name: one
  error: validatoin
- {name: three, repeat: 0, threshold: 2, matrix: {b: []}}
- 7
";
    let found = problems(text);
    let expected = [
        ("tests/a.yaml:2:", "unknown field `asert`"),
        ("tests/a.yaml:5:", "unknown field `contex`"),
        ("tests/a.yaml:6:", "`now` must be a time with its offset"),
        ("tests/a.yaml:6:", "unknown field `zone`"),
        ("tests/a.yaml:8:", "unknown assertion `containz`"),
        ("tests/a.yaml:9:", "`contains` needs a value"),
        ("tests/a.yaml:10:", "invalid regular expression"),
        ("tests/a.yaml:11:", "`contains` and `equals` are two assertions"),
        ("tests/a.yaml:12:", "cannot be `request.nobody`"),
        ("tests/a.yaml:13:", "is not a JSONPath of RFC 9535"),
        ("tests/a.yaml:14:", "`weight` must be a number"),
        ("tests/a.yaml:15:", "invalid JSON Schema"),
        ("tests/a.yaml:16:", "is not an expression"),
        ("tests/a.yaml:17:", "an assertion must be an object, not a string"),
        ("tests/a.yaml:18:", "two cases are called `one`"),
        ("tests/a.yaml:19:", "unknown error code `validatoin`"),
        ("tests/a.yaml:20:", "`repeat` must be a number from 1 to 1000"),
        ("tests/a.yaml:20:", "`threshold` must be a share from 0 to 1"),
        ("tests/a.yaml:20:", "`b` has no values"),
        ("tests/a.yaml:21:", "a test case must be an object"),
    ];
    for (place, message) in expected {
        assert!(
            found.iter().any(|line| line.starts_with(place) && line.contains(message)),
            "{place} {message}: {found:#?}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn a_file_without_cases_is_refused() {
    assert!(problems("[]")[0].contains("a test file must be an object, not a list"));
    assert!(problems("{}")[0].contains("`tests` is missing"));
    assert!(problems("tests: {{")[0].contains("not valid YAML"));
    let without_prompt = read_cases("a.yaml", "tests: []", None).expect_err("has no prompt");
    assert_eq!(without_prompt[0].message(), "the file does not name a prompt");
}

#[test]
fn a_matrix_multiplies_and_its_names_are_unique() {
    let long = "x".repeat(60);
    let text = format!(
        "matrix: {{a: [1, 2]}}\ntests: [{{name: n, matrix: {{b: [{long}1, {long}2]}}}}, {{name: m}}]"
    );
    let file = read_cases("a.yaml", &text, Some("p")).expect("is valid");
    assert_eq!(file.cases.len(), 6);
    let mut names = file.names.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6, "{:?}", file.names);
    assert_eq!(file.cases[4].name, "m [a=1]");
    let many = "tests: [{name: n, matrix: {a: &a [1,2,3,4,5,6,7,8,9,10], b: *a, c: *a, d: *a, e: *a}}]";
    assert!(problems(many)[0].contains("more than 20000 cases"), "{:?}", problems(many));
}

//! Adds cases to test files, and leaves everything else in them as it is.

use hinagata::{Code, Error, Result};
use serde_json::{Map, Value};

use crate::read::read_cases;

/// Indents of a list below `tests`, the usual ones first.
const INDENTS: [usize; 5] = [2, 0, 4, 1, 3];

/// Words that YAML does not read as strings.
const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// A case to write.
#[derive(Clone, Debug, Default)]
pub struct NewCase {
    /// The name, which no case of the file has.
    pub name: String,
    /// The variables of the call.
    pub variables: Map<String, Value>,
    /// What has to hold, as test files have it.
    pub assertions: Vec<Value>,
}

/// The text of the test file `file` of a prompt with one more case; `text` is empty for a new file. The new text is read
/// again, and is the old one with that case at its end.
///
/// # Errors
/// Code `definition` if the present text has a problem, the case is invalid, or the cases are not the end of the file.
pub fn append_case(file: &str, text: &str, prompt: &str, case: &NewCase) -> Result<String> {
    if text.trim().is_empty() {
        let text = format!("tests:\n{}", case_text(case, INDENTS[0]));
        return match find_problem(file, &text, prompt, &[], case) {
            None => Ok(text),
            Some(problem) => Err(problem),
        };
    }
    let old = read_cases(file, text, Some(prompt)).map_err(|problems| first_problem(file, problems))?;
    if old.prompt != prompt {
        let message = format!("`{file}` has cases of the prompt `{}`, not of `{prompt}`", old.prompt);
        return Err(Error::new(Code::Definition, message).with_hint("write the case into another file"));
    }
    let mut start = text.to_owned();
    if !start.ends_with('\n') {
        start.push_str(if text.contains("\r\n") { "\r\n" } else { "\n" });
    }
    let mut problems = Vec::new();
    for indent in INDENTS {
        let mut added = case_text(case, indent);
        if text.contains("\r\n") {
            added = added.replace('\n', "\r\n");
        }
        let whole = format!("{start}{added}");
        match find_problem(file, &whole, prompt, &old.names, case) {
            None => return Ok(whole),
            Some(problem) => problems.push(problem),
        }
    }
    // A wrong case is wrong with every indent; its own file shows why.
    let alone = format!("tests:\n{}", case_text(case, INDENTS[0]));
    let own_problem = find_problem(file, &alone, prompt, &[], case);
    let is_taken = old.names.contains(&case.name);
    Err(own_problem.unwrap_or_else(|| match is_taken {
        true => Error::new(Code::Definition, format!("`{file}` already has a case called `{}`", case.name))
            .with_hint("choose another name"),
        false => Error::new(
            Code::Definition,
            format!("no case can be added to `{file}`: its list of cases is not the end of the file"),
        )
        .with_hint("write the case into another file"),
    }))
}

/// What is wrong with `text`, which has to be the cases `old` and the new one.
fn find_problem(file: &str, text: &str, prompt: &str, old: &[String], case: &NewCase) -> Option<Error> {
    let read = match read_cases(file, text, Some(prompt)) {
        Ok(read) => read,
        Err(problems) => return Some(first_problem(file, problems)),
    };
    let added = read.cases.get(old.len()..).unwrap_or_default();
    let is_own = |name: &str| {
        name.strip_prefix(case.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ["))
    };
    let has_values = |found: &Map<String, Value>| {
        case.variables.iter().all(|(name, value)| found.get(name) == Some(value))
    };
    let is_fine = read.names.starts_with(old)
        && !added.is_empty()
        && added.iter().all(|one| is_own(&one.name) && has_values(&one.variables));
    (!is_fine)
        .then(|| Error::new(Code::Definition, format!("the case `{}` cannot be written as YAML", case.name)))
}

fn first_problem(file: &str, problems: Vec<Error>) -> Error {
    let unknown = || Error::new(Code::Definition, format!("`{file}` is not a test file"));
    problems.into_iter().next().unwrap_or_else(unknown)
}

/// The case as an entry of a list. Values are JSON, which YAML can read.
fn case_text(case: &NewCase, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut text = format!("{pad}- name: {}\n", json_text(&Value::from(case.name.as_str())));
    if !case.variables.is_empty() {
        text.push_str(&format!("{pad}  vars:\n"));
        for (name, value) in &case.variables {
            text.push_str(&format!("{pad}    {}: {}\n", key_text(name), json_text(value)));
        }
    }
    if !case.assertions.is_empty() {
        text.push_str(&format!("{pad}  assert:\n"));
        for assertion in &case.assertions {
            text.push_str(&format!("{pad}    - {}\n", assertion_text(assertion, indent + 6)));
        }
    }
    text
}

/// An assertion, with a line for each of its fields.
fn assertion_text(assertion: &Value, indent: usize) -> String {
    let Some(fields) = assertion.as_object().filter(|fields| !fields.is_empty()) else {
        return json_text(assertion);
    };
    let lines: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}: {}", key_text(name), json_text(value))).collect();
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// A key, in quotes unless it is a plain word.
fn key_text(name: &str) -> String {
    let mut characters = name.chars();
    let is_word = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-'))
        && !WORDS.contains(&name.to_ascii_lowercase().as_str());
    if is_word { name.to_owned() } else { json_text(&Value::from(name)) }
}

/// JSON on one line with spaces, and with escapes in place of what YAML does not allow or nobody sees.
fn json_text(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json_text).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", json_text(&Value::from(name.as_str())), json_text(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::String(_) => value.to_string().chars().map(escape_character).collect(),
        _ => value.to_string(),
    }
}

fn escape_character(c: char) -> String {
    let is_unseen = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    if is_unseen { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn new_case(name: &str, variables: Value) -> NewCase {
        let Value::Object(variables) = variables else { panic!("not an object: {variables}") };
        NewCase { name: name.to_owned(), variables, assertions: vec![json!({"snapshot": true})] }
    }

    fn append(text: &str, case: &NewCase) -> Result<String> {
        append_case("tests/a.yaml", text, "hello", case)
    }

    #[test]
    fn a_new_file_has_the_case() {
        let text = append("", &new_case("one: two", json!({"who": "you", "no": [1, {"a": null}]})));
        let expected = "tests:\n  - name: \"one: two\"\n    vars:\n      who: \"you\"\n      \"no\": [1, {\"a\": null}]\n    \
                        assert:\n      - snapshot: true\n";
        assert_eq!(text.expect("is written"), expected);
    }

    #[test]
    fn any_text_and_number_comes_back_as_it_was() {
        let values = json!({
            "a": "line\nline\ttab \"quoted\" \\ back: - # {x}", "b": "\u{feff}\u{2028}\u{85}\u{7f}\u{0}𝄞 🏴",
            "c": 1.5, "d": -3, "e": 18446744073709551615_u64, "f": "", "g": {"x y": ["~", "null", "0x1"]}, "h": true,
            "日本": "語", "": "empty name", "<<": "no merge", "1e3": "no number",
        });
        let case = new_case("values", values.clone());
        let text = append("", &case).expect("is written");
        let read = read_cases("tests/a.yaml", &text, Some("hello")).expect("has no problems");
        assert_eq!(Value::Object(read.cases[0].variables.clone()), values);
    }

    #[test]
    fn the_rest_of_a_file_stays_byte_for_byte() {
        for old in [
            "# why\ntests:\n- {name: a}   # one\n- name: b\n  vars: {x: 1}",
            "vars: {x: 1}\r\ntests:\r\n    - name: a\r\n      vars:\r\n        y: |+\r\n          text\r\n",
            "tests:\n  - name: a\n    assert:\n      - contains: x\n\n",
            "matrix: {x: [1, 2]}\ntests:\n  - name: a\n",
        ] {
            let text = append(old, &new_case("new", json!({"z": "1"}))).expect("is written");
            assert!(text.starts_with(old), "{text}");
            let before = read_cases("a", old, Some("hello")).expect("has no problems").names;
            let after = read_cases("a", &text, Some("hello")).expect("has no problems").names;
            assert!(after.starts_with(&before) && after.len() > before.len(), "{after:?}");
            assert_eq!(text.contains("\r\n"), old.contains("\r\n"));
        }
    }

    #[test]
    fn what_cannot_be_added_says_why() {
        let case = new_case("a", json!({}));
        let taken = append("tests:\n  - name: a\n", &case).expect_err("is taken");
        assert!(taken.message().contains("already has a case called `a`"), "{taken}");
        for old in ["tests: [{name: b}]\n", "tests:\n  - name: b\nvars: {x: 1}\n"] {
            let error = append(old, &case).expect_err("is not at the end");
            assert!(error.message().contains("not the end of the file"), "{error}");
        }
        let other = append("prompt: other\ntests:\n  - name: b\n", &case).expect_err("is another prompt's");
        assert!(other.message().contains("cases of the prompt `other`"), "{other}");
        let broken = append("tests: [\n", &case).expect_err("is broken");
        assert!(broken.place().is_some(), "{broken}");
        let odd = NewCase { assertions: vec![json!({"contain": "x"})], ..case };
        let message = append("tests:\n  - name: b\n", &odd).expect_err("is unknown").to_string();
        assert!(message.contains("contain"), "{message}");
    }
}

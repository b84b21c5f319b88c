//! Variables of the command line.
//!
//! | form | value |
//! |---|---|
//! | `name=text` | the text |
//! | `name:=json` | a number, list, object, … |
//! | `name=@file` | the text of a file, as it is |
//! | `name:=@file` | the JSON or YAML in a file |
//!
//! A dot in a name refers to a member of an object: `user.name=Rumi`. A text that starts with `@` is written
//! `name=\@text`. A backslash has no other meaning.

use std::path::{Path, PathBuf};

use hinagata::definition::yaml_value;
use hinagata_value::{Place, ValueType};
use serde_json::{Map, Value as Json};

use crate::{
    failure::{Failure, template_place},
    hints::hint_text,
    input::Inputs,
};

/// Options of every command that takes variables.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct VariableArguments {
    /// Variables: name=text, name:=json, name=@file, name:=@file with JSON or YAML; user.name=… reaches into an
    /// object, name=\@… is text that starts with @
    #[arg(value_name = "NAME=VALUE")]
    variables: Vec<String>,

    /// Read variables from a JSON or YAML file; NAME=VALUE overrides them; - reads standard input
    #[arg(long, value_name = "FILE")]
    vars: Vec<PathBuf>,
}

impl VariableArguments {
    /// The files of the arguments, without standard input.
    #[cfg(feature = "watch")]
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let named = self.variables.iter().filter_map(|argument| Assignment::parse(argument).ok()?.file());
        let all = self.vars.iter().cloned().chain(named);
        all.filter(|path| path != Path::new("-")).collect()
    }

    /// Whether one of them is read from standard input, which can be read only once.
    #[cfg(feature = "watch")]
    pub(crate) fn uses_stdin(&self) -> bool {
        let named = self.variables.iter().filter_map(|argument| Assignment::parse(argument).ok()?.file());
        self.vars.iter().cloned().chain(named).any(|path| path == Path::new("-"))
    }

    /// Reads them.
    pub(crate) fn read(&self, inputs: &Inputs) -> Result<Variables, Failure> {
        read_variables(&self.vars, &self.variables, inputs)
    }
}

/// The variables of `files`, later ones over earlier ones, with those of `arguments` put into them.
pub(crate) fn read_variables(
    files: &[PathBuf],
    arguments: &[String],
    inputs: &Inputs,
) -> Result<Variables, Failure> {
    let mut variables = Variables::default();
    for file in files {
        variables.values.extend(read_file(file, inputs)?);
    }
    for argument in arguments {
        variables.assign(&Assignment::parse(argument)?, inputs)?;
    }
    Ok(variables)
}

fn read_file(file: &Path, inputs: &Inputs) -> Result<Map<String, Json>, Failure> {
    let argument = format!("--vars {}", file.display());
    match data_file(file, &argument, inputs)? {
        Json::Object(variables) => Ok(variables),
        other => Err(Failure::usage_error(format!(
            "`{argument}` contains {}, not an object",
            ValueType::of_value(&other).noun()
        ))
        .with_hint("write the variables as {\"name\": value, …}")),
    }
}

/// One argument: the path of the variable and the source of its value.
struct Assignment<'a> {
    argument: &'a str,
    path: Vec<&'a str>,
    value: Written<'a>,
}

enum Written<'a> {
    Text(&'a str),
    Json(&'a str),
    TextFile(&'a Path),
    JsonFile(&'a Path),
}

impl<'a> Assignment<'a> {
    fn parse(argument: &'a str) -> Result<Self, Failure> {
        let Some((name, value)) = argument.split_once('=') else {
            return Err(Failure::usage_error(format!("`{argument}` is not an assignment"))
                .with_hint("write `name=text`, `name:=json`, `name=@file` or `name:=@file`"));
        };
        let (name, json) = match name.strip_suffix(':') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let path: Vec<_> = name.split('.').collect();
        if path.iter().any(|part| part.trim().is_empty()) {
            let what =
                if name.is_empty() { "has no name before the `=`" } else { "has an empty part in its name" };
            return Err(Failure::usage_error(format!("`{argument}` {what}")));
        }
        let file = value.strip_prefix('@').map(Path::new);
        if file == Some(Path::new("")) {
            return Err(Failure::usage_error(format!("`{argument}` has no file name after the `@`"))
                .with_hint(format!("for the text `@` write `{name}=\\@`")));
        }
        let value = match (json, file) {
            (false, None) => Written::Text(strip_escape(value)),
            (true, None) => Written::Json(value),
            (false, Some(file)) => Written::TextFile(file),
            (true, Some(file)) => Written::JsonFile(file),
        };
        Ok(Self { argument, path, value })
    }

    #[cfg(feature = "watch")]
    fn file(&self) -> Option<PathBuf> {
        match self.value {
            Written::TextFile(file) | Written::JsonFile(file) => Some(file.to_owned()),
            Written::Text(_) | Written::Json(_) => None,
        }
    }

    const fn is_text(&self) -> bool {
        matches!(self.value, Written::Text(_) | Written::TextFile(_))
    }

    fn value(&self, inputs: &Inputs) -> Result<Json, Failure> {
        match self.value {
            Written::Text(text) => Ok(Json::String(text.to_owned())),
            Written::Json(json) => serde_json::from_str(json).map_err(|error| self.json_error(&error)),
            Written::TextFile(file) => inputs.read_text(file, self.argument).map(Json::String),
            Written::JsonFile(file) => data_file(file, self.argument, inputs),
        }
    }

    fn json_error(&self, error: &serde_json::Error) -> Failure {
        let name = self.path.join(".");
        let why = match &*json_message(error) {
            // An unquoted word. The message of the parser would add nothing.
            "expected value" | "expected ident" => String::new(),
            message => format!(": {message}"),
        };
        Failure::usage_error(format!("the value of `{}` is not valid JSON{why}", self.argument)).with_hint(
            format!("for text write `{name}=…`; JSON strings have double quotes: `{name}:='\"…\"'`"),
        )
    }
}

/// A text that starts with `@` has a backslash before it, one that starts with `\@` two.
fn strip_escape(text: &str) -> &str {
    match text.strip_prefix('\\') {
        Some(rest) if rest.trim_start_matches('\\').starts_with('@') => rest,
        _ => text,
    }
}

/// Parses a file: YAML or JSON by its name, else by its content.
pub(crate) fn data_file(file: &Path, argument: &str, inputs: &Inputs) -> Result<Json, Failure> {
    let text = inputs.read_text(file, argument)?;
    let yaml = || yaml_value(&display_name(file), &text);
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml") => yaml().map_err(|error| yaml_file_error(&error)),
        ending => serde_json::from_str(&text).or_else(|error| match yaml() {
            Ok(value) if ending != Some("json") => Ok(value),
            _ => Err(json_file_error(file, &text, &error)),
        }),
    }
}

fn display_name(file: &Path) -> String {
    if file == Path::new("-") { "<stdin>".to_owned() } else { file.display().to_string() }
}

fn yaml_file_error(error: &hinagata::Error) -> Failure {
    let mut failure = Failure::usage_error(error.message());
    if let Some(place) = error.place() {
        failure = failure.at_place(template_place(place));
    }
    error.hint().map(hint_text).into_iter().fold(failure, Failure::with_hint)
}

fn json_file_error(file: &Path, text: &str, error: &serde_json::Error) -> Failure {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    // Bytes up to and with the one that was wrong.
    let before = line.floor_char_boundary(error.column().saturating_sub(1));
    let place = Place {
        template: display_name(file),
        line: error.line().max(1) as u32,
        column: line[..before].chars().count() as u32 + 1,
        span: None,
        excerpt: Some(line.to_owned()),
    };
    Failure::usage_error(format!("invalid JSON: {}", json_message(error))).at_place(place)
}

/// The message without the place at its end.
fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Variables, and which of them were written as text.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) values: Map<String, Json>,
    /// Names whose values were given as text. Their declared types decide on the conversion.
    texts: Vec<String>,
    /// The assignments so far: path and argument.
    assigned: Vec<(String, String)>,
}

impl Variables {
    /// The variables that were written as text, with their texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().filter_map(|name| Some((name.as_str(), self.values.get(name)?.as_str()?)))
    }

    fn assign(&mut self, assignment: &Assignment<'_>, inputs: &Inputs) -> Result<(), Failure> {
        let value = assignment.value(inputs)?;
        let (name, argument) = (assignment.path.join("."), assignment.argument);
        if let Some((_, inner)) = self.assigned.iter().find(|(path, _)| is_inside(path, &name)) {
            return Err(Failure::usage_error(format!("`{argument}` would overwrite `{inner}`"))
                .with_hint(format!("leave one of them out, or put `{inner}` after it")));
        }
        self.texts.retain(|text| text != assignment.path[0]);
        if assignment.path.len() == 1 && assignment.is_text() {
            self.texts.push(name.clone());
        }
        let (last, objects) = assignment.path.split_last().expect("a split gives at least one part");
        let mut values = &mut self.values;
        for (depth, part) in objects.iter().enumerate() {
            let here = values.entry(*part).or_insert_with(|| Json::Object(Map::new()));
            match here {
                Json::Object(inner) => values = inner,
                other => {
                    let what = ValueType::of_value(other).noun();
                    let place = assignment.path[..=depth].join(".");
                    return Err(self.object_error(argument, &place, what));
                }
            }
        }
        values.insert((*last).to_owned(), value);
        self.assigned.push((name, argument.to_owned()));
        Ok(())
    }

    fn object_error(&self, argument: &str, place: &str, what: &str) -> Failure {
        let by = self.assigned.iter().rev().find(|(path, _)| path == place || is_inside(place, path));
        let by = by.map_or_else(|| "`--vars`".to_owned(), |(_, argument)| format!("`{argument}`"));
        Failure::usage_error(format!("`{argument}` needs an object at `{place}`, but {by} put {what} there"))
            .with_hint("leave one of them out")
    }
}

/// Whether the variable at `path` is a part of the one at `outer`.
fn is_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_arguments(arguments: &[&str]) -> Result<Json, String> {
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let read = read_variables(&[], &arguments, &Inputs::default());
        read.map(|variables| Json::Object(variables.values)).map_err(|failure| match failure {
            Failure::Reported(diagnostic) => diagnostic.message,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn each_form_gives_its_value() {
        let cases = [
            (&["a=x"][..], json!({"a": "x"})),
            (&["a="], json!({"a": ""})),
            (&["a=b=c"], json!({"a": "b=c"})),
            (&["a=1"], json!({"a": "1"})),
            (&["a:=1"], json!({"a": 1})),
            (&["a:=[1, {\"b\": null}]"], json!({"a": [1, {"b": null}]})),
            (&["a=x:=y"], json!({"a": "x:=y"})),
            (&["a=1", "a=2"], json!({"a": "2"})),
            (&["user.name=R", "user.tags:=[]"], json!({"user": {"name": "R", "tags": []}})),
            (&["a:={\"x\": 1}", "a.y=2"], json!({"a": {"x": 1, "y": "2"}})),
            (&["a.b.c=1", "a.b.c=2", "a.bc=3"], json!({"a": {"b": {"c": "2"}, "bc": "3"}})),
        ];
        for (arguments, expected) in cases {
            assert_eq!(parse_arguments(arguments), Ok(expected), "{arguments:?}");
        }
    }

    #[test]
    fn every_text_can_be_written() {
        for (written, text) in [
            (r"\@x", "@x"),
            (r"\\@x", r"\@x"),
            (r"\x", r"\x"),
            (r"\\", r"\\"),
            ("a@b", "a@b"),
            (r"a\@b", r"a\@b"),
        ] {
            assert_eq!(parse_arguments(&[&format!("k={written}")]), Ok(json!({"k": text})), "{written}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let cases = [
            (&["name"][..], "`name` is not an assignment"),
            (&["=x"], "`=x` has no name before the `=`"),
            (&[":=1"], "`:=1` has no name before the `=`"),
            (&["a..b=x"], "`a..b=x` has an empty part in its name"),
            (&["a=@"], "`a=@` has no file name after the `@`"),
            (&["n:=three"], "the value of `n:=three` is not valid JSON"),
            (&["n:="], "the value of `n:=` is not valid JSON: EOF while parsing a value"),
            (&["a=1", "a.b=2"], "`a.b=2` needs an object at `a`, but `a=1` put a string there"),
            (
                &["a:={\"b\": 1}", "a.b.c=2"],
                "`a.b.c=2` needs an object at `a.b`, but `a:={\"b\": 1}` put an integer there",
            ),
            (&["a.b=2", "a=1"], "`a=1` would overwrite `a.b=2`"),
        ];
        for (arguments, message) in cases {
            assert_eq!(parse_arguments(arguments), Err(message.to_owned()), "{arguments:?}");
        }
    }

    #[test]
    fn single_variables_go_into_those_of_files() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (first, second) = (place.path().join("1.json"), place.path().join("2.json"));
        std::fs::write(&first, r#"{"user": {"name": "A", "age": 3}, "x": 1}"#).expect("written");
        std::fs::write(&second, r#"{"x": 2}"#).expect("written");
        let read = read_variables(&[first, second], &["user.name=B".to_owned()], &Inputs::default())
            .expect("is fine");
        assert_eq!(Json::Object(read.values), json!({"user": {"name": "B", "age": 3}, "x": 2}));
    }

    #[test]
    fn what_was_written_as_text_is_known() {
        let texts = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            let read = read_variables(&[], &arguments, &Inputs::default()).expect("is fine");
            read.texts().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>()
        };
        assert_eq!(texts(&["a=1", "b:=2", "c.d=3"]), ["a=1"]);
        assert_eq!(texts(&["a=1", "a:=2"]), [] as [&str; 0]);
        assert_eq!(texts(&["a:=1", "a=2"]), ["a=2"]);
    }

    #[test]
    fn the_files_of_arguments_are_known() {
        let arguments = VariableArguments {
            variables: ["a=@x.txt", "b:=@-", "c=d", "bad"].map(str::to_owned).to_vec(),
            vars: vec!["v.json".into()],
        };
        assert_eq!(arguments.files(), [Path::new("v.json"), Path::new("x.txt")]);
        assert!(arguments.uses_stdin());
    }

    #[test]
    fn files_hold_json_or_yaml() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let read = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, text).expect("written");
            let read = read_variables(&[path], &[], &Inputs::default());
            read.map(|variables| Json::Object(variables.values)).map_err(|failure| failure.exit_code())
        };
        for name in ["a.yaml", "a.yml", "a.txt"] {
            assert_eq!(read(name, "x: [1, yes]\n"), Ok(json!({"x": [1, "yes"]})), "{name}");
        }
        for name in ["a.json", "a.txt", "a.yaml"] {
            assert_eq!(read(name, r#"{"x": 1}"#), Ok(json!({"x": 1})), "{name}");
        }
        assert!(read("a.json", "x: 1").is_err() && read("a.yaml", "x: [").is_err());
    }
}

//! Reads test files: every problem of a file is reported with its place.

mod assertion;
mod context;
mod matrix;

pub(crate) use context::default_now;

use std::{collections::BTreeSet, sync::Arc};

use hinagata::{Code, Error, Place};
use hinagata_document::{Data, Fields, Node, yaml};
use hinagata_value::near_names;
use serde_json::{Map, Value};

use crate::{
    case::{Case, CaseFile, Stubs},
    checks::{Assertion, ExpectedError},
};

const FILE_KEYS: [&str; 13] = [
    "description",
    "prompt",
    "vars",
    "context",
    "stubs",
    "assert",
    "model",
    "options",
    "repeat",
    "threshold",
    "matrix",
    "tests",
    "skip",
];

const CASE_KEYS: [&str; 14] = [
    "name",
    "description",
    "vars",
    "matrix",
    "context",
    "stubs",
    "assert",
    "error",
    "model",
    "options",
    "repeat",
    "threshold",
    "skip",
    "inherit",
];

const STUB_KEYS: [&str; 3] = ["tools", "providers", "models"];

/// Most cases of one file: a matrix multiplies them.
pub(crate) const MAX_CASES: usize = 20_000;

/// Most problems of one file that are listed.
const MAX_PROBLEMS: usize = 50;

/// Reads a file of test cases. `prompt` is the prompt of its directory.
///
/// # Errors
/// All problems of the file, each with its place.
pub fn read_cases(file: &str, text: &str, prompt: Option<&str>) -> Result<CaseFile, Vec<Error>> {
    let node = yaml::parse(file, text, text, 1).map_err(|error| vec![error])?;
    let mut reader = Reader { fields: Fields::new(file, text), names: BTreeSet::new() };
    let read = reader.case_file(&node, prompt);
    let problems = split_problems(reader.fields, file, text);
    match (read, problems.is_empty()) {
        (Some(read), true) => Ok(read),
        (None, true) => {
            Err(vec![Error::new(Code::Definition, "the file has no test cases").at(Place::of_file(file))])
        }
        (_, false) => Err(problems),
    }
}

/// One error for each problem.
fn split_problems(fields: Fields<'_>, file: &str, text: &str) -> Vec<Error> {
    let Err(all) = fields.finish() else { return Vec::new() };
    let list = all.details().get("problems").and_then(Value::as_array).cloned().unwrap_or_default();
    let number = |problem: &Value, key: &str| {
        problem[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
    };
    let to_error = |problem: &Value| {
        let place = Place::at_line(file, text, number(problem, "line"), number(problem, "column"));
        let message = problem["message"].as_str().unwrap_or_default();
        let mut error = Error::new(Code::Definition, message).at(place);
        if let Some(hint) = problem["hint"].as_str() {
            error = error.with_hint(hint.to_owned());
        }
        error
    };
    let mut errors: Vec<Error> = list.iter().map(to_error).collect();
    if errors.len() >= MAX_PROBLEMS {
        let message = format!("the file has {MAX_PROBLEMS} problems or more; only these are listed");
        errors.push(Error::new(Code::Definition, message).at(Place::of_file(file)));
    }
    errors
}

/// What the cases of a file have in common.
struct Shared {
    variables: Map<String, Value>,
    context: Map<String, Value>,
    stubs: Stubs,
    assertions: Vec<Assertion>,
    model: Option<String>,
    options: Map<String, Value>,
    repeat: u32,
    threshold: Option<f64>,
    matrix: Vec<(String, Vec<Value>)>,
    skip: Option<String>,
}

struct Reader<'a> {
    fields: Fields<'a>,
    names: BTreeSet<String>,
}

impl Reader<'_> {
    fn case_file(&mut self, node: &Node, prompt: Option<&str>) -> Option<CaseFile> {
        if node.as_map().is_none() {
            self.fields.problem_with_hint(
                "",
                node,
                format!("a test file must be an object, not {}", node.kind()),
                "write the cases as a list under `tests:`",
            );
            return None;
        }
        self.check_keys("", node, &FILE_KEYS);
        let named = node.get("prompt").and_then(|named| self.fields.string("prompt", named));
        let Some(prompt) = named.or_else(|| prompt.map(str::to_owned)) else {
            self.fields.problem_with_hint(
                "prompt",
                node,
                "the file does not name a prompt",
                "put it in the directory `tests` of a prompt, or add `prompt: ID`",
            );
            return None;
        };
        let shared = self.shared(node);
        let Some(tests) = node.get("tests") else {
            self.fields.problem_with_hint(
                "tests",
                node,
                "`tests` is missing",
                "add a list of cases: `tests:`",
            );
            return None;
        };
        let mut cases = Vec::new();
        for (index, case) in self.fields.list("tests", tests).iter().enumerate() {
            self.case(index, case, &shared, &mut cases);
        }
        let names = cases.iter().map(|case| case.name.clone()).collect();
        Some(CaseFile { file: self.fields.file().to_owned(), prompt, cases, names })
    }

    fn check_keys(&mut self, field: &str, node: &Node, known: &[&str]) {
        let container = if field.is_empty() { "(document)" } else { field };
        for (key, value) in node.as_map().unwrap_or_default() {
            if !known.contains(&key.as_str()) {
                self.fields.unknown_key(container, value, key, known);
            }
        }
    }

    fn shared(&mut self, node: &Node) -> Shared {
        let context = self.object("context", node.get("context"));
        self.check_context("context", node.get("context"));
        Shared {
            variables: self.object("vars", node.get("vars")),
            context,
            stubs: self.stubs("stubs", node.get("stubs")),
            assertions: self.assertions("assert", node.get("assert")),
            model: node.get("model").and_then(|model| self.fields.optional_string("model", model)),
            options: self.object("options", node.get("options")),
            repeat: self.repeat("repeat", node.get("repeat")),
            threshold: self.threshold("threshold", node.get("threshold")),
            matrix: self.matrix("matrix", node.get("matrix")),
            skip: self.skip("skip", node.get("skip")),
        }
    }

    fn case(&mut self, index: usize, node: &Node, shared: &Shared, cases: &mut Vec<Case>) {
        let field = format!("tests[{index}]");
        if node.as_map().is_none() {
            let message = format!("a test case must be an object, not {}", node.kind());
            self.fields.problem(&field, node, message);
            return;
        }
        self.check_keys(&field, node, &CASE_KEYS);
        let name = self.case_name(&field, index, node);
        let mut matrix = shared.matrix.clone();
        for (key, values) in self.matrix(&join_field(&field, "matrix"), node.get("matrix")) {
            matrix.retain(|(known, _)| *known != key);
            matrix.push((key, values));
        }
        let own = self.own(&field, node, shared);
        let count = matrix.iter().map(|(_, values)| values.len()).try_fold(1, usize::checked_mul);
        if count.is_none_or(|count| count.saturating_add(cases.len()) > MAX_CASES) {
            self.fields.problem(&field, node, format!("the file has more than {MAX_CASES} cases"));
            return;
        }
        for (suffix, values) in matrix::multiply(&matrix) {
            let mut case = own.clone();
            case.name = self.unique_name(&name, &suffix);
            case.variables.extend(values);
            cases.push(case);
        }
    }

    /// The name of a case; a second case of that name is a problem.
    fn case_name(&mut self, field: &str, index: usize, node: &Node) -> String {
        let named = ["name", "description"].into_iter().find_map(|key| Some((key, node.get(key)?)));
        let name = match named {
            Some((key, name)) => self.fields.string(&join_field(field, key), name).unwrap_or_default(),
            None => format!("case {}", index + 1),
        };
        if name.trim().is_empty() {
            self.fields.problem(&join_field(field, "name"), node, "the name of a case must not be empty");
        } else if !self.names.insert(name.clone()) {
            let message = format!("two cases are called `{name}`");
            self.fields.problem_with_hint(
                &join_field(field, "name"),
                node,
                message,
                "snapshots need different names",
            );
        }
        name
    }

    /// The name of a combination of a matrix. Long values can look the same, and are numbered then.
    fn unique_name(&mut self, name: &str, suffix: &str) -> String {
        if suffix.is_empty() {
            return name.to_owned();
        }
        let (first, mut number) = (format!("{name} [{suffix}]"), 1);
        let mut unique = first.clone();
        while !self.names.insert(unique.clone()) {
            number += 1;
            unique = format!("{first} #{number}");
        }
        unique
    }

    /// The case before its matrix is multiplied out.
    fn own(&mut self, field: &str, node: &Node, shared: &Shared) -> Case {
        let at = |key: &str| join_field(field, key);
        let inherits =
            node.get("inherit").and_then(|node| self.fields.boolean(&at("inherit"), node)).unwrap_or(true);
        let mut variables = shared.variables.clone();
        variables.extend(self.object(&at("vars"), node.get("vars")));
        let mut context = shared.context.clone();
        context.extend(self.object(&at("context"), node.get("context")));
        self.check_context(&at("context"), node.get("context"));
        let mut stubs = shared.stubs.clone();
        let own = self.stubs(&at("stubs"), node.get("stubs"));
        stubs.tools.extend(own.tools);
        stubs.providers.extend(own.providers);
        if !own.models.is_empty() {
            stubs.models = own.models;
        }
        let mut assertions = if inherits { shared.assertions.clone() } else { Vec::new() };
        assertions.extend(self.assertions(&at("assert"), node.get("assert")));
        let mut options = shared.options.clone();
        options.extend(self.object(&at("options"), node.get("options")));
        let model = match node.get("model") {
            Some(model) => self.fields.optional_string(&at("model"), model),
            None => shared.model.clone(),
        };
        let has_repeat = node.get("repeat").is_some();
        let repeat = self.repeat(&at("repeat"), node.get("repeat"));
        let skip = self.skip(&at("skip"), node.get("skip"));
        let error = node.get("error").and_then(|error| self.expected_error(&at("error"), error));
        if error.is_some() {
            // Assertions about a result make no sense for a failure.
            assertions.retain(|assertion| assertion.check.is_about_error());
        }
        Case {
            name: String::new(),
            place: self.fields.place(node),
            variables,
            context: self.case_context(&context),
            stubs: Arc::new(stubs),
            assertions: assertions.into(),
            error,
            model,
            options,
            repeat: if has_repeat { repeat } else { shared.repeat },
            threshold: self.threshold(&at("threshold"), node.get("threshold")).or(shared.threshold),
            skip: skip.or_else(|| shared.skip.clone()),
        }
    }

    fn object(&mut self, field: &str, node: Option<&Node>) -> Map<String, Value> {
        let Some(node) = node else { return Map::new() };
        self.fields.map(field, node).iter().map(|(key, value)| (key.clone(), value.to_value())).collect()
    }

    fn stubs(&mut self, field: &str, node: Option<&Node>) -> Stubs {
        let Some(node) = node else { return Stubs::default() };
        self.check_keys(field, node, &STUB_KEYS);
        self.fields.map(field, node);
        let models = node.get("models").map(|models| {
            let list = self.fields.list(&join_field(field, "models"), models);
            list.iter().map(Node::to_value).collect()
        });
        Stubs {
            tools: self.object(&join_field(field, "tools"), node.get("tools")),
            providers: self.object(&join_field(field, "providers"), node.get("providers")),
            models: models.unwrap_or_default(),
        }
    }

    fn matrix(&mut self, field: &str, node: Option<&Node>) -> Vec<(String, Vec<Value>)> {
        let Some(node) = node else { return Vec::new() };
        let mut matrix = Vec::new();
        for (key, values) in self.fields.map(field, node) {
            let list: Vec<Value> =
                self.fields.list(&join_field(field, key), values).iter().map(Node::to_value).collect();
            if list.is_empty() && values.as_list().is_some() {
                self.fields.problem(&join_field(field, key), values, format!("`{key}` has no values"));
            }
            matrix.push((key.clone(), list));
        }
        matrix
    }

    fn repeat(&mut self, field: &str, node: Option<&Node>) -> u32 {
        let Some(node) = node else { return 1 };
        let count = match &node.data {
            Data::Number(number) => number.as_u64().and_then(|count| u32::try_from(count).ok()),
            _ => None,
        };
        count.filter(|count| (1..=1000).contains(count)).unwrap_or_else(|| {
            self.fields.problem(field, node, "`repeat` must be a number from 1 to 1000");
            1
        })
    }

    fn threshold(&mut self, field: &str, node: Option<&Node>) -> Option<f64> {
        let node = node?;
        let number = self.number(field, node)?;
        if (0.0..=1.0).contains(&number) {
            return Some(number);
        }
        self.fields.problem(field, node, "`threshold` must be a share from 0 to 1");
        None
    }

    fn number(&mut self, field: &str, node: &Node) -> Option<f64> {
        match &node.data {
            Data::Number(number) => number.as_f64(),
            _ => {
                let name = field.rsplit('.').next().unwrap_or(field);
                self.fields.problem(field, node, format!("`{name}` must be a number, not {}", node.kind()));
                None
            }
        }
    }

    fn skip(&mut self, field: &str, node: Option<&Node>) -> Option<String> {
        let node = node?;
        match &node.data {
            Data::Null | Data::Bool(false) => None,
            Data::Bool(true) => Some("`skip` is set".to_owned()),
            _ => self.fields.string(field, node),
        }
    }

    fn expected_error(&mut self, field: &str, node: &Node) -> Option<ExpectedError> {
        let (code, message) = match node.as_map() {
            Some(_) => {
                self.check_keys(field, node, &["code", "message"]);
                let message = node
                    .get("message")
                    .and_then(|message| self.fields.string(&join_field(field, "message"), message));
                (node.get("code"), message)
            }
            None => (Some(node), None),
        };
        let Some(code_node) = code else {
            self.fields.problem(field, node, "`code` is missing");
            return None;
        };
        let name = self.fields.string(field, code_node)?;
        let code = Code::from_name(&name);
        if code.is_none() {
            let names = Code::ALL.map(Code::as_str);
            let near = near_names(&name, names);
            let hint = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of {}", names.join(", ")),
            };
            self.fields.problem_with_hint(field, code_node, format!("unknown error code `{name}`"), hint);
        }
        Some(ExpectedError { code: code?, message })
    }
}

fn join_field(field: &str, key: &str) -> String {
    if field.is_empty() { key.to_owned() } else { format!("{field}.{key}") }
}

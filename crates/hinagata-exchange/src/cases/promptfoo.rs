//! Test cases of promptfoo.

use std::collections::BTreeSet;

use hinagata_document::{Node, yaml};
use serde_json::{Map, Value, json};

use super::{
    ImportedCases,
    script::{Expression, ScriptLanguage, parse_script},
};
use crate::draft::Draft;
use crate::report::LossCode;

/// Checks that have the same name and value in test files.
const SAME: [&str; 19] = [
    "equals",
    "contains",
    "contains-all",
    "contains-any",
    "icontains",
    "icontains-all",
    "icontains-any",
    "starts-with",
    "regex",
    "is-json",
    "contains-json",
    "is-xml",
    "contains-xml",
    "word-count",
    "levenshtein",
    "latency",
    "cost",
    "finish-reason",
    "is-valid-openai-tools-call",
];

/// Checks that a model judges by a text, and what the text becomes.
const JUDGED: [(&str, &str); 4] = [
    ("llm-rubric", ""),
    ("g-eval", ""),
    ("model-graded-closedqa", "The output meets this criterion: "),
    ("factuality", "The output agrees with this fact: "),
];

/// Reads test cases into a test file, and reports what it cannot carry.
pub(crate) struct CaseReader<'d, 'f> {
    draft: &'d mut Draft<'f>,
    /// The whole document, for references into it.
    document: &'d Node,
    names: BTreeSet<String>,
}

impl<'d, 'f> CaseReader<'d, 'f> {
    pub(crate) fn new(draft: &'d mut Draft<'f>, document: &'d Node) -> Self {
        Self { draft, document, names: BTreeSet::new() }
    }

    fn lose(&mut self, node: &Node, what: impl Into<String>) {
        self.draft.lose(LossCode::Tests, node, what, "");
    }

    /// The cases of the document.
    pub(crate) fn read_cases(&mut self) -> ImportedCases {
        let mut all = ImportedCases::default();
        let document = self.document;
        if let Some(shared) = document.get("defaultTest") {
            match shared.as_map() {
                Some(_) => all.shared = self.case_fields(shared),
                None => self.lose(shared, "`defaultTest` in another file"),
            }
        }
        for key in ["scenarios", "derivedMetrics", "redteam"] {
            if let Some(node) = document.get(key) {
                self.lose(node, format!("`{key}`"));
            }
        }
        match document.get("tests") {
            None => {}
            Some(tests) => self.list_cases(tests, &mut all.cases),
        }
        all
    }

    /// The cases of a list, or of the files that it names.
    fn list_cases(&mut self, tests: &Node, cases: &mut Vec<Value>) {
        if let Some(path) = tests.as_str() {
            self.file_cases(tests, path, cases);
            return;
        }
        let Some(list) = tests.as_list() else {
            self.lose(tests, "tests that a program makes");
            return;
        };
        for test in list {
            match test.as_str() {
                Some(path) => self.file_cases(test, path, cases),
                None => self.case(test, cases),
            }
        }
    }

    fn file_cases(&mut self, node: &Node, path: &str, cases: &mut Vec<Value>) {
        let name = path.strip_prefix("file://").unwrap_or(path).trim_start_matches("./");
        let Some(text) = self.draft.files.beside(self.draft.path, name).map(str::to_owned) else {
            self.draft.lose(LossCode::Reference, node, format!("the tests in `{path}`"), "");
            return;
        };
        if name.ends_with(".csv") {
            self.csv_cases(node, &text, cases);
            return;
        }
        match yaml::parse(name, &text, &text, 1) {
            Ok(list) if list.as_list().is_some() => {
                for test in list.as_list().unwrap_or_default() {
                    // Places of another file mean nothing here.
                    self.case(&at_place(test, node), cases);
                }
            }
            _ => self.draft.lose(LossCode::Reference, node, format!("the tests in `{path}`"), ""),
        }
    }

    /// Rows of variables; the columns `__expected` are assertions.
    fn csv_cases(&mut self, node: &Node, text: &str, cases: &mut Vec<Value>) {
        let mut rows = split_csv(text).into_iter();
        let Some(heading) = rows.next() else { return };
        for row in rows {
            let (mut variables, mut assertions, mut name) = (Map::new(), Vec::new(), None);
            for (column, value) in heading.iter().zip(row) {
                let column = column.trim();
                match column {
                    "__description" => name = Some(value),
                    _ if column.starts_with("__expected") => {
                        if value.trim().is_empty() {
                            continue;
                        }
                        match expected_of_cell(&value) {
                            Some(assertion) => assertions.push(assertion),
                            None => self.lose(node, format!("the expectation `{}`", shorten(&value))),
                        }
                    }
                    _ if column.starts_with("__") => self.lose(node, format!("the column `{column}`")),
                    _ => {
                        variables.insert(self.draft.names.variable(column), value.into());
                    }
                }
            }
            let mut case = Map::new();
            case.insert("name".to_owned(), self.unique_name(name, cases.len()).into());
            if !variables.is_empty() {
                case.insert("vars".to_owned(), Value::Object(variables));
            }
            if !assertions.is_empty() {
                case.insert("assert".to_owned(), Value::Array(assertions));
            }
            cases.push(Value::Object(case));
        }
    }

    fn unique_name(&mut self, name: Option<String>, index: usize) -> String {
        let first =
            name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| format!("case {}", index + 1));
        let (mut name, mut number) = (first.clone(), 1);
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{first} {number}");
        }
        name
    }

    fn case(&mut self, test: &Node, cases: &mut Vec<Value>) {
        if test.as_map().is_none() {
            self.lose(test, "a test that is no object");
            return;
        }
        let name = test.get("description").and_then(Node::as_str).map(str::to_owned);
        let name = self.unique_name(name, cases.len());
        let mut case = Map::new();
        case.insert("name".to_owned(), name.into());
        case.extend(self.case_fields(test));
        cases.push(Value::Object(case));
    }

    /// The variables, assertions and settings of a test.
    fn case_fields(&mut self, test: &Node) -> Map<String, Value> {
        let mut fields = Map::new();
        for (key, node) in test.as_map().unwrap_or_default() {
            match key.as_str() {
                "description" | "metadata" => {}
                "vars" => self.variables(node, &mut fields),
                "assert" => {
                    let assertions = self.assertions(node);
                    if !assertions.is_empty() {
                        fields.insert("assert".to_owned(), Value::Array(assertions));
                    }
                }
                "threshold" => {
                    fields.insert(key.clone(), node.to_value());
                }
                _ => self.lose(node, format!("`{key}` of a test")),
            }
        }
        fields
    }

    fn variables(&mut self, node: &Node, fields: &mut Map<String, Value>) {
        let (mut variables, mut matrix) = (Map::new(), Map::new());
        let Some(entries) = node.as_map() else {
            self.lose(node, "variables in another file");
            return;
        };
        for (key, value) in entries {
            let name = self.draft.names.variable(key);
            match value.as_list() {
                // A list of texts is one test for each of them.
                Some(items) if items.iter().all(|item| item.as_str().is_some()) && !items.is_empty() => {
                    matrix.insert(name, value.to_value());
                }
                _ => {
                    if let Some(value) = self.variable(value) {
                        variables.insert(name, value);
                    }
                }
            }
        }
        if !variables.is_empty() {
            fields.insert("vars".to_owned(), Value::Object(variables));
        }
        if !matrix.is_empty() {
            fields.insert("matrix".to_owned(), Value::Object(matrix));
        }
    }

    /// The value of a variable, or the text of the file that it names.
    fn variable(&mut self, node: &Node) -> Option<Value> {
        let Some(path) = node.as_str().and_then(|text| text.strip_prefix("file://")) else {
            return Some(node.to_value());
        };
        let is_program = [".js", ".mjs", ".cjs", ".ts", ".py"].iter().any(|ending| path.ends_with(ending));
        let content = self.draft.files.beside(self.draft.path, path.trim_start_matches("./"));
        match content {
            Some(text) if !is_program => Some(Value::String(text.to_owned())),
            _ => {
                self.draft.lose(LossCode::Reference, node, format!("the variable in `{path}`"), "");
                None
            }
        }
    }

    fn assertions(&mut self, list: &Node) -> Vec<Value> {
        let Some(items) = list.as_list() else {
            self.lose(list, "assertions that are no list");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.assertion(item)).collect()
    }

    /// An assertion of a test file; `None` if it is reported as lost.
    fn assertion(&mut self, node: &Node) -> Option<Value> {
        if let Some(reference) = node.get("$ref").and_then(Node::as_str) {
            let target = reference
                .strip_prefix("#/")
                .and_then(|path| path.split('/').try_fold(self.document, |node, key| node.get(key)));
            let Some(target) = target else {
                self.draft.lose(LossCode::Reference, node, format!("the assertion `{reference}`"), "");
                return None;
            };
            return self.assertion(&at_place(target, node));
        }
        let Some(named) = node.get("type").and_then(Node::as_str) else {
            self.lose(node, "an assertion without `type`");
            return None;
        };
        // A transform that takes a part of JSON is a path. Programs see the part under another name.
        let is_program = matches!(named, "javascript" | "python");
        let path =
            node.get("transform").filter(|_| !is_program).and_then(Node::as_str).and_then(path_of_part);
        for key in ["transform", "contextTransform", "config"] {
            if node.get(key).is_some() && !(key == "transform" && path.is_some()) {
                self.lose(node, format!("the assertion `{named}` with `{key}`"));
                return None;
            }
        }
        match self.translate(node, named) {
            Ok(mut assertion) => {
                if let Some(path) = path {
                    assertion["path"] = path.into();
                }
                Some(assertion)
            }
            Err(reason) => {
                self.lose(node, format!("the assertion `{named}`: {reason}"));
                None
            }
        }
    }

    fn translate(&mut self, node: &Node, named: &str) -> Result<Value, String> {
        let (is_negated, name) = match named.strip_prefix("not-") {
            Some(name) => (true, name),
            None => (false, named),
        };
        if name == "assert-set" {
            let list = node.get("assert").ok_or("it has no assertions")?;
            let count = list.as_list().map_or(0, <[Node]>::len);
            let assertions = self.assertions(list);
            if assertions.len() < count {
                return Err("not all of its assertions are carried".to_owned());
            }
            let mut set = Map::from_iter([("assert".to_owned(), Value::Array(assertions))]);
            copy_facts(node, &mut set, true);
            return Ok(Value::Object(set));
        }
        let value = node.get("value").map(Node::to_value);
        if let Some(path) =
            value.as_ref().and_then(Value::as_str).and_then(|text| text.strip_prefix("file://"))
        {
            return Err(format!("its value is in `{path}`"));
        }
        let text = || match &value {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err("it has no text".to_owned()),
        };
        let judged = JUDGED.into_iter().find(|(known, _)| *known == name);
        let mut all = match (name, judged) {
            ("javascript", _) => script_check(&text()?, ScriptLanguage::JavaScript)?,
            ("python", _) => script_check(&text()?, ScriptLanguage::Python)?,
            (_, Some((known, before))) => {
                let text = match &value {
                    Some(Value::Array(items)) => {
                        let lines: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                        lines.ok_or("it has no text")?.join("\n")
                    }
                    _ => text()?,
                };
                if known != "llm-rubric" {
                    let instead = "`llm-rubric`, with another instruction for the model";
                    self.draft.lose(LossCode::Expression, node, format!("the assertion `{known}`"), instead);
                }
                typed("llm-rubric", Some(format!("{before}{text}").into()))
            }
            ("is-valid-openai-function-call", _) => typed("is-valid-openai-tools-call", None),
            _ if SAME.contains(&name) => typed(name, value.clone()),
            (
                "similar"
                | "answer-relevance"
                | "context-recall"
                | "context-relevance"
                | "classifier"
                | "moderation"
                | "context-faithfulness"
                | "perplexity"
                | "perplexity-score",
                _,
            ) => {
                return Err("it needs another service".to_owned());
            }
            _ => return Err("there is no such assertion".to_owned()),
        };
        if is_negated {
            let negated =
                all.get("type").and_then(Value::as_str).map(|name| match name.strip_prefix("not-") {
                    Some(name) => name.to_owned(),
                    None => format!("not-{name}"),
                });
            all.insert("type".to_owned(), negated.ok_or("it cannot be negated")?.into());
        }
        copy_facts(node, &mut all, true);
        if has_template(all.get("value")) {
            all.insert("template".to_owned(), true.into());
        }
        Ok(Value::Object(all))
    }
}

/// The assertion that an expression makes.
fn script_check(text: &str, language: ScriptLanguage) -> Result<Map<String, Value>, String> {
    let reason = "it is a program";
    let expression = parse_script(text.trim(), language).ok_or(reason)?;
    assertion_of(&expression).ok_or_else(|| reason.to_owned())
}

/// The JSONPath of `output.a.b`, `output['a']` or `JSON.parse(output).a`.
fn path_of_part(script: &str) -> Option<String> {
    let mut part = parse_script(script.trim(), ScriptLanguage::JavaScript)?;
    let mut keys = Vec::new();
    loop {
        match part {
            Expression::Member(of, name) => {
                keys.push(name);
                part = *of;
            }
            Expression::Index(of, index) => {
                let Expression::Text(name) = *index else { return None };
                keys.push(name);
                part = *of;
            }
            whole => {
                let is_json = match whole.method_call() {
                    Some((Expression::Name(of), "parse", [text])) => of == "JSON" && text.is_output(),
                    _ => whole.is_output(),
                };
                let quoted = keys.iter().rev().map(|key| format!("[{}]", Value::from(key.as_str())));
                return (is_json && !keys.is_empty()).then(|| format!("${}", quoted.collect::<String>()));
            }
        }
    }
}

/// The same node, at the place of another one.
fn at_place(node: &Node, place: &Node) -> Node {
    Node { at: place.at, data: Node::from_value_at(&node.to_value(), place.at).data }
}

fn typed(name: &str, value: Option<Value>) -> Map<String, Value> {
    let mut all = Map::from_iter([("type".to_owned(), name.into())]);
    if let Some(value) = value.filter(|value| !value.is_null()) {
        all.insert("value".to_owned(), value);
    }
    all
}

/// Copies what assertions have in both formats.
fn copy_facts(node: &Node, all: &mut Map<String, Value>, with_threshold: bool) {
    for key in ["weight", "metric", "threshold"] {
        if let Some(value) = node.get(key).filter(|_| with_threshold || key != "threshold") {
            all.insert(key.to_owned(), value.to_value());
        }
    }
}

fn has_template(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => text.contains("{{") && text.contains("}}"),
        Some(Value::Array(items)) => items.iter().any(|item| has_template(Some(item))),
        _ => false,
    }
}

/// The check that says the same as an expression; else the expression in Jinja.
fn assertion_of(expression: &Expression) -> Option<Map<String, Value>> {
    if let Some(check) = plain_check(expression) {
        return Some(check);
    }
    Some(typed("expression", Some(expression.to_jinja()?.into())))
}

fn plain_check(expression: &Expression) -> Option<Map<String, Value>> {
    if let Expression::Not(inner) = expression {
        let mut check = plain_check(inner)?;
        let name = format!("not-{}", check.get("type")?.as_str()?);
        check.insert("type".to_owned(), name.into());
        return Some(check);
    }
    if let Expression::Binary("==", left, right) = expression
        && left.is_output()
        && let Expression::Text(text) = &**right
    {
        return Some(typed("equals", Some(text.as_str().into())));
    }
    if let Expression::Binary("in", left, right) = expression
        && let Expression::Text(text) = &**left
    {
        return contains_check(right, text);
    }
    let (of, name, arguments) = expression.method_call()?;
    match (of, name, arguments) {
        (Expression::Regex(pattern, flags), "test", [subject]) if subject.is_output() => {
            regex_check(pattern, flags)
        }
        (subject, "match", [Expression::Regex(pattern, flags)]) if subject.is_output() => {
            regex_check(pattern, flags)
        }
        (Expression::Name(module), "search", [Expression::Text(pattern), subject])
            if module == "re" && subject.is_output() =>
        {
            regex_check(pattern, "")
        }
        (subject, "includes", [Expression::Text(text)]) => contains_check(subject, text),
        (subject, "startsWith" | "startswith", [Expression::Text(text)]) if subject.is_output() => {
            Some(typed("starts-with", Some(text.as_str().into())))
        }
        (Expression::List(items), method @ ("some" | "every"), [Expression::Function(name, body)]) => {
            list_check(items, method == "every", name, body)
        }
        _ => None,
    }
}

fn contains_check(subject: &Expression, text: &str) -> Option<Map<String, Value>> {
    if subject.is_output() {
        return Some(typed("contains", Some(text.into())));
    }
    // A text with upper case is never in one of lower case, which is surely not meant.
    let is_lower = text == text.to_lowercase();
    (subject.is_lower_output() && is_lower).then(|| typed("icontains", Some(text.into())))
}

fn regex_check(pattern: &str, flags: &str) -> Option<Map<String, Value>> {
    let mut known = String::new();
    for flag in flags.chars() {
        match flag {
            'i' | 'm' | 's' => known.push(flag),
            'g' | 'u' => {}
            _ => return None,
        }
    }
    let pattern = if known.is_empty() { pattern.to_owned() } else { format!("(?{known}){pattern}") };
    Some(typed("regex", Some(pattern.into())))
}

/// `['a', 'b'].some(word => output.includes(word))`.
fn list_check(
    items: &[Expression],
    is_every: bool,
    name: &str,
    body: &Expression,
) -> Option<Map<String, Value>> {
    let texts: Option<Vec<Value>> = items
        .iter()
        .map(|item| match item {
            Expression::Text(text) => Some(text.as_str().into()),
            _ => None,
        })
        .collect();
    let (subject, method, arguments) = body.method_call()?;
    let [argument] = arguments else { return None };
    let is_item = |expression: &Expression| matches!(expression, Expression::Name(found) if found == name);
    let is_lower_item = match argument.method_call() {
        Some((of, "toLowerCase", [])) => is_item(of),
        _ => false,
    };
    if method != "includes" || !(is_item(argument) || is_lower_item) {
        return None;
    }
    let end = if is_every { "all" } else { "any" };
    let kind = if subject.is_output() && !is_lower_item {
        format!("contains-{end}")
    } else if subject.is_lower_output() {
        format!("icontains-{end}")
    } else {
        return None;
    };
    Some(typed(&kind, Some(Value::Array(texts?))))
}

/// The assertion in a cell of a table: `contains: text`, or the text itself.
fn expected_of_cell(cell: &str) -> Option<Value> {
    let cell = cell.trim();
    let Some((name, value)) = cell.split_once(':') else {
        return Some(match SAME.contains(&cell) {
            true => json!({"type": cell}),
            false => json!({"type": "equals", "value": cell}),
        });
    };
    let plain = name.trim().strip_prefix("not-").unwrap_or(name.trim());
    let value = value.trim();
    match plain {
        "grade" | "llm-rubric" => Some(json!({"type": "llm-rubric", "value": value})),
        "javascript" | "fn" | "eval" => {
            assertion_of(&parse_script(value, ScriptLanguage::JavaScript)?).map(Value::Object)
        }
        "python" => assertion_of(&parse_script(value, ScriptLanguage::Python)?).map(Value::Object),
        _ if SAME.contains(&plain) => Some(json!({"type": name.trim(), "value": value})),
        "file" => None,
        _ if plain.starts_with("similar") => None,
        _ if plain.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '(') && plain.contains('-') => {
            None
        }
        _ => Some(json!({"type": "equals", "value": cell})),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The rows and cells of a text with commas.
fn split_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row: &Vec<String>| row.iter().any(|cell| !cell.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str) -> Option<Value> {
        assertion_of(&parse_script(script, ScriptLanguage::JavaScript)?).map(Value::Object)
    }

    #[test]
    fn simple_scripts_become_plain_checks() {
        for (script, wanted) in [
            ("output.includes('a')", json!({"type": "contains", "value": "a"})),
            ("!output.includes('a')", json!({"type": "not-contains", "value": "a"})),
            ("output.toLowerCase().includes('a')", json!({"type": "icontains", "value": "a"})),
            ("output === 'a'", json!({"type": "equals", "value": "a"})),
            ("/a+/i.test(output)", json!({"type": "regex", "value": "(?i)a+"})),
            ("output.match(/a/)", json!({"type": "regex", "value": "a"})),
            (
                "['a', 'b'].some(w => output.includes(w))",
                json!({"type": "contains-any", "value": ["a", "b"]}),
            ),
            (
                "['a', 'B'].every((w) => output.toLowerCase().includes(w.toLowerCase()))",
                json!({"type": "icontains-all", "value": ["a", "B"]}),
            ),
            ("output.length > 3", json!({"type": "expression", "value": "((output|length) > 3)"})),
        ] {
            assert_eq!(check(script), Some(wanted), "{script}");
        }
        assert_eq!(
            check("output.toLowerCase().includes('A')").map(|check| check["type"].clone()),
            Some("expression".into())
        );
    }

    #[test]
    fn a_transform_that_takes_a_part_is_a_path() {
        for (script, path) in [
            ("output.a.b", Some(r#"$["a"]["b"]"#)),
            ("JSON.parse(output)['a b']", Some(r#"$["a b"]"#)),
            ("output", None),
            ("JSON.parse(output)", None),
            ("output.a.length > 1", None),
            ("output.split(',')[0]", None),
            ("other.a", None),
        ] {
            assert_eq!(path_of_part(script).as_deref(), path, "{script}");
        }
    }

    #[test]
    fn tables_are_split_into_cells() {
        let rows = split_csv("a,b\n\"x, \"\"y\"\"\",2\r\n\n\"l1\nl2\",\n");
        assert_eq!(rows, [vec!["a", "b"], vec!["x, \"y\"", "2"], vec!["l1\nl2", ""]]);
        assert_eq!(expected_of_cell("contains: a"), Some(json!({"type": "contains", "value": "a"})));
        assert_eq!(expected_of_cell("is-json"), Some(json!({"type": "is-json"})));
        assert_eq!(expected_of_cell("Hello: you"), Some(json!({"type": "equals", "value": "Hello: you"})));
        assert_eq!(expected_of_cell("similar(0.8): a"), None);
    }
}

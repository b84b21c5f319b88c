//! Test files of prompts: whether their cases still fit the declarations. `hina test` reports what else is wrong in them.

use hinagata_catalog::{
    definition::{Inherited, Parameter},
    source::{Entry, RootKind},
};
use hinagata_document::{Code, Error, Fields, Node, yaml};
use hinagata_value::near_names;
use serde_json::Value;

use super::prompt::{PromptChecker, RESERVED};
use crate::{
    check::Report,
    codes::{CodeSpec, TEST_FILE, TEST_MISSING, TEST_STUB, TEST_TYPE, TEST_VARIABLE},
    finding::Finding,
};

/// The directory of test files in that of a prompt.
const TESTS: &str = "tests";
/// The most test files of a prompt, and the largest one in bytes, that are read.
const MOST_FILES: usize = 10_000;
const LARGEST_FILE: u64 = 8 << 20;

/// What a prompt says about the variables of its cases.
struct Declared<'d> {
    inherited: &'d Inherited,
    /// Whether a variable that is not declared has no effect.
    is_closed: bool,
    /// Every text of the prompt and of its templates.
    texts: &'d [String],
}

impl PromptChecker<'_> {
    /// Checks the cases in the directory `tests` of a prompt.
    pub(super) fn check_cases(&mut self, entry: &Entry, inherited: &Inherited, total: &Report) {
        let has_files = matches!(
            entry.root(),
            RootKind::Shared | RootKind::Path(_) | RootKind::Pack(_) | RootKind::Builtin
        );
        let Some(index) = self.catalog.roots().iter().find(|index| index.root.kind == *entry.root()) else {
            return;
        };
        let mut has_tests = [false];
        index.root.tree.mark_present(entry.name(), &[TESTS], &mut has_tests);
        let has_files = has_files && has_tests == [true];
        let directory = format!("{}/{TESTS}", entry.name());
        let files = if has_files { index.root.tree.list_files(&directory, MOST_FILES) } else { Vec::new() };
        let is_case_file = |path: &&String| {
            let name = path.strip_prefix(&*directory).and_then(|rest| rest.strip_prefix('/'));
            name.is_some_and(|name| {
                !name.contains('/') && (name.ends_with(".yaml") || name.ends_with(".yml"))
            })
        };
        let files: Vec<&String> = files.iter().filter(is_case_file).collect();
        if files.is_empty() {
            return;
        }
        let texts = self.texts_of(inherited, &total.templates);
        let reads_all = ["variables", "args"].iter().any(|name| total.used.contains(*name));
        let is_closed = self.variables(inherited).complete && !total.uses_unknown && !reads_all;
        let declared = Declared { inherited, is_closed, texts: &texts };
        for path in files {
            let file = format!("{}/{path}", index.root.prefix);
            match index.root.tree.read_text(path, LARGEST_FILE) {
                Ok(Some((text, _))) => self.check_case_file(entry, &file, &text, &declared),
                Ok(None) => {}
                Err(error) => {
                    let finding = Finding::new(&TEST_FILE, TEST_FILE.level, entry.source(), error);
                    self.push(finding);
                }
            }
        }
    }

    fn check_case_file(&mut self, entry: &Entry, file: &str, text: &str, declared: &Declared<'_>) {
        self.add_text(file, text);
        let node = match yaml::parse(file, text, text, 1) {
            Ok(node) => node,
            Err(error) => {
                self.push(Finding::new(&TEST_FILE, TEST_FILE.level, entry.source(), error));
                return;
            }
        };
        let fields = Fields::new(file, text);
        let mut found = Vec::new();
        match node.get("prompt").and_then(|named| Some((named, named.as_str()?))) {
            None => self.check_case_list(&node, declared, &fields, &mut found),
            Some((named, name)) => match self.catalog.choose(name) {
                Ok(choice) if choice.entry.source() == entry.source() => {
                    self.check_case_list(&node, declared, &fields, &mut found);
                }
                Ok(choice) => {
                    if let Ok(inherited) = self.catalog.inherited_definition(&choice) {
                        // What its templates read is not known here.
                        let other = Declared { inherited: &inherited, is_closed: false, texts: &[] };
                        self.check_case_list(&node, &other, &fields, &mut found);
                    }
                }
                Err(error) => found.push((
                    &TEST_FILE,
                    Error::new(Code::Definition, error.message().to_owned())
                        .with_near(error.near().to_vec())
                        .at(fields.place(named)),
                )),
            },
        }
        for (code, error) in found {
            self.push(Finding::new(code, code.level, entry.source(), error));
        }
    }

    fn check_case_list(&self, node: &Node, declared: &Declared<'_>, fields: &Fields<'_>, found: &mut Found) {
        declared.check_variables(node, false, fields, found);
        self.check_stubs(node, declared, fields, found);
        for case in node.get("tests").and_then(Node::as_list).unwrap_or_default() {
            if is_set(case.get("skip")) || is_set(node.get("skip")) {
                continue;
            }
            let fails = case.get("error").is_some();
            declared.check_variables(case, fails, fields, found);
            if !fails {
                declared.check_missing(node, case, fields, found);
            }
            self.check_stubs(case, declared, fields, found);
        }
    }

    /// Reports stubs of tools and providers that nothing calls.
    fn check_stubs(&self, node: &Node, declared: &Declared<'_>, fields: &Fields<'_>, found: &mut Found) {
        let of_kind =
            |kind: &str| node.get("stubs").and_then(|stubs| stubs.get(kind)?.as_map()).unwrap_or_default();
        let tools = || self.options.tools.keys().filter(|name| !name.starts_with("tools."));
        for (id, value) in of_kind("tools") {
            let name = id.rsplit('.').next().unwrap_or(id);
            // A tool that nothing declares exists for the case, if a template calls it.
            if self.options.tools.contains_key(id) || declared.mentions(name) {
                continue;
            }
            let near = near_names(id, tools().map(String::as_str));
            let message = format!("no tool is called `{id}`, and no template of the prompt calls one");
            found.push(report(&TEST_STUB, message, near, fields, value));
        }
        for (name, value) in of_kind("providers") {
            if self.providers.contains(name) || declared.mentions(name) {
                continue;
            }
            let near = near_names(name, self.providers.iter().map(String::as_str));
            let message = format!("no variable provider has the namespace `{name}`");
            found.push(report(&TEST_STUB, message, near, fields, value));
        }
    }
}

/// Findings before they have a source.
type Found = Vec<(&'static CodeSpec, Error)>;

impl Declared<'_> {
    fn find(&self, name: &str) -> Option<&Parameter> {
        let parameters = &self.inherited.parameters;
        parameters.iter().find(|one| one.name == name || one.aliases.iter().any(|alias| alias == name))
    }

    /// Whether a text of the prompt has a word.
    fn mentions(&self, word: &str) -> bool {
        self.texts.is_empty() || self.texts.iter().any(|text| text.contains(word))
    }

    /// Reports variables that the prompt does not know, and values of a wrong type. A case that `fails` may mean them.
    fn check_variables(&self, node: &Node, fails: bool, fields: &Fields<'_>, found: &mut Found) {
        for (name, value) in node.get("vars").and_then(Node::as_map).unwrap_or_default() {
            self.check_variable(name, value, fails, fields, found);
        }
        for (name, values) in node.get("matrix").and_then(Node::as_map).unwrap_or_default() {
            for value in values.as_list().unwrap_or_default() {
                self.check_variable(name, value, fails, fields, found);
            }
        }
    }

    fn check_variable(&self, name: &str, node: &Node, fails: bool, fields: &Fields<'_>, found: &mut Found) {
        let Some(parameter) = self.find(name) else {
            if self.is_closed && !RESERVED.contains(&name) && !fails {
                let names = self.inherited.parameters.iter().map(|parameter| parameter.name.as_str());
                let near = near_names(name, names);
                let message = format!("the prompt has no variable `{name}`, so the value has no effect");
                found.push(report(&TEST_VARIABLE, message, near, fields, node));
            }
            return;
        };
        if fails {
            return;
        }
        let value = node.to_value();
        if !parameter.kind.fits(&value) {
            let message = format!("`{name}` must be {}, not {}", parameter.kind.noun(), node.kind());
            found.push(report(&TEST_TYPE, message, Vec::new(), fields, node));
        } else if let Some(message) = schema_problem(parameter, &value) {
            let message = format!("`{name}` does not follow its schema: {message}");
            found.push(report(&TEST_TYPE, message, Vec::new(), fields, node));
        }
    }

    /// Reports required variables that neither the file nor the case passes.
    fn check_missing(&self, file: &Node, case: &Node, fields: &Fields<'_>, found: &mut Found) {
        let has_agent =
            [file, case].iter().any(|node| node.get("context").and_then(|it| it.get("agent_id")).is_some());
        if has_agent {
            return;
        }
        let is_passed = |name: &str| {
            let maps = [file, case].into_iter().flat_map(|node| [node.get("vars"), node.get("matrix")]);
            maps.flatten().any(|map| map.get(name).is_some())
        };
        let is_missing = |parameter: &&Parameter| {
            parameter.must_be_passed()
                && !is_passed(&parameter.name)
                && !parameter.aliases.iter().any(|alias| is_passed(alias))
        };
        let missing: Vec<String> = self
            .inherited
            .parameters
            .iter()
            .filter(is_missing)
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        if !missing.is_empty() {
            let noun = if missing.len() == 1 { "variable" } else { "variables" };
            let message = format!("the case does not pass the required {noun} {}", missing.join(", "));
            found.push(report(&TEST_MISSING, message, Vec::new(), fields, case));
        }
    }
}

/// Whether `skip` is there and not `false`.
fn is_set(node: Option<&Node>) -> bool {
    node.is_some_and(|node| !matches!(node.to_value(), Value::Null | Value::Bool(false)))
}

fn schema_problem(parameter: &Parameter, value: &Value) -> Option<String> {
    // A schema that is not valid is reported at its declaration.
    let validator = jsonschema::validator_for(parameter.schema.as_ref()?).ok()?;
    let error = validator.iter_errors(value).next()?;
    Some(match parameter.secret {
        true => "the value of a secret is not shown".to_owned(),
        false => error.to_string(),
    })
}

fn report(
    code: &'static CodeSpec,
    message: String,
    near: Vec<String>,
    fields: &Fields<'_>,
    node: &Node,
) -> (&'static CodeSpec, Error) {
    (code, Error::new(Code::Definition, message).with_near(near).at(fields.place(node)))
}

//! One check of a template and of everything that it uses.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use hinagata_gotemplate::{Set, syntax};
use hinagata_jinja::{NameKind, Source, Template, UndefinedMode, ast, check_names};
use hinagata_template::{Language, Options, SourceText, Sources};
use hinagata_value::{Budget, Error, ErrorKind, Functions, Limits, near_names};

use crate::{
    codes::{
        CodeSpec, INJECT_ROLE, INJECT_SYSTEM, LIMIT_RANGE, MESSAGE_ROLE, NAME_ARGUMENTS, NAME_FILTER,
        NAME_FUNCTION, NAME_TEST, SYNTAX_TEMPLATE, TEMPLATE_CYCLE, TEMPLATE_MISSING, TYPE_OPERATION,
        VARIABLE_UNDECLARED,
    },
    finding::Found,
    go::GoWalker,
    jinja::{ChildBlocks, JinjaWalker},
    level::Level,
    probe::{GoProbe, JinjaProbe},
    shape::{Fields, Kinds, Shape},
    text::hidden_text,
};

/// Maximum number of findings about one prompt.
const MAX_FOUND: usize = 1_000;
/// The roles that model providers know.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "model", "tool"];

/// Maximum depth of templates that use each other.
const MAX_DEPTH: usize = 40;
/// Maximum number of templates that one check walks. A template counts each time it is used.
const MAX_WALKS: usize = 2_000;

/// The variables of a prompt.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// What the declarations say about each, and about others.
    pub fields: Fields,
    /// Whether the author declared everything, so that another name is a mistake.
    pub complete: bool,
    /// The names that a caller may use for others, which are declared but not read here.
    pub secrets: BTreeSet<String>,
    /// The tools that templates can call, by function name.
    pub tools: Arc<BTreeMap<String, ToolSpec>>,
    /// The names whose values may come from somebody else, each with the reason.
    pub untrusted: BTreeMap<String, &'static str>,
    /// The role of the message that the template fills, if it is one.
    pub role: Option<&'static str>,
}

/// What is known about a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolSpec {
    /// The JSON Schema of its arguments.
    pub parameters: Option<serde_json::Value>,
    /// Whether a failed call fails the render.
    pub fails: bool,
}

/// What templates use besides variables.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// Finds templates.
    pub sources: &'s dyn Sources,
    /// How they are parsed and behave.
    pub options: &'s Options,
    /// The functions of the host, of which only the signatures are used.
    pub functions: &'s Functions,
}

/// The result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The findings.
    pub found: Vec<Found>,
    /// The variables that the templates read.
    pub used: HashSet<String>,
    /// Whether the templates use variables that the check cannot follow: all of them as one value, or in a template
    /// whose name is computed.
    pub uses_unknown: bool,
    /// The joined names of the templates that were reached, sorted.
    pub templates: BTreeSet<String>,
    /// How many characters every render prints at least.
    pub constant_chars: u64,
}

/// Parsed templates that several checks share.
#[derive(Default)]
pub struct ParseCache(HashMap<String, (SourceText, Arc<Tree>)>);

/// A parsed template.
pub(crate) enum Tree {
    Jinja(ast::Template),
    Go(Vec<syntax::Define>),
    /// It cannot be compiled.
    Broken(Box<Error>),
}

/// Checks the template with the joined name `entry`.
#[must_use]
pub fn check_template(
    entry: &str,
    surroundings: Surroundings<'_>,
    variables: &Variables,
    cache: &mut ParseCache,
) -> Report {
    let mut check = Check::new(surroundings, variables, cache);
    check.walk_entry(entry);
    check.into_report()
}

/// How far a variable that may be missing matters at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Its value is used.
    Value,
    /// It is only tested for truth.
    Condition,
    /// It may be missing: it has a default, or the template asks whether it is defined.
    Optional,
}

pub(crate) struct Check<'c> {
    pub(crate) surroundings: Surroundings<'c>,
    pub(crate) variables: &'c Variables,
    cache: &'c mut ParseCache,
    pub(crate) jinja: JinjaProbe,
    pub(crate) go: GoProbe,
    report: Report,
    seen: HashSet<(&'static str, Box<str>, u32)>,
    /// Places that are not reached are walked, but nothing is reported.
    pub(crate) muted: u32,
    /// The templates that lead here, each with whether a condition is on the way from it.
    stack: Vec<(String, bool)>,
    walks: usize,
    /// The templates that extend the current one, the last of which is the nearest.
    pub(crate) children: Vec<ChildBlocks>,
    /// Whether what is printed is certainly part of a system message.
    pub(crate) in_system: bool,
    /// How many calls of tools were met.
    pub(crate) tool_calls: usize,
}

impl<'c> Check<'c> {
    fn new(surroundings: Surroundings<'c>, variables: &'c Variables, cache: &'c mut ParseCache) -> Self {
        Self {
            surroundings,
            variables,
            cache,
            jinja: JinjaProbe::new(surroundings.options.settings.clone()),
            go: GoProbe::new(&surroundings.options.go, surroundings.functions),
            report: Report::default(),
            seen: HashSet::new(),
            muted: 0,
            stack: Vec::new(),
            walks: 0,
            children: Vec::new(),
            in_system: variables.role.is_some_and(is_system_role),
            tool_calls: 0,
        }
    }

    fn into_report(self) -> Report {
        let mut report = self.report;
        report
            .found
            .sort_by(|a, b| (&a.template, a.span, a.code.code).cmp(&(&b.template, b.span, b.code.code)));
        report
    }

    /// Whether undefined variables are errors.
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.surroundings.options.settings.undefined, UndefinedMode::Error | UndefinedMode::Needed)
    }

    fn walk_entry(&mut self, entry: &str) {
        let Some(parsed) = self.load(entry) else {
            let near = self.near_templates(entry);
            self.report(
                entry,
                (0, 0),
                &TEMPLATE_MISSING,
                format!("template `{entry}` not found"),
                near,
                None,
            );
            return;
        };
        self.check_messages(entry, &parsed);
        self.walk(entry, &parsed, HashMap::new(), false);
    }

    /// Adds text that every render prints.
    pub(crate) fn add_constant_text<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        self.report.constant_chars += texts.map(|text| text.trim().chars().count() as u64).sum::<u64>();
    }

    /// Walks a template with these names besides the variables.
    pub(crate) fn walk(
        &mut self,
        name: &str,
        parsed: &Arc<Tree>,
        scope: HashMap<String, Shape>,
        conditional: bool,
    ) {
        if self.walks >= MAX_WALKS || self.stack.len() >= MAX_DEPTH {
            self.report.uses_unknown = true;
            return;
        }
        self.walks += 1;
        self.stack.push((name.to_owned(), conditional));
        match &**parsed {
            Tree::Jinja(tree) => JinjaWalker::new(self, name, scope, &tree.body).run(&tree.body),
            Tree::Go(defines) => GoWalker::new(self, name, defines).run(scope),
            Tree::Broken(error) => {
                // Which variables it reads is unknown.
                self.report.uses_unknown = true;
                self.report_syntax(name, error);
            }
        }
        self.stack.pop();
    }

    /// Walks a template that is not a parent of the current one.
    pub(crate) fn walk_apart(
        &mut self,
        name: &str,
        parsed: &Arc<Tree>,
        scope: HashMap<String, Shape>,
        conditional: bool,
    ) {
        let children = std::mem::take(&mut self.children);
        self.walk(name, parsed, scope, conditional);
        self.children = children;
    }

    /// Whether the template is being walked. Reports the circle.
    pub(crate) fn is_cycle(&mut self, from: &str, target: &str, span: (u32, u32), conditional: bool) -> bool {
        let Some(at) = self.stack.iter().position(|(name, _)| name == target) else { return false };
        let may_end = conditional || self.stack[at + 1..].iter().any(|(_, conditional)| *conditional);
        let chain: Vec<&str> = self.stack[at..].iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("templates use each other in a circle: {} -> {target}", chain.join(" -> "));
        let level = if may_end { Level::Warning } else { Level::Error };
        self.report_at(level, from, span, &TEMPLATE_CYCLE, message, Vec::new(), None);
        true
    }

    /// The template called `name` in `from`: its joined name and its tree.
    pub(crate) fn find(&mut self, from: &str, name: &str) -> Option<(String, Arc<Tree>)> {
        let joined = match self.surroundings.sources.join(from, name) {
            Ok(joined) => joined.into_owned(),
            Err(_) => name.to_owned(),
        };
        self.load(&joined).map(|parsed| (joined, parsed))
    }

    fn load(&mut self, name: &str) -> Option<Arc<Tree>> {
        let source = match self.surroundings.sources.source(name) {
            Ok(source) => source?,
            Err(_) => return None,
        };
        if self.report.templates.insert(name.to_owned()) {
            for (span, message) in hidden_text(source.text()) {
                self.report(name, span, &crate::codes::TEXT_HIDDEN, message, Vec::new(), None);
            }
        }
        if let Some((known, parsed)) = self.cache.0.get(name)
            && *known == source
        {
            return Some(Arc::clone(parsed));
        }
        let tree = self.parse(name, &source);
        let parsed = Arc::new(tree);
        self.cache.0.insert(name.to_owned(), (source, Arc::clone(&parsed)));
        Some(parsed)
    }

    fn parse(&self, name: &str, source: &SourceText) -> Tree {
        let limits = Limits::default();
        let options = self.surroundings.options;
        let parsed = match source.language() {
            Language::Jinja => parse_jinja(name, source.text(), options, &limits).map(Tree::Jinja),
            Language::Go => {
                let names = self.surroundings.functions.names().chain(["role", "media", "resource"]);
                let mut set = Set::with_names(options.go.clone(), names);
                let budget = Budget::new(limits);
                set.parse(name, source.text(), &budget).map(|()| Tree::Go(set.syntax()))
            }
        };
        parsed.unwrap_or_else(|error| Tree::Broken(Box::new(error)))
    }

    fn report_syntax(&mut self, name: &str, error: &Error) {
        let code = match (error.message(), error.kind()) {
            (message, _) if message.starts_with("no filter named") => &NAME_FILTER,
            (message, _) if message.starts_with("no test named") => &NAME_TEST,
            (message, ErrorKind::Syntax)
                if message.contains(" not defined") && message.contains("function ") =>
            {
                &NAME_FUNCTION
            }
            _ => &SYNTAX_TEMPLATE,
        };
        let known = error.place().and_then(|place| place.span);
        let span = known.unwrap_or_else(|| {
            let line = error.place().map_or(1, |place| place.line);
            self.source_text(name).map_or((0, 0), |source| line_span(source.text(), line))
        });
        let help = error.hint().map(str::to_owned);
        self.report(name, span, code, go_message(error.message()), error.near().to_vec(), help);
    }

    /// Reports a template that does not exist.
    pub(crate) fn report_missing(&mut self, from: &str, name: &str, span: (u32, u32)) {
        let near = self.near_templates(name);
        self.report(from, span, &TEMPLATE_MISSING, format!("template `{name}` not found"), near, None);
    }

    fn near_templates(&self, name: &str) -> Vec<String> {
        near_names(name, self.surroundings.sources.names().iter().map(String::as_str))
    }

    /// Reports an operation that fails.
    pub(crate) fn report_failure(&mut self, from: &str, span: (u32, u32), error: &Error) {
        let message = go_message(error.message());
        let code = match error.kind() {
            ErrorKind::Limit => &LIMIT_RANGE,
            _ if message.starts_with("no filter named") => &NAME_FILTER,
            _ if message.starts_with("no test named") => &NAME_TEST,
            _ if is_about_arguments(&message) => &NAME_ARGUMENTS,
            _ => &TYPE_OPERATION,
        };
        let span = error.place().and_then(|place| place.span).filter(|_| from_tree(error)).unwrap_or(span);
        let help = error.hint().map(str::to_owned);
        self.report(from, span, code, message, error.near().to_vec(), help);
    }

    pub(crate) fn report(
        &mut self,
        template: &str,
        span: (u32, u32),
        code: &'static CodeSpec,
        message: String,
        near: Vec<String>,
        help: Option<String>,
    ) {
        self.report_at(code.level, template, span, code, message, near, help);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a finding")]
    pub(crate) fn report_at(
        &mut self,
        level: Level,
        template: &str,
        span: (u32, u32),
        code: &'static CodeSpec,
        message: String,
        near: Vec<String>,
        help: Option<String>,
    ) {
        if self.muted > 0 || self.report.found.len() >= MAX_FOUND {
            return;
        }
        if self.seen.insert((code.code, template.into(), span.0)) {
            let template = template.into();
            self.report.found.push(Found { code, level, template, span, message, near, help });
        }
    }

    pub(crate) fn set_uses_unknown(&mut self) {
        self.report.uses_unknown = true;
    }

    /// The shape of the variable `name`; reports an undeclared one.
    pub(crate) fn variable(&mut self, from: &str, name: &str, span: (u32, u32), need: Need) -> Shape {
        self.report.used.insert(name.to_owned());
        let variables = self.variables;
        if let Some(field) = variables.fields.known.get(name) {
            return match field.required {
                true => field.shape.clone(),
                false => field.shape.join(&Shape::UNDEFINED),
            };
        }
        if variables.complete {
            let known = variables.fields.known.keys().map(String::as_str);
            let near = match need {
                Need::Optional => hinagata_value::close_names(name, known),
                Need::Value | Need::Condition => near_names(name, known),
            };
            if need != Need::Optional || !near.is_empty() {
                let level =
                    if need == Need::Value && self.is_strict() { Level::Error } else { Level::Warning };
                let message = format!("variable `{name}` is not declared");
                self.report_at(level, from, span, &VARIABLE_UNDECLARED, message, near, None);
            }
        }
        match &variables.fields.rest {
            Some(rest) => rest.clone(),
            None => Shape::UNDEFINED,
        }
    }

    /// The text of a template that was loaded.
    pub(crate) fn source_text(&self, name: &str) -> Option<SourceText> {
        self.cache.0.get(name).map(|(source, _)| source.clone())
    }

    /// Reports data in a system message that may come from somebody else.
    pub(crate) fn check_system_text(
        &mut self,
        from: &str,
        span: (u32, u32),
        name: Option<&str>,
        of_tool: bool,
    ) {
        if !self.in_system {
            return;
        }
        let reason = name.and_then(|name| Some((name, self.variables.untrusted.get(name)?)));
        let message = match reason {
            Some((name, reason)) => format!("`{name}` {reason}, and a system message prints it"),
            None if of_tool => "a system message prints the answer of a tool".to_owned(),
            None => return,
        };
        let help = "print it in a message of the user".to_owned();
        self.report(from, span, &INJECT_SYSTEM, message, Vec::new(), Some(help));
    }

    /// Reports a role that no model provider knows, and one that data chooses.
    pub(crate) fn check_role(&mut self, from: &str, span: (u32, u32), shape: &Shape) {
        self.in_system = shape.only_value().and_then(serde_json::Value::as_str).is_some_and(is_system_role);
        let unknown = shape.values.iter().flat_map(|values| values.iter());
        let unknown: Vec<&str> =
            unknown.filter_map(serde_json::Value::as_str).filter(|role| !ROLES.contains(role)).collect();
        if let Some(role) = unknown.first() {
            let near = near_names(role, ROLES);
            self.report(from, span, &MESSAGE_ROLE, format!("unknown role `{role}`"), near, None);
        } else if shape.kinds == Kinds::STRING && shape.declared && shape.values.is_none() {
            let message = "a parameter without a list of values chooses the role".to_owned();
            let help = "declare its values with `enum`".to_owned();
            self.report(from, span, &INJECT_ROLE, message, Vec::new(), Some(help));
        }
    }

    /// All variables as one value.
    pub(crate) fn all_variables(&self) -> Shape {
        Shape::map_of(self.variables.fields.clone())
    }
}

/// Whether models follow messages of this role more than those of users.
fn is_system_role(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

fn parse_jinja(
    name: &str,
    text: &str,
    options: &Options,
    limits: &Limits,
) -> hinagata_value::Result<ast::Template> {
    let tree = hinagata_jinja::parse(name, text, &options.jinja, &Budget::new(limits.clone()))?;
    let all_known = |_: NameKind, name: &str| builtin_exists(name);
    if check_names(&tree, &all_known).is_some() {
        // Compiling reports it with its place and similar names.
        Template::compile_tree(tree.clone(), Source::new(name, text), limits)?;
    }
    Template::compile_tree(tree.clone(), Source::new(name, text), limits)?;
    Ok(tree)
}

fn builtin_exists(name: &str) -> bool {
    hinagata_jinja::builtin_names().any(|(kind, known)| matches!(kind, "filter" | "test") && known == name)
}

/// Whether the place of an error is one of the checked template: probes that are written as text have their own.
fn from_tree(error: &Error) -> bool {
    error.place().is_some_and(|place| place.template.is_empty())
}

/// The message without what Go puts before it.
pub(crate) fn go_message(message: &str) -> String {
    let Some(rest) = message.strip_prefix("template: ") else { return message.to_owned() };
    match rest.split_once(">: ") {
        Some((_, inner)) => inner.to_owned(),
        None => rest.splitn(3, ':').last().unwrap_or(rest).trim_start().to_owned(),
    }
}

/// Whether the message of an error is about the number or the names of arguments.
pub(crate) fn is_about_arguments(message: &str) -> bool {
    let texts = [
        "takes at most",
        "takes no arguments",
        "needs at least",
        "needs its argument",
        "got its argument",
        "has no argument called",
        "takes its arguments by name",
        "wrong number of args",
        "more than once",
        "arguments, but",
        "no such argument",
        "unexpected argument",
    ];
    texts.iter().any(|text| message.contains(text))
}

/// The bytes of a line without the space around its text.
fn line_span(text: &str, line: u32) -> (u32, u32) {
    let before = text.split_inclusive('\n').take(line.max(1) as usize - 1).map(str::len).sum::<usize>();
    let rest = text.get(before..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let start = before + rest.len() - rest.trim_start().len();
    (start as u32, (start + rest.trim().len()) as u32)
}

/// The kinds of a shape in words, without what cannot be.
pub(crate) fn noun(shape: &Shape) -> Cow<'static, str> {
    let kinds = shape.kinds.and(Kinds::JSON);
    if kinds == Kinds::JSON { Cow::Borrowed("any value") } else { Cow::Owned(kinds.to_noun()) }
}

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
    builtins::has_builtin,
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
    tolerant::{Parsed, go_message, parse_tolerant},
};

/// Maximum number of findings about one prompt.
const MAX_FOUND: usize = 1_000;
/// The roles that model providers know.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "model", "tool"];

/// Maximum number of operations that are remembered.
const MAX_SOUND: usize = 10_000;
/// Templates of more bytes are compiled to see whether they exceed a limit.
const LARGE: usize = 1 << 16;
/// An integer of so many digits does not fit.
const LONG_NUMBER: usize = 30;

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
    /// The text that every render prints, without the white space around its parts.
    pub constant_text: String,
    /// The types of pictures and sounds that the templates name.
    pub media: BTreeSet<String>,
}

/// Parsed templates that several checks share, and what the engines said about operations.
#[derive(Default)]
pub struct ParseCache {
    trees: HashMap<String, (SourceText, Arc<Tree>)>,
    /// Operations that do not fail for every value of the shapes of their operands.
    sound: HashSet<String>,
}

/// A parsed template.
pub(crate) enum Tree {
    Jinja(ast::Template),
    Go(Vec<syntax::Define>),
    Broken(Box<BrokenTree>),
}

/// A template that cannot be compiled.
pub(crate) struct BrokenTree {
    /// Why.
    errors: Vec<Arc<Error>>,
    /// The template without what cannot be read.
    rest: Option<Tree>,
    /// Whether everything can be read.
    is_complete: bool,
}

impl Tree {
    /// What can be read of it.
    pub(crate) fn readable(&self) -> Option<&Self> {
        match self {
            Self::Jinja(_) | Self::Go(_) => Some(self),
            Self::Broken(broken) => broken.rest.as_ref(),
        }
    }

    /// Whether everything can be read.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Jinja(_) | Self::Go(_) => true,
            Self::Broken(broken) => broken.is_complete,
        }
    }
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
    let report = check.into_report();
    // What a prompt renders is rarely used by another one, and the trees of all prompts would take much memory.
    cache.trees.remove(entry);
    report
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
    /// How many templates around the place have parts that cannot be read, so that every name may have any value.
    partial: u32,
    /// The templates that lead here, each with whether a condition is on the way from it.
    stack: Vec<(String, bool)>,
    walks: usize,
    /// The templates that extend the current one, the last of which is the nearest.
    pub(crate) children: Vec<ChildBlocks>,
    /// Whether what is printed is certainly part of a system message.
    pub(crate) in_system: bool,
    /// How many calls of tools were met.
    pub(crate) tool_calls: usize,
    /// The settings of the engine, as the start of keys.
    settings_key: String,
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
            partial: 0,
            stack: Vec::new(),
            walks: 0,
            children: Vec::new(),
            in_system: variables.role.is_some_and(is_system_role),
            tool_calls: 0,
            settings_key: settings_key(surroundings.options),
        }
    }

    fn into_report(self) -> Report {
        let mut report = self.report;
        report
            .found
            .sort_by(|a, b| (&a.template, a.span, a.code.code).cmp(&(&b.template, b.span, b.code.code)));
        report
    }

    /// Whether an operation with operands of such shapes is known not to fail with all values. Operations without a name
    /// are not remembered.
    pub(crate) fn is_known_sound(&self, operation: &str, operands: &[Shape]) -> bool {
        let key = self.sound_key(operation, operands);
        key.is_some_and(|key| self.cache.sound.contains(&key))
    }

    /// Remembers an operation that does not fail with all values.
    pub(crate) fn remember_sound(&mut self, operation: &str, operands: &[Shape]) {
        if let Some(key) = self.sound_key(operation, operands)
            && self.cache.sound.len() < MAX_SOUND
        {
            self.cache.sound.insert(key);
        }
    }

    /// What decides whether an operation fails: the settings of the engine, its name, and the samples of its operands.
    /// Operands with known values are not remembered.
    fn sound_key(&self, operation: &str, operands: &[Shape]) -> Option<String> {
        if operation.is_empty() || operands.iter().any(|operand| operand.values.is_some()) {
            return None;
        }
        let mut key = String::with_capacity(self.settings_key.len() + operation.len() + 2 * operands.len());
        key.push_str(&self.settings_key);
        key.push_str(operation);
        key.push('\n');
        for operand in operands {
            key.extend(operand.kinds.to_chars());
        }
        Some(key)
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
        texts.for_each(|text| self.report.constant_text.push_str(text.trim()));
    }

    /// Adds the type of a picture or sound that a template names.
    pub(crate) fn add_media(&mut self, kind: &Shape) {
        if let Some(kind) = kind.only_value().and_then(serde_json::Value::as_str)
            && self.muted == 0
        {
            self.report.media.insert(kind.to_owned());
        }
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
        self.walk_tree(name, parsed, scope);
        self.stack.pop();
    }

    fn walk_tree(&mut self, name: &str, tree: &Tree, scope: HashMap<String, Shape>) {
        match tree {
            Tree::Jinja(tree) => JinjaWalker::new(self, name, scope, &tree.body).run(&tree.body),
            Tree::Go(defines) => GoWalker::new(self, name, defines).run(scope),
            Tree::Broken(broken) => {
                for error in &broken.errors {
                    self.report_syntax(name, error);
                }
                let is_partial = !broken.is_complete;
                // Which variables it reads is unknown.
                self.report.uses_unknown |= is_partial;
                self.partial += u32::from(is_partial);
                if let Some(rest) = &broken.rest {
                    self.walk_tree(name, rest, scope);
                }
                self.partial -= u32::from(is_partial);
            }
        }
    }

    /// Whether a template around the place has parts that cannot be read.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial > 0
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
        if let Some((known, parsed)) = self.cache.trees.get(name)
            && *known == source
        {
            return Some(Arc::clone(parsed));
        }
        let tree = self.parse(name, &source);
        let parsed = Arc::new(tree);
        self.cache.trees.insert(name.to_owned(), (source, Arc::clone(&parsed)));
        Some(parsed)
    }

    fn parse(&self, name: &str, source: &SourceText) -> Tree {
        let (text, options, limits) = (source.text(), self.surroundings.options, Limits::default());
        let parsed = match source.language() {
            Language::Jinja => parse_jinja(name, text, options, &limits),
            Language::Go => {
                let names = self.surroundings.functions.names().chain(["role", "media", "resource"]);
                let mut set = Set::with_names(options.go.clone(), names);
                let budget = Budget::new(limits.clone());
                set.parse(name, text, &budget).map(|()| Tree::Go(set.syntax()))
            }
        };
        parsed.unwrap_or_else(|error| {
            let tolerant = parse_tolerant(source.language(), name, text, options, &limits);
            // What else cannot be read may follow from the first mistake, but for names.
            let later = tolerant.broken.into_iter().skip(1).map(|tag| tag.error);
            let errors = std::iter::once(Arc::new(error));
            let errors = errors.chain(later.filter(|error| is_unknown_function(error))).collect();
            let rest = tolerant.parsed.map(|parsed| match parsed {
                Parsed::Jinja(tree) => Tree::Jinja(tree),
                Parsed::Go(defines) => Tree::Go(defines),
            });
            Tree::Broken(Box::new(BrokenTree { errors, rest, is_complete: false }))
        })
    }

    fn report_syntax(&mut self, name: &str, error: &Error) {
        let code = match error.message() {
            message if message.starts_with("no filter named") => &NAME_FILTER,
            message if message.starts_with("no test named") => &NAME_TEST,
            _ if is_unknown_function(error) => &NAME_FUNCTION,
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
        // What a part that cannot be read declares, binds or prints is missing.
        let is_doubtful = self.is_partial()
            && (level != Level::Error || matches!(code.group(), "variable" | "block" | "message"));
        if self.muted > 0 || is_doubtful || self.report.found.len() >= MAX_FOUND {
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
        if self.is_partial() {
            return Shape::ANY;
        }
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
        self.cache.trees.get(name).map(|(source, _)| source.clone())
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

fn settings_key(options: &Options) -> String {
    let settings = &options.settings;
    let flags = [settings.autoescape, settings.immutable, settings.chat_host].map(u8::from);
    format!("{:?}{flags:?}", settings.undefined)
}

/// Whether models follow messages of this role more than those of users.
fn is_system_role(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

fn parse_jinja(name: &str, text: &str, options: &Options, limits: &Limits) -> hinagata_value::Result<Tree> {
    let tree = hinagata_jinja::parse(name, text, &options.jinja, &Budget::new(limits.clone()))?;
    let is_known = |kind: NameKind, name: &str| match kind {
        NameKind::Filter => has_builtin("filter", name),
        NameKind::Test => has_builtin("test", name),
    };
    // Nothing else fails when a parsed template is compiled.
    let may_fail = check_names(&tree, &is_known).is_some() || text.len() > LARGE || has_long_number(text);
    if !may_fail {
        return Ok(Tree::Jinja(tree));
    }
    Ok(match Template::compile_tree(tree.clone(), Source::new(name, text), limits) {
        Ok(_) => Tree::Jinja(tree),
        Err(error) => {
            let rest = Some(Tree::Jinja(tree));
            Tree::Broken(Box::new(BrokenTree { errors: vec![error.into()], rest, is_complete: true }))
        }
    })
}

/// Whether a text has a number that may be too large for the engine.
fn has_long_number(text: &str) -> bool {
    let mut digits = 0;
    text.bytes().any(|byte| {
        digits = if byte.is_ascii_digit() || byte == b'_' { digits + 1 } else { 0 };
        digits >= LONG_NUMBER
    })
}

/// Whether the error is about a function that Go's parser does not know.
fn is_unknown_function(error: &Error) -> bool {
    let message = error.message();
    error.kind() == ErrorKind::Syntax && message.contains(" not defined") && message.contains("function ")
}

/// Whether the place of an error is one of the checked template: probes that are written as text have their own.
fn from_tree(error: &Error) -> bool {
    error.place().is_some_and(|place| place.template.is_empty())
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

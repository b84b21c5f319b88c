//! Reads the section `context` and resources.

use std::path::{Path, PathBuf};

use crate::{
    profile::Profile,
    shape::{Section, Shape},
};
use hinagata::{
    Result, Settings,
    settings::{ConfiguredModel, read_secret_policy},
};
use hinagata_context::{
    ContextOptions, Encoding, FileKind, Frame, KindRule, KindRules, Resource, ResourceKind, Rules,
    SecretAction, SecretPolicy, Sections, TemplateFile, TemplateOptions, TextEncoding, TextForm, leads_out,
};
use hinagata_value::ValueType;

/// The value of a limit that does not exist.
pub(crate) const NO_LIMIT: &str = "-";

/// The commits that `includeLogs = true` lists.
const USUAL_COMMITS: usize = 50;

/// Reads the options of a context.
pub(crate) fn read_context(
    section: &Section<'_>,
    directory: &Path,
    profile: Profile,
    shape: &mut Shape,
) -> ContextOptions {
    let base =
        section.text("baseDir", shape).map_or_else(|| directory.to_owned(), |base| directory.join(base));
    let usual = if profile.is_compat() { ContextOptions::compat(base) } else { ContextOptions::new(base) };
    let mut options = ContextOptions { wall: Some(directory.to_owned()), ..usual };
    options.include = section.text_list("include", shape);
    options.exclude = section.text_list("exclude", shape);
    options.max_files = read_limit(section, "maxFiles", shape).or(options.max_files);
    options.max_bytes = section.count("maxBytes", shape).or(options.max_bytes);
    options.tokens.model = section.text("model", shape);
    options.tokens.max = match section.get("maxTokens") {
        Some(none) if none == NO_LIMIT => None,
        _ => read_limit(section, "maxTokens", shape).or(options.tokens.max),
    };
    options.focus = section.text_list("focus", shape);
    options.priorities = read_priorities(section, shape);
    options.variables = section.variables("variables", shape);
    options.resources = read_resources(section, shape);
    options.rules = read_rules(section, profile, shape);
    options.kinds = read_kinds(section, shape);
    options.encoding = read_text_encoding(section, shape);
    options.frame = read_frame(section, shape);
    options.form = read_form(section, shape);
    options.sections = read_sections(section, shape);
    options.templates =
        TemplateOptions { keep_trailing_newline: profile.is_compat(), ..TemplateOptions::default() };
    section.finish(shape);
    options
}

/// Counts the tokens of the context for the model `name`: a model of the settings, an alias, or a name at a provider.
///
/// # Errors
/// Code `definition`, reason `settings`, if the settings of the model are invalid.
pub fn choose_model(
    options: &mut ContextOptions,
    settings: &Settings,
    root: &Path,
    name: &str,
) -> Result<()> {
    let ConfiguredModel { model, tokenizer, .. } = ConfiguredModel::from_settings(settings, root, name)?;
    options.tokens.model = Some(model);
    options.tokens.tokenizer = tokenizer;
    Ok(())
}

fn read_rules(section: &Section<'_>, profile: Profile, shape: &mut Shape) -> Rules {
    let usual = profile.rules();
    let mut rule = |key: &str, usual: bool| section.flag(key, shape).map_or(usual, |include| !include);
    Rules {
        ignore_files: rule("includeIgnored", usual.ignore_files),
        secrets: rule("includeSecrets", usual.secrets),
        builtin: rule("includeGenerated", usual.builtin),
        outside: usual.outside,
        strict: usual.strict,
    }
}

/// A limit.
fn read_limit(section: &Section<'_>, key: &str, shape: &mut Shape) -> Option<usize> {
    section.count(key, shape).map(|most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// The rules for kinds of files.
fn read_kinds(section: &Section<'_>, shape: &mut Shape) -> KindRules {
    let kinds = section.section("kinds", shape);
    let mut rules = KindRules::default();
    for kind in FileKind::ALL {
        let Some(name) = kinds.text(kind.as_str(), shape) else { continue };
        match KindRule::from_name(&name) {
            Some(rule) => rules.set_rule(kind, rule),
            None => shape.add_problem(
                kinds.field_path(kind.as_str()),
                format!("must be take, last or omit, not `{name}`"),
            ),
        }
    }
    kinds.finish(shape);
    rules
}

fn read_text_encoding(section: &Section<'_>, shape: &mut Shape) -> Option<TextEncoding> {
    let name = section.text("encoding", shape)?;
    let encoding = TextEncoding::from_name(&name);
    if encoding.is_none() {
        let message = format!("is an unknown encoding, `{name}`; use a name such as shift_jis or latin1");
        shape.add_problem(section.field_path("encoding"), message);
    }
    encoding
}

fn read_form(section: &Section<'_>, shape: &mut Shape) -> TextForm {
    let mut flag = |key: &str| section.flag(key, shape).unwrap_or_default();
    TextForm {
        line_numbers: flag("lineNumbers"),
        remove_empty_lines: flag("removeEmptyLines"),
        truncate_base64: flag("truncateBase64"),
        compress: flag("compress"),
    }
}

fn read_sections(section: &Section<'_>, shape: &mut Shape) -> Sections {
    Sections {
        tree: section.flag("tree", shape),
        header: section.text("headerText", shape),
        instruction: section.text("instructionFile", shape),
        diffs: section.flag("includeDiffs", shape).unwrap_or_default(),
        logs: read_logs(section, shape),
        diff: section.text("diff", shape),
    }
}

/// The number of commits: a count, or `true` for the usual one.
fn read_logs(section: &Section<'_>, shape: &mut Shape) -> Option<usize> {
    match section.get("includeLogs")?.as_bool() {
        Some(is_on) => is_on.then_some(USUAL_COMMITS),
        None => read_limit(section, "includeLogs", shape),
    }
}

/// Reads the rules for secrets, and what is done with those that they find.
pub(crate) fn read_secrets(section: &Section<'_>, profile: Profile, shape: &mut Shape) -> SecretPolicy {
    let action = match section.text("secrets", shape).as_deref() {
        None | Some("redact") => SecretAction::Redact,
        Some("omit") => SecretAction::Omit,
        Some(other) => {
            shape
                .add_problem(section.field_path("secrets"), format!("must be redact or omit, not `{other}`"));
            SecretAction::Redact
        }
    };
    let action = match section.flag("includeSecrets", shape) {
        Some(true) => SecretAction::Include,
        _ => action,
    };
    let (rules, allowed) = (section.get("secretRules"), section.get("secretAllow"));
    if allowed.is_some() && !profile.is_trusted() {
        shape.add_problem(section.field_path("secretAllow"), "needs a workspace that you trust");
    }
    let policy = read_secret_policy(rules, allowed, profile.is_trusted());
    let policy = policy.unwrap_or_else(|(is_exception, (within, message))| {
        let key = if is_exception { "secretAllow" } else { "secretRules" };
        shape.add_problem(format!("{}{within}", section.field_path(key)), message);
        SecretPolicy::default()
    });
    policy.with_action(action)
}

/// Marks the fields of [`read_secrets`] as known; the settings have read them.
pub(crate) fn skip_secrets(section: &Section<'_>) {
    for key in ["secrets", "secretRules", "secretAllow"] {
        section.get(key);
    }
}

fn read_frame(section: &Section<'_>, shape: &mut Shape) -> Frame {
    let Some(name) = section.text("format", shape) else { return Frame::default() };
    Frame::from_name(&name).unwrap_or_else(|| {
        shape.add_problem(
            section.field_path("format"),
            format!("must be plain, markdown, xml or json, not `{name}`"),
        );
        Frame::default()
    })
}

/// Reads an object of patterns and numbers.
fn read_priorities(section: &Section<'_>, shape: &mut Shape) -> Vec<(String, f64)> {
    let mut priorities = Vec::new();
    for (pattern, value) in section.variables("priorities", shape) {
        match value.as_f64() {
            Some(priority) => priorities.push((pattern, priority)),
            None => shape.add_problem(
                format!("{}.{pattern}", section.field_path("priorities")),
                format!("must be {}", ValueType::Number.noun()),
            ),
        }
    }
    priorities
}

/// The resources of a section.
pub(crate) fn read_resources(section: &Section<'_>, shape: &mut Shape) -> Vec<Resource> {
    let sections = section.sections("resources", shape);
    sections.iter().filter_map(|section| read_resource(section, shape)).collect()
}

fn read_resource(section: &Section<'_>, shape: &mut Shape) -> Option<Resource> {
    if !section.is_present() {
        return None;
    }
    let kind = section.text("type", shape);
    let bundle = kind.as_deref() == Some("bundle");
    if !bundle && kind.as_deref() != Some("template") {
        shape.add_problem(section.field_path("type"), "must be `bundle` or `template`");
        return None;
    }
    let id = section.required_text("id", shape);
    let (name, description) = (section.text("name", shape), section.text("description", shape));
    let kind = if bundle { read_bundle(section, shape) } else { read_template_resource(section, shape) };
    section.finish(shape);
    Some(Resource { id, name, description, kind })
}

fn read_bundle(section: &Section<'_>, shape: &mut Shape) -> ResourceKind {
    if section.get("include").is_none() {
        shape.add_problem(section.field_path("include"), "is missing");
    }
    ResourceKind::Bundle {
        include: section.text_list("include", shape),
        exclude: section.text_list("exclude", shape),
        base: section.text("baseDir", shape).map(PathBuf::from),
        virtual_path: section.text("virtualPath", shape),
    }
}

fn read_template_resource(section: &Section<'_>, shape: &mut Shape) -> ResourceKind {
    let template = section.section("template", shape);
    let variables = section.variables("variables", shape);
    ResourceKind::Template { template: read_template_file(&template, shape), variables }
}

/// A template in a file.
pub(crate) fn read_template_file(section: &Section<'_>, shape: &mut Shape) -> TemplateFile {
    let file = TemplateFile {
        file: section.required_text("file", shape),
        base: section.text("baseDir", shape).map(PathBuf::from),
        variables: section.variables("variables", shape),
        encoding: read_encoding(section, shape),
    };
    section.finish(shape);
    file
}

fn read_encoding(section: &Section<'_>, shape: &mut Shape) -> Encoding {
    let Some(name) = section.text("encoding", shape) else { return Encoding::default() };
    Encoding::from_name(&name).unwrap_or_else(|| {
        shape.add_problem(
            section.field_path("encoding"),
            format!("must be utf-8, latin1 or utf16le, not `{name}`"),
        );
        Encoding::default()
    })
}

/// The first path of a configuration that leads out of its directory.
pub(crate) fn first_path_outside(options: &ContextOptions, directory: &Path) -> Option<String> {
    // An absolute path may still be inside the directory.
    let leads_out = |path: &str| {
        let inner = Path::new(path).strip_prefix(directory).ok().and_then(Path::to_str);
        leads_out(inner.unwrap_or(path))
    };
    let of_path = |path: &Path| path.to_string_lossy().into_owned();
    let mut paths: Vec<String> = options.include.clone();
    let climbs = options.base.components().any(|part| part == std::path::Component::ParentDir);
    if climbs || !options.base.starts_with(directory) {
        return Some(of_path(&options.base));
    }
    paths.extend(options.sections.instruction.clone());
    for resource in &options.resources {
        match &resource.kind {
            ResourceKind::Bundle { include, base, .. } => {
                paths.extend(include.iter().cloned().chain(base.as_deref().map(of_path)));
            }
            ResourceKind::Template { template, .. } => paths.extend(template_paths(template)),
        }
    }
    paths.into_iter().find(|path| leads_out(path))
}

/// The paths in the source of a template.
pub(crate) fn template_paths(template: &TemplateFile) -> Vec<String> {
    let base = template.base.as_ref().map(|base| base.to_string_lossy().into_owned());
    [Some(template.file.clone()), base].into_iter().flatten().collect()
}

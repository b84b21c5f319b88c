//! Configurations of projects, checked and with their defaults.

use std::path::{Path, PathBuf};

use hinagata::{
    Code, Diagnostic, Error, Hint, Place, Reason, Result, Settings,
    settings::{Origin, place_in_config, read_config, snake_case},
};
use hinagata_context::{ContextOptions, Guard, SecretPolicy};
use hinagata_value::near_names;
use serde_json::{Map, Value, json};

use crate::{
    agent::{Agent, PromptSource},
    context::{
        NO_LIMIT, choose_model, first_path_outside, read_context, read_secrets, skip_secrets, template_paths,
    },
    profile::{COMPAT, Profile},
    shape::{Locate, Section, Shape, camel_case},
};

/// The newest supported version of configurations.
pub const VERSION: u64 = 1;

/// The sections of a project.
const SECTIONS: [&str; 2] = ["context", "agents"];

/// The other settings of a project.
const OWN: [&str; 4] = ["compat", "project_dir", "system_prompt", "version"];

/// The default id of the manager.
const MANAGER: &str = "manager";

/// A project: its context and its agents.
#[derive(Clone, Debug)]
pub struct Project {
    /// The directory that paths start at.
    pub directory: PathBuf,
    /// The profile: whether the text of a call is a template, and the rules.
    pub profile: Profile,
    /// The default system prompt of agents.
    pub system_prompt: String,
    /// The options of the context.
    pub context: ContextOptions,
    /// The agents.
    pub agents: Agents,
    /// Warnings about unknown keys in `context` and `agents`.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings of the settings about these sections; opening a workspace prints them.
    pub(crate) settings_diagnostics: Vec<Diagnostic>,
    /// The unparsed section `context`.
    written: Map<String, Value>,
}

/// The agents of a project.
#[derive(Clone, Debug)]
pub struct Agents {
    /// The mode, unparsed.
    pub mode: String,
    /// Whether the manager may call other agents.
    pub enable_subagents: bool,
    /// The default agent.
    pub manager: Agent,
    /// The agents that the manager may call.
    pub subagents: Vec<Agent>,
}

impl Project {
    /// Reads a configuration; its paths start at `directory`, unless it sets another one.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`: a newer version, or all invalid fields in `paths`.
    pub fn read(config: &Value, directory: &Path, profile: Profile) -> Result<Self> {
        Self::read_located(config, directory, profile, None, &|_| None)
    }

    /// Reads a configuration; `secrets` are the rules for secrets if others have read them.
    fn read_located(
        config: &Value,
        directory: &Path,
        profile: Profile,
        secrets: Option<SecretPolicy>,
        locate: &Locate<'_>,
    ) -> Result<Self> {
        let mut shape = Shape::default();
        let root = Section::root(config, &mut shape);
        check_version(&root).map_err(|error| locate("version").into_iter().fold(error, Error::at))?;
        let named = root.text("projectDir", &mut shape);
        let directory = named.map_or_else(|| directory.to_owned(), |named| directory.join(named));
        let compat = root.text("compat", &mut shape);
        if let Some(name) = compat.as_deref().filter(|name| *name != COMPAT) {
            shape.add_problem("compat", format!("cannot be `{name}`; use {COMPAT}"));
        }
        let profile = profile.with_compat(compat.as_deref());
        let system_prompt = root.text("systemPrompt", &mut shape).unwrap_or_default();
        let section = root.section("context", &mut shape);
        let secrets = match secrets {
            Some(secrets) => {
                skip_secrets(&section);
                secrets
            }
            None => read_secrets(&section, profile, &mut shape),
        };
        let mut context = read_context(&section, &directory, profile, &mut shape);
        context.secrets = secrets;
        let agents = Agents::from_section(&root.section("agents", &mut shape), &system_prompt, &mut shape);
        let written = root.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
        let diagnostics = shape.finish(locate)?;
        Ok(Self {
            directory,
            profile,
            system_prompt,
            context,
            agents,
            diagnostics,
            settings_diagnostics: Vec::new(),
            written,
        })
    }

    /// Reads the configuration at `path`, including the files that it extends.
    ///
    /// # Errors
    /// Code `definition`: reason `syntax` with the place of a syntax error, else as [`Project::read`].
    pub fn load(path: &Path, profile: Profile) -> Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let config = read_config(path, profile.merging())?;
        Self::read_located(&config, directory, profile, None, &|setting| place_in_config(path, setting))
    }

    /// The project in the settings of the workspace at `root`.
    ///
    /// # Errors
    /// As [`Project::read`]; code `approval` if an untrusted workspace refers to files outside of it.
    pub fn from_settings(settings: &Settings, root: &Path, trusted: bool) -> Result<Self> {
        let locate = |setting: &str| place_in_settings(settings, root, setting);
        let profile = Profile::from_settings(settings, trusted);
        let secrets = Some(settings.secret_policy(trusted));
        let mut project =
            Self::read_located(&config_from_settings(settings), root, profile, secrets, &locate)?;
        project.context.templates.limits = settings.limits();
        let usual = settings.get("llm.model").and_then(|found| found.value.as_str()).map(str::to_owned);
        if let Some(name) = project.context.tokens.model.clone().or(usual) {
            choose_model(&mut project.context, settings, root, &name)?;
        }
        project.settings_diagnostics =
            settings.diagnostics().iter().filter(|found| is_about_project(found)).cloned().collect();
        if trusted {
            return Ok(project);
        }
        if let Some(path) = project.first_path_outside(root) {
            let message = format!("`{path}` is outside of this workspace, which you do not trust");
            return Err(untrusted_error(message).with("path", path));
        }
        Ok(project)
    }

    /// The guard for the files of one output.
    #[must_use]
    pub fn guard(&self) -> Guard {
        self.context.guard()
    }

    /// The agent with this id, or the manager; `catalog` has the agents with an `agent.json`.
    ///
    /// # Errors
    /// Code `not_found` with similar names.
    pub fn agent(&self, id: Option<&str>, catalog: Option<&hinagata::Catalog>) -> Result<Agent> {
        let Some(id) = id else { return Ok(self.agents.manager.clone()) };
        if let Some(agent) = self.agents.iter().find(|agent| agent.id == id) {
            return Ok(agent.clone());
        }
        if let Some(agent) = catalog.map(|catalog| catalog.agent(id)).transpose()?.flatten() {
            return Ok(agent.into());
        }
        let names: Vec<&str> = self.agents.iter().map(|agent| agent.id.as_str()).collect();
        Err(Error::new(Code::NotFound, format!("unknown agent `{id}`"))
            .with_reason(Reason::Agent)
            .with("agent", id)
            .with_near(near_names(id, names.iter().copied()))
            .with_hint(Hint::ListAgents))
    }

    /// The first path that leads out of `root`.
    #[must_use]
    pub fn first_path_outside(&self, root: &Path) -> Option<String> {
        let mut all = self.context.clone();
        for agent in self.agents.iter() {
            all.resources.extend(agent.resources.iter().cloned());
            for source in [&agent.system, &agent.user].into_iter().flatten() {
                if let PromptSource::File(file) = source {
                    all.include.extend(template_paths(file));
                }
            }
        }
        first_path_outside(&all, root)
    }

    /// The configuration with its defaults, as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut context = Map::new();
        for (key, value) in &self.written {
            context.insert(camel_case(key), value.clone());
        }
        context.insert("baseDir".to_owned(), self.context.base.to_string_lossy().into());
        json!({
            "version": VERSION,
            "projectDir": self.directory.to_string_lossy(),
            "systemPrompt": self.system_prompt,
            "context": context,
            "agents": {
                "mode": self.agents.mode,
                "enableSubagents": self.agents.enable_subagents,
                "manager": self.agent_value(&self.agents.manager),
                "subagents": self.agents.subagents.iter().map(|agent| self.agent_value(agent)).collect::<Vec<_>>(),
            },
        })
    }

    fn agent_value(&self, agent: &Agent) -> Value {
        let mut value = json!({"id": agent.id, "prompt": agent.prompt, "variables": agent.variables});
        let fields = [
            ("name", agent.name.as_deref().map(Value::from)),
            ("description", agent.description.as_deref().map(Value::from)),
            ("model", agent.model.as_deref().map(Value::from)),
            ("tools", agent.tools.as_deref().map(Value::from)),
            ("promptTemplate", agent.system.as_ref().map(|source| source.to_value(&self.directory))),
            ("defaultUserPromptTemplate", agent.user.as_ref().map(|source| source.to_value(&self.directory))),
        ];
        for (key, field) in fields {
            if let (Some(map), Some(field)) = (value.as_object_mut(), field) {
                map.insert(key.to_owned(), field);
            }
        }
        value
    }
}

fn untrusted_error(message: String) -> Error {
    Error::new(Code::Approval, message).with_reason(Reason::Untrusted).with_hint(Hint::TrustWorkspace)
}

/// Whether a warning of the settings is about the sections of a project.
fn is_about_project(found: &Diagnostic) -> bool {
    let setting = found.error.details().get("setting").and_then(Value::as_str).unwrap_or_default();
    setting.split_once('.').map_or(OWN.contains(&setting), |(section, _)| SECTIONS.contains(&section))
}

/// The place of a field of agents or context in the settings file that sets it.
fn place_in_settings(settings: &Settings, root: &Path, field: &str) -> Option<Place> {
    let written = snake_case(field);
    let holds = |name: &str| {
        written.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let (_, resolved) = settings.iter().find(|(name, _)| holds(name))?;
    match &resolved.origin {
        Origin::Workspace(place) => {
            place_in_config(&root.join(&place.file), field).or_else(|| Some(place.clone()))
        }
        other => other.place().cloned(),
    }
}

fn check_version(root: &Section<'_>) -> Result<()> {
    match root.get("version") {
        None => Ok(()),
        Some(version) if version.as_u64().is_some_and(|version| version <= VERSION) => Ok(()),
        Some(version) => {
            let message = format!("the configuration has version {version}, but this build reads {VERSION}");
            Err(Error::definition(Reason::Settings, message)
                .with("version", version.clone())
                .with("newest", VERSION)
                .with_hint("use a newer `hina`"))
        }
    }
}

/// The settings of agents and context as one configuration.
fn config_from_settings(settings: &Settings) -> Value {
    let mut config = Map::new();
    for (name, resolved) in settings.iter().filter(|(_, resolved)| resolved.origin != Origin::Default) {
        // A limit that is unset differs from one that is not set.
        let unset = name == "context.max_tokens" && resolved.value.is_null();
        let value = if unset { NO_LIMIT.into() } else { resolved.value.clone() };
        match name.split_once('.') {
            Some((section, key)) if SECTIONS.contains(&section) => {
                let entries = config.entry(section).or_insert_with(|| Value::Object(Map::new()));
                if let Some(entries) = entries.as_object_mut() {
                    entries.insert(key.to_owned(), value);
                }
            }
            None if OWN.contains(&name) => {
                config.insert(name.to_owned(), value);
            }
            _ => {}
        }
    }
    Value::Object(config)
}

impl Agents {
    fn from_section(section: &Section<'_>, system_prompt: &str, shape: &mut Shape) -> Self {
        let manager = section.section("manager", shape);
        let id = manager.text("id", shape).unwrap_or_else(|| MANAGER.to_owned());
        let subagents = section.sections("subagents", shape);
        let agents = Self {
            mode: section.text("mode", shape).unwrap_or_else(|| "single".to_owned()),
            enable_subagents: section.flag("enableSubagents", shape).unwrap_or(true),
            manager: Agent::from_section(&manager, id, system_prompt, shape),
            subagents: subagents
                .iter()
                .map(|section| {
                    let id = section.required_text("id", shape);
                    Agent::from_section(section, id, system_prompt, shape)
                })
                .collect(),
        };
        section.finish(shape);
        agents
    }

    /// All agents, the manager first.
    pub fn iter(&self) -> impl Iterator<Item = &Agent> {
        std::iter::once(&self.manager).chain(&self.subagents)
    }
}

//! Resolves the name of a model to its provider, its name there, and its options.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use hinagata::{
    Error, Reason, Result, Settings,
    module::driver::{Driver, TurnRule},
    settings::{ConfiguredModel, ModelNames},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    ProviderKind,
    endpoint::{Endpoint, Env, Header, ProviderSettings, setting_error},
    failure::validation_error,
    fallback::Fallbacks,
    text_template::TextTemplate,
};

/// The option that says which messages share a turn.
pub(crate) const TURNS: &str = "turns";

/// The model of a call.
#[derive(Clone, Debug)]
pub struct ChosenModel {
    name: Arc<str>,
    model: Arc<str>,
    pub(crate) endpoint: Arc<Endpoint>,
    /// Options of the request, unless the prompt or the call sets them.
    pub(crate) options: Arc<Map<String, Value>>,
    /// What turns messages into the text that the model continues.
    pub(crate) template: Option<Arc<TextTemplate>>,
    fallbacks: Arc<Fallbacks>,
    price: Option<ModelPrice>,
}

/// What a model costs, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Tokens of requests.
    pub input: f64,
    /// Tokens of answers.
    pub output: f64,
}

impl ChosenModel {
    /// What it costs, if the settings say so.
    #[must_use]
    pub fn price(&self) -> Option<ModelPrice> {
        self.price
    }

    /// Whether another model is called after `error`, if there is one.
    #[must_use]
    pub fn falls_back_on(&self, error: &Error) -> bool {
        self.fallbacks.apply_to(error)
    }

    /// Whether it has a limit for the tokens of a request.
    #[must_use]
    pub fn has_context_limit(&self) -> bool {
        self.fallbacks.context.is_some()
    }

    /// Whether a request with this many tokens goes to the next model, if there is one.
    #[must_use]
    pub fn is_too_long(&self, tokens: u64) -> bool {
        self.fallbacks.is_too_long(tokens)
    }

    /// The requested name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name at the provider.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The name of the provider in the settings.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.endpoint.name
    }

    /// The API of the provider.
    #[must_use]
    pub fn kind(&self) -> ProviderKind {
        self.endpoint.kind
    }

    /// The driver that writes its requests.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.endpoint.kind.driver()
    }
}

/// The configured models and providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Models {
    /// The model, if neither the call nor the prompt sets one.
    pub default: Option<String>,
    /// The configured models, by name.
    pub models: Vec<ModelInfo>,
    /// All providers, by name.
    pub providers: Vec<ProviderInfo>,
}

/// A configured model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Its aliases.
    pub aliases: Vec<String>,
    /// Its provider.
    pub provider: String,
    /// The name at the provider.
    pub model: String,
    /// Whether its provider has the key that it requires.
    pub ready: bool,
}

/// A provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderInfo {
    /// Its name.
    pub name: String,
    /// The API that it has.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: String,
    /// The environment variable that holds its key.
    pub key: Option<String>,
    /// The environment variables that may hold its key.
    pub key_variables: Vec<String>,
    /// Whether it requires a key.
    pub needs_key: bool,
}

impl ProviderInfo {
    fn from_endpoint(endpoint: &Endpoint) -> Self {
        Self {
            name: endpoint.name.to_string(),
            kind: endpoint.kind,
            base_url: endpoint.base.to_string(),
            key: endpoint.key.as_ref().map(|key| key.variable().to_owned()),
            key_variables: endpoint.key_variables.clone(),
            needs_key: endpoint.needs_key,
        }
    }

    /// Whether it has the key that it requires.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.key.is_some() || !self.needs_key
    }
}

/// The settings of a model.
#[derive(Deserialize)]
#[serde(untagged)]
enum ModelSettings {
    /// An alias of another model.
    Alias(#[expect(dead_code, reason = "`ModelNames` follows aliases")] String),
    Own(Box<OwnSettings>),
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OwnSettings {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    key_env: Option<String>,
    headers: BTreeMap<String, Header>,
    #[serde(rename = "aliases")]
    _aliases: Vec<String>,
    options: Map<String, Value>,
    /// The file that its tokens are counted with.
    #[serde(rename = "tokenizer")]
    _tokenizer: Option<String>,
    /// The file or directory with the template that turns messages into a text.
    #[serde(rename = "chat_template")]
    _chat_template: Option<String>,
    /// Which messages share a turn; the same as the option.
    turns: Option<String>,
    /// The models that are called where this one cannot answer.
    fallback: Vec<String>,
    /// The causes for which they are called; all of them by default.
    fallback_on: Option<Vec<String>>,
    /// Most tokens of a request.
    context: Option<u64>,
    /// What it costs.
    price: Option<ModelPrice>,
    /// What it can do; checks of prompts read it.
    #[serde(rename = "capabilities")]
    _capabilities: Vec<String>,
}

/// The models and providers of the settings.
#[derive(Debug)]
pub(crate) struct Registry {
    default: Option<String>,
    /// The provider of models without settings.
    provider: Option<String>,
    endpoints: BTreeMap<String, Arc<Endpoint>>,
    models: BTreeMap<String, ChosenModel>,
    names: ModelNames,
    /// The options of models without settings.
    no_options: Arc<Map<String, Value>>,
}

impl Registry {
    /// Relative paths of the settings of a workspace start at `root`.
    pub(crate) fn from_settings(settings: &Settings, root: &Path, env: Env<'_>) -> Result<Self> {
        let mut reaches: BTreeMap<String, ProviderSettings> = read_section(settings, "llm.providers")?;
        for provider in ProviderKind::all() {
            reaches.entry(provider.name().to_owned()).or_default();
        }
        let mut endpoints = BTreeMap::new();
        for (name, reach) in &reaches {
            let setting = format!("llm.providers.{name}");
            endpoints.insert(name.clone(), Endpoint::new(name, reach, &setting, env)?);
        }
        let mut registry = Self {
            default: settings.text("llm.model").map(str::to_owned),
            provider: settings.text("llm.provider").map(str::to_owned),
            endpoints,
            models: BTreeMap::new(),
            names: ModelNames::default(),
            no_options: Arc::default(),
        };
        if let Some(name) = &registry.provider {
            registry.endpoint(name, "llm.provider")?;
        }
        for (name, settings) in read_section::<ModelSettings>(settings, "models")? {
            if let ModelSettings::Own(own) = settings {
                registry.add_model(name, *own, &reaches, env)?;
            }
        }
        registry.add_templates(settings, root)?;
        registry.names = ModelNames::from_settings(settings)?;
        for name in registry.models.keys() {
            registry.check_fallbacks(name)?;
        }
        Ok(registry)
    }

    /// Refuses fallbacks that do not exist or lead back to their model.
    fn check_fallbacks(&self, name: &str) -> Result<()> {
        let mut open = vec![name.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(current) = open.pop() {
            let Some(model) = self.models.get(&current) else { continue };
            for next in &model.fallbacks.models {
                let next = self.find_model(next)?.name.to_string();
                if next == name {
                    return Err(setting_error(
                        &format!("models.{name}.fallback"),
                        format!("the fallbacks of `{name}` lead back to it"),
                    )
                    .with_hint("remove one of the models from its `fallback`"));
                }
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        Ok(())
    }

    /// A model and those that are called where it cannot answer: its fallbacks, each followed by its own.
    ///
    /// # Errors
    /// Those of [`Registry::choose_model`].
    pub(crate) fn fallback_chain(&self, choice: &ChosenModel) -> Result<Vec<ChosenModel>> {
        let mut chain = vec![choice.clone()];
        let mut open: Vec<String> = choice.fallbacks.models.iter().rev().cloned().collect();
        while let Some(name) = open.pop() {
            let next = self.find_model(&name)?;
            if !chain.iter().any(|known| known.name == next.name) {
                open.extend(next.fallbacks.models.iter().rev().cloned());
                chain.push(next);
            }
        }
        Ok(chain)
    }

    fn add_model(
        &mut self,
        name: String,
        own: OwnSettings,
        reaches: &BTreeMap<String, ProviderSettings>,
        env: Env<'_>,
    ) -> Result<()> {
        let setting = format!("models.{name}");
        let model = own.model.unwrap_or_else(|| name.clone());
        let provider = own.provider.unwrap_or_else(|| self.provider_of(&model));
        let mut endpoint = self.endpoint(&provider, &setting)?;
        if own.base_url.is_some() || own.key_env.is_some() || !own.headers.is_empty() {
            let more = ProviderSettings {
                kind: None,
                base_url: own.base_url,
                key_env: own.key_env,
                headers: own.headers,
                concurrency: None,
            };
            let reach = reaches.get(&provider).cloned().unwrap_or_default().with_overrides(more);
            endpoint = Endpoint::new(&provider, &reach, &setting, env)?;
        }
        let mut options = own.options;
        if let Some(turns) = own.turns {
            TurnRule::from_name(&turns).ok_or_else(|| {
                setting_error(&setting, format!("unknown rule `{turns}` in `{setting}.turns`"))
                    .with_hint("use `as-is`, `join` or `alternate`")
            })?;
            options.insert(TURNS.to_owned(), turns.into());
        }
        let options = Arc::new(options);
        let fallbacks = Fallbacks::from_settings(&setting, own.fallback, own.fallback_on, own.context)?;
        let fallbacks = Arc::new(fallbacks);
        let price = own.price;
        if price.is_some_and(|price| !(price.input >= 0.0 && price.output >= 0.0)) {
            return Err(setting_error(&setting, format!("`{setting}.price` must not be negative")));
        }
        let (shown, model) = (name.as_str().into(), model.into());
        let choice = ChosenModel { name: shown, model, endpoint, options, template: None, fallbacks, price };
        self.models.insert(name, choice);
        Ok(())
    }

    /// Gives models their chat templates: they continue texts, through the completion endpoints of their providers.
    fn add_templates(&mut self, settings: &Settings, root: &Path) -> Result<()> {
        for (name, choice) in &mut self.models {
            let Some(path) = ConfiguredModel::from_settings(settings, root, name)?.chat_template else {
                continue;
            };
            let kind = choice.endpoint.kind.completions().ok_or_else(|| {
                let setting = format!("models.{name}.chat_template");
                let message = format!("`{}` has no completion endpoint", choice.endpoint.name);
                setting_error(&setting, message).with_hint("use a provider with the API of OpenAI")
            })?;
            choice.endpoint = choice.endpoint.with_kind(kind);
            choice.template = Some(Arc::new(TextTemplate::new(path)));
        }
        Ok(())
    }

    /// The provider named `name`; `setting` refers to it.
    fn endpoint(&self, name: &str, setting: &str) -> Result<Arc<Endpoint>> {
        self.endpoints.get(name).map(Arc::clone).ok_or_else(|| {
            let known = self.endpoints.keys().map(String::as_str);
            setting_error(setting, format!("unknown provider `{name}`"))
                .with_near(hinagata_value::near_names(name, known))
                .with_hint(format!("`{setting}` refers to it: configure `llm.providers.{name}`"))
        })
    }

    /// The provider of a model without settings.
    fn provider_of(&self, model: &str) -> String {
        self.provider.clone().unwrap_or_else(|| ProviderKind::from_model(model).name().to_owned())
    }

    /// The requested model, else that of the prompt, else that of the settings.
    pub(crate) fn choose_model(&self, asked: Option<&str>, of_prompt: Option<&str>) -> Result<ChosenModel> {
        let named = [asked, of_prompt, self.default.as_deref()];
        let name = named.into_iter().flatten().map(str::trim).find(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            validation_error("no model is set by the call, the prompt or the settings")
                .with_reason(Reason::Model)
                .with("missing", vec!["model"])
                .with_hint("pass a model, add `model` to the prompt, or set `llm.model`")
        })?;
        let mut choice = self.find_model(name)?;
        if *choice.name != *name {
            choice.name = name.into();
        }
        Ok(choice)
    }

    fn find_model(&self, name: &str) -> Result<ChosenModel> {
        let target = self.names.resolve_name(name)?;
        self.models.get(target).map_or_else(|| self.unconfigured_model(target), |choice| Ok(choice.clone()))
    }

    /// The model for `provider/model`, or for a name at a provider.
    fn unconfigured_model(&self, name: &str) -> Result<ChosenModel> {
        let split = name.split_once('/').filter(|(_, model)| !model.is_empty());
        let (endpoint, model) =
            match split.and_then(|(provider, model)| Some((self.endpoints.get(provider)?, model))) {
                Some((endpoint, model)) => (Arc::clone(endpoint), model),
                None => (self.endpoint(&self.provider_of(name), "llm.provider")?, name),
            };
        let model: Arc<str> = model.into();
        let name = if *model == *name { Arc::clone(&model) } else { name.into() };
        let (options, fallbacks) = (Arc::clone(&self.no_options), Arc::default());
        Ok(ChosenModel { name, model, endpoint, options, template: None, fallbacks, price: None })
    }

    pub(crate) fn models(&self) -> Models {
        let model = |choice: &ChosenModel| ModelInfo {
            name: choice.name.to_string(),
            aliases: self.alias_names(&choice.name),
            provider: choice.provider().to_owned(),
            model: choice.model.to_string(),
            ready: ProviderInfo::from_endpoint(&choice.endpoint).is_ready(),
        };
        // An alias of a model without settings is listed as a model.
        let loose = self.names.aliases().filter_map(|alias| {
            let choice = self.find_model(alias).ok()?;
            (!self.models.contains_key(&*choice.name))
                .then(|| model(&ChosenModel { name: alias.into(), ..choice }))
        });
        let mut models: Vec<ModelInfo> = self.models.values().map(model).chain(loose).collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Models {
            default: self.default.clone(),
            models,
            providers: self
                .endpoints
                .values()
                .map(|endpoint| ProviderInfo::from_endpoint(endpoint))
                .collect(),
        }
    }

    /// The aliases of a model.
    fn alias_names(&self, model: &str) -> Vec<String> {
        let stands_for = |alias: &&str| self.find_model(alias).is_ok_and(|choice| *choice.name == *model);
        self.names.aliases().filter(stands_for).map(str::to_owned).collect()
    }
}

fn read_section<T: DeserializeOwned>(settings: &Settings, name: &str) -> Result<BTreeMap<String, T>> {
    let read = |(key, value): (String, Value)| {
        let setting = format!("{name}.{key}");
        check_fields(&setting, &value)?;
        serde_json::from_value(value).map(|read| (key, read)).map_err(|error| {
            setting_error(&setting, format!("invalid `{setting}`: {error}"))
                .with_hint("docs/reference/models.md lists its members")
        })
    };
    settings.section(name).into_iter().map(read).collect()
}

/// Rejects keys in settings files, which other people and programs can read.
fn check_fields(setting: &str, value: &Value) -> Result<()> {
    let Some(field) = value.as_object().and_then(|fields| {
        fields.keys().find(|key| matches!(key.as_str(), "key" | "api_key" | "apiKey" | "token"))
    }) else {
        return Ok(());
    };
    Err(setting_error(
        setting,
        format!("`{setting}` contains `{field}`: API keys come only from the environment"),
    )
    .with_hint("put the key into an environment variable, and set `key_env` to the name of the variable"))
}

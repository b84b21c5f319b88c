//! The address, the key and the headers of a provider.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, OnceLock},
};

use hinagata::{Error, Reason, Result};
use hyper::{
    Uri,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT},
};
use serde::Deserialize;
use url::Url;

use crate::{
    ProviderKind,
    call_metrics::CallMetrics,
    failure::model_error,
    gate::ProviderGate,
    providers::{ChatPath, ProviderSpec},
    secret::Secret,
};

/// Reads an environment variable.
pub(crate) type Env<'e> = &'e dyn Fn(&str) -> Option<OsString>;

/// The settings of a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSettings {
    /// The API that it has.
    pub(crate) kind: Option<ProviderKind>,
    /// Its address.
    pub(crate) base_url: Option<String>,
    /// The environment variable with the key.
    pub(crate) key_env: Option<String>,
    /// Additional headers.
    pub(crate) headers: BTreeMap<String, Header>,
    /// Most calls at the same time.
    pub(crate) concurrency: Option<NonZeroU32>,
}

impl ProviderSettings {
    /// The settings for a model with its own address, key or headers.
    ///
    /// A key is sent only to the address that it was configured with: an address without `key_env` has no key.
    pub(crate) fn with_overrides(&self, own: Self) -> Self {
        let key_env = match (&own.key_env, &own.base_url) {
            (None, None) => self.key_env.clone(),
            (own, _) => own.clone(),
        };
        let mut headers = match own.base_url {
            None => self.headers.clone(),
            Some(_) => BTreeMap::new(),
        };
        headers.extend(own.headers);
        Self {
            kind: self.kind,
            base_url: own.base_url.or_else(|| self.base_url.clone()),
            key_env,
            headers,
            concurrency: self.concurrency,
        }
    }
}

/// The value of a header: literal, or taken from an environment variable.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Header {
    Text(String),
    #[serde(rename_all = "lowercase")]
    Variable {
        env: String,
    },
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(_) => f.write_str("•••"),
            Self::Variable { env } => write!(f, "${env}"),
        }
    }
}

/// A provider that can be called.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) name: Arc<str>,
    pub(crate) kind: ProviderKind,
    pub(crate) base: Url,
    pub(crate) key: Option<Secret>,
    /// The environment variables that may hold its key.
    pub(crate) key_variables: Vec<String>,
    /// Whether it requires a key.
    pub(crate) needs_key: bool,
    /// Most calls at the same time, if the provider has a limit of its own.
    pub(crate) concurrency: Option<usize>,
    /// Its gate, once it was called.
    pub(crate) gate: OnceLock<Arc<ProviderGate>>,
    /// The metrics of its calls, once it was called.
    pub(crate) metrics: OnceLock<CallMetrics>,
    /// The address of every chat, if it is the same for all models.
    chat: Option<(Url, Uri)>,
    /// The headers of every request, or the error that prevents requests.
    headers: Result<HeaderMap>,
}

impl Endpoint {
    /// The provider named `name`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`.
    pub(crate) fn new(
        name: &str,
        settings: &ProviderSettings,
        setting: &str,
        env: Env<'_>,
    ) -> Result<Arc<Self>> {
        let kind = settings.kind.or_else(|| ProviderKind::from_name(name)).ok_or_else(|| {
            let kinds: Vec<&str> = ProviderKind::all().map(ProviderKind::name).collect();
            setting_error(setting, format!("`{setting}` has no `kind`"))
                .with_hint(format!("set `kind` to one of {}", kinds.join(", ")))
        })?;
        let spec = kind.spec();
        // The environment variable applies only to the provider with the name of its API.
        let from_env = || (name == spec.name).then(|| address_in_env(spec, env)).flatten();
        let (base, setting_of_base, usual) = match &settings.base_url {
            Some(url) => (url.clone(), format!("{setting}.base_url"), false),
            None => match from_env() {
                Some(url) => (url, spec.base_url_env.to_owned(), false),
                None => (spec.base_url.to_owned(), setting.to_owned(), true),
            },
        };
        let key_variables = match (&settings.key_env, &settings.base_url) {
            (Some(variable), _) => vec![variable.clone()],
            (None, Some(_)) => Vec::new(),
            (None, None) => spec.key_env.iter().map(|&name| name.to_owned()).collect(),
        };
        let key = key_variables.iter().find_map(|variable| Secret::from_env(variable, env));
        let needs_key = settings.key_env.is_some() || (usual && spec.needs_key);
        let base = parse_address(&base, &setting_of_base)?;
        let mut endpoint = Self {
            name: name.into(),
            kind,
            concurrency: settings.concurrency.and_then(|most| usize::try_from(most.get()).ok()),
            gate: OnceLock::new(),
            metrics: OnceLock::new(),
            chat: fixed_chat_url(spec, &base),
            base,
            key,
            key_variables,
            needs_key,
            headers: Ok(HeaderMap::new()),
        };
        endpoint.headers = endpoint.build_headers(&settings.headers, env);
        Ok(Arc::new(endpoint))
    }

    fn build_headers(&self, more: &BTreeMap<String, Header>, env: Env<'_>) -> Result<HeaderMap> {
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(ACCEPT, HeaderValue::from_static("*/*"));
        all.insert(USER_AGENT, user_agent());
        let spec = self.kind.spec();
        for (name, value) in spec.headers {
            all.insert(*name, HeaderValue::from_static(value));
        }
        let (name, before) = spec.key_header;
        match &self.key {
            Some(key) => {
                all.insert(name, key.to_header(before)?);
            }
            None if self.needs_key => return Err(self.missing_key_error()),
            None => {}
        }
        for (name, value) in more {
            let header_error = || {
                model_error(Reason::Key, format!("invalid header `{name}` for `{}`", self.name))
                    .with_hint("check `headers` in the settings of the provider")
            };
            let key = HeaderName::try_from(name.as_str()).map_err(|_| header_error())?;
            all.insert(key, header_value(value, env).ok_or_else(header_error)?);
        }
        Ok(all)
    }

    fn missing_key_error(&self) -> Error {
        let variables: Vec<String> = self.key_variables.iter().map(|name| format!("`{name}`")).collect();
        model_error(Reason::Key, format!("missing API key for `{}`", self.name))
            .with("provider", &*self.name)
            .with("variables", self.key_variables.clone())
            .with_hint(format!("set {} in the environment", variables.join(" or ")))
    }

    /// The same provider through another API.
    pub(crate) fn with_kind(&self, kind: ProviderKind) -> Arc<Self> {
        Arc::new(Self {
            name: Arc::clone(&self.name),
            kind,
            base: self.base.clone(),
            key: self.key.clone(),
            key_variables: self.key_variables.clone(),
            needs_key: self.needs_key,
            concurrency: self.concurrency,
            gate: OnceLock::new(),
            metrics: OnceLock::new(),
            chat: fixed_chat_url(kind.spec(), &self.base),
            headers: self.headers.clone(),
        })
    }

    /// The headers of every request.
    ///
    /// # Errors
    /// Code `model`, reason `key`, if the key is missing.
    pub(crate) fn headers(&self) -> Result<&HeaderMap> {
        self.headers.as_ref().map_err(Error::clone)
    }

    /// The address of a chat.
    pub(crate) fn url(&self, model: &str, stream: bool) -> Url {
        match &self.chat {
            Some((url, _)) => url.clone(),
            None => chat_url(self.kind.spec(), &self.base, model, stream),
        }
    }

    /// The address of a chat, as a request has it.
    ///
    /// # Errors
    /// Code `model`, reason `request`, if HTTP has no such address.
    pub(crate) fn uri(&self, model: &str, stream: bool) -> Result<Uri> {
        match &self.chat {
            Some((_, uri)) => Ok(uri.clone()),
            None => self.url(model, stream).as_str().parse().map_err(|error| {
                model_error(Reason::Request, format!("invalid address for `{model}`: {error}"))
            }),
        }
    }

    /// Whether it is OpenAI's own service.
    pub(crate) fn is_openai(&self) -> bool {
        self.base.host_str() == Some("api.openai.com")
    }
}

/// The address of every chat with a provider at `base`, if no part of it depends on the call.
fn fixed_chat_url(spec: &ProviderSpec, base: &Url) -> Option<(Url, Uri)> {
    let is_fixed = matches!(spec.chat_path, ChatPath::Fixed(_)) && spec.stream_query.is_empty();
    let url = is_fixed.then(|| chat_url(spec, base, "", false))?;
    let uri = url.as_str().parse().ok()?;
    Some((url, uri))
}

/// The address of a chat with a provider at `base`.
fn chat_url(spec: &ProviderSpec, base: &Url, model: &str, stream: bool) -> Url {
    let path = match spec.chat_path {
        ChatPath::Fixed(path) => path.to_owned(),
        ChatPath::PerModel(path) => path(model, stream),
    };
    let before = base.path().trim_end_matches('/');
    // Some addresses already contain the version.
    let path = if before.ends_with("/v1") { path.trim_start_matches("v1/") } else { &path };
    let mut url = base.clone();
    url.set_path(&format!("{before}/{path}"));
    if stream && !spec.stream_query.is_empty() {
        url.query_pairs_mut().extend_pairs(spec.stream_query);
    }
    url
}

/// Whether a host is this machine.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The name of this program for servers.
pub(crate) fn user_agent() -> HeaderValue {
    HeaderValue::from_static(concat!("hinagata/", env!("CARGO_PKG_VERSION")))
}

fn header_value(value: &Header, env: Env<'_>) -> Option<HeaderValue> {
    let text = match value {
        Header::Text(text) => text.clone(),
        Header::Variable { env: variable } => env(variable)?.into_string().ok()?,
    };
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn address_in_env(spec: &ProviderSpec, env: Env<'_>) -> Option<String> {
    let text = env(spec.base_url_env)?.into_string().ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| (spec.parse_base_url)(text))
}

fn parse_address(text: &str, setting: &str) -> Result<Url> {
    let address_error = |why: String| {
        setting_error(setting, format!("invalid provider address in `{setting}`: {why}"))
            .with_hint("write it as https://host/path")
    };
    let url = Url::parse(text).map_err(|error| address_error(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(address_error(format!("unsupported scheme `{}`", url.scheme())));
    }
    // The address appears in errors and lists, so it must not contain secrets.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(address_error("it contains a user name or a password".to_owned()));
    }
    Ok(url)
}

pub(crate) fn setting_error(setting: &str, message: String) -> Error {
    Error::definition(Reason::Settings, message).with("setting", setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(name: &str, settings: &ProviderSettings, env: &[(&str, &str)]) -> Result<Arc<Endpoint>> {
        Endpoint::new(name, settings, "llm.providers.x", &|asked| {
            env.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into())
        })
    }

    fn at(base_url: &str) -> ProviderSettings {
        ProviderSettings { base_url: Some(base_url.to_owned()), ..ProviderSettings::default() }
    }

    const KEYS: &[(&str, &str)] = &[("OPENAI_API_KEY", "sk-1"), ("MINE", "k")];

    #[test]
    fn a_key_goes_only_where_it_was_configured_for() {
        let has_key = |settings: &ProviderSettings, env: &[(&str, &str)]| {
            endpoint("openai", settings, env)
                .expect("is fine")
                .key
                .as_ref()
                .map(|key| key.variable().to_owned())
        };
        assert_eq!(has_key(&ProviderSettings::default(), KEYS).as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(has_key(&at("http://elsewhere/v1"), KEYS), None);
        let own = ProviderSettings { key_env: Some("MINE".to_owned()), ..at("http://elsewhere/v1") };
        assert_eq!(has_key(&own, KEYS).as_deref(), Some("MINE"));
        assert_eq!(
            has_key(&own.with_overrides(at("http://third/v1")), KEYS),
            None,
            "nor by a model with another address"
        );
        let env = [KEYS, &[("OPENAI_BASE_URL", "http://proxy/v1")]].concat();
        assert_eq!(
            has_key(&ProviderSettings::default(), &env).as_deref(),
            Some("OPENAI_API_KEY"),
            "both of one place"
        );
    }

    #[test]
    fn without_a_key_the_variable_is_named() {
        let error = endpoint("gemini", &ProviderSettings::default(), &[])
            .expect("is fine")
            .headers()
            .expect_err("no key");
        assert_eq!((error.code(), error.reason()), (hinagata::Code::Model, Some(Reason::Key)));
        assert_eq!(error.hint(), Some(&"set `GEMINI_API_KEY` or `GOOGLE_API_KEY` in the environment".into()));
        for (name, settings) in
            [("ollama", ProviderSettings::default()), ("openai", at("http://127.0.0.1:8000/v1"))]
        {
            assert!(endpoint(name, &settings, &[]).expect("is fine").headers().is_ok(), "{name} needs none");
        }
    }

    #[test]
    fn addresses_are_joined() {
        let url = |name: &str, base: &str| {
            endpoint(name, &at(base), &[]).expect("is fine").url("m/x", true).to_string()
        };
        assert_eq!(url("openai", "http://h/v1/"), "http://h/v1/chat/completions");
        assert_eq!(url("anthropic", "http://h"), "http://h/v1/messages");
        assert_eq!(url("anthropic", "http://h/a/v1"), "http://h/a/v1/messages");
        assert_eq!(url("ollama", "http://h:1"), "http://h:1/api/chat");
        assert_eq!(
            url("gemini", "http://h/v1beta"),
            "http://h/v1beta/models/m%2Fx:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn the_server_of_ollama_may_be_named_as_it_listens() {
        for (host, base) in [
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("box:99", "http://box:99/"),
            ("https://o.example", "https://o.example/"),
        ] {
            let found =
                endpoint("ollama", &ProviderSettings::default(), &[("OLLAMA_HOST", host)]).expect("is fine");
            assert_eq!(found.base.as_str(), base);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_setting() {
        for base in ["nowhere", "file:///etc", "http://me:secret@h/"] {
            let error = endpoint("openai", &at(base), &[]).expect_err(base);
            assert_eq!((error.exit_code(), error.reason()), (2, Some(Reason::Settings)));
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(
            endpoint("other", &ProviderSettings::default(), &[]).is_err(),
            "it has to say what it speaks"
        );
    }
}

//! The settings of tools: URLs, headers, allowed hosts, limits and MCP servers.

use std::{collections::BTreeMap, env, fmt, time::Duration};

use hinagata::{Error, Reason, Result, Settings};
use hinagata_http::AllowedHosts;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::tool_error;

/// The settings of tools.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// The base of relative URLs, unless the module has its own.
    pub base_url: Option<String>,
    /// The settings of each module, by name.
    pub modules: BTreeMap<String, ModuleSettings>,
    /// MCP servers, by name.
    pub servers: BTreeMap<String, McpServerSettings>,
    /// The hosts that tools may reach.
    pub hosts: AllowedHosts,
    /// The timeout of one call.
    pub timeout: Duration,
    /// Maximum bytes of a response.
    pub max_answer: usize,
    /// Maximum concurrent calls of the tools of one module.
    pub concurrency: usize,
}

/// The settings of a module.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleSettings {
    /// The base of relative URLs.
    pub base_url: Option<String>,
    /// Headers of every request. Metadata for gRPC.
    pub headers: SecretHeaders,
    /// The timeout of one call, in seconds.
    pub timeout: Option<f64>,
    /// Whether gRPC uses TLS. The default is true.
    pub tls: Option<bool>,
    /// A file with a descriptor set, for gRPC servers without reflection.
    pub descriptor_set: Option<String>,
}

/// An MCP server: a program or a URL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerSettings {
    /// The program of a server on standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables, in addition to a few inherited ones.
    pub env: BTreeMap<String, Secret>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The URL of a Streamable HTTP server.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: SecretHeaders,
    /// The timeout of one call, in seconds.
    pub timeout: Option<f64>,
}

/// Headers by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct SecretHeaders(BTreeMap<String, Secret>);

/// A secret text: the value itself, or the environment variable that holds it. It is never displayed.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Secret {
    /// The value itself.
    Text(String),
    /// `{ env = "NAME" }`.
    #[serde(rename_all = "lowercase")]
    Variable {
        /// The name of the environment variable.
        env: String,
    },
}

impl Secret {
    /// The value.
    ///
    /// # Errors
    /// Code `tool`, reason `secret`, when the environment variable is not set.
    pub fn read_secret(&self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Variable { env } => env::var(env).map_err(|_| {
                tool_error(Reason::Secret, format!("the environment variable `{env}` is not set"))
                    .with_hint(format!("set `{env}`; the tool settings refer to it"))
            }),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("•••"),
            Self::Variable { env } => write!(f, "${env}"),
        }
    }
}

impl SecretHeaders {
    /// The headers as a header map.
    ///
    /// # Errors
    /// Code `tool`, reason `secret`, for an invalid header.
    pub fn to_header_map(&self) -> Result<HeaderMap> {
        let mut all = HeaderMap::new();
        for (name, value) in &self.0 {
            let invalid_header =
                || tool_error(Reason::Secret, format!("invalid header `{name}` in the settings"));
            let key = HeaderName::try_from(name.as_str()).map_err(|_| invalid_header())?;
            let mut text = HeaderValue::try_from(value.read_secret()?).map_err(|_| invalid_header())?;
            text.set_sensitive(true);
            all.insert(key, text);
        }
        Ok(all)
    }
}

impl Default for ToolSettings {
    /// No host can be reached.
    fn default() -> Self {
        Self {
            base_url: None,
            modules: BTreeMap::new(),
            servers: BTreeMap::new(),
            hosts: AllowedHosts::default(),
            timeout: Duration::from_secs(10),
            max_answer: 1 << 20,
            concurrency: 64,
        }
    }
}

impl ToolSettings {
    /// Reads the settings of tools.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid setting.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let default = Self::default();
        let count = |name: &str, otherwise: usize| {
            settings.count(name).map_or(otherwise, |count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let mut read = Self {
            base_url: settings.text("tools.base_url").map(str::to_owned),
            modules: read_section("tools.modules", settings.section("tools.modules"))?,
            servers: read_section("mcp_servers", settings.section("mcp_servers"))?,
            hosts: AllowedHosts::default(),
            timeout: settings.time("tools.timeout").unwrap_or(default.timeout),
            max_answer: count("tools.max_answer", default.max_answer),
            concurrency: count("tools.concurrency", default.concurrency).max(1),
        };
        for entry in settings.texts("tools.allowed_hosts") {
            allow_host(&mut read.hosts, "tools.allowed_hosts", &entry)?;
        }
        read.allow_addresses()?;
        Ok(read)
    }

    /// Allows the hosts of all configured URLs.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid URL.
    pub fn allow_addresses(&mut self) -> Result<()> {
        let own = self.base_url.iter().map(|url| ("tools.base_url".to_owned(), url));
        let modules = self.modules.iter().filter_map(|(name, module)| {
            Some((format!("tools.modules.{name}.base_url"), module.base_url.as_ref()?))
        });
        let servers = self
            .servers
            .iter()
            .filter_map(|(name, server)| Some((format!("mcp_servers.{name}.url"), server.url.as_ref()?)));
        for (setting, url) in own.chain(modules).chain(servers).collect::<Vec<_>>() {
            let entry = host_entry(url).map_err(|error| error.with("setting", setting.as_str()))?;
            allow_host(&mut self.hosts, &setting, &entry)?;
        }
        Ok(())
    }

    /// The settings of a module.
    #[must_use]
    pub fn module(&self, name: Option<&str>) -> Option<&ModuleSettings> {
        self.modules.get(name?)
    }

    /// The base of relative URLs of a module.
    #[must_use]
    pub fn base_url(&self, module: Option<&str>) -> Option<&str> {
        self.module(module).and_then(|module| module.base_url.as_deref()).or(self.base_url.as_deref())
    }
}

/// Allows the host of a setting.
fn allow_host(hosts: &mut AllowedHosts, setting: &str, host: &str) -> Result<()> {
    let setting_error = |error: hinagata_http::HttpError| {
        Error::definition(Reason::Settings, error.to_string()).with("setting", setting)
    };
    hosts.add_entry(host).map_err(setting_error)
}

/// The allowed-hosts entry for a URL.
fn host_entry(url: &str) -> Result<String> {
    let invalid_url = |why: String| {
        Error::definition(Reason::Settings, format!("invalid server URL `{url}`: {why}"))
            .with_hint("use a URL such as https://host/path")
    };
    let parsed = Url::parse(url).map_err(|error| invalid_url(error.to_string()))?;
    match (parsed.scheme(), parsed.host_str(), parsed.port_or_known_default()) {
        ("http" | "https", Some(host), Some(port)) => Ok(format!("{host}:{port}")),
        (scheme, ..) => Err(invalid_url(format!("unsupported scheme `{scheme}`"))),
    }
}

fn read_section<T: for<'de> Deserialize<'de>>(
    name: &str,
    entries: Map<String, Value>,
) -> Result<BTreeMap<String, T>> {
    let read = |(key, value): (String, Value)| match serde_json::from_value(value) {
        Ok(entry) => Ok((key, entry)),
        Err(error) => {
            let setting = format!("{name}.{key}");
            Err(Error::definition(Reason::Settings, format!("invalid `{setting}`: {error}"))
                .with("setting", setting)
                .with_hint("see docs/reference/tools.md for its fields"))
        }
    };
    entries.into_iter().map(read).collect()
}

/// Converts seconds to a duration. `None` for an invalid value.
pub(crate) fn seconds_to_duration(seconds: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds?).ok()
}

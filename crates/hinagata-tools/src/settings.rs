//! What the settings say about tools: addresses, headers, allowed hosts, limits, servers.

use std::{collections::BTreeMap, env, fmt, time::Duration};

use hinagata::{Error, Result, Settings};
use hinagata_http::AllowedHosts;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::tool_error;

/// What the settings say about tools.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// What relative addresses are added to, unless their module has an address.
    pub base_url: Option<String>,
    /// What holds for the tools of a module, by its name.
    pub modules: BTreeMap<String, ModuleSettings>,
    /// Servers of MCP, by name.
    pub servers: BTreeMap<String, McpServerSettings>,
    /// Where tools may go.
    pub hosts: AllowedHosts,
    /// Time of one call.
    pub timeout: Duration,
    /// Bytes of one answer.
    pub max_answer: usize,
    /// Calls that may be under way at the same time.
    pub concurrency: usize,
}

/// What holds for the tools of a module.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleSettings {
    /// What relative addresses are added to.
    pub base_url: Option<String>,
    /// Headers of every request; of gRPC, metadata.
    pub headers: SecretHeaders,
    /// Time of one call, in seconds.
    pub timeout: Option<f64>,
    /// Whether gRPC is encrypted; it is unless this says no.
    pub tls: Option<bool>,
    /// A file with a set of descriptors, for gRPC servers that do not describe themselves.
    pub descriptor_set: Option<String>,
}

/// A server of MCP: a program, or an address.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerSettings {
    /// The program of a server that talks over its standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment, beside a few of ours.
    pub env: BTreeMap<String, Secret>,
    /// The directory it is started in.
    pub cwd: Option<String>,
    /// The address of a server that talks Streamable HTTP.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: SecretHeaders,
    /// Time of one call, in seconds.
    pub timeout: Option<f64>,
}

/// Headers by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct SecretHeaders(BTreeMap<String, Secret>);

/// A text that is shown nowhere: written down, or the variable of the environment that holds it.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Secret {
    /// The text.
    Text(String),
    /// `{ env = "NAME" }`.
    #[serde(rename_all = "lowercase")]
    Variable {
        /// The name of the variable.
        env: String,
    },
}

impl Secret {
    /// The text.
    ///
    /// # Errors
    /// Code `tool`, reason `secret`, when the variable is not there.
    pub fn read_secret(&self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Variable { env } => env::var(env).map_err(|_| {
                tool_error("secret", format!("the variable `{env}` of the environment is not there"))
                    .with_hint(format!("set `{env}`: the settings of tools say that it holds a secret"))
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
    /// The headers, ready to be sent.
    ///
    /// # Errors
    /// Code `tool`, reason `secret`, when one of them cannot be.
    pub fn to_header_map(&self) -> Result<HeaderMap> {
        let mut all = HeaderMap::new();
        for (name, value) in &self.0 {
            let wrong =
                || tool_error("secret", format!("the header `{name}` of the settings cannot be sent"));
            let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut text = HeaderValue::try_from(value.read_secret()?).map_err(|_| wrong())?;
            text.set_sensitive(true);
            all.insert(key, text);
        }
        Ok(all)
    }
}

impl Default for ToolSettings {
    /// Nothing can be reached.
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
    /// Takes what `settings` say about tools.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, with the setting that is wrong.
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

    /// Whoever writes the address of a server into the settings lets tools go there.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, when one is no address.
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

    /// What holds for a module.
    #[must_use]
    pub fn module(&self, name: Option<&str>) -> Option<&ModuleSettings> {
        self.modules.get(name?)
    }

    /// What relative addresses of a module are added to.
    #[must_use]
    pub fn base_url(&self, module: Option<&str>) -> Option<&str> {
        self.module(module).and_then(|module| module.base_url.as_deref()).or(self.base_url.as_deref())
    }
}

/// Lets tools go to the host that a setting names.
fn allow_host(hosts: &mut AllowedHosts, setting: &str, host: &str) -> Result<()> {
    let wrong = |error: hinagata_http::HttpError| {
        Error::definition("settings", error.to_string()).with("setting", setting)
    };
    hosts.add_entry(host).map_err(wrong)
}

/// The entry of the list of hosts that an address stands for.
fn host_entry(url: &str) -> Result<String> {
    let wrong = |why: String| {
        Error::definition("settings", format!("`{url}` is no address of a server: {why}"))
            .with_hint("write it as https://host/path")
    };
    let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
    match (parsed.scheme(), parsed.host_str(), parsed.port_or_known_default()) {
        ("http" | "https", Some(host), Some(port)) => Ok(format!("{host}:{port}")),
        (scheme, ..) => Err(wrong(format!("`{scheme}` cannot be called"))),
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
            Err(Error::definition("settings", format!("`{setting}` is wrong: {error}"))
                .with("setting", setting)
                .with_hint("docs/reference/tools.md tells what it can hold"))
        }
    };
    entries.into_iter().map(read).collect()
}

/// A time in seconds, where it is one.
pub(crate) fn seconds_to_duration(seconds: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds?).ok()
}

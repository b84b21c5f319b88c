//! The settings of the daemon, read once when it starts.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hinagata::{Code, Error, Reason, Result, Settings};

use crate::{
    access::{Key, read_keys},
    proxies::TrustedProxies,
};

/// Where the daemon listens, and what it permits.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Whether other machines may read and render without a key.
    pub open: bool,
    /// Whether callers on this machine may chat without a key.
    pub local_chat: bool,
    /// Origins of web pages that may send requests, besides the daemon's own.
    pub origins: Vec<String>,
    /// Further host names of the daemon.
    pub hosts: Vec<String>,
    /// Directories that `workspace_path` may name, besides those beneath the workspace root.
    pub workspaces: Vec<PathBuf>,
    /// The project directory of all callers.
    pub project: Option<PathBuf>,
    /// The largest request body, in bytes.
    pub max_body: usize,
    /// Worker threads.
    pub threads: usize,
    /// Concurrent connections.
    pub max_connections: usize,
    /// Concurrent requests, without chats and without renders that wait.
    pub max_requests: usize,
    /// Concurrent chats.
    pub max_chats: usize,
    /// Concurrent renders that wait for a tool or a hook.
    pub max_waits: usize,
    /// Renders that may wait for a core; `None` for a number per core.
    pub max_queued: Option<usize>,
    /// Requests per second and caller.
    pub rate: Option<u32>,
    /// Renders and completions per second of one caller over MCP.
    pub mcp_rate: Option<u32>,
    /// Time limit for the header of a request.
    pub header_timeout: Duration,
    /// Time limit for a request.
    pub request_timeout: Duration,
    /// Time limit for running requests when the daemon stops.
    pub stop_timeout: Duration,
    /// How long a stopping daemon accepts requests.
    pub linger: Duration,
    /// Whether spans contain the values of variables.
    pub trace_values: bool,
    /// The reverse proxies whose headers name the client.
    pub(crate) trusted_proxies: TrustedProxies,
    /// The models of the settings that callers of `/v1` may name.
    pub(crate) listed_models: Vec<String>,
    /// What becomes of the instructions of callers of `/v1`.
    pub(crate) system_rule: SystemRule,
    /// The keys.
    pub keys: Vec<Key>,
}

/// What becomes of the instructions of a caller who uses a prompt as a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemRule {
    /// They follow those of the prompt.
    Append,
    /// The request is refused.
    Refuse,
    /// They are left out.
    Drop,
}

impl SystemRule {
    fn from_settings(settings: &Settings) -> Self {
        match settings.text("v1.system") {
            Some("refuse") => Self::Refuse,
            Some("drop") => Self::Drop,
            _ => Self::Append,
        }
    }
}

/// More threads than this gain nothing.
const MAX_THREADS: usize = 256;

/// The number of processor cores that this process may use.
pub(crate) fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl ServerSettings {
    /// Reads the settings of the daemon.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, for an invalid address, key or proxy.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let count = |name: &str| {
            settings.count(name).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
        };
        let time = |name: &str| settings.time(name).unwrap_or(Duration::MAX);
        Ok(Self {
            listen: parse_address(settings.text("server.listen").unwrap_or_default())?,
            open: settings.is_on("server.open"),
            local_chat: settings.is_on("server.local_chat"),
            trace_values: settings.is_on("server.trace_values"),
            origins: settings.texts("server.origins"),
            hosts: settings.texts("server.hosts"),
            workspaces: settings.texts("server.workspaces").into_iter().map(PathBuf::from).collect(),
            project: settings.text("server.project").map(project_directory).transpose()?,
            max_body: count("server.max_body"),
            threads: settings
                .count("server.threads")
                .map_or_else(core_count, |count| usize::try_from(count).unwrap_or(usize::MAX))
                .clamp(1, MAX_THREADS),
            max_connections: count("server.max_connections").clamp(1, 1 << 20),
            max_requests: count("server.max_requests").clamp(1, 1 << 20),
            max_chats: count("server.max_chats").clamp(1, 1 << 20),
            max_waits: count("server.max_waits").clamp(1, 1 << 20),
            max_queued: settings.count("server.max_queued").and_then(|count| usize::try_from(count).ok()),
            rate: settings.count("server.rate").and_then(|rate| u32::try_from(rate).ok()),
            mcp_rate: settings.count("mcp.rate").and_then(|rate| u32::try_from(rate).ok()),
            header_timeout: time("server.header_timeout"),
            request_timeout: time("server.request_timeout"),
            stop_timeout: time("server.stop_timeout"),
            linger: time("server.linger"),
            trusted_proxies: TrustedProxies::from_texts(&settings.texts("server.trusted_proxies"))?,
            listed_models: settings.texts("v1.models"),
            system_rule: SystemRule::from_settings(settings),
            keys: read_keys(settings.get("keys").map(|found| &found.value))?,
        })
    }

    /// Checks that other machines which reach `address` are served, by key or without.
    ///
    /// # Errors
    /// Code `approval` when only this machine is served.
    pub fn check_openness(&self, address: SocketAddr) -> Result<()> {
        if address.ip().is_loopback() || !self.keys.is_empty() || self.open {
            return Ok(());
        }
        let message = format!(
            "{address} is reachable from other machines, but no keys are set: the daemon serves only this machine"
        );
        Err(Error::new(Code::Approval, message).with_hint(
            "add a key to the settings, or set `server.open = true` to let every caller read and render",
        ))
    }
}

/// Parses an address. `:8080` means every address of the machine, `8080` a TCP port of the loopback address.
/// The project directory, without links.
fn project_directory(path: &str) -> Result<PathBuf> {
    let found =
        Path::new(path).canonicalize().ok().filter(|found| found.is_dir() && Path::new(path).is_absolute());
    found.ok_or_else(|| {
        Error::definition(
            Reason::Settings,
            format!("`server.project` must be the path of a directory, not `{path}`"),
        )
        .with("setting", "server.project")
        .with_hint("write the full path of a directory of this machine")
    })
}

fn parse_address(text: &str) -> Result<SocketAddr> {
    let port = |text: &str| text.parse::<u16>().ok();
    let address = match text.strip_prefix(':') {
        Some(rest) => port(rest).map(|port| SocketAddr::from(([0, 0, 0, 0], port))),
        None => text
            .strip_prefix("localhost:")
            .map_or_else(|| port(text), port)
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
            .or_else(|| text.parse().ok()),
    };
    address.ok_or_else(|| {
        Error::new(Code::Definition, format!("invalid listen address `{text}`"))
            .with_reason(Reason::Settings)
            .with("setting", "server.listen")
            .with_hint("use `127.0.0.1:8700`, or `:8700` for every address of the machine")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let read = |text: &str| parse_address(text).map(|address| address.to_string()).ok();
        assert_eq!(read(":8080").as_deref(), Some("0.0.0.0:8080"));
        assert_eq!(read("8080").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(read("localhost:1").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(read("[::1]:5").as_deref(), Some("[::1]:5"));
        assert_eq!(read("somewhere"), None);
        assert_eq!(read(":80800"), None);
    }

    #[test]
    fn the_defaults_are_for_this_machine() {
        let settings = ServerSettings::from_settings(&Settings::default()).expect("defaults can be read");
        assert!(settings.listen.ip().is_loopback() && !settings.open && settings.keys.is_empty());
    }
}

//! Reads the `config.yaml` of the legacy daemon as settings.

use hinagata::{Error, Reason, Result};
use serde::Deserialize;
use serde_json::Value;

/// The settings of a legacy configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LegacyConfig {
    /// The names with an equivalent.
    pub carried: Vec<CarriedSetting>,
    /// Environment variables that the configuration sets.
    pub environment: Vec<(&'static str, String)>,
    /// Known names that are not needed, each with the reason.
    pub dropped: Vec<(&'static str, &'static str)>,
    /// Names in the file without an equivalent.
    pub ignored: Vec<String>,
}

/// A setting that a name of the file stands for.
#[derive(Debug, PartialEq, Eq)]
pub struct CarriedSetting {
    /// The name in the file.
    pub from: &'static str,
    /// The name of the setting.
    pub setting: &'static str,
    /// Its value, as text.
    pub value: String,
}

impl LegacyConfig {
    /// The carried settings as `section.key=value`.
    #[must_use]
    pub fn to_settings(&self) -> Vec<String> {
        self.carried.iter().map(|carried| format!("{}={}", carried.setting, carried.value)).collect()
    }
}

/// The settings that count with a legacy configuration unless others are set: the legacy daemon has no limits. A text has
/// as many characters as the limit of agents and modules, which is more than models read, and a body has room for such
/// a text with its escapes.
pub const RAISED_LIMITS: [(&str, &str); 2] =
    [("limits.max_output_size", "2000000"), ("server.max_body", "16MiB")];

/// The known sections and their names. A section without names is not needed.
const KNOWN: [(&str, &[&str]); 7] = [
    ("app_name", &[]),
    ("env", &[]),
    ("server", &["listen_addr", "debug"]),
    ("logger", &["level", "format", "output", "file_name"]),
    ("redis", &["addr", "password", "db"]),
    ("refresh", &[]),
    ("llm", &["api_key", "api_base"]),
];

/// The known names that are not needed.
const NOT_NEEDED: [(&str, &str); 5] = [
    ("app_name", "nothing uses it"),
    ("env", "nothing uses it"),
    ("logger.output", "the log goes to standard error"),
    ("logger.file_name", "the log goes to standard error; the service manager keeps it"),
    ("refresh", "changes are noticed as they happen"),
];

#[derive(Deserialize, Default)]
#[serde(default)]
struct Document {
    server: Server,
    logger: Logger,
    redis: Redis,
    llm: Llm,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Server {
    listen_addr: String,
    debug: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Logger {
    level: String,
    format: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Redis {
    addr: String,
    password: String,
    db: u32,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Llm {
    api_key: String,
    api_base: String,
}

/// Reads the text of the configuration file `name`.
///
/// # Errors
/// Code `definition` for invalid YAML or a value of the wrong type.
pub fn read_legacy_config(name: &str, text: &str) -> Result<LegacyConfig> {
    let unreadable = |error: serde_saphyr::Error| {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        Error::definition(Reason::Settings, format!("cannot read {name}: {line}"))
            .with_hint("expected sections: server, logger, redis, refresh, llm")
    };
    let document: Document = serde_saphyr::from_str(text).map_err(unreadable)?;
    let names: Value = serde_saphyr::from_str(text).map_err(unreadable)?;
    let ignored = unknown_names(name, &names)?;
    let is_in_file = |path: &str| path.split('.').try_fold(&names, |value, key| value.get(key)).is_some();
    let dropped = NOT_NEEDED.into_iter().filter(|(name, _)| is_in_file(name)).collect();
    let Document { server, logger, redis, llm } = document;
    let mut config = LegacyConfig { dropped, ignored, ..LegacyConfig::default() };
    let mut carry = |from: &'static str, setting: &'static str, value: &str| {
        if !value.is_empty() {
            config.carried.push(CarriedSetting { from, setting, value: value.to_owned() });
        }
    };
    carry("server.listen_addr", "server.listen", &server.listen_addr);
    match logger.level.to_lowercase().as_str() {
        "" if server.debug => carry("server.debug", "server.log", "debug"),
        "panic" | "fatal" => carry("logger.level", "server.log", "error"),
        "warning" => carry("logger.level", "server.log", "warn"),
        other => carry("logger.level", "server.log", other),
    }
    carry("logger.format", "server.log_format", if logger.format == "json" { "json" } else { "" });
    if !redis.addr.is_empty() {
        let login = match redis.password.as_str() {
            "" => String::new(),
            password => format!(":{}@", hinagata_value::encoding::encode_percent(password)),
        };
        carry("redis", "store.url", &format!("redis://{login}{}/{}", redis.addr, redis.db));
    }
    if !llm.api_base.is_empty() {
        // The legacy daemon sends every model there, whatever its name.
        carry("llm.api_base", "llm.provider", "openai");
        config.environment.push(("OPENAI_BASE_URL", versioned_base(&llm.api_base)));
    }
    if !llm.api_key.is_empty() {
        config.environment.push(("OPENAI_API_KEY", llm.api_key));
    }
    Ok(config)
}

/// The base address with its version: the legacy daemon adds `/v1/chat/completions` to `api_base`.
fn versioned_base(base: &str) -> String {
    let base = base.trim_end_matches('/');
    if base.ends_with("/v1") { base.to_owned() } else { format!("{base}/v1") }
}

/// The unknown names. A name close to a known one is an error: a typo must not change where the daemon listens or which
/// store it opens.
fn unknown_names(file: &str, document: &Value) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect()
    };
    let mut check = |above: &str, key: String, known: &[&str]| {
        if known.contains(&key.as_str()) {
            return Ok(());
        }
        let near = hinagata_value::near_names(&key, known.iter().copied());
        if !near.is_empty() {
            let message = format!("unknown name `{above}{key}` in {file}");
            return Err(Error::definition(Reason::Settings, message).with_near(near));
        }
        unknown.push(format!("{above}{key}"));
        Ok(())
    };
    let sections = KNOWN.map(|(section, _)| section);
    for key in keys(document) {
        check("", key, &sections)?;
    }
    for (section, known) in KNOWN.iter().filter(|(_, known)| !known.is_empty()) {
        for key in document.get(section).map(keys).unwrap_or_default() {
            check(&format!("{section}."), key, known)?;
        }
    }
    Ok(unknown)
}

/// Whether a YAML file is a legacy configuration, and not a file of another program.
#[must_use]
pub fn is_legacy_config(text: &str) -> bool {
    let starts = |name: &str| text.lines().any(|line| line.starts_with(name));
    starts("redis:") && starts("server:") && text.contains("listen_addr:")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
app_name: \"ai-prompt-shell\"
env: dev
server:
  listen_addr: \":8080\"
  debug: true
logger:
  level: \"warning\"
  format: \"text\"
  output: \"stdout\"
redis:
  addr: \"127.0.0.1:6379\"
  password: \"p@ss\"
  db: 2
refresh:
  tool: \"5m\"
llm:
  api_key: \"k\"
  api_base: \"http://127.0.0.1:1\"
";

    #[test]
    fn every_name_with_an_equivalent_becomes_a_setting() {
        assert!(is_legacy_config(CONFIG) && !is_legacy_config("server:\n  port: 1\n"));
        let config = read_legacy_config("config.yaml", CONFIG).expect("can be read");
        assert_eq!(
            config.to_settings(),
            [
                "server.listen=:8080",
                "server.log=warn",
                "store.url=redis://:p%40ss@127.0.0.1:6379/2",
                "llm.provider=openai"
            ]
        );
        let dropped: Vec<&str> = config.dropped.iter().map(|(name, _)| *name).collect();
        assert_eq!(dropped, ["app_name", "env", "logger.output", "refresh"]);
        assert_eq!(
            config.environment,
            [("OPENAI_BASE_URL", "http://127.0.0.1:1/v1".to_owned()), ("OPENAI_API_KEY", "k".to_owned())]
        );
    }

    #[test]
    fn the_version_is_added_to_the_address_of_the_model_once() {
        for base in
            ["http://127.0.0.1:1", "http://127.0.0.1:1/", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/"]
        {
            assert_eq!(versioned_base(base), "http://127.0.0.1:1/v1");
        }
        assert_eq!(versioned_base("https://proxy.example/openai"), "https://proxy.example/openai/v1");
    }

    #[test]
    fn a_typo_is_an_error_and_other_unknown_names_are_reported() {
        let error = read_legacy_config("config.yaml", &CONFIG.replace("listen_addr", "listen_adr"))
            .expect_err("is a mistake");
        assert_eq!(error.near(), ["listen_addr"]);
        let error = read_legacy_config("config.yaml", &CONFIG.replace("redis:", "reddis:"))
            .expect_err("is a mistake");
        assert_eq!(error.near(), ["redis"]);
        let more = format!("{CONFIG}  proxy: x\nmetrics: {{}}\n");
        assert_eq!(
            read_legacy_config("config.yaml", &more).expect("can be read").ignored,
            ["metrics", "llm.proxy"]
        );
        assert!(read_legacy_config("config.yaml", CONFIG).expect("can be read").ignored.is_empty());
    }

    #[test]
    fn every_raised_limit_is_a_setting() {
        for (name, _) in RAISED_LIMITS {
            assert!(hinagata::settings::setting(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_not_yaml_is_an_error() {
        let error = read_legacy_config("config.yaml", "server: [").expect_err("is not YAML");
        assert!(error.message().starts_with("cannot read config.yaml"), "{error}");
    }
}

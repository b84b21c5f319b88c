//! The system variables, `system.*`.

use std::{sync::OnceLock, time::SystemTime};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use serde_json::{Map, Value};

use super::request::Context;
use crate::Agent;

/// The names of the system variables.
pub(crate) const NAMES: [&str; 12] = [
    "datetime",
    "date",
    "time",
    "timezone",
    "os",
    "os_info",
    "agent_id",
    "agent_name",
    "model",
    "session_id",
    "workspace_path",
    "language",
];

/// Facts about the machine, the same for every call.
#[derive(Clone, Debug)]
pub(super) struct Host {
    timezone: Option<String>,
    /// Loaded on first use, because the time zone database is large.
    zone: OnceLock<TimeZone>,
    pub(super) os: String,
    pub(super) language: String,
}

impl Host {
    /// The machine, with the configured time zone, operating system and language.
    pub(super) fn new(timezone: Option<&str>, os: Option<&str>, language: Option<&str>) -> Self {
        Self {
            timezone: timezone.map(str::to_owned),
            zone: OnceLock::new(),
            os: os.unwrap_or(std::env::consts::OS).to_owned(),
            language: language.map_or_else(locale, str::to_owned),
        }
    }
}

impl Host {
    /// The name of the configured time zone if it is unknown.
    pub(super) fn unknown_zone(&self) -> Option<&str> {
        let name = self.timezone.as_deref()?;
        (self.zone().iana_name() != Some(name) && zone_from_name(name).is_none()).then_some(name)
    }

    fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(|| {
            let named = self.timezone.as_deref().and_then(zone_from_name);
            named.unwrap_or_else(TimeZone::system)
        })
    }

    /// The name of the configured time zone.
    pub(super) fn timezone(&self) -> Option<&str> {
        self.timezone.as_deref()
    }
}

/// The time zone with this name, or with this offset, such as `+09:00`.
fn zone_from_name(name: &str) -> Option<TimeZone> {
    let offset = || {
        let (sign, rest) = match name.split_at_checked(1)? {
            ("+", rest) => (1, rest),
            ("-", rest) => (-1, rest),
            _ => return None,
        };
        let (hours, minutes) = rest.split_once(':')?;
        let number = |text: &str| {
            let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i32>().ok().filter(|_| is_number)
        };
        let (hours, minutes) = (number(hours)?, number(minutes).filter(|minutes| *minutes < 60)?);
        let offset = jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()?;
        Some(TimeZone::fixed(offset))
    };
    TimeZone::get(name).ok().or_else(offset)
}

/// The language of the environment: `ja` for `ja_JP.UTF-8`, empty for `C`.
fn locale() -> String {
    let set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let Some(name) = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find(|name| set(name)) else {
        return String::new();
    };
    let value = std::env::var(name).unwrap_or_default();
    let language = value.split(['_', '.', '@']).next().unwrap_or_default();
    if matches!(language, "C" | "POSIX") { String::new() } else { language.to_owned() }
}

/// The system variables of one call. All of them use the same time.
#[derive(Debug)]
pub(super) struct System<'a> {
    host: &'a Host,
    now: SystemTime,
    context: &'a Context,
    agent: Option<&'a Agent>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        host: &'a Host,
        now: SystemTime,
        context: &'a Context,
        agent: Option<&'a Agent>,
    ) -> Self {
        Self { host, now, context, agent }
    }

    /// The value of `name`; `None` for an unknown name.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let agent = |field: fn(&Agent) -> Option<&str>| self.agent.and_then(field);
        let text = match name {
            "datetime" => self.formatted("%Y-%m-%dT%H:%M:%S%:z"),
            "date" => self.formatted("%Y-%m-%d"),
            "time" => self.formatted("%H:%M:%S"),
            "timezone" => self.timezone(),
            "os" | "os_info" => self.host.os.clone(),
            "agent_id" => self.context.agent().unwrap_or_default().to_owned(),
            "agent_name" => agent(|agent| agent.name.as_deref()).unwrap_or_default().to_owned(),
            "model" => {
                let named = self.context.named_model();
                named.or_else(|| agent(|agent| agent.model.as_deref())).unwrap_or_default().to_owned()
            }
            "session_id" => self.context.session_id().unwrap_or_default().to_owned(),
            "workspace_path" => self.context.workspace_path.clone().unwrap_or_default(),
            "language" => self.context.language.clone().unwrap_or_else(|| self.host.language.clone()),
            _ => return None,
        };
        Some(Value::String(text))
    }

    /// All system variables as an object.
    pub(super) fn all(&self) -> Value {
        let entries = NAMES.into_iter().filter_map(|name| Some((name.to_owned(), self.get(name)?)));
        Value::Object(entries.collect::<Map<_, _>>())
    }

    fn zoned(&self) -> Zoned {
        Timestamp::try_from(self.now).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(self.host.zone().clone())
    }

    fn formatted(&self, format: &str) -> String {
        self.zoned().strftime(format).to_string()
    }

    /// The name of the time zone, or its offset if it has no name.
    fn timezone(&self) -> String {
        match self.host.zone().iana_name() {
            Some(name) => name.to_owned(),
            None => self.formatted("%:z"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn times_are_told_in_the_configured_zone() {
        let host = Host::new(Some("Asia/Tokyo"), Some("linux"), Some("ja"));
        let context = Context { workspace_path: Some("/w".into()), ..Context::default() };
        let system = System::new(&host, UNIX_EPOCH + Duration::from_secs(1_771_569_000), &context, None);
        let get = |name| system.get(name).and_then(|value| value.as_str().map(str::to_owned));
        assert_eq!(get("datetime").as_deref(), Some("2026-02-20T15:30:00+09:00"));
        assert_eq!((get("date").as_deref(), get("time").as_deref()), (Some("2026-02-20"), Some("15:30:00")));
        assert_eq!(
            (get("timezone").as_deref(), get("os_info").as_deref()),
            (Some("Asia/Tokyo"), Some("linux"))
        );
        assert_eq!((get("agent_name").as_deref(), get("workspace_path").as_deref()), (Some(""), Some("/w")));
        assert_eq!(get("nothing"), None);
        assert_eq!(system.all().as_object().map(Map::len), Some(NAMES.len()));
    }

    #[test]
    fn a_zone_can_be_an_offset() {
        let (host, context) = (Host::new(Some("+09:00"), None, None), Context::default());
        let system = System::new(&host, UNIX_EPOCH + Duration::from_secs(1_771_569_000), &context, None);
        assert_eq!(system.get("datetime"), Some("2026-02-20T15:30:00+09:00".into()));
        assert_eq!(system.get("timezone"), Some("+09:00".into()));
    }

    #[test]
    fn a_zone_that_is_not_there_is_told() {
        assert_eq!(Host::new(Some("Mars/Olympus"), None, None).unknown_zone(), Some("Mars/Olympus"));
        assert_eq!(Host::new(Some("asia/tokyo"), None, None).unknown_zone(), None);
        assert_eq!(Host::new(None, None, None).unknown_zone(), None);
        assert_eq!(Host::new(Some("+09:00"), None, None).unknown_zone(), None);
        for name in ["+9", "+09:60", "+99:00", "09:00", "+-9:00"] {
            assert_eq!(Host::new(Some(name), None, None).unknown_zone(), Some(name));
        }
    }

    #[test]
    fn the_context_decides_on_model_and_language() {
        let host = Host::new(Some("UTC"), None, Some("ja"));
        let agent = Agent::parse("a", "agent.json", r#"{"name": "Ann", "model": "own"}"#).expect("reads");
        let context = Context { language: Some("en".into()), ..Context::default() };
        let system = System::new(&host, UNIX_EPOCH, &context, Some(&agent));
        assert_eq!(system.get("model"), Some("own".into()));
        assert_eq!(
            (system.get("language"), system.get("agent_name")),
            (Some("en".into()), Some("Ann".into()))
        );
        let given = Context { model: Some("given".into()), ..Context::default() };
        assert_eq!(System::new(&host, UNIX_EPOCH, &given, Some(&agent)).get("model"), Some("given".into()));
    }
}

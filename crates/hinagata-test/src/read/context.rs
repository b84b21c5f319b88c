//! The surroundings of a case.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hinagata_document::Node;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};

use super::{Reader, join_field};
use crate::case::CaseContext;

const KEYS: [&str; 11] = [
    "now",
    "timezone",
    "os",
    "project",
    "agent_id",
    "model",
    "language",
    "workspace_path",
    "session",
    "session_id",
    "session_state",
];

/// The time of cases that set none: the first second of 2026 in UTC.
const DEFAULT_NOW: Duration = Duration::from_secs(1_767_225_600);

/// The time of cases that set none.
pub(crate) fn default_now() -> SystemTime {
    UNIX_EPOCH + DEFAULT_NOW
}

impl Reader<'_> {
    /// Reports unknown keys and invalid values.
    pub(super) fn check_context(&mut self, field: &str, node: Option<&Node>) {
        let Some(node) = node else { return };
        self.check_keys(field, node, &KEYS);
        for (key, value) in node.as_map().unwrap_or_default() {
            let inner = join_field(field, key);
            match key.as_str() {
                "session" | "session_state" => {
                    self.fields.map(&inner, value);
                }
                "now" => {
                    let text = self.fields.string(&inner, value);
                    if text.is_some_and(|text| parse_time(&text).is_none()) {
                        self.fields.problem_with_hint(
                            &inner,
                            value,
                            "`now` must be a time with its offset",
                            "write it like 2026-02-20T15:30:00+09:00",
                        );
                    }
                }
                _ => {
                    self.fields.optional_string(&inner, value);
                }
            }
        }
    }

    /// The context of a case, from checked values.
    pub(super) fn case_context(&mut self, map: &Map<String, Value>) -> CaseContext {
        let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
        let time = text("now").and_then(|now| parse_time(&now));
        let (now, zone) = time.unwrap_or_else(|| (default_now(), "UTC".to_owned()));
        CaseContext {
            now,
            timezone: text("timezone").unwrap_or(zone),
            os: text("os").unwrap_or_else(|| "linux".to_owned()),
            call: map.clone(),
            project: text("project"),
        }
    }
}

/// A time, and the zone that it is written in.
fn parse_time(text: &str) -> Option<(SystemTime, String)> {
    if let Ok(zoned) = text.parse::<Zoned>() {
        let name = zoned.time_zone().iana_name().map(str::to_owned);
        return Some((zoned.timestamp().into(), name.unwrap_or_else(|| zoned.strftime("%:z").to_string())));
    }
    let time: Timestamp = text.parse().ok()?;
    let offset = text.get(text.len().checked_sub(6)?..).filter(|end| end.starts_with(['+', '-']));
    let zone = offset.filter(|offset| *offset != "+00:00" && offset.as_bytes().get(3) == Some(&b':'));
    Some((time.into(), zone.unwrap_or("UTC").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_a_zone() {
        let zone = |text: &str| parse_time(text).map(|(_, zone)| zone);
        assert_eq!(zone("2026-02-20T15:30:00+09:00").as_deref(), Some("+09:00"));
        assert_eq!(zone("2026-02-20T15:30:00+09:00[Asia/Tokyo]").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(zone("2026-02-20T15:30:00Z").as_deref(), Some("UTC"));
        assert_eq!(zone("2026-02-20 15:30:00"), None);
        assert_eq!(zone("soon"), None);
        let (time, _) = parse_time("2026-01-01T00:00:00Z").expect("is a time");
        assert_eq!(time, UNIX_EPOCH + DEFAULT_NOW);
    }
}

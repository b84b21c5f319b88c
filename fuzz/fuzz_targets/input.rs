//! What a fuzzer's bytes mean: texts between zero bytes, the last of them the data.

use hinagata_value::Limits;
use serde_json::Value as Json;

/// Templates by place, and the data they are rendered on.
pub struct Input<'b> {
    pub sources: Vec<&'b str>,
    pub data: Json,
}

/// Reads an input; `None` where it is no text.
pub fn read(bytes: &[u8]) -> Option<Input<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut sources: Vec<&str> = text.split('\0').collect();
    let data = match sources.len() {
        1 => Json::Null,
        _ => serde_json::from_str(sources.pop()?).unwrap_or(Json::Null),
    };
    Some(Input { sources, data })
}

/// Small limits: an input must end in milliseconds.
pub fn limits() -> Limits {
    Limits {
        steps: 50_000,
        bytes: 1 << 20,
        fill: 64 << 10,
        range_items: 10_000,
        calls: 60,
        ..Limits::default()
    }
}

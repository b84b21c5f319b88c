//! What a fuzzer's bytes mean: texts between zero bytes, the last of them the data.
//!
//! A piece of a source between the bytes 1 and 2 stands there a thousand times, between 1 and 3 as often as the
//! longest source allows. So a short input makes long chains, the fuzzer changes what is repeated as it changes
//! everything else, and an input can be made smaller without losing its length.

use hinagata_value::Limits;
use serde_json::Value as Json;

/// Where a repeated piece begins, and where it ends.
const OPEN: char = '\u{1}';
const CLOSE_MANY: char = '\u{2}';
const CLOSE_MOST: char = '\u{3}';
/// How often a piece stands that ends with [`CLOSE_MANY`].
const MANY: usize = 1_000;

/// Templates by place, and the data they are rendered on.
pub struct Input {
    pub sources: Vec<String>,
    pub data: Json,
}

/// Reads an input; `None` where it is no text.
pub fn read(bytes: &[u8]) -> Option<Input> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut sources: Vec<&str> = text.split('\0').collect();
    let data = match sources.len() {
        1 => Json::Null,
        _ => serde_json::from_str(sources.pop()?).unwrap_or(Json::Null),
    };
    Some(Input { sources: sources.into_iter().map(write_out).collect(), data })
}

/// The source with its repeated pieces written out, no longer than a source may be.
fn write_out(source: &str) -> String {
    let most = limits().source;
    let mut out = String::new();
    let mut rest = source;
    while let Some((before, piece, count, after)) = next_piece(rest) {
        out.push_str(before);
        let room = most.saturating_sub(out.len() + after.len()) / piece.len().max(1);
        out.push_str(&piece.repeat(count.min(room)));
        rest = after;
    }
    out + rest
}

/// The text before a repeated piece, the piece, how often it is wanted, and the text behind it.
fn next_piece(source: &str) -> Option<(&str, &str, usize, &str)> {
    let (before, rest) = source.split_once(OPEN)?;
    let end = rest.find([CLOSE_MANY, CLOSE_MOST])?;
    let count = if rest[end..].starts_with(CLOSE_MANY) { MANY } else { usize::MAX };
    Some((before, &rest[..end], count, &rest[end + 1..]))
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

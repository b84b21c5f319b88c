//! Pages of lists. A cursor names the last entry of the previous page, so entries that come and go shift nothing.

use hinagata_value::encoding::{decode_hex, encode_hex};
use rmcp::{
    ErrorData,
    model::{CacheScope, PaginatedRequestParams},
};

use crate::{backend::Viewer, failure::invalid_params};

/// Entries per page.
pub(crate) const PAGE_SIZE: usize = 1_000;

/// The prefix of a decoded cursor.
const CURSOR_PREFIX: &str = "after:";

/// How long clients may cache a list, in milliseconds. They are notified of changes.
pub(crate) const LIST_TTL_MS: u64 = 5_000;

/// Who may cache a result: one that required a key is private.
pub(crate) fn cache_scope(viewer: &Viewer) -> CacheScope {
    if viewer.has_key || !viewer.can_see_all() { CacheScope::Private } else { CacheScope::Public }
}

/// The requested page of `all`, which is sorted by `key`, and the cursor of the next page.
pub(crate) fn take_page<T: Clone>(
    all: impl Iterator<Item = T>,
    key: impl Fn(&T) -> &str,
    params: Option<&PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    take_page_of(PAGE_SIZE, all, key, params)
}

/// As [`take_page`], with at most `size` entries.
pub(crate) fn take_page_of<T: Clone>(
    size: usize,
    all: impl Iterator<Item = T>,
    key: impl Fn(&T) -> &str,
    params: Option<&PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let after = params.and_then(|params| params.cursor.as_deref()).map(decode_cursor).transpose()?;
    let mut page: Vec<T> =
        all.filter(|entry| after.as_deref().is_none_or(|after| key(entry) > after)).take(size + 1).collect();
    let more = page.len() > size;
    page.truncate(size);
    let next = page.last().filter(|_| more).map(|last| encode_cursor(key(last)));
    Ok((page, next))
}

fn encode_cursor(key: &str) -> String {
    encode_hex(CURSOR_PREFIX.bytes().chain(key.bytes()))
}

fn decode_cursor(cursor: &str) -> Result<String, ErrorData> {
    let text = decode_hex(cursor).and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.and_then(|text| text.strip_prefix(CURSOR_PREFIX).map(str::to_owned));
    key.ok_or_else(|| invalid_params("invalid cursor; start again without one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_contiguous_and_invalid_cursors_are_rejected() {
        let all: Vec<String> = (0..2_500).map(|number| format!("p{number:05}")).collect();
        let (mut seen, mut params, mut pages) = (Vec::new(), None, 0);
        loop {
            let (entries, next) = take_page(all.iter(), |entry| entry, params.as_ref()).expect("is a page");
            seen.extend(entries);
            pages += 1;
            let Some(next) = next else { break };
            params = Some(PaginatedRequestParams::default().with_cursor(Some(next)));
        }
        assert_eq!((seen.len(), pages), (2_500, 3));
        for invalid in ["", "x", "definitely-not-a-cursor", "61", "ff"] {
            let params = PaginatedRequestParams::default().with_cursor(Some(invalid.to_owned()));
            assert!(take_page(all.iter(), |entry| entry, Some(&params)).is_err(), "{invalid}");
        }
    }
}

//! Pages of lists: a cursor names the entry that a page starts behind, so entries that come and go shift nothing.

use rmcp::{
    ErrorData,
    model::{CacheScope, PaginatedRequestParams},
};

use crate::{backend::Viewer, failure::invalid_params};

/// Entries of a page.
pub(crate) const PAGE_SIZE: usize = 1_000;

/// How a cursor of ours starts, before it is made unreadable.
const CURSOR_PREFIX: &str = "after:";

/// Milliseconds that a list can be taken as it is: changes are told.
pub(crate) const LIST_TTL_MS: u64 = 5_000;

/// Who may keep an answer: one that needed a key is for whoever has it.
pub(crate) fn cache_scope(viewer: &Viewer) -> CacheScope {
    if viewer.has_key || !viewer.can_see_all() { CacheScope::Private } else { CacheScope::Public }
}

/// The page of `all`, which is sorted by `key`, that is asked for, and the cursor of the next one.
pub(crate) fn take_page<T: Clone>(
    all: impl Iterator<Item = T>,
    key: impl Fn(&T) -> &str,
    asked: Option<&PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let after = asked.and_then(|asked| asked.cursor.as_deref()).map(decode_cursor).transpose()?;
    let mut page: Vec<T> = all
        .filter(|entry| after.as_deref().is_none_or(|after| key(entry) > after))
        .take(PAGE_SIZE + 1)
        .collect();
    let more = page.len() > PAGE_SIZE;
    page.truncate(PAGE_SIZE);
    let next = page.last().filter(|_| more).map(|last| encode_cursor(key(last)));
    Ok((page, next))
}

fn encode_cursor(key: &str) -> String {
    CURSOR_PREFIX.bytes().chain(key.bytes()).map(|byte| format!("{byte:02x}")).collect()
}

fn decode_cursor(cursor: &str) -> Result<String, ErrorData> {
    let digits: Option<Vec<u8>> = cursor.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let bytes = digits
        .filter(|digits| digits.len().is_multiple_of(2))
        .map(|digits| digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect::<Vec<u8>>());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let key = text.and_then(|text| text.strip_prefix(CURSOR_PREFIX).map(str::to_owned));
    key.ok_or_else(|| invalid_params("this cursor is none of ours; start again without one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_strange_cursors_are_refused() {
        let all: Vec<String> = (0..2_500).map(|number| format!("p{number:05}")).collect();
        let (mut seen, mut asked, mut pages) = (Vec::new(), None, 0);
        loop {
            let (entries, next) = take_page(all.iter(), |entry| entry, asked.as_ref()).expect("is a page");
            seen.extend(entries);
            pages += 1;
            let Some(next) = next else { break };
            asked = Some(PaginatedRequestParams::default().with_cursor(Some(next)));
        }
        assert_eq!((seen.len(), pages), (2_500, 3));
        for wrong in ["", "x", "definitely-not-a-cursor", "61", "ff"] {
            let asked = PaginatedRequestParams::default().with_cursor(Some(wrong.to_owned()));
            assert!(take_page(all.iter(), |entry| entry, Some(&asked)).is_err(), "{wrong}");
        }
    }
}

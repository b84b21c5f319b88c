//! The web page of the daemon: its files, compressed, and their media types.
//!
//! `index.html` is the only HTML. All other files lie beneath `/page/HASH/`, where `HASH` depends on every file, so that
//! browsers may keep them for ever.

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// What the page may load and do. No policy for trusted types exists, so no script can turn text into HTML.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The name of the only HTML file.
pub const INDEX: &str = "index.html";

/// The hash of all files, which is part of their addresses.
#[must_use]
pub fn files_hash() -> &'static str {
    HASH
}

/// The gzipped content of a file.
#[must_use]
pub fn find_file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
}

/// The names and gzipped contents of all files.
pub fn list_files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().copied()
}

/// The media type of a file; `None` for files that the page does not have.
#[must_use]
pub fn media_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser loads before it shows the list of prompts, gzipped.
    const FIRST_VIEW_LIMIT: usize = 130_000;
    /// All files, gzipped.
    const TOTAL_LIMIT: usize = 330_000;

    #[test]
    fn every_file_has_a_media_type_and_the_page_stays_small() {
        let mut total = 0;
        let mut first_view = 0;
        for (name, content) in list_files() {
            assert!(media_type(name).is_some(), "{name}");
            assert_eq!(content[..2], [0x1f, 0x8b], "{name} is gzipped");
            total += content.len();
            if !name.starts_with("vendor-codemirror") && !name.ends_with(".txt") {
                first_view += content.len();
            }
        }
        assert!(first_view <= FIRST_VIEW_LIMIT, "{first_view} bytes");
        assert!(total <= TOTAL_LIMIT, "{total} bytes");
    }

    #[test]
    fn only_the_files_of_the_table_are_found() {
        assert!(find_file(INDEX).is_some() && find_file("../Cargo.toml").is_none());
        assert_eq!(files_hash().len(), 16);
    }
}

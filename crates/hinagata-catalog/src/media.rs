//! Media types of files by their bytes and names, and checks of types, URIs and base64.

pub use hinagata_module::driver::encode_base64;

/// Signatures of media types: an offset, the bytes there, and the type.
const STARTS: [(usize, &[u8], &str); 14] = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"BM", "image/bmp"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypavif", "image/avif"),
    (0, b"%PDF-", "application/pdf"),
];

/// Media types by file extension.
const ENDS: [(&str, &str); 22] = [
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("jinja2", "text/plain"),
    ("jinja", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("ts", "text/x-typescript"),
    ("py", "text/x-python"),
    ("rs", "text/x-rust"),
    ("go", "text/x-go"),
    ("toml", "application/toml"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("xml", "application/xml"),
    ("svg", "image/svg+xml"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
];

/// The media type by the first bytes of a file.
#[must_use]
pub fn detect_media_type(bytes: &[u8]) -> Option<&'static str> {
    let riff = |offset: usize| offset != 8 || bytes.starts_with(b"RIFF");
    let found = STARTS.iter().find(|(offset, start, _)| {
        riff(*offset) && bytes.get(*offset..).is_some_and(|rest| rest.starts_with(start))
    });
    found.map(|(_, _, kind)| *kind)
}

/// The media type by the extension of a name.
#[must_use]
pub fn type_of_name(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit('/').next()?.rsplit_once('.')?;
    ENDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map(|(_, kind)| *kind)
}

/// The media type of a file: by its bytes, else by its name, else `text/plain` or `application/octet-stream`.
#[must_use]
pub fn type_of_file(name: &str, bytes: &[u8]) -> &'static str {
    let is_text = std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0);
    let by_name = || type_of_name(name).filter(|kind| is_text || !kind.starts_with("text/"));
    let rest = if is_text { "text/plain" } else { "application/octet-stream" };
    detect_media_type(bytes).or_else(by_name).unwrap_or(rest)
}

/// The bytes as text.
///
/// # Errors
/// The bytes, if they are not UTF-8 or contain NUL, which no text has.
pub fn into_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if bytes.contains(&0) {
        return Err(bytes);
    }
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

/// Whether `text` is a media type such as `image/png`.
#[must_use]
pub fn is_type(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let essence = text.split(';').next().unwrap_or(text).trim();
    let rest_is_fine = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    text.len() <= 255
        && rest_is_fine
        && essence.split_once('/').is_some_and(|(kind, subtype)| word(kind) && word(subtype))
}

/// Whether `text` is a URI with a scheme, without characters that must be escaped, and at most 2048 bytes long.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let starts = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let named = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    let refused = |c: char| c.is_control() || c.is_whitespace() || "\"<>\\^`{|}".contains(c);
    text.len() <= 2_048 && starts && named && !rest.is_empty() && !rest.contains(refused)
}

/// Whether `text` is base64 with padding.
#[must_use]
pub fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_before_names() {
        assert_eq!(type_of_file("a.txt", b"\x89PNG\r\n\x1a\n...."), "image/png");
        assert_eq!(type_of_file("a.md", b"# hi"), "text/markdown");
        assert_eq!(type_of_file("a.md", b"\xff\xfe\x00"), "application/octet-stream");
        assert_eq!(type_of_file("noise", b"RIFF\x00\x00\x00\x00WAVEfmt "), "audio/wav");
        assert_eq!(type_of_file("noise", b"xxxx____WAVEfmt "), "text/plain");
        assert_eq!(type_of_file("noise.txt", b"xxxx\x00\x00"), "application/octet-stream");
        assert_eq!((type_of_name("dir.png/file"), type_of_name("x.PNG")), (None, Some("image/png")));
    }

    #[test]
    fn bytes_with_nul_are_no_text() {
        assert_eq!(into_text(b"abc".to_vec()), Ok("abc".to_owned()));
        assert_eq!(into_text(b"a\0c".to_vec()), Err(b"a\0c".to_vec()));
        assert_eq!(into_text(b"\xff".to_vec()), Err(b"\xff".to_vec()));
    }

    #[test]
    fn uris_have_a_scheme_and_no_spaces() {
        for uri in ["test://a", "file:///x/y.md", "urn:a:b", "prompt://日本語", "data:text/plain,hi"] {
            assert!(is_uri(uri), "{uri}");
        }
        for text in ["", "x", "://a", "1a:b", "a:", "a b:c", "test://a b", "test://a\nb", "test://{id}"] {
            assert!(!is_uri(text), "{text}");
        }
    }

    #[test]
    fn types_and_base64_are_recognized() {
        assert!(is_type("image/png") && is_type("text/plain; charset=utf-8"));
        assert!(!is_type("image") && !is_type("image/") && !is_type("a/b\r\nx: y"));
        assert!(is_base64("") && is_base64("Zg==") && is_base64("Zm9v"));
        assert!(!is_base64("Zg=") && !is_base64("Zg===") && !is_base64("Z*9v") && !is_base64("===="));
    }
}

//! Images and files in requests.

use std::borrow::Cow;

use super::RequestOptions;
use crate::{Attachment, Error, Problem};

/// Reads attached files: this crate does not access the disk.
pub trait Files: Send + Sync {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// An image or a file, ready for a request.
pub(super) enum Media<'p> {
    /// A text file.
    Text(String),
    /// A URL.
    Url { kind: Kind, mime: Option<Cow<'p, str>>, url: &'p str },
    /// Bytes in base64.
    Data { kind: Kind, mime: Cow<'p, str>, base64: Cow<'p, str>, name: Cow<'p, str> },
}

/// The kinds that providers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Audio,
    Document,
}

impl Kind {
    fn from_mime(mime: &str) -> Self {
        match mime.split('/').next() {
            Some("image") => Self::Image,
            Some("audio") => Self::Audio,
            _ => Self::Document,
        }
    }
}

impl<'p> Media<'p> {
    /// The media of an attachment.
    pub(super) fn from_attachment(
        attachment: &'p Attachment,
        options: &RequestOptions,
    ) -> Result<Self, Error> {
        match attachment {
            Attachment::Text(text) => Ok(Self::Text(text.to_string())),
            Attachment::ImageUrl { url } => Ok(match data_url(url) {
                Some((mime, base64)) => Self::Data {
                    kind: Kind::Image,
                    mime: mime.into(),
                    base64: base64.into(),
                    name: "image".into(),
                },
                None => Self::Url { kind: Kind::Image, mime: image_type(url).map(Cow::Borrowed), url },
            }),
            Attachment::File { path, mime_type, name } => {
                Self::from_file(path, mime_type, name.as_deref(), options)
            }
        }
    }

    fn from_file(
        path: &'p str,
        mime: &'p str,
        name: Option<&'p str>,
        options: &RequestOptions,
    ) -> Result<Self, Error> {
        let kind = Kind::from_mime(mime);
        if let Some((_, base64)) = data_url(path) {
            let name = name.unwrap_or("file").into();
            return Ok(Self::Data { kind, mime: mime.into(), base64: base64.into(), name });
        }
        if path.contains("://") {
            return Ok(Self::Url { kind, mime: Some(mime.into()), url: path });
        }
        let shown = path.chars().take(200).collect::<String>();
        let Some(files) = &options.files else {
            return Err(Problem::new("", format!("no reader is set for the file `{shown}`"))
                .with_hint("set `RequestOptions::files`, or attach a `data:` URL")
                .into());
        };
        let bytes = files
            .read(path)
            .map_err(|error| Problem::new("", format!("cannot read the file `{shown}`: {error}")))?;
        if is_text(mime) {
            return match String::from_utf8(bytes) {
                Ok(text) => Ok(Self::Text(text)),
                Err(_) => {
                    Err(Problem::new("", format!("the file `{shown}` of type {mime} is not valid UTF-8"))
                        .with_hint("attach it with its actual type")
                        .into())
                }
            };
        }
        let name = name.unwrap_or_else(|| path.rsplit(['/', '\\']).next().unwrap_or(path));
        Ok(Self::Data { kind, mime: mime.into(), base64: encode_base64(&bytes).into(), name: name.into() })
    }
}

/// The error of content that a provider does not accept.
pub(super) fn unsupported_error(driver: &str, what: &str, hint: &str) -> Error {
    Problem::new("", format!("{driver} does not accept {what}")).with_hint(hint).into()
}

/// The error of an image or a file that is not from the user.
pub(super) fn media_only_from_user(driver: &str, whose: &str) -> Error {
    unsupported_error(driver, &format!("an image or file {whose}"), "attach it to a user message or to data")
}

fn is_text(mime: &str) -> bool {
    let mime = mime.split(';').next().unwrap_or(mime).trim();
    mime.starts_with("text/") || mime == "application/json" || mime == "application/xml"
}

/// The type and the data of a `data:` URL in base64.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime = head.strip_suffix(";base64")?;
    Some((mime.split(';').next().unwrap_or(mime), data))
}

/// The type of an image, by the extension in its URL.
fn image_type(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, end) = path.rsplit_once('.')?;
    Some(match end.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return None,
    })
}

/// Encodes bytes in base64.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let all = group.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_base_64() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode_base64(bytes.as_bytes()), expected);
        }
        assert_eq!(encode_base64(&[0xff, 0xfe, 0x00]), "//4A");
    }

    #[test]
    fn addresses_with_data_are_taken_apart() {
        assert_eq!(data_url("data:image/png;base64,QUJD"), Some(("image/png", "QUJD")));
        assert_eq!(data_url("data:text/plain;charset=utf-8;base64,QQ=="), Some(("text/plain", "QQ==")));
        assert_eq!(data_url("data:text/plain,hello"), None);
        assert_eq!(data_url("https://e.test/a.png"), None);
    }
}

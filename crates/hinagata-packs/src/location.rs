//! Where packs come from: directories, archives, addresses, git repositories, an index.
//!
//! The settings write a location in `[packs]`, and the lock writes the same fields back.

use hinagata_document::{Digest, Error, Reason, Result};
use hinagata_value::near_names;
use serde_json::{Map, Value};

use crate::range::VersionRange;

/// The place of one pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackLocation {
    /// A directory, relative to the workspace root.
    Directory(String),
    /// An archive, relative to the workspace root.
    File(String),
    /// An archive at an address, with its SHA-256.
    Url {
        /// The address.
        url: String,
        /// The SHA-256 of the archive.
        sha256: Digest,
    },
    /// A commit of a git repository.
    Git(GitLocation),
    /// An archive that an index names.
    Index {
        /// The index as the settings name it.
        index: String,
        /// The address of the archive; for an index in a file, it can be a path relative to the workspace root.
        url: String,
        /// The SHA-256 of the archive.
        sha256: Digest,
    },
}

/// A pack in a git repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLocation {
    /// The address of the repository, or its path relative to the workspace root.
    pub repository: String,
    /// The tag, branch or commit.
    pub revision: GitRevision,
    /// The directory of the pack in the repository; the top directory without it.
    pub path: Option<String>,
}

/// What names a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitRevision {
    /// A tag.
    Tag(String),
    /// A branch, or the full hash of a commit.
    Revision(String),
}

impl GitLocation {
    /// Whether the repository is named by a path relative to the workspace root.
    pub(crate) fn is_path(&self) -> bool {
        !self.repository.contains("://")
            && self.repository.split_once(':').is_none_or(|(host, _)| host.contains('/'))
    }

    /// Whether the repository is a directory of this machine.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        self.is_path() || self.repository.starts_with("file://")
    }
}

impl GitRevision {
    /// The tag, branch or hash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tag(name) | Self::Revision(name) => name,
        }
    }

    /// The hash, if it is the full hash of a commit.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Revision(name) if is_commit(name) => Some(name),
            _ => None,
        }
    }
}

/// Whether `text` is the full hash of a commit.
#[must_use]
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What the settings say about one pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedPack {
    /// One place.
    Location(PackLocation),
    /// A version of the index.
    Range(VersionRange),
}

/// The fields of all locations.
const FIELDS: [&str; 9] = ["dir", "file", "url", "sha256", "git", "tag", "rev", "path", "index"];

impl WantedPack {
    /// Reads the value of a pack in `[packs]`.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`.
    pub fn from_value(value: &Value) -> Result<Self> {
        match value {
            Value::String(range) => VersionRange::parse(range).map(Self::Range),
            Value::Object(fields) => {
                let location = PackLocation::from_fields(fields)?;
                match location {
                    PackLocation::Index { .. } => Err(location_error(
                        "`index` is not a place of one pack; write a range of versions such as `\"1.2\"`",
                    )),
                    location => Ok(Self::Location(location)),
                }
            }
            _ => Err(location_error("must be a range of versions or a table")),
        }
    }
}

impl PackLocation {
    /// Reads the fields of a table.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`.
    pub fn from_fields(fields: &Map<String, Value>) -> Result<Self> {
        for (name, value) in fields {
            if !FIELDS.contains(&name.as_str()) {
                return Err(
                    location_error(format!("unknown field `{name}`")).with_near(near_names(name, FIELDS))
                );
            }
            if !value.is_string() {
                return Err(location_error(format!("`{name}` must be a string")));
            }
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let kinds: Vec<&str> = ["dir", "file", "index", "url", "git"]
            .into_iter()
            .filter(|name| fields.contains_key(*name))
            .collect();
        let allowed: &[&str] = match kinds.as_slice() {
            ["dir"] => &["dir"],
            ["file"] => &["file"],
            ["url"] => &["url", "sha256"],
            ["git"] => &["git", "tag", "rev", "path"],
            ["index", "url"] => &["index", "url", "sha256"],
            _ => return Err(location_error("needs exactly one of `dir`, `file`, `url` and `git`")),
        };
        if let Some(other) = fields.keys().find(|name| !allowed.contains(&name.as_str())) {
            return Err(location_error(format!("`{other}` does not belong to `{}`", kinds[0])));
        }
        let required = |name: &str| text(name).ok_or_else(|| location_error(format!("`{name}` is missing")));
        let sha256 = || {
            let text = required("sha256")?;
            text.parse::<Digest>().map_err(|error| location_error(format!("`sha256`: {error}")))
        };
        Ok(match kinds[0] {
            "dir" => Self::Directory(check_relative("dir", required("dir")?)?),
            "file" => Self::File(check_relative("file", required("file")?)?),
            "url" => Self::Url { url: check_address("url", required("url")?)?, sha256: sha256()? },
            "index" => Self::Index { index: required("index")?, url: required("url")?, sha256: sha256()? },
            _ => Self::Git(GitLocation {
                repository: check_repository(required("git")?)?,
                revision: match (text("tag"), text("rev")) {
                    (Some(tag), None) => GitRevision::Tag(check_revision("tag", tag)?),
                    (None, Some(revision)) => GitRevision::Revision(check_revision("rev", revision)?),
                    _ => return Err(location_error("`git` needs one of `tag` and `rev`")),
                },
                path: text("path").as_deref().map(check_inner_path).transpose()?,
            }),
        })
    }

    /// The fields, in their order.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Directory(path) => vec![("dir", path.clone())],
            Self::File(path) => vec![("file", path.clone())],
            Self::Url { url, sha256 } => vec![("url", url.clone()), ("sha256", sha256.to_string())],
            Self::Index { index, url, sha256 } => {
                vec![("index", index.clone()), ("url", url.clone()), ("sha256", sha256.to_string())]
            }
            Self::Git(git) => {
                let mut fields = vec![("git", git.repository.clone())];
                fields.push(match &git.revision {
                    GitRevision::Tag(tag) => ("tag", tag.clone()),
                    GitRevision::Revision(revision) => ("rev", revision.clone()),
                });
                fields.extend(git.path.clone().map(|path| ("path", path)));
                fields
            }
        }
    }

    /// The location for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Directory(path) | Self::File(path) => path.clone(),
            Self::Url { url, .. } | Self::Index { url, .. } => url.clone(),
            Self::Git(git) => {
                let path = git.path.as_ref().map(|path| format!(", {path}")).unwrap_or_default();
                format!("{} at {}{path}", git.repository, git.revision.as_str())
            }
        }
    }
}

fn location_error(message: impl Into<String>) -> Error {
    Error::definition(Reason::Settings, message)
        .with_hint("docs/reference/packs.md describes the sources of packs")
}

/// Checks a path relative to the workspace root; it can lead out of it.
fn check_relative(field: &str, path: String) -> Result<String> {
    let is_absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    match path.is_empty() || is_absolute || path.contains(['\\', '\0']) {
        true => {
            Err(location_error(format!("`{field}` must be a path relative to the workspace root, with `/`")))
        }
        false => Ok(path),
    }
}

fn check_inner_path(path: &str) -> Result<String> {
    let path = path.trim_end_matches('/');
    let is_good =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0', ':']);
    match path.split('/').all(is_good) {
        true => Ok(path.to_owned()),
        false => Err(location_error("`path` must be a directory in the repository, such as `packs/git`")),
    }
}

/// Checks the name of a tag, a branch or a commit: git would take some texts as options or as other syntax.
fn check_revision(field: &str, name: String) -> Result<String> {
    let is_bad = |c: char| {
        c.is_control() || c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\' | '@')
    };
    let is_named = !name.is_empty() && !name.starts_with(['-', '/', '+']) && !name.ends_with(['/', '.']);
    match is_named && !name.contains(is_bad) && !name.contains("..") && name.len() <= 250 {
        true => Ok(name),
        false => Err(location_error(format!("`{field}` must be the name of a tag, a branch or a commit"))),
    }
}

fn check_repository(repository: String) -> Result<String> {
    if repository.contains("://") {
        return check_scheme("git", repository, &["https", "ssh", "file"]);
    }
    // `user@host:path`, the short form of ssh.
    if let Some((host, path)) = repository.split_once(':').filter(|(host, _)| !host.contains('/')) {
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
        let named =
            host.len() > 1 && host.chars().all(is_good) && !host.starts_with('-') && !host.contains("@-");
        return match named
            && !path.is_empty()
            && !path.starts_with(['-', ':'])
            && !path.contains(char::is_control)
        {
            true => Ok(repository),
            false => Err(location_error("`git` must be an https, ssh or file address, or a relative path")),
        };
    }
    match repository.starts_with('-') {
        true => Err(location_error("`git` must be an https, ssh or file address, or a relative path")),
        false => check_relative("git", repository),
    }
}

/// Checks the address of an archive or an index.
pub(crate) fn check_address(field: &str, address: String) -> Result<String> {
    check_scheme(field, address, &["https"])
}

/// Checks an address. `http` is allowed for this machine alone, because other people could change what it returns.
fn check_scheme(field: &str, address: String, schemes: &[&str]) -> Result<String> {
    let wrong = |what: &str| Err(location_error(format!("`{field}`: {what}")));
    if address.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '\\' | '"' | '<' | '>'))
    {
        return wrong("the address contains characters that it must not");
    }
    let Some((scheme, rest)) = address.split_once("://") else {
        return wrong("an address such as `https://…` is needed");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if user.is_some_and(|user| user.contains(':') || scheme != "ssh") {
        return wrong(
            "the address contains a user or a password, which would be in files that others read; use a credential helper of git",
        );
    }
    if host.starts_with('-') || user.is_some_and(|user| user.starts_with('-')) {
        return wrong("the address has an invalid host");
    }
    let is_local = || is_loopback(host);
    match scheme {
        "file" if schemes.contains(&"file") && host.is_empty() => Ok(address),
        "file" => wrong("a `file` address is not supported here; use a path relative to the workspace root"),
        _ if host.is_empty() => wrong("the address has no host"),
        "http" if is_local() => Ok(address),
        scheme if schemes.contains(&scheme) => Ok(address),
        "http" => wrong("use https: over http, others could change what it returns"),
        other => wrong(&format!("unsupported scheme `{other}`; expected {}", schemes.join(", "))),
    }
}

/// Whether an authority without a user is this machine.
#[must_use]
pub fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_location_is_read_and_written_with_the_same_fields() {
        let sha256 = "0".repeat(64);
        for value in [
            json!({"dir": "../politeness"}),
            json!({"file": "packs/a.tar.gz"}),
            json!({"url": "https://example.com/a.zip", "sha256": sha256}),
            json!({"git": "https://example.com/a.git", "tag": "v1.2.0", "path": "packs/git"}),
            json!({"git": "git@example.com:team/packs.git", "rev": "main"}),
            json!({"git": "ssh://git@example.com:2222/packs", "rev": "0123456789012345678901234567890123456789"}),
            json!({"git": "../repository", "tag": "v1"}),
            json!({"git": "file:///srv/packs.git", "tag": "v1"}),
            json!({"url": "http://127.0.0.1:8000/a.zip", "sha256": sha256}),
        ] {
            let Ok(WantedPack::Location(location)) = WantedPack::from_value(&value) else {
                panic!("{value}")
            };
            let fields: Map<String, Value> =
                location.fields().into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
            assert_eq!(Value::Object(fields), value);
        }
        assert!(matches!(WantedPack::from_value(&json!("1.2")), Ok(WantedPack::Range(_))));
    }

    #[test]
    fn places_that_are_ambiguous_unsafe_or_of_one_machine_are_refused() {
        let sha256 = "0".repeat(64);
        for value in [
            json!({}),
            json!(1),
            json!("latest please"),
            json!({"dir": "/home/me/pack"}),
            json!({"dir": "~/pack"}),
            json!({"dir": "a", "file": "b"}),
            json!({"dir": "a", "tag": "b"}),
            json!({"dirs": "a"}),
            json!({"url": "https://example.com/a.zip"}),
            json!({"url": "http://example.com/a.zip", "sha256": sha256}),
            json!({"url": "http://127.0.0.1:80@example.com/a.zip", "sha256": sha256}),
            json!({"url": "https://me:secret@example.com/a.zip", "sha256": sha256}),
            json!({"url": "file:///etc/passwd", "sha256": sha256}),
            json!({"index": "x", "url": "https://example.com/a", "sha256": sha256}),
            json!({"git": "https://example.com/a.git"}),
            json!({"git": "https://example.com/a.git", "tag": "a", "rev": "b"}),
            json!({"git": "http://example.com/a.git", "tag": "a"}),
            json!({"git": "ext::sh -c touch% /tmp/x", "tag": "a"}),
            json!({"git": "--upload-pack=touch", "tag": "a"}),
            json!({"git": "ssh://-oProxyCommand=touch/x", "tag": "a"}),
            json!({"git": "-oProxyCommand=touch:x", "tag": "a"}),
            json!({"git": "git@-oProxyCommand=touch:x", "tag": "a"}),
            json!({"git": "https://token@example.com/a.git", "tag": "a"}),
            json!({"git": "https://example.com/a.git", "tag": "--help"}),
            json!({"git": "https://example.com/a.git", "tag": "a:b"}),
            json!({"git": "https://example.com/a.git", "rev": "HEAD~1"}),
            json!({"git": "https://example.com/a.git", "tag": "a", "path": "../x"}),
            json!({"git": "https://example.com/a.git", "tag": "a", "path": "/x"}),
        ] {
            let error = WantedPack::from_value(&value).expect_err(&value.to_string());
            assert_eq!(error.reason(), Some(Reason::Settings), "{value}");
        }
    }
}

//! Access control: keys with scopes, and the token of the running daemon.
//!
//! A key is a long random secret; the settings hold only its SHA-256. A presented key is compared with every known one
//! in constant time.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hinagata::{Digest, Error, Reach, Reason, Result};
use serde_json::{Map, Value};
use subtle::{Choice, ConstantTimeEq as _};

/// What a key permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Read prompts, environs, tools.
    Read,
    /// Render prompts.
    Render,
    /// Send prompts to models.
    Chat,
    /// Change the store and resolutions.
    Write,
    /// Manage packs; includes all other scopes.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 5] = [Self::Read, Self::Render, Self::Chat, Self::Write, Self::Admin];

    /// The name of the scope in settings and responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Render => "render",
            Self::Chat => "chat",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Whether callers on this machine have the scope without a key.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Read | Self::Render)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A key from the settings.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name of its holder.
    pub name: Arc<str>,
    hash: Digest,
    scopes: Vec<Scope>,
    /// The prompts and environs that the key is restricted to; `None` for all.
    reach: Option<Arc<Reach>>,
    /// Requests per second, where the key has a limit of its own.
    pub(crate) rate: Option<u32>,
    /// The key as the settings describe it.
    source: Map<String, Value>,
}

impl Key {
    /// Whether the key permits `scope`.
    #[must_use]
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Whether the settings describe both keys in the same words.
    fn is_same(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// A caller without a key.
    Anonymous,
    /// A caller with the daemon's token: the user who started it.
    Owner,
    /// A caller with a key, as it was when the caller presented it.
    Key(Arc<Key>),
}

impl Caller {
    fn key(&self) -> Option<&Key> {
        match self {
            Self::Key(key) => Some(key),
            Self::Anonymous | Self::Owner => None,
        }
    }
}

/// The names of [`Caller::Anonymous`] and [`Caller::Owner`] in the audit log.
const WITHOUT_KEY: [&str; 2] = ["-", "token"];

/// All keys, and the token. The keys can change while the daemon runs; the token cannot.
pub(crate) struct Access {
    keys: ArcSwap<Vec<Arc<Key>>>,
    token: Digest,
    /// The names of callers without a key in the audit log.
    names: [Arc<str>; 2],
}

impl Access {
    /// Accepts `keys` and `token`. Without keys, reading and rendering are open.
    pub(crate) fn new(keys: Vec<Key>, token: &str) -> Self {
        let names = WITHOUT_KEY.map(Arc::from);
        let keys = ArcSwap::from_pointee(keys.into_iter().map(Arc::new).collect());
        Self { keys, token: Digest::sha256(token.as_bytes()), names }
    }

    /// Accepts other keys from now on. Requests that were admitted go on.
    pub(crate) fn set_keys(&self, keys: Vec<Key>) {
        self.keys.store(Arc::new(keys.into_iter().map(Arc::new).collect()));
    }

    /// Whether the settings have keys.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.load().is_empty()
    }

    /// Whether the caller would still be admitted: its key exists and is the same.
    pub(crate) fn is_current(&self, caller: &Caller) -> bool {
        match caller {
            Caller::Owner => true,
            Caller::Anonymous => !self.has_keys(),
            Caller::Key(key) => self.keys.load().iter().any(|known| known.is_same(key)),
        }
    }

    /// The caller that presents `secret`; `None` for an unknown secret.
    pub(crate) fn identify_caller(&self, secret: Option<&str>) -> Option<Caller> {
        let Some(secret) = secret else { return Some(Caller::Anonymous) };
        let hash = Digest::sha256(secret.as_bytes());
        let same = |known: &Digest| hash.as_bytes().ct_eq(known.as_bytes());
        // Compare with all keys, so that the time says nothing about the match.
        let mut found = None;
        for key in self.keys.load().iter() {
            let is_it: Choice = same(&key.hash);
            if bool::from(is_it) {
                found = Some(Caller::Key(Arc::clone(key)));
            }
        }
        if bool::from(same(&self.token)) {
            found = Some(Caller::Owner);
        }
        found
    }

    /// Whether the caller has `scope`.
    pub(crate) fn has_scope(&self, caller: &Caller, scope: Scope) -> bool {
        match caller {
            Caller::Owner => true,
            Caller::Anonymous => !self.has_keys() && scope.is_open(),
            Caller::Key(key) => key.has_scope(scope),
        }
    }

    /// Whether the caller can see the prompt `id`.
    pub(crate) fn can_see(&self, caller: &Caller, id: &str) -> bool {
        self.reach(caller).is_none_or(|reach| reach.has_prompt(id))
    }

    /// Whether the caller can see everything.
    pub(crate) fn can_see_all(&self, caller: &Caller) -> bool {
        self.reach(caller).is_none()
    }

    /// What the caller is restricted to; `None` for everything.
    pub(crate) fn reach<'c>(&self, caller: &'c Caller) -> Option<&'c Arc<Reach>> {
        caller.key()?.reach.as_ref()
    }

    /// The rate limit of the caller's key.
    pub(crate) fn rate(&self, caller: &Caller) -> Option<u32> {
        caller.key()?.rate
    }

    /// The name of the caller in the audit log.
    pub(crate) fn caller_name(&self, caller: &Caller) -> Arc<str> {
        let [anonymous, owner] = &self.names;
        let key = match caller {
            Caller::Anonymous => None,
            Caller::Owner => Some(owner),
            Caller::Key(key) => Some(&key.name),
        };
        Arc::clone(key.unwrap_or(anonymous))
    }
}

/// Reads `[[keys]]` of the settings.
pub(crate) fn read_keys(keys: Option<&Value>) -> Result<Vec<Key>> {
    match keys {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(keys)) => {
            let keys = keys.iter().enumerate().map(|(index, key)| read_key(index + 1, key));
            let keys: Vec<Key> = keys.collect::<Result<_>>()?;
            for (index, key) in keys.iter().enumerate() {
                if keys[..index].iter().any(|other| other.name == key.name) {
                    return Err(key_error(index + 1, &format!("another key has the name `{}`", key.name)));
                }
            }
            Ok(keys)
        }
        Some(_) => Err(key_error(1, "`keys` must be an array of tables, `[[keys]]`")),
    }
}

fn key_error(index: usize, problem: &str) -> Error {
    Error::definition(Reason::Settings, format!("invalid key {index} in the settings: {problem}"))
        .with("setting", "keys")
        .with_hint("a key has a `name`, a `hash` and `scopes`")
}

fn read_key(index: usize, key: &Value) -> Result<Key> {
    let Some(fields) = key.as_object() else { return Err(key_error(index, "not a table")) };
    const KNOWN: [&str; 6] = ["name", "hash", "scopes", "prompts", "environs", "rate"];
    if let Some(unknown) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        let near = hinagata_value::near_names(unknown, KNOWN);
        return Err(key_error(index, &hinagata_document::unknown_field_message(unknown)).with_near(near));
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let Some(name) = text("name").filter(|name| !name.is_empty()) else {
        return Err(key_error(index, "missing `name`"));
    };
    // Sessions and the audit log identify callers by name.
    if WITHOUT_KEY.contains(&name) {
        return Err(key_error(index, &format!("the name `{name}` is reserved for callers without a key")));
    }
    let hash = text("hash").map(|hash| hash.strip_prefix("sha256:").unwrap_or(hash));
    let Some(hash) = hash.and_then(|hash| hash.parse().ok()) else {
        return Err(key_error(index, "`hash` must be a SHA-256"));
    };
    let rate = match fields.get("rate") {
        None => None,
        Some(rate) => {
            match rate.as_u64().and_then(|rate| u32::try_from(rate).ok()).filter(|rate| *rate > 0) {
                Some(rate) => Some(rate),
                None => {
                    return Err(key_error(index, "`rate` must be a positive number of requests per second"));
                }
            }
        }
    };
    Ok(Key {
        name: name.into(),
        hash,
        scopes: read_scopes(index, fields.get("scopes"))?,
        reach: new_reach(read_patterns(index, fields, "prompts")?, read_patterns(index, fields, "environs")?),
        rate,
        source: fields.clone(),
    })
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn read_scopes(index: usize, value: Option<&Value>) -> Result<Vec<Scope>> {
    let names = Scope::ALL.map(Scope::as_str);
    let Some(words) = value.and_then(strings).filter(|words| !words.is_empty()) else {
        return Err(key_error(index, &format!("`scopes` must be a list of {}", names.join(", "))));
    };
    let scope = |word: &str| {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == word).ok_or_else(|| {
            key_error(index, &format!("unknown scope `{word}`"))
                .with_near(hinagata_value::near_names(word, names))
        })
    };
    words.into_iter().map(scope).collect()
}

/// What a key is restricted to. A key for some prompts reaches no environ that it does not list: environs belong to all
/// prompts, and their values are often secrets.
fn new_reach(prompts: Option<GlobSet>, environs: Option<GlobSet>) -> Option<Arc<Reach>> {
    let by_default = match (&prompts, &environs) {
        (None, None) => return None,
        (prompts, _) => prompts.is_none(),
    };
    Some(Arc::new(Reach::new(
        move |id| prompts.as_ref().is_none_or(|prompts| prompts.is_match(id)),
        move |id| environs.as_ref().map_or(by_default, |environs| environs.is_match(id)),
    )))
}

fn read_patterns(index: usize, fields: &Map<String, Value>, name: &str) -> Result<Option<GlobSet>> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let Some(patterns) = strings(value) else {
        return Err(key_error(index, &format!("`{name}` must be a list of ids, where `*` matches anything")));
    };
    let mut all = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).build();
        all.add(glob.map_err(|error| key_error(index, &format!("invalid pattern `{pattern}`: {error}")))?);
    }
    let all =
        all.build().map_err(|error| key_error(index, &format!("too many patterns in `{name}`: {error}")))?;
    Ok(Some(all))
}

/// Creates a random secret for a key or token.
///
/// # Errors
/// Code `store` when the system provides no random bytes.
pub fn new_secret() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(hinagata::Code::System, format!("cannot read random bytes from the system: {error}"))
    })?;
    Ok(hinagata_value::encoding::encode_hex(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn access(keys: &Value) -> Access {
        Access::new(read_keys(Some(keys)).expect("keys are well written"), "the-token")
    }

    fn hash(text: &str) -> String {
        Digest::sha256(text.as_bytes()).to_string()
    }

    #[test]
    fn without_keys_reading_and_rendering_are_open() {
        let access = access(&json!([]));
        let anonymous = access.identify_caller(None).expect("is anonymous");
        let allowed: Vec<bool> =
            Scope::ALL.iter().map(|scope| access.has_scope(&anonymous, *scope)).collect();
        assert_eq!(allowed, [true, true, false, false, false]);
        let owner = access.identify_caller(Some("the-token")).expect("is the owner");
        assert!(Scope::ALL.iter().all(|scope| access.has_scope(&owner, *scope)));
        assert!(access.identify_caller(Some("another")).is_none());
    }

    #[test]
    fn a_key_has_its_scopes_and_sees_its_prompts() {
        let access = access(&json!([
            {"name": "a", "hash": format!("sha256:{}", hash("ka")), "scopes": ["render"], "prompts": ["team.*", "one"]},
            {"name": "b", "hash": hash("kb").to_uppercase(), "scopes": ["admin"]},
        ]));
        let a = access.identify_caller(Some("ka")).expect("is known");
        assert!(access.has_scope(&a, Scope::Render) && !access.has_scope(&a, Scope::Read));
        assert!(access.can_see(&a, "team.x") && access.can_see(&a, "one") && !access.can_see(&a, "other"));
        let b = access.identify_caller(Some("kb")).expect("is known");
        assert!(Scope::ALL.iter().all(|scope| access.has_scope(&b, *scope)) && access.can_see_all(&b));
        let anonymous = access.identify_caller(None).expect("is anonymous");
        assert!(!access.has_scope(&anonymous, Scope::Read), "with keys, nothing is open");
        assert_eq!((&*access.caller_name(&a), &*access.caller_name(&anonymous)), ("a", "-"));
    }

    #[test]
    fn other_keys_count_for_new_requests_only() {
        let key = |name: &str, scope: &str| json!({"name": name, "hash": hash(name), "scopes": [scope]});
        let access = access(&json!([key("a", "read"), key("b", "read")]));
        let (a, b) = (access.identify_caller(Some("a")), access.identify_caller(Some("b")));
        let (a, b) = (a.expect("is known"), b.expect("is known"));
        let keys = json!([key("new", "admin"), key("b", "read")]);
        access.set_keys(read_keys(Some(&keys)).expect("keys are well written"));
        assert!(access.identify_caller(Some("a")).is_none());
        assert!(!access.is_current(&a) && access.is_current(&b));
        assert_eq!(&*access.caller_name(&a), "a", "not the key that has its place now");
        assert!(access.has_scope(&a, Scope::Read) && !access.has_scope(&a, Scope::Admin));
        access.set_keys(Vec::new());
        let anonymous = access.identify_caller(None).expect("is anonymous");
        assert!(access.has_scope(&anonymous, Scope::Read) && access.is_current(&anonymous));
    }

    #[test]
    fn a_key_for_some_prompts_reaches_only_the_environs_that_it_lists() {
        let reached = |more: Value| {
            let mut key = json!({"name": "a", "hash": hash("ka"), "scopes": ["read"]});
            key.as_object_mut().expect("is a map").extend(more.as_object().expect("is a map").clone());
            let access = access(&json!([key]));
            let caller = access.identify_caller(Some("ka")).expect("is known");
            access.reach(&caller).map(|reach| (reach.has_prompt("x"), reach.has_environ("x.y")))
        };
        assert_eq!(reached(json!({})), None);
        assert_eq!(reached(json!({"prompts": ["x"]})), Some((true, false)));
        assert_eq!(reached(json!({"prompts": ["x"], "environs": ["x.*"]})), Some((true, true)));
        assert_eq!(reached(json!({"prompts": []})), Some((false, false)), "none is none");
        assert_eq!(reached(json!({"environs": ["z"]})), Some((true, false)));
    }

    #[test]
    fn invalid_keys_are_refused() {
        let hash = hash("k");
        for (key, expected) in [
            (json!("x"), "not a table"),
            (json!({"hash": hash, "scopes": ["read"]}), "missing `name`"),
            (json!({"name": "a", "hash": "12", "scopes": ["read"]}), "must be a SHA-256"),
            (json!({"name": "a", "hash": hash, "scopes": ["raed"]}), "unknown scope `raed`"),
            (json!({"name": "a", "hash": hash, "scopes": []}), "`scopes` must be a list"),
            (json!({"name": "a", "hash": hash, "scope": ["read"]}), "unknown field `scope`"),
            (json!({"name": "a", "hash": hash, "scopes": ["read"], "prompts": ["[a"]}), "invalid pattern"),
            (json!({"name": "a", "hash": hash, "scopes": ["read"], "rate": 0}), "`rate`"),
            (json!({"name": "token", "hash": hash, "scopes": ["read"]}), "reserved for callers"),
            (json!({"name": "a", "hash": hash, "scopes": ["read"], "environs": "x"}), "`environs`"),
        ] {
            let error = read_keys(Some(&json!([key]))).expect_err(expected);
            assert!(error.message().contains(expected), "{error}");
        }
        let twice = json!({"name": "a", "hash": hash, "scopes": ["read"]});
        assert!(read_keys(Some(&json!([twice, twice]))).is_err());
    }

    #[test]
    fn secrets_are_long_and_unique() {
        let (one, other) = (new_secret().expect("random"), new_secret().expect("random"));
        assert!(one.len() == 64 && one != other);
    }
}

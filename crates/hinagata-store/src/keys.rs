//! Keys consist of a prefix, the kind, and the id with colons instead of dots.

use std::sync::Arc;

use hinagata::store::StoreKind;

/// The default prefix, which existing programs use.
pub const DEFAULT_PREFIX: &str = "shenma:";

/// The layout of the keys of one store.
#[derive(Clone, Debug)]
pub(crate) struct KeyLayout {
    prefix: Arc<str>,
}

impl KeyLayout {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    /// The prefix of all keys.
    #[cfg(feature = "redis")]
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The prefix of the keys of one kind.
    pub(crate) fn kind_prefix(&self, kind: StoreKind) -> String {
        format!("{}{kind}:", self.prefix)
    }

    /// The key of a document.
    pub(crate) fn document_key(&self, kind: StoreKind, id: &str) -> String {
        format!("{}{}", self.kind_prefix(kind), id.replace('.', ":"))
    }

    /// The kind of a key and the rest after it, or `None` for foreign keys.
    pub(crate) fn parse_key<'k>(&self, key: &'k str) -> Option<(StoreKind, &'k str)> {
        let (kind, rest) = key.strip_prefix(&*self.prefix)?.split_once(':')?;
        let kind = StoreKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        Some((kind, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_built_and_parsed() {
        let keys = KeyLayout::new(DEFAULT_PREFIX);
        let key = keys.document_key(StoreKind::Environ, "vscode.rules.go");
        assert_eq!(key, "shenma:environs:vscode:rules:go");
        assert_eq!(keys.parse_key(&key), Some((StoreKind::Environ, "vscode:rules:go")));
        for other in ["shenma:environs", "shenma:secrets:a", "other:environs:a", "shenma:environ:a"] {
            assert_eq!(keys.parse_key(other), None, "{other}");
        }
    }
}

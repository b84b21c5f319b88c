//! Secrets that must never be printed.

use std::{borrow::Cow, fmt, sync::Arc};

use hinagata::{Reason, Result};
use hyper::header::HeaderValue;
use memchr::memmem;

use crate::failure::model_error;

/// The text that replaces a secret.
const HIDDEN: &str = "•••";

/// An API key, with the name of its environment variable.
#[derive(Clone)]
pub(crate) struct Secret {
    text: Arc<str>,
    variable: Arc<str>,
}

impl Secret {
    /// The secret in `variable`, unless it is blank.
    pub(crate) fn from_env(variable: &str, env: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Option<Self> {
        let value = env(variable)?;
        // A key that is not UTF-8 cannot be sent: the replacement characters are rejected below.
        let text = value.to_string_lossy();
        let text = text.trim();
        (!text.is_empty()).then(|| Self { text: text.into(), variable: variable.into() })
    }

    /// The environment variable that holds it.
    pub(crate) fn variable(&self) -> &str {
        &self.variable
    }

    /// A header value: `before`, followed by the secret.
    ///
    /// # Errors
    /// Code `model`, reason `key`, if it contains characters that are invalid in headers.
    pub(crate) fn to_header(&self, before: &str) -> Result<HeaderValue> {
        let key_error = || {
            model_error(Reason::Key, format!("invalid API key in `{}`", self.variable))
                .with_hint(format!("set `{}` to the key only, without spaces or line breaks", self.variable))
        };
        if !self.text.is_ascii() {
            return Err(key_error());
        }
        let mut value = HeaderValue::try_from(format!("{before}{}", self.text)).map_err(|_| key_error())?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Replaces the secret in `text`.
    pub(crate) fn hide_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match memmem::find(text.as_bytes(), self.text.as_bytes()) {
            Some(_) => text.replace(&*self.text, HIDDEN).into(),
            None => text.into(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Option<Secret> {
        Secret::from_env("A_KEY", &|_| Some(text.into()))
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        let secret = secret(" sk-1 \n").expect("is one");
        assert_eq!(format!("{secret:?}"), "$A_KEY");
        assert_eq!(format!("{:?}", secret.to_header("Bearer ").expect("is fine")), "Sensitive");
        assert_eq!(secret.hide_in("wrong key sk-1, really sk-1"), "wrong key •••, really •••");
    }

    #[test]
    fn what_is_no_key_is_refused_without_telling_it() {
        assert!(secret("  ").is_none());
        let error = secret("s\u{1}k").expect("is a text").to_header("").expect_err("cannot be sent");
        assert!(!format!("{error} {error:?}").contains("s\u{1}k"));
        assert!(secret("kö").expect("is a text").to_header("").is_err());
    }
}

//! What is done with secrets, for all places that put files into texts.

use std::sync::Arc;

use crate::{
    find::FoundSecrets,
    marks::{Marks, RedactedSecret},
    rules::Secrets,
};

/// What is done with a text that contains secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretAction {
    /// Secrets are replaced by marks.
    #[default]
    Redact,
    /// The text is left out.
    Omit,
    /// Nothing: the text is taken as it is.
    Include,
}

/// The rules for secrets, and what is done with those that they find.
#[derive(Clone, Debug, Default)]
pub struct SecretPolicy {
    /// The rules; `None` are the built-in ones.
    rules: Option<Arc<Secrets>>,
    /// What is done with a text that contains secrets.
    pub action: SecretAction,
}

/// A text after the rules were applied to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedText {
    /// It may be used.
    Taken {
        /// The text, with marks in place of secrets.
        text: String,
        /// What was replaced.
        redacted: Vec<RedactedSecret>,
    },
    /// It must not be used.
    Omitted {
        /// The rule that found the first secret.
        rule: String,
        /// Its line, counted from 1.
        line: usize,
    },
}

impl SecretPolicy {
    /// A policy with these rules.
    #[must_use]
    pub fn new(rules: Secrets, action: SecretAction) -> Self {
        Self { rules: Some(Arc::new(rules)), action }
    }

    /// The same rules with another action.
    #[must_use]
    pub fn with_action(self, action: SecretAction) -> Self {
        Self { action, ..self }
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Secrets {
        self.rules.as_deref().unwrap_or_else(|| Secrets::built_in())
    }

    /// The rule by which the file at `path` must not be read; `/` separates the parts of the path.
    #[must_use]
    pub fn refuses_name(&self, path: &str) -> Option<&str> {
        if self.action == SecretAction::Include { None } else { self.rules().in_name(path) }
    }

    /// The secrets in the text of the file at `path`; see [`Secrets::find_secrets`].
    #[must_use]
    pub fn find_secrets(&self, path: &str, text: &[u8]) -> FoundSecrets<'_> {
        match self.action {
            SecretAction::Include => FoundSecrets::default(),
            _ => self.rules().find_secrets(path, text),
        }
    }

    /// Applies the rules to the text of the file at `path`, which is empty for a text without a file. `marks` belong to
    /// the output that the text becomes a part of.
    #[must_use]
    pub fn check_text(&self, path: &str, text: String, marks: &mut Marks) -> CheckedText {
        if self.action == SecretAction::Include {
            return CheckedText::Taken { text, redacted: Vec::new() };
        }
        let found = self.find_secrets(path, text.as_bytes());
        match found.first().filter(|_| self.action == SecretAction::Omit) {
            Some(first) => CheckedText::Omitted { rule: first.rule.to_owned(), line: first.line },
            None => match marks.redact_text(&text, &found) {
                Some(redacted) => CheckedText::Taken { text: redacted.text, redacted: redacted.secrets },
                None => CheckedText::Taken { text, redacted: Vec::new() },
            },
        }
    }
}

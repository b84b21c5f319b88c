//! What is done with secrets, for all places that put files into texts.

use std::sync::{Arc, OnceLock};

use crate::{
    allow::Allowance,
    find::FoundSecrets,
    own::{OwnRule, RuleProblem},
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
    /// Nothing: the text is taken as it is, and files that are secret by their names too.
    Include,
}

/// The rules for secrets, and what is done with those that they find. The default are the built-in rules.
#[derive(Clone, Debug, Default)]
pub struct SecretPolicy {
    rules: Arc<PolicyRules>,
    action: SecretAction,
}

/// Rules that are compiled when a text is searched for the first time: most calls search none.
#[derive(Debug, Default)]
struct PolicyRules {
    compiled: OnceLock<Secrets>,
    own: Vec<OwnRule>,
    allowed: Vec<Allowance>,
    comments: bool,
}

impl PolicyRules {
    fn new(own: Vec<OwnRule>, allowed: Vec<Allowance>, comments: bool) -> Self {
        Self { compiled: OnceLock::new(), own, allowed, comments }
    }

    fn compile(&self) -> &Secrets {
        let Self { compiled, own, allowed, comments } = self;
        if own.is_empty() && allowed.is_empty() && !comments {
            return Secrets::built_in();
        }
        compiled.get_or_init(|| {
            let rules = Secrets::with_rules(own).expect("the rules were checked");
            rules.with_allowances(allowed.clone(), *comments)
        })
    }
}

impl SecretPolicy {
    /// A policy with the built-in rules and `rules`, without what is `allowed`; `comments` says whether
    /// `hina:allow-secret` in a line counts.
    ///
    /// # Errors
    /// The number of the first invalid rule, counted from 0, and its problem.
    pub fn new(
        rules: &[OwnRule],
        allowed: Vec<Allowance>,
        comments: bool,
    ) -> Result<Self, (usize, RuleProblem)> {
        rules
            .iter()
            .enumerate()
            .try_for_each(|(place, rule)| Secrets::check_rule(rule).map_err(|problem| (place, problem)))?;
        Ok(Self { rules: Arc::new(PolicyRules::new(rules.to_vec(), allowed, comments)), ..Self::default() })
    }

    /// The rules and exceptions of both; `self` leaves texts out if `other` does.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let (one, two) = (&*self.rules, &*other.rules);
        let action = match (self.action, other.action) {
            (SecretAction::Redact, SecretAction::Omit) => SecretAction::Omit,
            (action, _) => action,
        };
        let own = [one.own.as_slice(), &two.own].concat();
        let allowed = [one.allowed.as_slice(), &two.allowed].concat();
        Self { rules: Arc::new(PolicyRules::new(own, allowed, one.comments || two.comments)), action }
    }

    /// The same rules with another action.
    #[must_use]
    pub fn with_action(self, action: SecretAction) -> Self {
        Self { action, ..self }
    }

    /// What is done with a text that contains secrets.
    #[must_use]
    pub const fn action(&self) -> SecretAction {
        self.action
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Secrets {
        self.rules.compile()
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
}

//! Whose habits a project follows, and which rules hold in it.

use hinagata::{
    Settings,
    settings::{Merging, Origin},
};
use hinagata_context::{Reason, Rules};

/// The value of `compat` that follows the habits of the program that the format comes from.
pub(crate) const COMPAT: &str = "eddie";

/// Whose habits a project follows, and which rules hold in it.
///
/// The name of a file stands for habits of rendering alone: a file that came with a cloned project decides about nothing
/// that leaves the machine. Only somebody who is trusted switches rules off, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Our own habits, in a workspace that nobody trusts.
    Untrusted,
    /// Our own habits.
    #[default]
    Own,
    /// The habits of the profile `eddie`, because a file is called as its settings are.
    Named {
        /// Whether the user trusts the workspace: then ignored files are packed, as the profile has it.
        trusted: bool,
    },
    /// The profile `eddie`, because the user or a trusted workspace says so: its rules, too.
    Compat,
}

impl Profile {
    /// That of the settings of a workspace; `trusted` says whether the user trusts it.
    pub(crate) fn from_settings(settings: &Settings, trusted: bool) -> Self {
        let compat = settings.get("compat").filter(|found| found.value == COMPAT);
        match compat.map(|found| &found.origin) {
            // An untrusted workspace cannot say it in words, so whoever did is the user.
            Some(Origin::FileName(_)) => Self::Named { trusted },
            Some(_) => Self::Compat,
            None if trusted => Self::Own,
            None => Self::Untrusted,
        }
    }

    /// The same profile where a configuration names one itself.
    pub(crate) fn with_compat(self, compat: Option<&str>) -> Self {
        match compat {
            Some(COMPAT) if !matches!(self, Self::Named { .. }) => Self::Compat,
            _ => self,
        }
    }

    /// Whether what a user types is a template and template files keep their last newline.
    #[must_use]
    pub const fn has_habits(self) -> bool {
        matches!(self, Self::Named { .. } | Self::Compat)
    }

    /// What is left out of texts, unless the configuration says otherwise.
    #[must_use]
    pub const fn rules(self) -> Rules {
        let usual = Rules { ignore_files: true, secrets: true, builtin: true, outside: true, strict: false };
        match self {
            Self::Own => usual,
            Self::Untrusted | Self::Named { trusted: false } => Rules { strict: true, ..usual },
            Self::Named { trusted: true } => Rules { ignore_files: false, ..usual },
            Self::Compat => Rules::compat(),
        }
    }

    /// How files merge with what they extend.
    pub(crate) const fn merging(self) -> Merging {
        if self.has_habits() { Merging::WholeVariables } else { Merging::Deep }
    }

    /// Why something is left out that the profile would pack if its file were not only called so, and what to do; none
    /// where that is not so.
    pub(crate) const fn withheld(self, reason: Reason) -> Option<(&'static str, &'static str)> {
        match (self, reason) {
            (Self::Named { trusted: false }, Reason::Ignored) => {
                Some(("because the workspace is not trusted", "read its settings, then run `hina trust`"))
            }
            (Self::Named { trusted: false }, Reason::Secret | Reason::Outside) => Some((
                "because the workspace is not trusted",
                "if you want them, write `compat: eddie` into its settings and run `hina trust`",
            )),
            (Self::Named { trusted: true }, Reason::Secret | Reason::Outside) => Some((
                "because the name of the settings file alone does not include them",
                "if you want them, write `compat: eddie` into the settings and run `hina trust`",
            )),
            _ => None,
        }
    }
}

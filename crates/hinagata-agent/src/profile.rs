//! Compatibility mode and rules of a project.

use hinagata::{
    Hint, Settings,
    settings::{Merging, Origin},
};
use hinagata_context::{LeftOutReason, Rules};

/// The value of `compat` for compatibility with the program that defined the format.
pub(crate) const COMPAT: &str = "eddie";

/// Compatibility mode and rules of a project.
///
/// The name of a settings file changes only how prompts are rendered: a file in a cloned project cannot decide what
/// leaves the machine. Only the user or a trusted workspace can disable rules, by an explicit setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// No compatibility, in an untrusted workspace.
    Untrusted,
    /// No compatibility.
    #[default]
    Own,
    /// Compatibility with `eddie` because of the name of a settings file.
    Named {
        /// Whether the user trusts the workspace; ignored files are then packed, as in `eddie`.
        trusted: bool,
    },
    /// Compatibility with `eddie`, including its rules, by a setting of the user or a trusted workspace.
    Compat,
}

impl Profile {
    /// The profile of the settings of a workspace.
    pub(crate) fn from_settings(settings: &Settings, trusted: bool) -> Self {
        let compat = settings.get("compat").filter(|found| found.value == COMPAT);
        match compat.map(|found| &found.origin) {
            // An untrusted workspace cannot set it, so the user did.
            Some(Origin::FileName(_)) => Self::Named { trusted },
            Some(_) => Self::Compat,
            None if trusted => Self::Own,
            None => Self::Untrusted,
        }
    }

    /// The profile for a configuration with its own `compat`.
    pub(crate) fn with_compat(self, compat: Option<&str>) -> Self {
        match compat {
            Some(COMPAT) if !matches!(self, Self::Named { .. }) => Self::Compat,
            _ => self,
        }
    }

    /// Whether the text of a user is a template, and template files keep their last newline.
    #[must_use]
    pub const fn is_compat(self) -> bool {
        matches!(self, Self::Named { .. } | Self::Compat)
    }

    /// Whether the user or a trusted workspace wrote the configuration.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        !matches!(self, Self::Untrusted | Self::Named { trusted: false })
    }

    /// The default rules for files.
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

    /// How files merge with the files that they extend.
    pub(crate) const fn merging(self) -> Merging {
        if self.is_compat() { Merging::WholeVariables } else { Merging::Deep }
    }

    /// The cause and the hint for files that the profile would pack, if more than the name of a file requested it.
    pub(crate) fn withheld_cause(self, reason: LeftOutReason) -> Option<(&'static str, Hint)> {
        match (self, reason) {
            (Self::Named { trusted: false }, LeftOutReason::Ignored) => {
                Some(("because the workspace is not trusted", Hint::TrustWorkspace))
            }
            (Self::Named { trusted: false }, LeftOutReason::Secret | LeftOutReason::Outside) => Some((
                "because the workspace is not trusted",
                Hint::from("to include them, write `compat: eddie` into its settings")
                    .then(Hint::TrustWorkspace),
            )),
            (Self::Named { trusted: true }, LeftOutReason::Secret | LeftOutReason::Outside) => Some((
                "because the name of the settings file alone does not include them",
                Hint::from("to include them, write `compat: eddie` into the settings")
                    .then(Hint::TrustWorkspace),
            )),
            _ => None,
        }
    }
}

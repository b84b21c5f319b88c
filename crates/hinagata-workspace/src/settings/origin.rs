//! The origin of the value of a setting.

use std::fmt;

use hinagata_document::Place;

/// The layer that a value comes from, with its place. Later variants override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's own file.
    User(Place),
    /// The name of the settings file of the workspace, which selects a compatibility profile and needs no trust.
    FileName(String),
    /// The settings file of the workspace, or a file that it extends.
    Workspace(Place),
    /// An environment variable.
    Environment(String),
    /// A flag of the call.
    Flag,
}

impl Origin {
    /// The name of the layer in JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User(_) => "user",
            Self::FileName(_) | Self::Workspace(_) => "workspace",
            Self::Environment(_) => "environment",
            Self::Flag => "flag",
        }
    }

    /// The place in a file.
    #[must_use]
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::User(place) | Self::Workspace(place) => Some(place),
            _ => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(place) | Self::Workspace(place) => place.fmt(f),
            Self::FileName(name) => write!(f, "the name of {name}"),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag => f.write_str("--set"),
        }
    }
}

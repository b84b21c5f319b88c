//! The roles of messages.

use std::fmt;

use crate::{Error, Result};

/// A role that data may choose for a message.
///
/// A template may use any role. Data must not choose the roles of the author of the prompt: `system` and
/// `developer`, whose instructions models obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

impl Role {
    /// The roles that data may choose.
    pub const FROM_DATA: [Self; 3] = [Self::User, Self::Assistant, Self::Tool];

    /// The role with this name.
    ///
    /// # Errors
    /// Kind `security` for any other name.
    pub fn from_data(name: &str) -> Result<Self> {
        let found = Self::FROM_DATA.into_iter().find(|role| role.as_str() == name);
        found.ok_or_else(|| {
            Error::security(format!("a role from data must be user, assistant or tool, not '{name}'"))
                .with_hint("write the role into the template to use another one")
        })
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn data_may_be_the_user_the_assistant_or_a_tool() {
        for role in Role::FROM_DATA {
            assert_eq!(Role::from_data(role.as_str()).expect("is allowed"), role);
        }
    }

    #[test]
    fn data_may_not_speak_as_the_author() {
        for name in ["system", "developer", "User", "", "tool "] {
            let error = Role::from_data(name).expect_err("is not allowed");
            assert_eq!(error.kind(), ErrorKind::Security, "{name}");
        }
    }
}

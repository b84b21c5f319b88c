//! Where a workspace looks for environment variables.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// The environment variables that a workspace sees: settings, user directories, keys of models.
///
/// The default is the environment of the process. An embedder that must not depend on it starts from
/// [`Environment::without_variables`].
#[derive(Clone, Debug)]
pub struct Environment {
    inherits: bool,
    variables: Vec<(OsString, OsString)>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { inherits: true, variables: Vec::new() }
    }
}

impl Environment {
    /// No variables at all: no settings of the user, no state directory, no keys of models.
    #[must_use]
    pub fn without_variables() -> Self {
        Self { inherits: false, variables: Vec::new() }
    }

    /// The same with a variable, which takes precedence over the environment of the process.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    /// The value of the variable `name`.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<OsString> {
        let name = name.as_ref();
        let own = self.variables.iter().find(|(known, _)| known == name);
        own.map(|(_, value)| value.clone()).or_else(|| self.inherits.then(|| env::var_os(name)).flatten())
    }

    /// All variables.
    pub(crate) fn to_pairs(&self) -> Vec<(OsString, OsString)> {
        let inherited = self.inherits.then(env::vars_os).into_iter().flatten();
        let is_own = |name: &OsString| self.variables.iter().any(|(known, _)| known == name);
        inherited.filter(|(name, _)| !is_own(name)).chain(self.variables.iter().cloned()).collect()
    }

    /// The user's home directory.
    pub(crate) fn home_directory(&self) -> Option<PathBuf> {
        if self.inherits { env::home_dir() } else { self.get("HOME").map(PathBuf::from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_variables_take_precedence_over_the_process() {
        let own = Environment::default().with_variable("PATH", "x").with_variable("PATH", "y");
        assert_eq!(own.get("PATH"), Some("y".into()));
        let paths: Vec<_> = own.to_pairs().into_iter().filter(|(name, _)| name == "PATH").collect();
        assert_eq!(paths, [("PATH".into(), "y".into())]);
    }

    #[test]
    fn an_isolated_environment_sees_nothing_of_the_process() {
        let isolated = Environment::without_variables();
        assert_eq!(
            (isolated.get("PATH"), isolated.home_directory(), isolated.to_pairs().len()),
            (None, None, 0)
        );
    }
}

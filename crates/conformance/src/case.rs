//! What every kind of case has in common: a name, bounds, and runs that match or do not.

use std::time::Duration;

/// What one run of a case may use.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Stack of the thread that the run gets for itself.
    pub stack: usize,
    /// Wall-clock time after which the run counts as hanging.
    pub time: Duration,
    /// Bytes that the process may hold while the run lasts.
    pub memory: Option<usize>,
}

/// A recorded case, joined with the engine that is to answer it.
///
/// A case may have to be run several times under different settings; it passes when every run does.
pub trait Case: Send + Sync + 'static {
    /// The name, unique in its directory.
    fn id(&self) -> &str;

    /// What each run may use.
    fn bounds(&self) -> Bounds;

    /// How often the case is run: one label for each run, empty where there is only one.
    fn runs(&self) -> Vec<&'static str>;

    /// Runs the case under the setting at `index` of [`Case::runs`].
    ///
    /// # Errors
    /// Says what was expected and what the engine answered, when they differ.
    fn check_run(&self, index: usize) -> Result<(), Mismatch>;
}

/// An answer that is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the case asks for.
    pub expected: Side,
    /// What the engine answered.
    pub actual: Side,
}

/// One side of a [`Mismatch`]: an outcome as named texts, in the order in which to read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side(pub Vec<Field>);

/// A named text of an outcome, such as the output or the message of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What the text is.
    pub name: &'static str,
    /// The text itself; bytes that are no UTF-8 are written as escapes.
    pub text: String,
}

impl Side {
    /// An outcome with a first text.
    pub fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self::default().with(name, text)
    }

    /// The same outcome with one more text.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.0.push(Field { name, text: text.into() });
        self
    }

    /// The text called `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|field| field.name == name).map(|field| field.text.as_str())
    }
}

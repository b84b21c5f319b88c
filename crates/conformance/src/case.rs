//! Common to every kind of case: a name, bounds, and runs that match or do not.

use std::time::Duration;

/// The bounds of one run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The stack size of the run's thread.
    pub stack: usize,
    /// The wall-clock time after which a run counts as hanging.
    pub time: Duration,
    /// Maximum memory of the process during the run, in bytes.
    pub memory: Option<usize>,
}

/// A recorded case, combined with its engine.
///
/// A case may run several times under different settings. It passes if every run does.
pub trait Case: Send + Sync + 'static {
    /// The name, unique in its directory.
    fn id(&self) -> &str;

    /// The bounds of each run.
    fn bounds(&self) -> Bounds;

    /// The label of each run, or one empty label.
    fn runs(&self) -> Vec<&'static str>;

    /// Runs the case under the setting at `index` of [`Case::runs`].
    ///
    /// # Errors
    /// The expected and the actual outcome, if they differ.
    fn check_run(&self, index: usize) -> Result<(), Mismatch>;
}

/// An outcome that differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The expected outcome.
    pub expected: Side,
    /// The actual outcome.
    pub actual: Side,
}

/// One side of a [`Mismatch`]: an outcome as named texts, in reading order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side(pub Vec<Field>);

/// A named text of an outcome, such as the output or an error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the text.
    pub name: &'static str,
    /// The text. Bytes that are not UTF-8 are escaped.
    pub text: String,
}

impl Side {
    /// Creates an outcome with one text.
    pub fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self::default().with(name, text)
    }

    /// Adds a text.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.0.push(Field { name, text: text.into() });
        self
    }

    /// The text with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|field| field.name == name).map(|field| field.text.as_str())
    }
}

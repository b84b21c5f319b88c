//! The view of a running template that the library (operators, filters, tests, methods, printing) has.

use std::cell::Cell;

use hinagata_value::{EngineRef, Error, Heap, Owner, Result, Undefined, Value};

/// How undefined values behave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndefinedMode {
    /// Prints nothing, is false and empty; so is every attribute of it. The default of Hinagata.
    #[default]
    Empty,
    /// The default of Jinja2: prints nothing, but attributes, calls and arithmetic are errors.
    Jinja,
    /// Every use except `is defined` is an error.
    Error,
    /// As `Jinja`, but prints the expression that is undefined.
    Debug,
    /// As `Error`, except in a condition, where it is false. An attribute of it is undefined, not an error.
    Needed,
}

/// Settings of a render that do not depend on its data.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How undefined values behave.
    pub undefined: UndefinedMode,
    /// Whether expressions are escaped for HTML unless they are marked safe.
    pub autoescape: bool,
    /// Whether to refuse methods that change a list or map in place.
    pub immutable: bool,
    /// Whether templates have the functions and the `tojson` of model chat templates.
    pub chat_host: bool,
    /// The time that `strftime_now` formats.
    pub now: Moment,
}

/// A date and a time of day, as `strftime_now` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The year.
    pub year: i32,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
    /// The hour, from 0.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
}

impl Default for Moment {
    /// The start of Unix time.
    fn default() -> Self {
        Self { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0 }
    }
}

/// A pseudo-random generator. Every pass and every render with the same seed gets the same numbers, so that
/// a template stays deterministic.
#[derive(Debug)]
pub(crate) struct Random(Cell<u64>);

impl Random {
    /// A sequence of numbers that starts from `seed`.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    #[must_use]
    pub(crate) fn random_below(&self, bound: u64) -> u64 {
        // SplitMix64: a step of the golden ratio and two rounds of mixing, which also works for a seed of
        // 0.
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        ((u128::from(mixed) * u128::from(bound)) >> 64) as u64
    }
}

/// Access to objects that only the running template knows, such as macros and loops.
pub(crate) trait Objects<'a> {
    /// The printed form, such as `<Macro 'f'>`.
    fn repr(&self, object: EngineRef) -> String;

    /// The name of its type in messages.
    fn type_name(&self, object: EngineRef) -> &'static str;

    /// Whether it is an imported template.
    fn is_module(&self, object: EngineRef) -> bool;

    /// Whether it can be called.
    fn is_callable(&self, object: EngineRef) -> bool;

    /// An attribute of it that templates may see.
    fn attribute(&self, object: EngineRef, name: &str) -> Option<Value<'a>>;

    /// The method `name` of `receiver` as a value that can be called later.
    ///
    /// # Errors
    /// When a limit is reached.
    fn method(&self, receiver: Value<'a>, name: &'static str) -> Result<Value<'a>>;
}

/// The running template as the library sees it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c, 'a> {
    /// Creates, reads and changes values.
    pub heap: &'c Heap<'a>,
    /// The settings of the render.
    pub settings: &'c Settings,
    /// Whether expressions are escaped here.
    pub autoescape: bool,
    /// The objects of the running template.
    pub objects: &'c dyn Objects<'a>,
    /// Where random choices come from.
    pub random: &'c Random,
}

impl Context<'_, '_> {
    /// The error for an operation that this undefined value does not allow.
    #[cold]
    #[must_use]
    pub(crate) fn undefined_error(&self, undefined: Undefined<'_>) -> Error {
        if undefined.owner == Owner::Unsafe {
            return match undefined.name {
                Some(name) => Error::security(format!("access to attribute '{name}' is unsafe")),
                None => Error::security("access to this attribute is unsafe"),
            };
        }
        let message = match (undefined.owner, undefined.name) {
            (Owner::Variables, Some(name)) => format!("'{name}' is undefined"),
            (Owner::Map, Some(name)) => format!("'dict object' has no attribute '{name}'"),
            (Owner::List, Some(name)) => format!("'list object' has no attribute '{name}'"),
            (Owner::Str, Some(name)) => format!("'str object' has no attribute '{name}'"),
            (_, Some(name)) => format!("the value has no attribute '{name}'"),
            (_, None) => "the value is undefined".to_owned(),
        };
        let error = Error::undefined(message);
        match (undefined.owner, undefined.name) {
            // Similar names can be suggested for a variable only.
            (Owner::Variables, Some(name)) => error.with_subject(name),
            _ => error,
        }
    }

    /// Refuses an undefined value where it is printed, compared or iterated.
    ///
    /// The undefined result of a conditional expression without `else` is allowed in every mode, as in
    /// Jinja2.
    ///
    /// # Errors
    /// When `value` is undefined and the mode is `Error` or `Needed`.
    #[inline]
    pub(crate) fn check_use(&self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Undefined(undefined)
                if matches!(self.settings.undefined, UndefinedMode::Error | UndefinedMode::Needed)
                    && undefined.owner != Owner::Condition =>
            {
                Err(self.undefined_error(*undefined))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an undefined value.
    ///
    /// # Errors
    /// When `value` is undefined. The caller has handled the modes that allow this use.
    pub(crate) fn require_defined(&self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Undefined(undefined) => Err(self.undefined_error(*undefined)),
            _ => Ok(()),
        }
    }
}

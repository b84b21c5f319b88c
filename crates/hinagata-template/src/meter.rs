//! One budget for several renders.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use hinagata_value::Limits;

/// What several renders may use together, such as those of the messages of one prompt.
///
/// Each render that is given the meter ([`crate::Render::with_meter`]) starts with what the ones before left
/// over, and adds what it used when it ends: steps, characters of output, templates, and time where there
/// is a deadline. Its own limits hold too. A pass that has to wait for calls adds its time only: the work
/// is done again by the next one.
///
/// ```
/// use hinagata_template::{Language, Meter, Options, Render, Template};
/// use hinagata_value::{LimitKind, Limits};
///
/// let limits = Limits { output: Some(12), ..Limits::default() };
/// let greeting = Template::compile(Language::Jinja, "t", "Hello {{ name }}", &Options::default(), &limits)?;
/// let data = serde_json::json!({"name": "Rumi"});
///
/// let meter = Meter::new(&limits);
/// let render = Render::new().with_limits(limits).with_meter(&meter);
/// render.render_text(&greeting, &data)?;
/// assert_eq!(meter.output_used(), 10);
/// let error = render.render_text(&greeting, &data).expect_err("twenty characters are too many");
/// assert_eq!(error.limit(), Some(LimitKind::Output));
/// # Ok::<(), hinagata_value::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    steps: AtomicU64,
    output: AtomicUsize,
    templates: AtomicUsize,
    nanoseconds: AtomicU64,
}

/// What renders used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Steps.
    pub steps: u64,
    /// Characters of output.
    pub output: usize,
    /// Templates, those that were rendered included.
    pub templates: usize,
    /// Time of rendering itself; only where there is a deadline.
    pub time: Duration,
}

impl Used {
    /// What was used since it was only `before`.
    #[must_use]
    pub fn spent_since(self, before: Self) -> Self {
        Self {
            steps: self.steps.saturating_sub(before.steps),
            output: self.output.saturating_sub(before.output),
            templates: self.templates.saturating_sub(before.templates),
            time: self.time.saturating_sub(before.time),
        }
    }
}

impl Meter {
    /// A meter that nothing was used of; of `limits` it takes `steps`, `output`, `templates` and
    /// `deadline`.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            steps: AtomicU64::new(0),
            output: AtomicUsize::new(0),
            templates: AtomicUsize::new(0),
            nanoseconds: AtomicU64::new(0),
        }
    }

    /// What the renders used so far.
    #[must_use]
    pub fn used(&self) -> Used {
        Used {
            steps: self.steps_used(),
            output: self.output_used(),
            templates: self.templates.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }

    /// Steps that the renders used so far.
    #[must_use]
    pub fn steps_used(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Characters that the renders wrote so far.
    #[must_use]
    pub fn output_used(&self) -> usize {
        self.output.load(Ordering::Relaxed)
    }

    /// Adds what a render used.
    pub(crate) fn add_used(&self, used: Used) {
        let nanoseconds = u64::try_from(used.time.as_nanos()).unwrap_or(u64::MAX);
        self.steps.fetch_add(used.steps, Ordering::Relaxed);
        self.output.fetch_add(used.output, Ordering::Relaxed);
        self.templates.fetch_add(used.templates, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The limits of a render whose own ones are `own`, counted from before everything that was `used`:
    /// so an error names a limit that somebody set.
    pub(crate) fn remaining_limits(&self, own: &Limits, used: Used) -> Limits {
        let all = &self.limits;
        let output = own.output.map(|output| output.saturating_add(used.output));
        let deadline = own.deadline.map(|deadline| deadline.saturating_add(used.time));
        Limits {
            steps: own.steps.saturating_add(used.steps).min(all.steps),
            output: output.into_iter().chain(all.output).min(),
            templates: own.templates.saturating_add(used.templates).min(all.templates),
            deadline: deadline.into_iter().chain(all.deadline).min(),
            ..own.clone()
        }
    }
}

//! One budget for several renders.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use hinagata_value::Limits;

/// A budget that several renders share, such as those of the messages of one prompt.
///
/// Each render with the meter ([`crate::Render::with_meter`]) starts with the rest of the budget, and adds its
/// use at the end: steps, characters of output, templates, and time if there is a deadline. Its own limits
/// apply too. A pass that has to wait for calls adds only its time, because the next pass repeats the work.
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

/// The use of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Steps.
    pub steps: u64,
    /// Characters of output.
    pub output: usize,
    /// Templates, including the rendered ones.
    pub templates: usize,
    /// Render time. Only measured if there is a deadline.
    pub time: Duration,
}

impl Used {
    /// The difference to an earlier state.
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
    /// Creates an unused meter. It applies `steps`, `output`, `templates` and `deadline` of `limits`.
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

    /// The use of the renders so far.
    #[must_use]
    pub fn used(&self) -> Used {
        Used {
            steps: self.steps_used(),
            output: self.output_used(),
            templates: self.templates.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }

    /// Steps of the renders so far.
    #[must_use]
    pub fn steps_used(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Characters of output of the renders so far.
    #[must_use]
    pub fn output_used(&self) -> usize {
        self.output.load(Ordering::Relaxed)
    }

    /// Adds the use of a render.
    pub(crate) fn add_used(&self, used: Used) {
        let nanoseconds = u64::try_from(used.time.as_nanos()).unwrap_or(u64::MAX);
        self.steps.fetch_add(used.steps, Ordering::Relaxed);
        self.output.fetch_add(used.output, Ordering::Relaxed);
        self.templates.fetch_add(used.templates, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The limits of a render with the limits `own`, including everything that was `used` before. So an error
    /// reports a limit as it was configured.
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

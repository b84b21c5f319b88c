//! What a step is worth: nanoseconds of processor time for each step that is charged.
//!
//! A render may take so many steps, whatever they are. That bounds its time only if no step takes much longer
//! than others, on long texts, long lists and wide maps too. So everything that a template can do is measured
//! here, and what takes more than [`TOLERANCE`] times the median is told.

mod data;
mod gotemplate;
mod jinja;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hinagata_value::Limits;
use rustix::time::{ClockId, clock_gettime};

use crate::{gotemplate::Go, jinja::Jinja};

/// How many times the median a step may take.
pub const TOLERANCE: f64 = 20.0;

/// Repetitions of a body; more than that are not needed, however short it is.
const MOST_REPEATS: u64 = 50_000;
/// How often a repeated piece is written.
const MANY: usize = 1_000;
/// Runs of which the fastest counts.
const RUNS: usize = 3;

/// What is measured: a piece of a template, and what has to stand before it. What stands between `«` and `»` is
/// written [`MANY`] times, with its number in place of each `#`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// What it is about, such as `filter upper`; several cases may have the same.
    name: &'static str,
    setup: &'static str,
    /// An expression, or statements where it has delimiters.
    body: &'static str,
}

/// The cases of a table: name, what stands before, body.
pub(crate) fn cases(table: &[(&'static str, &'static str, &'static str)]) -> Vec<Case> {
    table.iter().map(|&(name, setup, body)| Case { name, setup, body }).collect()
}

impl Case {
    /// The setup and the body as they are written in a template.
    fn written(&self) -> (String, String) {
        (repeated(self.setup), repeated(self.body))
    }
}

fn repeated(source: &str) -> String {
    let Some((before, rest)) = source.split_once('«') else { return source.to_owned() };
    let (piece, after) = rest.split_once('»').unwrap_or((rest, ""));
    let pieces: String = (0..MANY).map(|number| piece.replace('#', &number.to_string())).collect();
    format!("{before}{pieces}{}", repeated(after))
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    steps: u64,
    time: Duration,
}

/// A language whose templates are measured.
pub(crate) trait Language {
    /// As it stands in front of the names of its cases.
    fn label(&self) -> &'static str;

    /// What is to be measured.
    fn cases(&self) -> Vec<Case>;

    /// What the language has by its own tables, named as cases are.
    fn names(&self) -> Vec<String>;

    /// Runs a case, its body `repeats` times; compiling is not counted.
    fn run(&self, case: &Case, repeats: u64) -> Result<Spent>;
}

/// The figure of one case.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The language, what it is about, and the template.
    pub name: String,
    /// Nanoseconds for each step.
    pub nanoseconds: f64,
}

/// All figures, those with the most nanoseconds first.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each case.
    pub figures: Vec<Figure>,
    /// The nanoseconds that half of the cases stay under.
    pub median: f64,
    /// Cases that could not be measured, and why.
    pub failures: Vec<String>,
}

impl Report {
    /// The nanoseconds that no case should take more than.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.median * TOLERANCE
    }
}

/// Measures every case whose name has `filter` in it; each takes about `turn` three times.
///
/// # Errors
/// When something that a language has by its own tables has no case.
pub fn measure_steps(filter: &str, turn: Duration) -> Result<Report> {
    let data = data::sample_data();
    let languages: [&dyn Language; 2] = [&Jinja::new(&data)?, &Go::new(&data)];
    let mut report = Report::default();
    for language in languages {
        check_coverage(language)?;
        for case in language.cases() {
            let name = format!("{} {}: {}{}", language.label(), case.name, case.setup, case.body);
            if !name.contains(filter) {
                continue;
            }
            match measure_case(language, &case, turn) {
                Ok(nanoseconds) => report.figures.push(Figure { name, nanoseconds }),
                Err(error) => report.failures.push(format!("{name}: {error:#}")),
            }
        }
    }
    report.figures.sort_by(|left, right| right.nanoseconds.total_cmp(&left.nanoseconds));
    report.median = report.figures.get(report.figures.len() / 2).map_or(0.0, |figure| figure.nanoseconds);
    Ok(report)
}

fn measure_case(language: &dyn Language, case: &Case, turn: Duration) -> Result<f64> {
    let once = language.run(case, 1)?;
    let mut repeats = 1;
    let mut best = once;
    while best.time < turn && repeats < MOST_REPEATS {
        let factor = turn.as_secs_f64() / best.time.as_secs_f64().max(1e-9);
        repeats = ((repeats as f64 * factor.clamp(2.0, 16.0)) as u64).min(MOST_REPEATS);
        best = language.run(case, repeats).with_context(|| format!("{repeats} times"))?;
    }
    for _ in 1..RUNS {
        let again = language.run(case, repeats)?;
        if again.time < best.time {
            best = again;
        }
    }
    // What stands before the body is in both.
    let (mut steps, mut time) = (best.steps, best.time);
    if !case.setup.is_empty() && repeats > 1 {
        steps = steps.saturating_sub(once.steps);
        time = time.saturating_sub(once.time);
    }
    if steps == 0 {
        bail!("takes no steps");
    }
    Ok(time.as_secs_f64() * 1e9 / steps as f64)
}

/// Fails where something has no case, or a case is about nothing that there is.
fn check_coverage(language: &dyn Language) -> Result<()> {
    let cases = language.cases();
    let names = language.names();
    let missing: Vec<_> =
        names.iter().filter(|name| !cases.iter().any(|case| case.name == **name)).cloned().collect();
    if !missing.is_empty() {
        bail!("{} has no case for {}", language.label(), missing.join(", "));
    }
    match cases.iter().find(|case| !names.iter().any(|name| name == case.name)) {
        Some(case) => bail!("{} has no {}, and there is a case for it", language.label(), case.name),
        None => Ok(()),
    }
}

/// The limits that hold for one operation stay; what bounds a whole render does not matter here.
fn wide_limits() -> Limits {
    Limits { steps: u64::MAX >> 1, bytes: 8 << 30, ..Limits::default() }
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_language_has_is_measured() {
        let data = data::sample_data();
        let jinja = Jinja::new(&data).expect("its templates compile");
        check_coverage(&jinja).expect("complete");
        check_coverage(&Go::new(&data)).expect("complete");
    }

    #[test]
    fn every_case_compiles() {
        let data = data::sample_data();
        let jinja = Jinja::new(&data).expect("its templates compile");
        let go = Go::new(&data);
        for language in [&jinja as &dyn Language, &go] {
            for case in language.cases() {
                // Without running it: unoptimised code takes minutes for all of them.
                language.run(&case, 0).unwrap_or_else(|error| panic!("{case:?}: {error:#}"));
            }
        }
    }
}

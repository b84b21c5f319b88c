//! What a step of the budget is worth, for everything that a template can do: see `bench/steps`.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::install::Installer;
use crate::measure::Contest;
use crate::row::{Figure, Goal, Row};

const KIND: &str = "steps";
/// Rows that are shown; what misses the goal is shown in any case.
const SHOWN: usize = 40;
const TURN: Duration = Duration::from_millis(5);

/// There is no peer: a step is compared with other steps.
pub(crate) fn contests(_: &Installer) -> Result<Vec<Contest>> {
    Ok(Vec::new())
}

/// The worst ones first, and the median that they are judged by.
pub(crate) fn amounts() -> Result<Vec<Row>> {
    let report = hinagata_steps::measure_steps("", TURN)?;
    if !report.failures.is_empty() {
        bail!("{}", report.failures.join("; "));
    }
    let goal = Goal { must: report.bound().round(), stretch: None };
    let row = |name: String, value: f64, goal| Row {
        kind: KIND.to_owned(),
        name,
        figure: Figure::Amount { value, unit: "ns/step".to_owned() },
        goal,
    };
    let shown =
        |(at, figure): &(usize, &hinagata_steps::Figure)| *at < SHOWN || figure.nanoseconds > goal.must;
    let median = row(format!("median of {}", report.figures.len()), report.median, None);
    let worst = report.figures.iter().enumerate().filter(shown);
    let worst = worst.map(|(_, figure)| row(figure.name.clone(), figure.nanoseconds, Some(goal)));
    Ok(std::iter::once(median).chain(worst).collect())
}

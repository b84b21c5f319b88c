//! A progress line on standard error, if that is a terminal.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Mutex,
    time::{Duration, Instant},
};

use hinagata::settings::group_digits;
use hinagata_context::Progress;
#[cfg(feature = "llm")]
use hinagata_process::Step;

/// Work that is done sooner has no line.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time between two changes of the line.
const PACE: Duration = Duration::from_millis(80);

/// How many characters the bar has.
const WIDTH: usize = 24;

/// The line.
#[derive(Debug)]
pub(crate) struct Bar {
    /// The time of the next update. `None` without a terminal.
    next: Option<Mutex<Instant>>,
}

impl Bar {
    /// Creates a progress line, which is shown only on a terminal and not with `--json`.
    pub(crate) fn new(json: bool) -> Self {
        let seen = !json && io::stderr().is_terminal();
        Self { next: seen.then(|| Mutex::new(Instant::now() + PATIENCE)) }
    }

    /// Shows the progress of packing.
    pub(crate) fn show_packing(&self, progress: Progress) {
        self.draw(false, || packing_line(progress));
    }

    /// Shows the current call of a process. The start of a call is shown immediately, because it can take long.
    #[cfg(feature = "llm")]
    pub(crate) fn show_call(&self, step: Step, begins: bool) {
        self.draw(begins, || {
            let (bar, number) = (bar(step.number, step.total), group_digits(step.number as u64 + 1));
            format!("{} [{bar}] call {number} of {}", step.phase.name(), group_digits(step.total as u64))
        });
    }

    /// Shows how many of `total` are done.
    pub(crate) fn show_count(&self, unit: &str, count: usize, total: usize) {
        self.draw(false, || {
            let (count_text, total_text) = (group_digits(count as u64), group_digits(total as u64));
            format!("[{}] {unit} {count_text} of {total_text}", bar(count, total))
        });
    }

    /// Takes the line away until it is drawn again.
    pub(crate) fn clear(&self) {
        if self.next.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn draw(&self, immediately: bool, line: impl FnOnce() -> String) {
        let Some(Ok(mut next)) = self.next.as_ref().map(Mutex::try_lock) else { return };
        let now = Instant::now();
        if now < *next && !immediately {
            return;
        }
        *next = now + PACE;
        let _ = write!(io::stderr(), "\r\x1b[K{}", line());
    }
}

impl Drop for Bar {
    /// Takes the line away, whether the work succeeded or not.
    fn drop(&mut self) {
        self.clear();
    }
}

fn packing_line(progress: Progress) -> String {
    match progress {
        Progress::Found(files) => format!("looking for files: {}", group_digits(files as u64)),
        Progress::Done(done, of) => {
            let bar = bar(done, of);
            format!("packing [{bar}] {} of {} files", group_digits(done as u64), group_digits(of as u64))
        }
    }
}

fn bar(done: usize, of: usize) -> String {
    let filled = (done * WIDTH).checked_div(of).unwrap_or(WIDTH).min(WIDTH);
    format!("{}{}", "#".repeat(filled), ".".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_far_it_is() {
        assert_eq!(packing_line(Progress::Found(1200)), "looking for files: 1 200");
        assert_eq!(packing_line(Progress::Done(1, 4)), "packing [######..................] 1 of 4 files");
        assert_eq!(packing_line(Progress::Done(0, 0)), "packing [########################] 0 of 0 files");
    }
}

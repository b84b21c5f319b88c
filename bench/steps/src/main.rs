//! `cargo run --release -p hinagata-steps [WORD]`: the figures of `bench/run steps` without building its peers.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports on its streams")]

use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let report = match hinagata_steps::measure_steps(&filter, Duration::from_millis(10)) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    for figure in &report.figures {
        let verdict = if figure.nanoseconds > report.bound() { "NOT MET" } else { "" };
        let times = figure.nanoseconds / report.median;
        println!("{:10.1} ns {times:7.1}x {verdict:7} {}", figure.nanoseconds, figure.name);
    }
    println!("{:10.1} ns      median of {} cases", report.median, report.figures.len());
    for failure in &report.failures {
        eprintln!("error: {failure}");
    }
    let is_met = report.figures.iter().all(|figure| figure.nanoseconds <= report.bound());
    if is_met && report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

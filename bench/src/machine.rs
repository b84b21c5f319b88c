//! What a figure was measured on.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Processor and number of cores.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?.1;
        Some(line.trim().to_owned())
    });
    format!("{}, {cores} cores, {}", model.as_deref().unwrap_or("unknown processor"), std::env::consts::OS)
}

/// The compiler that built this program.
pub(crate) fn compiler() -> String {
    first_line(Command::new("rustc").arg("--version")).unwrap_or_else(|| "unknown compiler".to_owned())
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}

/// Today as YYYY-MM-DD, in UTC.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date_of_day(seconds / 86_400)
}

/// The date of a day counted from 1970-01-01.
fn date_of_day(day: u64) -> String {
    let (mut year, mut left) = (1970, day);
    while left >= days_of_year(year) {
        left -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while left >= days_of_month(year, month) {
        left -= days_of_month(year, month);
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::date_of_day;

    #[test]
    fn days_become_dates() {
        assert_eq!(date_of_day(0), "1970-01-01");
        assert_eq!(date_of_day(11_016), "2000-02-29");
        assert_eq!(date_of_day(20_454), "2026-01-01");
    }
}

//! The time of day, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use hinagata_jinja::Moment;

/// Now, in UTC; the start of Unix time on a machine whose clock is set before it.
pub(crate) fn now() -> Moment {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    moment(seconds)
}

/// The moment `seconds` after the start of Unix time.
///
/// Days are counted from 1 March of year 0, so that the leap day is the last of a year: an era has 400
/// years, and months from March on have the lengths that `(153 * month + 2) / 5` adds up.
fn moment(seconds: u64) -> Moment {
    const DAYS_FROM_YEAR_0: u64 = 719_468;
    const DAYS_OF_ERA: u64 = 146_097;
    let days = seconds / 86_400 + DAYS_FROM_YEAR_0;
    let (era, day) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let second = seconds % 86_400;
    Moment {
        year: i32::try_from(era * 400 + year + next).unwrap_or(i32::MAX),
        month: month as u8,
        day: day as u8,
        hour: (second / 3_600) as u8,
        minute: (second / 60 % 60) as u8,
        second: (second % 60) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        let at = |seconds| {
            let Moment { year, month, day, hour, minute, second } = moment(seconds);
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        };
        // As `date -u -d @SECONDS` prints them.
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(at(951_868_800), "2000-03-01 00:00:00");
        assert_eq!(at(1_709_251_199), "2024-02-29 23:59:59");
        assert_eq!(at(1_767_225_599), "2025-12-31 23:59:59");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00");
        assert_eq!(at(253_402_300_799), "9999-12-31 23:59:59");
    }
}

//! Dates as `strftime` writes them, in English.

use hinagata_value::{Result, Text};

use crate::context::Moment;

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Appends a moment formatted with the codes of C's `strftime`, such as `%Y-%m-%d %H:%M:%S`.
///
/// Unknown codes are printed unchanged. The moment has no time zone, so `%z` and `%Z` are empty.
///
/// # Errors
/// When a limit is reached.
pub(super) fn push(moment: Moment, format: &str, text: &mut Text<'_>) -> Result<()> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at])?;
        let mut after = rest[at + 1..].chars();
        let mut code = after.next();
        let plain = code == Some('-');
        if plain {
            code = after.next();
        }
        let Some(code) = code else {
            return text.push_str(&rest[at..]);
        };
        let before = text.len();
        if push_code(moment, code, text)? {
            if plain {
                without_padding(text, before)?;
            }
        } else {
            text.push_str(&rest[at..rest.len() - after.as_str().len()])?;
        }
        rest = after.as_str();
    }
    text.push_str(rest)
}

/// Removes leading zeros and spaces from the text after `from`.
fn without_padding(text: &mut Text<'_>, from: usize) -> Result<()> {
    let number = &text.as_str()[from..];
    let unpadded_number = number.trim_start_matches(['0', ' ']);
    let unpadded_number =
        if unpadded_number.starts_with(|first: char| first.is_ascii_digit()) { unpadded_number } else { "0" };
    if number.starts_with(|first: char| first.is_ascii_digit() || first == ' ')
        && unpadded_number.len() < number.len()
    {
        let unpadded_number = unpadded_number.to_owned();
        text.truncate(from);
        text.push_str(&unpadded_number)?;
    }
    Ok(())
}

/// Appends the text for one code; returns `false` for an unknown code.
fn push_code(moment: Moment, code: char, text: &mut Text<'_>) -> Result<bool> {
    let Moment { year, month, day, hour, minute, second } = moment;
    let weekday = weekday(moment);
    let yearday = yearday(moment);
    let month_name = MONTHS[usize::from(month.clamp(1, 12)) - 1];
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let half = if hour < 12 { "AM" } else { "PM" };
    match code {
        'a' => text.push_str(&DAYS[weekday][..3])?,
        'A' => text.push_str(DAYS[weekday])?,
        'b' | 'h' => text.push_str(&month_name[..3])?,
        'B' => text.push_str(month_name)?,
        'c' => push(moment, "%a %b %e %H:%M:%S %Y", text)?,
        'C' => text.push_fmt(format_args!("{:02}", year.div_euclid(100)))?,
        'd' => text.push_fmt(format_args!("{day:02}"))?,
        'D' | 'x' => push(moment, "%m/%d/%y", text)?,
        'e' => text.push_fmt(format_args!("{day:2}"))?,
        'f' => text.push_str("000000")?,
        'F' => push(moment, "%Y-%m-%d", text)?,
        'g' => text.push_fmt(format_args!("{:02}", iso_week(moment).0.rem_euclid(100)))?,
        'G' => text.push_fmt(format_args!("{}", iso_week(moment).0))?,
        'H' => text.push_fmt(format_args!("{hour:02}"))?,
        'I' => text.push_fmt(format_args!("{twelve:02}"))?,
        'j' => text.push_fmt(format_args!("{:03}", yearday + 1))?,
        'k' => text.push_fmt(format_args!("{hour:2}"))?,
        'l' => text.push_fmt(format_args!("{twelve:2}"))?,
        'm' => text.push_fmt(format_args!("{month:02}"))?,
        'M' => text.push_fmt(format_args!("{minute:02}"))?,
        'n' => text.push_str("\n")?,
        'p' => text.push_str(half)?,
        'P' => text.push_str(&half.to_ascii_lowercase())?,
        'r' => push(moment, "%I:%M:%S %p", text)?,
        'R' => push(moment, "%H:%M", text)?,
        's' => text.push_fmt(format_args!("{}", seconds(moment)))?,
        'S' => text.push_fmt(format_args!("{second:02}"))?,
        't' => text.push_str("\t")?,
        'T' | 'X' => push(moment, "%H:%M:%S", text)?,
        'u' => text.push_fmt(format_args!("{}", if weekday == 0 { 7 } else { weekday }))?,
        'U' => text.push_fmt(format_args!("{:02}", (yearday + 7 - weekday) / 7))?,
        'V' => text.push_fmt(format_args!("{:02}", iso_week(moment).1))?,
        'w' => text.push_fmt(format_args!("{weekday}"))?,
        'W' => text.push_fmt(format_args!("{:02}", (yearday + 7 - (weekday + 6) % 7) / 7))?,
        'y' => text.push_fmt(format_args!("{:02}", year.rem_euclid(100)))?,
        'Y' => text.push_fmt(format_args!("{year}"))?,
        'z' | 'Z' => {}
        '%' => text.push_str("%")?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days since the first of January.
fn yearday(moment: Moment) -> usize {
    const BEFORE: [usize; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let month = usize::from(moment.month.clamp(1, 12));
    let leap = usize::from(month > 2 && is_leap(moment.year));
    BEFORE[month - 1] + leap + usize::from(moment.day.max(1)) - 1
}

/// Days since the start of Unix time.
fn days(moment: Moment) -> i64 {
    let year = i64::from(moment.year) - 1;
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before - 719_162 + yearday(moment) as i64
}

fn seconds(moment: Moment) -> i64 {
    let day = i64::from(moment.hour) * 3600 + i64::from(moment.minute) * 60 + i64::from(moment.second);
    days(moment) * 86_400 + day
}

/// The day of the week, from Sunday.
fn weekday(moment: Moment) -> usize {
    // The first day of Unix time was a Thursday.
    (days(moment) + 4).rem_euclid(7) as usize
}

/// The year and week of ISO 8601: weeks start on Monday, and week 1 contains the first Thursday.
fn iso_week(moment: Moment) -> (i32, i64) {
    let monday_based = (weekday(moment) as i64 + 6) % 7;
    let week = (yearday(moment) as i64 - monday_based + 10) / 7;
    let weeks_of = |year: i32| {
        let first = Moment { year, month: 1, day: 1, ..moment };
        if weekday(first) == 4 || (weekday(first) == 3 && is_leap(year)) { 53 } else { 52 }
    };
    match week {
        0 => (moment.year - 1, weeks_of(moment.year - 1)),
        53 if weeks_of(moment.year) == 52 => (moment.year + 1, 1),
        week => (moment.year, week),
    }
}

#[cfg(test)]
mod tests {
    use hinagata_value::{Budget, Limits};

    use super::*;

    #[test]
    fn codes_are_those_of_c() {
        let budget = Budget::new(Limits::default());
        let show = |moment: Moment, format: &str| {
            let mut text = Text::new(&budget);
            push(moment, format, &mut text).expect("fits");
            text.into_string()
        };
        let moment = Moment { year: 2026, month: 2, day: 20, hour: 15, minute: 30, second: 45 };
        for (format, expected) in [
            ("%d %B %Y", "20 February 2026"),
            ("%d %b %Y", "20 Feb 2026"),
            ("%Y-%m-%d %H:%M:%S", "2026-02-20 15:30:45"),
            ("%A %a %w %u %j", "Friday Fri 5 5 051"),
            ("%I:%M %p %y %C", "03:30 PM 26 20"),
            ("%-d/%-m %-I", "20/2 3"),
            ("%U %W %V %G", "07 07 08 2026"),
            ("%c|%x|%X", "Fri Feb 20 15:30:45 2026|02/20/26|15:30:45"),
            ("%F %T %R %D %e", "2026-02-20 15:30:45 15:30 02/20/26 20"),
            ("100%% %q %", "100% %q %"),
            ("%s", "1771601445"),
            ("%Z%z|", "|"),
        ] {
            assert_eq!(show(moment, format), expected, "{format}");
        }
        let new_year = Moment { year: 2027, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
        assert_eq!(show(new_year, "%A %U %W %V %G %e %I"), "Friday 00 00 53 2026  1 12");
        assert_eq!(show(Moment::default(), "%c"), "Thu Jan  1 00:00:00 1970");
    }
}

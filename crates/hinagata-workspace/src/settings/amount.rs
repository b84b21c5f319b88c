//! Parses and formats counts, bytes and times with units.

/// Parses a whole number; `_` may group its digits.
pub(super) fn parse_count(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Parses a number of bytes, with or without a unit; at most `isize::MAX`, the limit of an allocation.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let unit = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    parse_count(digits)?.checked_mul(unit).filter(|amount| isize::try_from(*amount).is_ok())
}

/// Parses a time above 0 in seconds; the units `ms` and `s` are optional.
pub(super) fn parse_seconds(text: &str) -> Option<f64> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, number) => (number.unwrap_or(text), 1.0),
    };
    let number = number.trim_end();
    // Rust also parses `inf`, `nan` and signs.
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    check_seconds(number.replace('_', "").parse::<f64>().ok()? * unit)
}

/// The time, if it is above 0 and not absurdly long.
pub(super) fn check_seconds(seconds: f64) -> Option<f64> {
    const MAX_SECONDS: f64 = 1e9;
    (seconds > 0.0 && seconds <= MAX_SECONDS).then_some(seconds)
}

/// Formats `1234567` as `1 234 567`.
#[must_use]
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes with the largest unit that gives a whole number.
pub(super) fn format_bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => {
            format!("{} MiB", group_digits(bytes >> 20))
        }
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} B", group_digits(bytes)),
    }
}

/// Formats a time as whole seconds if possible, else as milliseconds.
pub(super) fn format_seconds(seconds: f64) -> String {
    if seconds >= 1.0 && seconds.fract() == 0.0 {
        format!("{seconds} s")
    } else {
        format!("{} ms", (seconds * 1e6).round() / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(
            (parse_count("1_000_000"), parse_count("-1"), parse_count("")),
            (Some(1_000_000), None, None)
        );
        assert_eq!(
            (parse_bytes("64 KiB"), parse_bytes("1MiB"), parse_bytes("12B")),
            (Some(64 << 10), Some(1 << 20), Some(12))
        );
        assert_eq!(
            (parse_bytes("2GiB"), parse_bytes("7"), parse_bytes("99999999999GiB")),
            (Some(2 << 30), Some(7), None)
        );
        assert_eq!(
            (parse_seconds("2s"), parse_seconds("5ms"), parse_seconds("1.5")),
            (Some(2.0), Some(0.005), Some(1.5))
        );
        for text in ["soon", "0", "-1s", "inf", "nan", "s", "", "1e300"] {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_written_for_people() {
        assert_eq!(
            (group_digits(0), group_digits(1_000), group_digits(20_000_000)),
            ("0".into(), "1 000".into(), "20 000 000".into())
        );
        assert_eq!(
            (format_bytes(64 << 20), format_bytes(256 << 10), format_bytes(1_025)),
            ("64 MiB".into(), "256 KiB".into(), "1 025 B".into())
        );
        assert_eq!(
            (format_seconds(5.0), format_seconds(0.5), format_seconds(1.25), format_seconds(0.0001)),
            ("5 s".into(), "500 ms".into(), "1250 ms".into(), "0.1 ms".into())
        );
    }
}

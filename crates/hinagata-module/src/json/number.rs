//! Numbers as JavaScript writes them.

use std::fmt::Write as _;

use serde_json::Number;

/// Adds `number` to `text` in its shortest form: `1.0` is `1`.
pub(super) fn write_number(number: &Number, text: &mut String) {
    // Writing to a string cannot fail.
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(float, text),
        _ => {
            let _ = write!(text, "{number}");
        }
    }
}

fn write_float(float: f64, text: &mut String) {
    if float == 0.0 {
        // JavaScript writes -0 as 0 too.
        text.push('0');
        return;
    }
    // The shortest digits that read back as the same number, and where their point is.
    let shortest = format!("{:e}", float.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if float < 0.0 {
        text.push('-');
    }
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    match exponent {
        0..=20 if exponent + 1 >= count => {
            text.push_str(&digits);
            text.extend((count..=exponent).map(|_| '0'));
        }
        0..=20 => {
            let (whole, rest) = digits.split_at(usize::try_from(exponent + 1).unwrap_or_default());
            let _ = write!(text, "{whole}.{rest}");
        }
        -6..=-1 => {
            text.push_str("0.");
            text.extend((1..-exponent).map(|_| '0'));
            text.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            text.push_str(first);
            if !rest.is_empty() {
                let _ = write!(text, ".{rest}");
            }
            let _ = write!(text, "e{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_does() {
        let cases = [
            (1.0, "1"),
            (-2.5, "-2.5"),
            (100.0, "100"),
            (0.05, "0.05"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-9, "1.25e-9"),
            (0.1 + 0.2, "0.30000000000000004"),
            (123_456.789, "123456.789"),
            (-0.0, "0"),
        ];
        for (float, expected) in cases {
            let mut text = String::new();
            write_number(&Number::from_f64(float).expect("is finite"), &mut text);
            assert_eq!(text, expected);
        }
        let mut text = String::new();
        write_number(&Number::from(u64::MAX), &mut text);
        assert_eq!(text, "18446744073709551615");
    }
}

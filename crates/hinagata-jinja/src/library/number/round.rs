//! Exact rounding to a number of places, half to even.

use hinagata_value::Result;

use crate::library::arguments::integer_too_large;

/// Rounds a float to `digits` decimal places, half to even.
///
/// It compares the exact decimal value, so 2.675, which is slightly less, becomes 2.67.
pub(crate) fn round_float(float: f64, digits: i64) -> f64 {
    if !float.is_finite() || float == 0.0 {
        return float;
    }
    if digits >= 0 {
        // Rounding to more places than a float has changes nothing.
        let places = usize::try_from(digits).unwrap_or(usize::MAX);
        if places > 323 {
            return float;
        }
        return format!("{float:.places$}").parse().unwrap_or(float);
    }
    // Before the point: works on the exact integer digits of the float.
    let places = digits.unsigned_abs();
    if places > 308 {
        return 0.0_f64.copysign(float);
    }
    let text = format!("{:.0}", float.abs().trunc());
    let rounded = round_digits(&text, places as usize, float.abs().fract() != 0.0);
    let value: f64 = rounded.parse().unwrap_or(float.abs());
    value.copysign(float)
}

/// Rounds decimal digits to a multiple of `10^places`; `more` is whether a nonzero fraction follows.
fn round_digits(digits: &str, places: usize, more: bool) -> String {
    let keep = digits.len().saturating_sub(places);
    let (head, tail) = digits.split_at(keep);
    let padded = format!("{}{tail}", "0".repeat(places - tail.len()));
    let half = format!("5{}", "0".repeat(places - 1));
    let odd = head.bytes().last().is_some_and(|digit| (digit - b'0') % 2 == 1);
    let up = match padded.as_str().cmp(half.as_str()) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => more || odd,
        std::cmp::Ordering::Less => false,
    };
    let head = if up { increment(head) } else { head.to_owned() };
    let head = if head.is_empty() { "0".to_owned() } else { head };
    format!("{head}{}", "0".repeat(places))
}

/// One more than the number written by these digits.
fn increment(digits: &str) -> String {
    let mut bytes = digits.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        if *byte < b'9' {
            *byte += 1;
            return String::from_utf8(bytes).unwrap_or_default();
        }
        *byte = b'0';
    }
    format!("1{}", String::from_utf8(bytes).unwrap_or_default())
}

/// Rounds an integer to `digits` decimal places, half to even.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn round_int(int: i128, digits: i64) -> Result<i128> {
    let places = match u32::try_from(digits.min(0).unsigned_abs()) {
        Ok(0) => return Ok(int),
        Ok(places @ ..=38) => places,
        _ => return Ok(0),
    };
    let unit = 10_i128.pow(places);
    let floor = int.div_euclid(unit);
    let rest = int.rem_euclid(unit);
    let up = rest > unit - rest || (rest == unit - rest && floor % 2 != 0);
    (floor + i128::from(up)).checked_mul(unit).ok_or_else(integer_too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_exact_and_to_even() {
        for (float, digits, expected) in [
            (2.5, 0, 2.0),
            (3.5, 0, 4.0),
            (-2.5, 0, -2.0),
            (2.675, 2, 2.67),
            (42.55, 1, 42.5),
            (-2.567, 2, -2.57),
            (1250.0, -2, 1200.0),
            (1350.0, -2, 1400.0),
            (1250.5, -2, 1300.0),
            (49.9, -2, 0.0),
            (50.0, -2, 0.0),
            (50.1, -2, 100.0),
            (950.0, -2, 1000.0),
            (1e-7, 3, 0.0),
            (1e300, 5, 1e300),
            (1.5, 400, 1.5),
            (123.0, -400, 0.0),
        ] {
            assert_eq!(round_float(float, digits), expected, "{float} to {digits}");
        }
        assert_eq!(round_int(1234, -2).ok(), Some(1200));
        assert_eq!(round_int(1250, -2).ok(), Some(1200));
        assert_eq!(round_int(1350, -2).ok(), Some(1400));
        assert_eq!(round_int(-1250, -2).ok(), Some(-1200));
        assert_eq!(round_int(5, -1).ok(), Some(0));
        assert_eq!(round_int(15, -1).ok(), Some(20));
        assert_eq!(round_int(7, 3).ok(), Some(7));
    }
}

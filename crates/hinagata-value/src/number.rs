//! The shortest digits of a float, which each language formats.

/// The shortest decimal digits of a finite float: `0.d₁d₂d₃… × 10^point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Whether it has a minus sign, as -0.0 does.
    pub negative: bool,
    digits: [u8; 20],
    len: u8,
    /// Where the decimal point stands: before the digit of this index, so 1.5 has 1.
    pub point: i32,
}

impl Digits {
    /// The digits of `float`; `None` for infinities and NaN.
    #[must_use]
    pub fn from_f64(float: f64) -> Option<Self> {
        if !float.is_finite() {
            return None;
        }
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(float.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut digits = Self {
            negative: float.is_sign_negative(),
            digits: [b'0'; 20],
            len: 0,
            point: exponent.parse().unwrap_or(0),
        };
        let whole = mantissa.find('.').unwrap_or(mantissa.len());
        digits.point += whole as i32;
        for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
            digits.push(digit);
        }
        digits.trim();
        Some(digits)
    }

    fn push(&mut self, digit: u8) {
        if self.len == 0 && digit == b'0' {
            self.point -= 1;
        } else if let Some(slot) = self.digits.get_mut(usize::from(self.len)) {
            *slot = digit;
            self.len += 1;
        }
    }

    fn trim(&mut self) {
        while self.len > 0 && self.digits[usize::from(self.len) - 1] == b'0' {
            self.len -= 1;
        }
        if self.len == 0 {
            // Zero is the digit 0 before the point.
            self.digits[0] = b'0';
            self.len = 1;
            self.point = 1;
        }
    }

    /// The digits as text, without zeros at either end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[..usize::from(self.len)]).unwrap_or_default()
    }
}

/// Appends a float as Python and JSON write it: `1.0`, `0.001`, `1e-07`, `1e+16`, `nan`, `-inf`.
pub fn write_float_repr(float: f64, text: &mut String) {
    let Some(digits) = Digits::from_f64(float) else {
        text.push_str(match float {
            _ if float.is_nan() => "nan",
            _ if float > 0.0 => "inf",
            _ => "-inf",
        });
        return;
    };
    if digits.negative {
        text.push('-');
    }
    let shown = digits.as_str();
    match digits.point {
        point @ -3..=0 => {
            text.push_str("0.");
            text.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
            text.push_str(shown);
        }
        point @ 1..=16 => {
            let point = point as usize;
            text.push_str(&shown[..point.min(shown.len())]);
            text.extend(std::iter::repeat_n('0', point.saturating_sub(shown.len())));
            text.push('.');
            text.push_str(shown.get(point..).filter(|rest| !rest.is_empty()).unwrap_or("0"));
        }
        point => {
            text.push_str(&shown[..1]);
            if shown.len() > 1 {
                text.push('.');
                text.push_str(&shown[1..]);
            }
            let exponent = point - 1;
            text.push_str(if exponent < 0 { "e-" } else { "e+" });
            if exponent.abs() < 10 {
                text.push('0');
            }
            text.push_str(itoa::Buffer::new().format(exponent.unsigned_abs()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (float, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1.5, "1.5"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (123_456.789, "123456.789"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let mut text = String::new();
            write_float_repr(float, &mut text);
            assert_eq!(text, expected);
        }
    }
}

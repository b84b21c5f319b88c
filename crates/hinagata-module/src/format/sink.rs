//! Where text is written to.

/// Takes text piece by piece: a string takes it as it is, a JSON string with escapes.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);

    /// Takes a text that is known to need no escapes: letters, digits, spaces and most signs, but no quotes and no line ends.
    fn put_plain(&mut self, text: &str) {
        self.put(text);
    }

    /// Takes a text of ours; `escaped` is how it looks in a JSON string.
    fn put_known(&mut self, text: &'static str, escaped: &'static str) {
        let _ = escaped;
        self.put(text);
    }

    /// Takes a number in digits.
    fn put_number(&mut self, number: u64) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = number;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.put_plain(str::from_utf8(&digits[start..]).unwrap_or_default());
    }

    fn put_all(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.put(text));
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_digits() {
        for number in [0, 7, 10, 4_294_967_296, u64::MAX] {
            let mut text = String::new();
            text.put_number(number);
            assert_eq!(text, number.to_string());
        }
    }
}

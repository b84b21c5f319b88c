//! The limits of a render as people read and write them: their names, their amounts, their units.

use std::time::Duration;

use hinagata_value::{Limits, near_names};

use crate::diagnostic::did_you_mean;

/// What a limit is set to, with the unit in which people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Count(u64),
    Bytes(usize),
    Time(Duration),
    None,
}

impl Amount {
    /// For people.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Count(count) => grouped(count),
            Self::Bytes(bytes) => bytes_text(bytes),
            Self::Time(time) => format!("{} ms", time.as_millis()),
            Self::None => "-".into(),
        }
    }
}

/// One limit.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) amount: Amount,
    pub(crate) meaning: &'static str,
}

/// Every limit once: the pattern names each field, so that a new one cannot be forgotten here.
pub(crate) fn rows(limits: &Limits) -> Vec<Row> {
    let Limits {
        steps,
        bytes,
        output,
        calls,
        nesting,
        value_depth,
        stack,
        range_items,
        fill,
        source,
        templates,
        passes,
        requests,
        deadline,
    } = *limits;
    let count = |count: usize| Amount::Count(count as u64);
    let row = |name, amount, meaning| Row { name, amount, meaning };
    vec![
        row("steps", Amount::Count(steps), "operations, and every 64 bytes or item produced"),
        row("bytes", Amount::Bytes(bytes), "bytes alive in produced values and captures"),
        row("output", output.map_or(Amount::None, count), "characters of output; - leaves it to the bytes"),
        row("calls", Amount::Count(calls.into()), "calls and includes inside each other"),
        row("nesting", Amount::Count(nesting.into()), "expressions and blocks inside each other"),
        row("value_depth", count(value_depth), "lists and maps inside each other when printed or compared"),
        row("stack", Amount::Bytes(stack), "stack of a run"),
        row("range_items", Amount::Count(range_items), "items of one range"),
        row("fill", Amount::Bytes(fill), "bytes added by one repeat, pad or indent"),
        row("source", Amount::Bytes(source), "size of one template source"),
        row("templates", count(templates), "templates loaded in one render"),
        row("passes", Amount::Count(passes.into()), "passes of one render that waits for calls"),
        row("requests", count(requests), "calls to the outside in one render"),
        row(
            "deadline",
            deadline.map_or(Amount::None, Amount::Time),
            "time of the rendering itself; - sets none",
        ),
    ]
}

/// One limit to be set: `NAME=VALUE` of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    name: String,
    value: String,
}

impl Setting {
    /// Reads `NAME=VALUE`, and makes sure that it can be set.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as steps=1000000")?;
        let setting = Self { name: name.to_owned(), value: value.to_owned() };
        setting.try_apply(&mut Limits::default())?;
        Ok(setting)
    }

    /// Sets the limit.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        self.try_apply(limits).expect("was tried when it was read");
    }

    fn try_apply(&self, limits: &mut Limits) -> Result<(), String> {
        let value = &*self.value;
        match &*self.name {
            "steps" => limits.steps = count(value)?,
            "bytes" => limits.bytes = bytes(value)?,
            "output" => limits.output = optional(value, count)?,
            "calls" => limits.calls = count(value)?,
            "nesting" => limits.nesting = count(value)?,
            "value_depth" => limits.value_depth = count(value)?,
            "stack" => limits.stack = bytes(value)?,
            "range_items" => limits.range_items = count(value)?,
            "fill" => limits.fill = bytes(value)?,
            "source" => limits.source = bytes(value)?,
            "templates" => limits.templates = count(value)?,
            "passes" => limits.passes = count(value)?,
            "requests" => limits.requests = count(value)?,
            "deadline" => limits.deadline = optional(value, time)?,
            name => return Err(unknown(name)),
        }
        Ok(())
    }
}

fn unknown(name: &str) -> String {
    let rows = rows(&Limits::default());
    let near = near_names(name, rows.iter().map(|row| row.name));
    let advice = did_you_mean(&near).unwrap_or_else(|| "`hina limits` lists them".to_owned());
    format!("there is no limit `{name}`; {advice}")
}

/// `-` takes the limit away.
fn optional<T>(value: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if value == "-" { Ok(None) } else { read(value).map(Some) }
}

/// A whole number; `_` may group its digits.
fn count<T: TryFrom<u64>>(value: &str) -> Result<T, String> {
    number(value).ok_or_else(|| format!("`{value}` is no whole number, or too large"))
}

fn bytes(value: &str) -> Result<usize, String> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let (digits, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((value.strip_suffix(name)?.trim_end(), *unit)))
        .unwrap_or((value, 1));
    let amount = number::<u64>(digits).and_then(|digits| digits.checked_mul(unit));
    amount
        .and_then(|amount| usize::try_from(amount).ok())
        .filter(|amount| isize::try_from(*amount).is_ok())
        .ok_or_else(|| {
            format!("`{value}` is no number of bytes, or too large; write 65536, 64KiB, 1MiB or 1GiB")
        })
}

fn time(value: &str) -> Result<Duration, String> {
    let (digits, unit) = match (value.strip_suffix("ms"), value.strip_suffix('s')) {
        (Some(digits), _) => (digits, 1),
        (None, Some(digits)) => (digits, 1_000),
        (None, None) => (value, 1),
    };
    number::<u64>(digits.trim_end())
        .and_then(|digits| digits.checked_mul(unit))
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{value}` is no time; write 500ms or 2s"))
}

fn number<T: TryFrom<u64>>(digits: &str) -> Option<T> {
    let plain = digits.replace('_', "");
    if !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    plain.parse::<u64>().ok().and_then(|number| T::try_from(number).ok())
}

fn bytes_text(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} B", grouped(bytes as u64)),
    }
}

/// `1234567` as `1 234 567`.
pub(crate) fn grouped(number: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<Limits, String> {
        let mut limits = Limits::default();
        Setting::parse(text)?.apply(&mut limits);
        Ok(limits)
    }

    #[test]
    fn every_limit_can_be_set_by_its_name() {
        for row in rows(&Limits::default()) {
            let limits = set(&format!("{}=7", row.name)).expect(row.name);
            let changed =
                rows(&limits).into_iter().find(|changed| changed.name == row.name).expect("is there");
            let expected = match row.name {
                "deadline" => Amount::Time(Duration::from_millis(7)),
                "bytes" | "stack" | "fill" | "source" => Amount::Bytes(7),
                _ => Amount::Count(7),
            };
            assert_eq!(changed.amount, expected, "{}", row.name);
        }
    }

    #[test]
    fn amounts_have_units() {
        assert_eq!(set("bytes=64 KiB").expect("is fine").bytes, 64 << 10);
        assert_eq!(set("source=1MiB").expect("is fine").source, 1 << 20);
        assert_eq!(set("fill=12B").expect("is fine").fill, 12);
        assert_eq!(set("steps=1_000_000").expect("is fine").steps, 1_000_000);
        assert_eq!(set("deadline=2s").expect("is fine").deadline, Some(Duration::from_secs(2)));
        assert_eq!(set("deadline=5ms").expect("is fine").deadline, Some(Duration::from_millis(5)));
        assert_eq!(set("deadline=-").expect("is fine").deadline, None);
        assert_eq!(set("output=-").expect("is fine").output, None);
    }

    #[test]
    fn what_is_no_limit_says_what_is() {
        let cases = [
            ("steps", "write NAME=VALUE, such as steps=1000000"),
            ("stepz=1", "there is no limit `stepz`; did you mean `steps`?"),
            ("speed=1", "there is no limit `speed`; `hina limits` lists them"),
            ("steps=-1", "`-1` is no whole number, or too large"),
            ("steps=", "`` is no whole number, or too large"),
            ("calls=4294967296", "`4294967296` is no whole number, or too large"),
            ("deadline=soon", "`soon` is no time; write 500ms or 2s"),
        ];
        for (text, message) in cases {
            assert_eq!(set(text).expect_err(text), message);
        }
        assert!(set("bytes=99999999999GiB").expect_err("is too large").contains("too large"));
    }

    #[test]
    fn amounts_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_000), "1 000");
        assert_eq!(grouped(20_000_000), "20 000 000");
        assert_eq!(bytes_text(64 << 20), "64 MiB");
        assert_eq!(bytes_text(256 << 10), "256 KiB");
        assert_eq!(bytes_text(1_025), "1 025 B");
    }
}

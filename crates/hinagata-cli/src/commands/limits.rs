//! `hina limits`: what a render may use by default.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context;
use hinagata_value::Limits;
use serde_json::{Map, Value};

use super::Format;

/// Print what a render may use by default
///
/// Steps and bytes are counted the same on every machine, so that a prompt either fits its limits
/// everywhere or nowhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina limits\n  hina limits --json")]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments, format: Format) -> anyhow::Result<()> {
    let rows = rows(&Limits::default());
    let text = match format {
        Format::Text => table(&rows),
        Format::Json => format!("{:#}\n", json(&rows)),
    };
    io::stdout().write_all(text.as_bytes()).context("cannot write the limits")
}

struct Row {
    name: &'static str,
    amount: Amount,
    meaning: &'static str,
}

/// What a limit is set to, with the unit in which people read it.
#[derive(Clone, Copy)]
enum Amount {
    Count(u64),
    Bytes(usize),
    Time(Duration),
    None,
}

impl Amount {
    fn text(self) -> String {
        match self {
            Self::Count(count) => grouped(count),
            Self::Bytes(bytes) => bytes_text(bytes),
            Self::Time(time) => format!("{} ms", time.as_millis()),
            Self::None => "-".into(),
        }
    }

    fn json(self) -> Value {
        match self {
            Self::Count(count) => count.into(),
            Self::Bytes(bytes) => bytes.into(),
            Self::Time(time) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into(),
            Self::None => Value::Null,
        }
    }
}

/// Every limit once: the pattern names each field, so that a new one cannot be forgotten here.
fn rows(limits: &Limits) -> Vec<Row> {
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

fn table(rows: &[Row]) -> String {
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let amounts = rows.iter().map(|row| row.amount.text().len()).max().unwrap_or_default();
    rows.iter()
        .map(|row| format!("{:names$}  {:>amounts$}  {}\n", row.name, row.amount.text(), row.meaning))
        .collect()
}

/// Amounts as plain numbers: bytes, items, and milliseconds where the name says so.
fn json(rows: &[Row]) -> Value {
    let name = |row: &Row| if row.name == "deadline" { "deadline_ms" } else { row.name };
    Value::Object(rows.iter().map(|row| (name(row).to_owned(), row.amount.json())).collect::<Map<_, _>>())
}

fn bytes_text(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} B", grouped(bytes as u64)),
    }
}

/// `1234567` as `1 234 567`.
fn grouped(number: u64) -> String {
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

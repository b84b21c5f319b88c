//! `hina limits`: what a render may use by default.

use std::io::{self, Write};

use hinagata_value::Limits;
use serde_json::{Map, Value};

use super::Format;
use crate::{
    failure::Failure,
    limits::{self, Amount, Row},
};

/// Print what a render may use by default
///
/// Steps and bytes are counted the same on every machine, so that a prompt either fits its limits
/// everywhere or nowhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  hina limits\n  hina limits --json")]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let rows = limits::rows(&Limits::default());
    let text = match format {
        Format::Text => table(&rows),
        Format::Json => format!("{:#}\n", json(&rows)),
    };
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Output)
}

impl Amount {
    fn json(self) -> Value {
        match self {
            Self::Count(count) => count.into(),
            Self::Bytes(bytes) => bytes.into(),
            Self::Time(time) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into(),
            Self::None => Value::Null,
        }
    }
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

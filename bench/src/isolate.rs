//! Each kind is measured in a process of its own: what one kind leaves behind in the allocator must not
//! make the next one slower or faster.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::Arguments;
use crate::row::Row;

/// What the process of a kind answers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Measured {
    pub(crate) rows: Vec<Row>,
    /// Whether every contest could be measured.
    pub(crate) complete: bool,
}

/// Measures `kind` in a new process of this program.
pub(crate) fn measure(kind: &str, arguments: &Arguments) -> Result<Measured> {
    let program = std::env::current_exe().context("this program does not know its own file")?;
    let mut command = Command::new(program);
    command
        .arg("--measure")
        .arg(kind)
        .arg("--home")
        .arg(&arguments.home)
        .arg("--cache")
        .arg(&arguments.cache);
    if arguments.quick {
        command.arg("--quick");
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let output = child
        .and_then(std::process::Child::wait_with_output)
        .with_context(|| format!("{kind} cannot be measured in a process of its own"))?;
    match serde_json::from_slice(&output.stdout) {
        Ok(measured) => Ok(measured),
        // What went wrong stands on standard error already.
        Err(_) => bail!("{kind} could not be measured ({})", output.status),
    }
}

/// Answers the process that started this one; whether every contest could be measured.
pub(crate) fn answer(measured: &Measured) -> Result<bool> {
    let mut output = std::io::stdout().lock();
    serde_json::to_writer(&mut output, measured)?;
    output.flush()?;
    Ok(measured.complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Figure, Goal};

    #[test]
    fn rows_survive_the_way_between_processes() {
        let row = Row {
            kind: "engine".into(),
            name: "memory".into(),
            figure: Figure::Amount { value: 0.1 + 0.2, unit: "MiB".into() },
            goal: Some(Goal { must: 1.0, stretch: None }),
        };
        let sent = Measured { rows: vec![row], complete: false };
        let text = serde_json::to_string(&sent).expect("can be written");
        let came: Measured = serde_json::from_str(&text).expect("can be read");
        assert!(!came.complete);
        assert_eq!(came.rows[0].to_json(), sent.rows[0].to_json());
    }
}

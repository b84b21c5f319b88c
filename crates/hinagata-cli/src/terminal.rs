//! Terminals, and questions at them.

use std::io::{self, BufRead, IsTerminal as _, Write};

/// Whether a question is possible: standard input and standard error are terminals.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether a user sees the status, and nothing keeps it: standard error is a terminal.
#[cfg(feature = "server")]
pub(crate) fn shows_status() -> bool {
    io::stderr().is_terminal()
}

/// Whether this process was started at a terminal, also if its output goes elsewhere.
#[cfg(feature = "server")]
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stderr().is_terminal()
}

/// Asks for a number from 1 to `count` on standard error. `None` for an empty answer or the end of input.
pub(crate) fn ask_number(question: &str, count: usize) -> io::Result<Option<usize>> {
    number(question, count, &mut io::stdin().lock(), &mut io::stderr().lock())
}

/// Asks for yes or no on standard error. An empty answer is no.
pub(crate) fn ask_yes(question: &str) -> io::Result<bool> {
    yes(question, &mut io::stdin().lock(), &mut io::stderr().lock())
}

fn number(
    question: &str,
    count: usize,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<usize>> {
    while let Some(answer) = answer(&format!("{question} [1-{count}, empty for none] "), input, output)? {
        match answer.parse() {
            _ if answer.is_empty() => return Ok(None),
            Ok(number) if (1..=count).contains(&number) => return Ok(Some(number)),
            _ => writeln!(
                output,
                "`{}` is not a number from 1 to {count}",
                crate::output::sanitize_text(&answer)
            )?,
        }
    }
    Ok(None)
}

fn yes(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    while let Some(answer) = answer(&format!("{question} [y/N] "), input, output)? {
        match answer.to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "" | "n" | "no" => return Ok(false),
            _ => writeln!(output, "answer y or n")?,
        }
    }
    Ok(false)
}

/// Reads one line without its line break. `None` at the end of input.
fn answer(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<Option<String>> {
    write!(output, "{question}")?;
    output.flush()?;
    let mut line = String::new();
    let read = input.read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_with(typed: &str) -> (Option<usize>, String) {
        let mut output = Vec::new();
        let chosen = number("which?", 3, &mut typed.as_bytes(), &mut output).expect("reads");
        (chosen, String::from_utf8(output).expect("is text"))
    }

    #[test]
    fn a_number_is_asked_for_until_it_fits() {
        assert_eq!(choose_with("2\n").0, Some(2));
        let (chosen, printed) = choose_with("9\nx\n 1 \n");
        assert_eq!(chosen, Some(1));
        assert!(
            printed.contains("`9` is not a number from 1 to 3") && printed.contains("`x` is not a number"),
            "{printed}"
        );
    }

    #[test]
    fn nothing_chooses_nothing() {
        assert_eq!((choose_with("\n").0, choose_with("").0), (None, None));
    }

    #[test]
    fn only_yes_is_yes() {
        let said = |typed: &str| yes("sure?", &mut typed.as_bytes(), &mut Vec::new()).expect("reads");
        assert!(said("y\n") && said("maybe\nYES\n"));
        assert!(!said("\n") && !said("no\n") && !said(""));
    }
}

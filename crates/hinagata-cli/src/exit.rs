//! The exit codes of `hina`.

use std::fmt::Write as _;
use std::process::ExitCode;

/// An exit code; the numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Success = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    Network = 5,
    Permission = 6,
    Limit = 7,
}

impl Code {
    const ALL: [Self; 8] = [
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::NotFound,
        Self::Conflict,
        Self::Network,
        Self::Permission,
        Self::Limit,
    ];

    const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "the prompt failed, or a check found problems",
            Self::Usage => "invalid usage or settings",
            Self::NotFound => "not found",
            Self::Conflict => "unresolved conflict",
            Self::Network => "network or provider",
            Self::Permission => "permission or approval",
            Self::Limit => "a limit was reached",
        }
    }
}

impl Code {
    /// The code with this number. Unknown numbers are failures.
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.into_iter().find(|code| *code as u8 == number).unwrap_or(Self::Failed)
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The end of the help: examples, exit codes, and where to read on.
pub(crate) fn help_text() -> String {
    let mut text = String::from(
        "\
Examples:
  hina render general_system agent_name=Rumi   render a prompt
  hina list                                    list all prompts
  hina show general_system                     show what a prompt declares
  hina init                                    create a workspace with an example
  hina render-file hello.md name=Rumi          render a template file

Exit codes:
",
    );
    for code in Code::ALL {
        let _ = writeln!(text, "  {}  {}", code as u8, code.meaning());
    }
    text.push_str("\nRun `hina COMMAND --help` for details. Full reference: docs/reference/cli.md");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_numbered_as_documented() {
        let numbers: Vec<u8> = Code::ALL.iter().map(|code| *code as u8).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

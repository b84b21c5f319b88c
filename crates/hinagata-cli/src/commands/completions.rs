//! `hina completions`: shell completions for commands, options and names of prompts.

use clap::ValueEnum;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

use crate::{completion, failure::Failure, output, workspace::Globals};

/// Generate shell completions
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  source <(hina completions bash)                                    in ~/.bashrc
  source <(hina completions zsh)                                     in ~/.zshrc
  hina completions fish > ~/.config/fish/completions/hina.fish";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Shell {
    const fn completer(self) -> &'static dyn EnvCompleter {
        match self {
            Self::Bash => &Bash,
            Self::Elvish => &Elvish,
            Self::Fish => &Fish,
            Self::Powershell => &Powershell,
            Self::Zsh => &Zsh,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, _globals: &Globals) -> Result<(), Failure> {
    let mut script = Vec::new();
    arguments.shell.completer().write_registration(
        completion::VARIABLE,
        "hina",
        "hina",
        "hina",
        &mut script,
    )?;
    output::print_text(&String::from_utf8_lossy(&script))
}

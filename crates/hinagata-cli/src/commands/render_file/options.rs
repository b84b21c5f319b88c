//! The options of the command that say how templates behave.

use clap::ValueEnum;
use hinagata::definition;
use hinagata_jinja::{ParseOptions, Settings, UndefinedMode};
use hinagata_template::{Language, Options};

use crate::clock;

/// A template language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LanguageArgument {
    /// Jinja2
    Jinja,
    /// Go's text/template
    Go,
}

impl From<LanguageArgument> for Language {
    fn from(language: LanguageArgument) -> Self {
        match language {
            LanguageArgument::Jinja => Self::Jinja,
            LanguageArgument::Go => Self::Go,
        }
    }
}

#[derive(clap::Args)]
pub(super) struct Behaviour {
    /// Fail on undefined variables; same as --undefined error
    #[arg(long, conflicts_with = "undefined")]
    strict: bool,

    /// How undefined variables behave [default: the setting render.undefined]
    #[arg(long, help_heading = "Jinja")]
    undefined: Option<Undefined>,

    /// Remove the newline behind a block tag
    #[arg(long, help_heading = "Jinja")]
    trim_blocks: bool,

    /// Remove the spaces before a block tag that starts its line
    #[arg(long, help_heading = "Jinja")]
    lstrip_blocks: bool,

    /// Keep the last newline of a template
    #[arg(long, help_heading = "Jinja")]
    keep_trailing_newline: bool,

    /// Escape what expressions print for HTML
    #[arg(long, help_heading = "Jinja")]
    autoescape: bool,

    /// Render as chat templates of models are rendered: raise_exception, strftime_now (in UTC),
    /// generation blocks, and --trim-blocks --lstrip-blocks --undefined jinja
    #[arg(long, help_heading = "Jinja")]
    chat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Undefined {
    /// Nothing, and so does everything inside it
    Empty,
    /// Nothing, but looking inside it is an error, as in Jinja2
    Jinja,
    /// An error, in Go templates too
    Error,
    /// The expression itself
    Debug,
}

impl Behaviour {
    /// The options of the template. `undefined` is the setting.
    pub(super) fn options(&self, undefined: definition::UndefinedMode) -> Options {
        let mut options = Options::default().with_undefined(self.undefined(undefined));
        options.jinja = ParseOptions {
            trim_blocks: self.trim_blocks || self.chat,
            lstrip_blocks: self.lstrip_blocks || self.chat,
            keep_trailing_newline: self.keep_trailing_newline,
            generation: self.chat,
            ..ParseOptions::default()
        };
        options.settings = Settings {
            autoescape: self.autoescape,
            immutable: self.chat,
            chat_host: self.chat,
            now: clock::now(),
            ..options.settings
        };
        options
    }

    fn undefined(&self, setting: definition::UndefinedMode) -> UndefinedMode {
        match self.undefined {
            _ if self.strict => UndefinedMode::Error,
            None if self.chat => UndefinedMode::Jinja,
            None => match setting {
                definition::UndefinedMode::Empty => UndefinedMode::Empty,
                definition::UndefinedMode::Jinja => UndefinedMode::Jinja,
                definition::UndefinedMode::Error => UndefinedMode::Error,
                definition::UndefinedMode::Debug => UndefinedMode::Debug,
            },
            Some(Undefined::Empty) => UndefinedMode::Empty,
            Some(Undefined::Jinja) => UndefinedMode::Jinja,
            Some(Undefined::Error) => UndefinedMode::Error,
            Some(Undefined::Debug) => UndefinedMode::Debug,
        }
    }
}

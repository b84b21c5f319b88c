//! Adapts the product's Jinja engine to recorded cases.

use std::collections::HashMap;

use hinagata_jinja::{Loader, Moment, ParseOptions, Render, Settings, Sources, UndefinedMode};
use hinagata_value::{Error, ErrorKind, Limits};

use crate::kinds::jinja::{Extension, Host, JinjaCase, JinjaEngine, JinjaOutcome, Sandbox, Undefined};

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jinja;

impl Jinja {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

/// The time at which the chat templates were recorded.
const NOW: Moment = Moment { year: 2026, month: 2, day: 20, hour: 15, minute: 30, second: 45 };

impl JinjaEngine for Jinja {
    fn render_case(&self, case: &JinjaCase, undefined: Undefined) -> JinjaOutcome {
        match render(case, undefined) {
            Ok(text) => JinjaOutcome::Output(text),
            Err(error) => JinjaOutcome::from(&error),
        }
    }
}

/// How the templates of a case are parsed, and how they behave.
pub fn jinja_options(case: &JinjaCase, undefined: Undefined) -> (ParseOptions, Settings) {
    let options = ParseOptions {
        trim_blocks: case.options.trim_blocks,
        lstrip_blocks: case.options.lstrip_blocks,
        keep_trailing_newline: case.options.keep_trailing_newline,
        generation: case.options.extensions.contains(&Extension::Generation),
        ..ParseOptions::default()
    };
    let settings = Settings {
        undefined: match undefined {
            Undefined::Default => UndefinedMode::Jinja,
            Undefined::Strict => UndefinedMode::Error,
            Undefined::Chainable => UndefinedMode::Empty,
        },
        autoescape: case.options.autoescape,
        immutable: case.options.sandbox == Sandbox::Immutable,
        chat_host: case.options.host == Host::Hf,
        now: NOW,
    };
    (options, settings)
}

/// Renders with the product's default limits.
fn render(case: &JinjaCase, undefined: Undefined) -> Result<String, Error> {
    let (options, settings) = jinja_options(case, undefined);
    let sources: HashMap<String, String> = case.templates.clone().into_iter().collect();
    let sources = Sources::new(sources, options, Limits::default());
    let entry = sources
        .load(&case.entry)?
        .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("template '{}' not found", case.entry)))?;
    Render::new().with_settings(settings).with_loader(&sources).render_text(&entry, &case.data)
}

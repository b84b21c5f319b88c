//! Finds secrets: files that should not leave the machine, by name, and values within files, by content.
//!
//! | part | what it is for |
//! |---|---|
//! | [`Secrets`] | the rules: built-in ones, [`OwnRule`]s, and exceptions ([`Allowance`]) |
//! | [`Secrets::find_secrets`] | the places of all secrets of a text |
//! | [`Marks`] | replaces them by marks, the same mark for the same value |
//! | [`SecretPolicy`] | rules and what is done with what they find |
//! | [`Redactor`] | applies a policy to the texts of one output, for all places that put files into texts |
//!
//! The built-in rules are in `secrets.toml`, placeholders in `placeholders.toml`. One pass over a text searches for the
//! keywords of all rules; only rules whose keyword was found are tried, so a text without keywords is searched at about
//! two bytes per nanosecond.
//!
//! ```
//! use hinagata_secrets::{Redactor, SecretPolicy, Secrets};
//!
//! let rules = Secrets::built_in();
//! assert_eq!(rules.in_name("conf/.env"), Some("environment-file"));
//! assert_eq!(rules.in_name("conf/.env.example"), None);
//!
//! let redactor = Redactor::new(SecretPolicy::default());
//! let text = "host: db\nurl: postgres://app:kX93-vbQ2@db/app\n".to_owned();
//! let text = redactor.redact_text("app.yaml", text)?;
//! assert_eq!(text, "host: db\nurl: postgres://app:«redacted:url-password»@db/app\n");
//! assert_eq!(redactor.take_redacted()[0].summary(), "url-password in line 2");
//! # Ok::<(), hinagata_secrets::OmittedText>(())
//! ```

mod allow;
mod assignment;
mod encoded;
mod find;
mod keywords;
mod kubernetes;
mod literal;
mod marks;
mod names;
mod own;
mod placeholder;
mod policy;
mod redactor;
mod rules;
mod shape;
mod syntax;
mod url;
mod value;

pub use allow::{Allowance, hash_value};
pub use find::{FoundSecret, FoundSecrets};
pub use marks::{Marks, RedactedSecret, RedactedText};
pub use own::{OwnRule, RuleProblem};
pub use policy::{SecretAction, SecretPolicy};
pub use redactor::{OmittedText, RedactedFile, Redactor};
pub use rules::Secrets;

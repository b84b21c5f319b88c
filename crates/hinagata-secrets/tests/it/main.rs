//! Secrets as users of the library see them.

mod corpus;
mod generate;
mod properties;
mod redact;

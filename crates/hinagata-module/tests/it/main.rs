//! Prompt modules and the requests that drivers write.

mod answers;
mod chat_templates;
mod common;
mod forging;
mod modules;
mod requests;
mod schema_suite;
mod sdks;

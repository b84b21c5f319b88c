//! Tests of counting: against recorded counts of the original tokenizers, against tiktoken, and as properties.

mod boundaries;
mod estimates;
#[cfg(feature = "exact")]
mod files;
#[cfg(feature = "exact")]
mod hostile_files;
#[cfg(feature = "exact")]
mod openai;
mod support;

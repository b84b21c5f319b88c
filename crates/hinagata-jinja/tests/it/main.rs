//! Tests of Jinja templates: comparison with the original, and limits.

mod analysis;
mod charges;
mod differential;
mod errors_at_run;
mod hostile;
mod length;
mod library;
mod parse_errors;
mod parse_grammar;
mod parse_limits;
mod parse_names;
mod parse_random;
mod parse_vectors;
mod productions;
mod properties;

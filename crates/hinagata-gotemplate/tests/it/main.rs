//! Go templates: compared with the original, taken to their limits.

mod differential;
mod host;
mod length;
mod limits;
mod properties;
mod support;
mod vectors;

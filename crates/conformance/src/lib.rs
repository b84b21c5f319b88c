//! Runs directories of recorded cases against the engines of Hinagata.
//!
//! The cases say what the original implementations answer: Jinja2, Go's `text/template` and so on.
//! A directory holds them as `*.json`, and optionally a `skips.toml`. Each kind of case is one file
//! under `kinds`; the engine that answers it is behind a trait, so that this crate can be tested
//! with engines that are wrong on purpose.
//!
//! ```no_run
//! use std::path::Path;
//! use conformance::{engines, kinds::jinja, run_cases, Selection};
//!
//! let cases = jinja::load_cases(Path::new("tests/vectors/jinja"), &engines::Jinja)?;
//! let report = run_cases(Path::new("tests/vectors/jinja"), &cases, &Selection::default(), &mut |_| {})?;
//! println!("{}", report.summary());
//! # Ok::<(), conformance::InputError>(())
//! ```

mod case;
mod difference;
pub mod engines;
mod isolate;
pub mod kinds;
mod load;
mod memory;
mod report;
mod run;
mod skips;

pub use case::{Bounds, Case, Field, Mismatch, Side};
pub use load::{InputError, LoadedCase};
pub use report::{CaseReport, Failure, Report, Status};
pub use run::{Progress, Selection, run_cases};
pub use skips::Skip;

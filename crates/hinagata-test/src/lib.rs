//! Test cases of prompts: each renders a prompt in fixed surroundings, and checks the result.
//!
//! | part | what it is for |
//! |---|---|
//! | [`read_cases`], [`find_cases`] | test files, with every problem and its place |
//! | [`append_case`] | adds a case to a test file |
//! | [`Runner`] | runs cases on an engine, with stubs in place of programs |
//! | [`CaseModels`], `Cassettes` | recorded answers of models; the feature `llm` records them |
//! | [`report`] | results as text, JSON, JUnit, TAP and for GitHub |
//!
//! ```
//! use hinagata::{Engine, Settings};
//! use hinagata_test::{RunOptions, Runner, SnapshotMode, read_cases};
//!
//! let text = "tests:\n- {name: names the agent, vars: {agent_name: Rumi}, assert: [{contains: You are Rumi}]}";
//! let file = read_cases("tests/system.yaml", text, Some("general_system")).expect("has no problems");
//! let runner = Runner {
//!     engine: &Engine::open("no/such/workspace"),
//!     settings: &Settings::default(),
//!     options: RunOptions {
//!         jobs: 1,
//!         snapshots: SnapshotMode::Refuse,
//!         is_complete: true,
//!         is_trusted: false,
//!         may_call_out: false,
//!     },
//!     models: None,
//! };
//! let report = runner.run_files(&[file], &|_| ());
//! assert_eq!(report.counts(), (1, 0, 0));
//! ```

mod append;
mod case;
#[cfg(feature = "llm")]
mod cassette;
mod checks;
mod compare;
mod difference;
mod find;
mod models;
mod outcome;
mod read;
pub mod report;
mod runner;
mod sample;
mod snapshot;
mod stubs;

pub use append::{NewCase, append_case};
pub use case::{Case, CaseContext, CaseFile, Stubs};
#[cfg(feature = "llm")]
pub use cassette::{CallLimits, CallMode, Cassettes};
pub use checks::{
    AnswerFacts, Assertion, Check, CheckKind, CheckValue, ExpectedError, Grade, Needed, PathQuery, Services,
    Subject, Target, Verdict,
};
pub use compare::{CaseChange, Cause, ChangeKind, Comparison, Hunk, Side, compare_sides};
pub use difference::diff_lines;
pub use find::{FoundCases, TESTS, find_cases};
pub use models::{CaseModels, ModelError};
pub use outcome::{CaseResult, Failure, Report, Status};
pub use read::read_cases;
pub use runner::{RunOptions, Runner};
pub use snapshot::SnapshotMode;

//! Processes: tasks that need several calls of a model.
//!
//! | process | what it does |
//! |---|---|
//! | [`Stream`] | processes a few chunks per call; each answer is the state for the next call |
//! | [`Concat`] | processes each chunk separately and joins the answers |
//! | [`Dialogue`] | continues a conversation, optionally after a note that prepares the answer |
//! | [`Summarize`] | analyses chunks, then summarises them |
//!
//! A process sends the prompts of [`Prompts`] to a model, an implementation of [`Ask`], and reports its progress to a
//! [`Watch`]. The process itself holds its progress: after a failed call, or after the future of
//! [`Process::run_calls`] was dropped, [`Process::run_calls`] continues after the last complete answer. A process
//! can be serialized, so another program can continue it:
//!
//! ```
//! use hinagata::{Result, module::{CompiledPrompt, PromptModule}, ports::PortFuture};
//! use hinagata_process::{Answer, Ask, Chunk, Concat, Event, Process, Running};
//!
//! struct Short;
//!
//! impl Ask for Short {
//!     fn ask_model<'a>(
//!         &'a self,
//!         _: CompiledPrompt,
//!         _: &'a (dyn Fn(&str) + Send + Sync),
//!     ) -> PortFuture<'a, Result<Answer>> {
//!         Box::pin(async { Ok(Answer::new("short")) })
//!     }
//! }
//!
//! # futures_util::FutureExt::now_or_never(async {
//! let module = PromptModule::new().objective("Shorten the chunk.");
//! let chunks = vec![Chunk::new("a.txt", "A long story."), Chunk::new("a.txt", "Another one.")];
//! let mut process = Process::from(Concat::new(chunks));
//! let outcome = process.run_calls(&Running::new(&module, &Short, &|_: Event<'_>| ())).await?;
//! assert_eq!(outcome.output, "short\nshort");
//! let saved = serde_json::to_string(&process).expect("is data");
//! # let _again: Process = serde_json::from_str(&saved).expect("is data");
//! # Ok::<(), hinagata_process::Failure>(())
//! # }).expect("waits for nobody").expect("succeeds");
//! ```

mod concat;
mod data;
mod dialogue;
#[cfg(feature = "llm")]
mod llm;
mod modules;
mod port;
mod process;
mod split;
mod stream;
mod summarize;
mod walk;

pub use concat::{Concat, ConcatContext, ConcatOptions};
pub use data::{Chunk, Note, Range, State};
pub use dialogue::{Dialogue, DialogueContext, DialogueOptions};
#[cfg(feature = "llm")]
pub use llm::LlmModel;
pub use port::{Answer, Ask, Event, Finish, Keep, Phase, Prompts, Running, Step, Watch};
pub use process::{Failure, Outcome, Process};
pub use split::split_text;
pub use stream::{Stream, StreamContext, StreamOptions};
pub use summarize::{Stage, Summarize, SummarizeContext, SummarizeOptions};

//! Calls models: OpenAI and every provider with its API, Anthropic, Gemini and Ollama.
//!
//! The engine renders a prompt, a driver of [`hinagata::module`] writes the exact body of the request, and [`Llm`] sends it:
//!
//! ```no_run
//! use hinagata::{Engine, Request, Settings};
//! use hinagata_llm::Llm;
//! use serde_json::Map;
//!
//! # async fn example() -> hinagata::Result<()> {
//! let llm = Llm::new(&Settings::default(), |name| std::env::var_os(name))?;
//! let rendered = Engine::open(".").render(&Request::new("general_system")).await?;
//! let choice = llm.choose_model(Some("gpt-5-mini"), None)?;
//! let answer = llm.send_chat(llm.build_request(&choice, &rendered, &Map::new())?).await?;
//! println!("{}", answer.text()?);
//! # Ok(())
//! # }
//! ```
//!
//! Every answer is available as an OpenAI chat completion. Answers of providers with that API are forwarded byte by byte; others are
//! translated, with the original response beside the translation.
//!
//! Keys come only from the environment, and are sent only to the address that they were configured for: see [`Llm::new`]. They never
//! appear in errors, logs or `Debug`.

mod answer;
mod answer_rules;
mod call_metrics;
mod checked;
mod client;
mod completion;
mod connector;
mod dialect;
mod endpoint;
mod event_reader;
mod events;
mod faces;
mod failure;
mod fallback;
mod gate;
mod lines;
mod llm;
mod models;
mod options;
mod plain_connections;
mod port;
mod providers;
mod proxies;
mod request;
mod response;
mod retry;
mod secret;
mod span;
mod stream;
mod text_template;
mod verdict;

pub use answer::Answer;
pub use checked::{ChatCall, CheckedReply};
pub use dialect::Dialect;
pub use faces::{FaceError, FaceRequest};
pub use failure::ProviderFailure;
pub use llm::Llm;
pub use models::{ChosenModel, ModelInfo, ModelPrice, Models, ProviderInfo};
pub use providers::ProviderKind;
pub use request::ProviderRequest;
pub use span::SPANS;
pub use stream::{AnswerStream, Piece, PieceStream, StreamFace, TextStream};

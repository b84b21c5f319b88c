//! Models that answer prompts: OpenAI and all who speak its language, Anthropic, Gemini and Ollama.
//!
//! The engine renders, a driver of [`hinagata::module`] makes the exact body of a request of it, and [`Llm`] sends it:
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
//! Whoever answers, the answer can be had as a chat completion of OpenAI: from providers that speak that language it is passed on byte by
//! byte, from the others it is translated, with their whole answer beside it.
//!
//! Keys come from the environment alone, and go to no address but the one that they were configured for: see [`Llm::new`]. They are in no
//! error, no log and no `Debug`.

mod answer;
mod client;
mod completion;
mod endpoint;
mod failure;
mod lines;
mod llm;
mod messages;
mod models;
mod options;
mod port;
mod providers;
mod request;
mod retry;
mod secret;
mod span;
mod stream;

pub use answer::Answer;
pub use failure::ProviderFailure;
pub use llm::Llm;
pub use models::{ChosenModel, ModelInfo, Models, ProviderInfo};
pub use providers::ProviderKind;
pub use request::ProviderRequest;
pub use span::SPANS;
pub use stream::{AnswerStream, Piece, PieceStream, TextStream};

//! Stores for shared variables, prompts and tools: in a file, in memory, or in Redis.
//!
//! Each store implements [`hinagata::ports::Store`]. It keeps one [`StoreSnapshot`] ready, replaces it as a whole on a
//! change, and keeps the last one when its source is unavailable.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hinagata::{Engine, Request, store::{StoreChange, StoreKind}};
//! use serde_json::json;
//!
//! let store = hinagata_store::MemoryStore::new(hinagata_store::DEFAULT_PREFIX);
//! let engine = Engine::builder("no/such/workspace").with_store(Arc::new(store)).open();
//! engine.write_store_blocking(vec![
//!     StoreChange::set(StoreKind::Environ, "vscode.language", json!("Go")),
//!     StoreChange::set(StoreKind::Template, "review.start", json!({"prompt": "Review this {{.vscode.language}}."})),
//! ])?;
//! assert_eq!(engine.render_blocking(&Request::new("review.start"))?.text(), "Review this Go.");
//! # Ok::<(), hinagata::Error>(())
//! ```

mod embedded;
mod keys;
mod log;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod shared;
mod state;

pub use embedded::{EmbeddedStore, STORE_DIRECTORY, STORE_FILE};
pub use keys::DEFAULT_PREFIX;
pub use memory::MemoryStore;
#[cfg(feature = "redis")]
pub use redis::{RedisOptions, RedisStore};

#[cfg(doc)]
use hinagata::store::StoreSnapshot;

//! Where shared variables, prompts and tools live: embedded, in memory, or in Redis.
//!
//! Each of them implements [`hinagata::ports::Store`]: it keeps one [`StoreSnapshot`] ready, swaps it whole when
//! something changes, and never takes it away when the place it came from is gone.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hinagata::{Engine, Request, store::{StoreChange, StoreKind}};
//! use serde_json::json;
//!
//! let store = hinagata_store::MemoryStore::new(hinagata_store::DEFAULT_PREFIX);
//! let engine = Engine::builder("no/such/workspace").store(Arc::new(store)).open();
//! engine.write_store_blocking(vec![
//!     StoreChange::set(StoreKind::Environ, "vscode.language", json!("Go")),
//!     StoreChange::set(StoreKind::Template, "review.start", json!({"prompt": "Review this {{.vscode.language}}."})),
//! ])?;
//! assert_eq!(engine.render_blocking(&Request::new("review.start"))?.text(), "Review this Go.");
//! # Ok::<(), hinagata::Error>(())
//! ```

mod embedded;
mod keys;
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

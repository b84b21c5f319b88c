//! A store in Redis: many daemons share one state.
//!
//! One thread owns the connections. It reads everything when it connects, then only what the server reports as
//! changed, and everything again periodically, in case a notification was lost. Readers use the snapshot and never
//! wait for the server. While the server is unavailable, they see the last snapshot.

mod address;
mod nodes;
mod notices;
mod session;
mod work;

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use hinagata::{
    Code, Error, Reason, Result,
    ports::{PortFuture, Store, StoreListener},
    store::{StoreChange, StoreHealth, StoreSnapshot},
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use self::{address::ServerAddress, work::WriteCommand};
use crate::{DEFAULT_PREFIX, keys::KeyLayout, log::StoreLog, shared::SharedState, state::StoreState};

/// Options for a store in Redis.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// The prefix of all keys.
    pub prefix: String,
    /// A PEM file of certificates that replaces the system's trust store.
    pub certificates: Option<PathBuf>,
    /// How long opening waits for the first read. Then it continues without it.
    pub open_timeout: Duration,
    /// The timeout of one response.
    pub timeout: Duration,
    /// How often to ping the server.
    pub heartbeat_interval: Duration,
    /// How often to read everything again, in case a notification was lost.
    pub check_interval: Duration,
    /// How often to read everything again if the server sends no notifications.
    pub poll_interval: Duration,
    /// The first and the longest delay between connection attempts.
    pub backoff: (Duration, Duration),
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: DEFAULT_PREFIX.to_owned(),
            certificates: None,
            open_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(5),
            heartbeat_interval: Duration::from_secs(5),
            check_interval: Duration::from_secs(60),
            poll_interval: Duration::from_secs(5),
            backoff: (Duration::from_millis(100), Duration::from_secs(5)),
        }
    }
}

/// A store in Redis.
pub struct RedisStore {
    shared: Arc<SharedState>,
    /// Dropped first, which ends the thread.
    commands: Option<UnboundedSender<WriteCommand>>,
    thread: Option<JoinHandle<()>>,
    address: String,
}

impl RedisStore {
    /// Opens the store at `url`: `redis://[user:password@]host[:port][/db]`, `rediss://…` for TLS, several nodes
    /// separated by commas, or `redis+sentinel://host,host/master[/db]`. Clusters are detected.
    ///
    /// An unavailable server is not an error: the health of the snapshot reports it, and the connection is retried.
    ///
    /// # Errors
    /// Code `definition` for an invalid address or unreadable certificates.
    pub fn open(url: &str, options: RedisOptions) -> Result<Self> {
        let address = ServerAddress::parse(url, &options)?;
        let display_name = address.display_name();
        let state =
            StoreState::new(KeyLayout::new(&options.prefix), StoreLog::for_server(display_name.as_str()));
        let shared = Arc::new(SharedState::new(state));
        let (commands, receiver) = tokio::sync::mpsc::unbounded_channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let open_timeout = options.open_timeout;
        let worker = work::RedisWorker { address, options, shared: Arc::clone(&shared), ready: Some(ready) };
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || worker.run_until_closed(receiver))
            .map_err(|error| Error::new(Code::System, "cannot start a thread").with_source(error))?;
        // The first render should see the documents, but an unavailable server must not block it.
        if is_ready.recv_timeout(open_timeout).is_err() {
            shared.update_state(|state| {
                if state.health().outage.is_none() && state.key_count() == 0 {
                    let error = Error::new(Code::Store, format!("{display_name} does not respond"))
                        .with_reason(Reason::Unreachable);
                    let outage = Some((std::time::SystemTime::now(), error));
                    state.set_health(StoreHealth { outage, ..StoreHealth::default() });
                }
            });
        }
        Ok(Self { shared, commands: Some(commands), thread: Some(thread), address: display_name })
    }

    /// Checks that [`RedisStore::open`] accepts `url`, without connecting.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub fn check_address(url: &str, options: &RedisOptions) -> Result<()> {
        ServerAddress::parse(url, options).map(|_| ())
    }

    /// The address without its password.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        self.shared.snapshot()
    }

    fn write_changes(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
        let writes = self.shared.key_writes(&changes);
        Box::pin(async move {
            let (done, is_done) = oneshot::channel();
            let sent = self
                .commands
                .as_ref()
                .is_some_and(|commands| commands.send(WriteCommand { writes, done }).is_ok());
            let gone = || Error::new(Code::Store, "the store is closed");
            if !sent {
                return Err(gone());
            }
            is_done.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    fn subscribe(&self, listener: StoreListener) {
        self.shared.subscribe(listener);
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.commands.take();
        if let Some(thread) = self.thread.take()
            // A listener may hold the last reference, and a thread must not join itself.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

//! Redis as the store: many daemons on one state.
//!
//! One thread keeps the connections. It reads everything when it connects, then only what the server says has changed,
//! and everything again from time to time, so that a lost notice is never lost for long. Readers get the snapshot and
//! never wait for the server; while it is gone they get the last one.

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
    Code, Error, Result,
    ports::{PortFuture, Store, StoreListener},
    store::{StoreChange, StoreHealth, StoreSnapshot},
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use self::{address::ServerAddress, work::WriteCommand};
use crate::{DEFAULT_PREFIX, keys::KeyLayout, shared::SharedState, state::StoreState};

/// How a store in Redis is reached and kept fresh.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// How keys start.
    pub prefix: String,
    /// A file of certificates, as PEM, that servers are checked with in the place of the usual ones.
    pub certificates: Option<PathBuf>,
    /// How long opening waits for the first answer; then it goes on without.
    pub open_timeout: Duration,
    /// How long the server may take for one answer.
    pub timeout: Duration,
    /// How often the server is asked whether it is still there.
    pub heartbeat_interval: Duration,
    /// How often everything is read again, to find what notices did not tell.
    pub check_interval: Duration,
    /// How often everything is read again where the server gives no notices.
    pub poll_interval: Duration,
    /// The first and the longest time between two tries to reach the server.
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
    /// The store at `url`: `redis://[user:password@]host[:port][/db]`, with TLS `rediss://…`, several nodes separated by
    /// commas, or `redis+sentinel://host,host/master[/db]`. A cluster is recognised by itself.
    ///
    /// A server that does not answer is no error: it is told in the health of the snapshot, and tried again.
    ///
    /// # Errors
    /// Code `definition` for something that is no address, or certificates that cannot be read.
    pub fn open(url: &str, options: RedisOptions) -> Result<Self> {
        let address = ServerAddress::parse(url, &options)?;
        let shown = address.display_name();
        let shared = Arc::new(SharedState::new(StoreState::new(KeyLayout::new(&options.prefix))));
        let (commands, receiver) = tokio::sync::mpsc::unbounded_channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let open_timeout = options.open_timeout;
        let worker = work::RedisWorker { address, options, shared: Arc::clone(&shared), ready: Some(ready) };
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || worker.run_until_closed(receiver))
            .map_err(|error| Error::new(Code::Store, "no thread can be started").with_source(error))?;
        // Whoever renders first wants to see what is there; a server that is gone does not keep anybody.
        if is_ready.recv_timeout(open_timeout).is_err() {
            shared.update_state(|state| {
                if state.health().outage.is_none() && state.key_count() == 0 {
                    let error = Error::new(Code::Store, format!("{shown} does not answer"));
                    let outage = Some((std::time::SystemTime::now(), error));
                    state.set_health(StoreHealth { outage, ..StoreHealth::default() });
                }
            });
        }
        Ok(Self { shared, commands: Some(commands), thread: Some(thread), address: shown })
    }

    /// Whether `url` is an address that [`RedisStore::open`] takes. Nothing is connected to.
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

    fn write(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
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

    fn subscribe(&self, told: StoreListener) {
        self.shared.subscribe(told);
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        self.commands.take();
        if let Some(thread) = self.thread.take()
            // A listener may be the last who holds the store: a thread does not wait for itself.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

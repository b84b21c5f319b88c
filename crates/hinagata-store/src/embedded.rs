//! A store in a file of the workspace: durable, and shared by the processes of one machine.
//!
//! The database is opened under a lock for each write and each refresh, so that the CLI and a daemon can use it side
//! by side. Reads are answered from the snapshot.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(feature = "watch")]
use hinagata::watch::Watcher;
use hinagata::{
    Code, Error, Hint, Reason, Result,
    ports::{PortFuture, Store, StoreListener},
    source::{Directory, Refused},
    store::{Freshness, StoreChange, StoreHealth, StoreSnapshot},
    write::{Readers, directory_beneath, lock_directory, open_without_link},
};
use redb::{
    Builder, Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, ReadableTable, StorageError,
    TableDefinition, TableError,
};

use crate::{
    keys::KeyLayout,
    log::StoreLog,
    shared::{KeyWrite, SharedState},
    state::{RawValue, StoreState},
};

/// The directory of the file, relative to the workspace root.
pub const STORE_DIRECTORY: &str = "user_data/store";

/// The name of the file.
pub const STORE_FILE: &str = "store.redb";

const LOCK_FILE: &str = "store.lock";
const DOCUMENTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("documents");
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");
/// Counts changes: equal counts mean equal documents.
const GENERATION: &str = "generation";

/// A store in a file.
#[derive(Debug)]
pub struct EmbeddedStore {
    inner: Arc<Inner>,
    #[cfg(feature = "watch")]
    watcher: Option<Watcher>,
}

#[derive(Debug)]
struct Inner {
    shared: SharedState,
    root: PathBuf,
    /// The generation of the snapshot. Locked while the snapshot is refreshed.
    seen: Mutex<Option<u64>>,
}

impl EmbeddedStore {
    /// Opens the store of the workspace at `root`. Nothing is created before the first write.
    ///
    /// It never fails: the health of the snapshot reports an unusable file.
    #[must_use]
    pub fn open(root: impl Into<PathBuf>, prefix: &str) -> Self {
        let root = root.into();
        let log = StoreLog::for_file(file_path(&root).display().to_string());
        let inner = Arc::new(Inner {
            shared: SharedState::new(StoreState::new(KeyLayout::new(prefix), log)),
            root,
            seen: Mutex::new(None),
        });
        inner.refresh_snapshot(Freshness::Once);
        Self {
            inner,
            #[cfg(feature = "watch")]
            watcher: None,
        }
    }

    /// Watches the file for changes by other processes.
    ///
    /// # Errors
    /// Code `system` when the system cannot watch the file.
    #[cfg(feature = "watch")]
    pub fn with_watcher(mut self) -> Result<Self> {
        let inner = Arc::clone(&self.inner);
        let file = inner.path();
        self.watcher = Some(Watcher::new([file], move |_| inner.refresh_snapshot(Freshness::Watched))?);
        // Read changes made before watching started.
        self.inner.refresh_snapshot(Freshness::Watched);
        Ok(self)
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.inner.path()
    }
}

impl Store for EmbeddedStore {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        self.inner.shared.snapshot()
    }

    fn write_changes(&self, changes: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
        // A write takes milliseconds of disk time, so blocking is simpler than a thread and no slower.
        Box::pin(async move { self.inner.write_changes(&changes) })
    }

    fn subscribe(&self, listener: StoreListener) {
        self.inner.shared.subscribe(listener);
    }
}

impl Inner {
    fn path(&self) -> PathBuf {
        file_path(&self.root)
    }

    /// Brings the snapshot up to date.
    fn refresh_snapshot(&self, freshness: Freshness) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read_store(&self.root, *seen);
        self.shared.update_state(|state| match found {
            Ok(found) => {
                if let Some(StoredDocuments { generation, documents }) = found {
                    *seen = Some(generation);
                    replace_documents(state, &documents);
                }
                state.set_health(StoreHealth { freshness, ..StoreHealth::default() });
            }
            Err(error) => {
                let outage = Some((std::time::SystemTime::now(), error.with_reason(Reason::Unreadable)));
                state.set_health(StoreHealth { freshness, outage, ..StoreHealth::default() });
            }
        });
    }

    fn write_changes(&self, changes: &[StoreChange]) -> Result<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The workspace is untrusted: no link may lead out of it.
        let directory = directory_beneath(&self.root, STORE_DIRECTORY)?;
        let _lock = lock_directory(&directory, LOCK_FILE)?;
        let path = directory.join(STORE_FILE);
        let database = open_database(&path)?;
        let writes = self.shared.key_writes(changes);
        let before =
            commit_writes(&database, &writes).map_err(|error| store_error("written", &path, &error))?;
        // Read concurrent changes of other processes as well.
        let others = if Some(before) == *seen || (before == 0 && seen.is_none()) {
            None
        } else {
            Some(documents(&database).map_err(|error| store_error("read", &path, &error))?)
        };
        *seen = Some(before + 1);
        self.shared.update_state(|state| {
            match others {
                Some(documents) => replace_documents(state, &documents),
                None => writes.iter().for_each(|write| write.apply_to(state)),
            }
            let freshness = state.health().freshness;
            state.set_health(StoreHealth { freshness, ..StoreHealth::default() });
        });
        Ok(())
    }
}

fn file_path(root: &Path) -> PathBuf {
    root.join(STORE_DIRECTORY).join(STORE_FILE)
}

/// Replaces the documents of `state`. `documents` is sorted by key.
fn replace_documents(state: &mut StoreState, documents: &[(String, Vec<u8>)]) {
    let keys: Vec<String> = documents.iter().map(|(key, _)| key.clone()).collect();
    state.retain(&keys);
    for (key, text) in documents {
        state.apply_value(key, RawValue::Text(text));
    }
}

/// The content of the file.
struct StoredDocuments {
    generation: u64,
    documents: Vec<(String, Vec<u8>)>,
}

/// Reads the store of the workspace at `root`, or returns `None` if `seen` is its current generation.
fn read_store(root: &Path, seen: Option<u64>) -> Result<Option<StoredDocuments>> {
    let path = file_path(root);
    // The workspace is untrusted: no link may lead out of it.
    let directory = Directory::open(root)?.map(|root| root.directory(STORE_DIRECTORY)).transpose()?.flatten();
    let why = match directory.map_or(Err(Refused::Missing), |directory| directory.file(STORE_FILE)) {
        Ok(_) => None,
        Err(Refused::Missing) => {
            return Ok(
                Some(StoredDocuments { generation: 0, documents: Vec::new() }).filter(|_| seen != Some(0))
            );
        }
        Err(Refused::Outside) => Some("it is outside the workspace".to_owned()),
        Err(Refused::NoFile) => Some("not a regular file".to_owned()),
        Err(Refused::Unreadable(error)) => Some(error.to_string()),
    };
    if let Some(why) = why {
        return Err(store_error("opened", &path, &why));
    }
    // If the lock cannot be created, nobody can write either.
    let _lock = lock_directory(&root.join(STORE_DIRECTORY), LOCK_FILE).ok();
    let found = match ReadOnlyDatabase::open(&path) {
        Ok(database) => read_if_newer(&database, seen),
        // The last writer was killed: opening the file for writing repairs it.
        Err(DatabaseError::RepairAborted) => read_if_newer(&open_database(&path)?, seen),
        Err(error) => return Err(store_error("opened", &path, &error)),
    };
    found.map_err(|error| store_error("read", &path, &error))
}

fn read_if_newer(
    database: &impl ReadableDatabase,
    seen: Option<u64>,
) -> Result<Option<StoredDocuments>, redb::Error> {
    let generation = generation(database)?;
    if Some(generation) == seen {
        return Ok(None);
    }
    Ok(Some(StoredDocuments { generation, documents: documents(database)? }))
}

fn generation(database: &impl ReadableDatabase) -> Result<u64, redb::Error> {
    match database.begin_read()?.open_table(ABOUT) {
        Ok(table) => Ok(table.get(GENERATION)?.map_or(0, |count| count.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn documents(database: &impl ReadableDatabase) -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
    let table = match database.begin_read()?.open_table(DOCUMENTS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let pair = |entry: Result<_, StorageError>| {
        let (key, text): (redb::AccessGuard<'_, &str>, redb::AccessGuard<'_, &[u8]>) = entry?;
        Ok((key.value().to_owned(), text.value().to_owned()))
    };
    table.iter()?.map(pair).collect()
}

/// Commits all writes or none. Returns the previous generation.
fn commit_writes(database: &Database, writes: &[KeyWrite]) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let before = {
        let mut documents = transaction.open_table(DOCUMENTS)?;
        for write in writes {
            match &write.text {
                Some(text) => documents.insert(write.key.as_str(), text.as_slice())?,
                None => documents.remove(write.key.as_str())?,
            };
        }
        let mut about = transaction.open_table(ABOUT)?;
        let before = about.get(GENERATION)?.map_or(0, |count| count.value());
        about.insert(GENERATION, before + 1)?;
        before
    };
    transaction.commit()?;
    Ok(before)
}

/// Opens or creates the database at `path`, which only the user may read. A symbolic link is not followed.
fn open_database(path: &Path) -> Result<Database> {
    let file =
        open_without_link(path, Readers::Owner).map_err(|error| store_error("opened", path, &error))?;
    Builder::new().create_file(file).map_err(|error| store_error("opened", path, &error))
}

fn store_error(done: &str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(Code::Store, format!("the store `{STORE_DIRECTORY}/{STORE_FILE}` cannot be {done}: {error}"))
        .with("path", path.display().to_string())
        .with_hint(
            Hint::from("check the permissions and free space of its directory").then(Hint::ExportStore),
        )
}

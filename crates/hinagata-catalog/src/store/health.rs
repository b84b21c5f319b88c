//! Whether a snapshot is current.

use std::time::SystemTime;

use hinagata_document::{Error, Reason};

/// How changes by other processes are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Freshness {
    /// Not at all: the store is read once.
    #[default]
    Once,
    /// The files of the embedded store are watched.
    Watched,
    /// Redis reports every changed key (client tracking).
    Tracked,
    /// Redis publishes changes (keyspace notifications).
    Notified,
    /// Everything is read again every few seconds, because the server supports nothing better.
    Polled,
}

impl Freshness {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Watched => "watched",
            Self::Tracked => "tracked",
            Self::Notified => "notified",
            Self::Polled => "polled",
        }
    }
}

/// Whether a snapshot is current.
#[derive(Clone, Debug, Default)]
pub struct StoreHealth {
    /// How changes by other processes are detected.
    pub freshness: Freshness,
    /// The start and the error of an outage; `None` while the store answers.
    pub outage: Option<(SystemTime, Error)>,
    /// Whether the store has not answered since it was opened, so that its documents are unknown. Stores set it.
    pub is_unread: bool,
}

impl StoreHealth {
    /// Whether the store answers.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.outage.is_none()
    }

    /// Why the store is not up: `unreachable`, `password` (the server refuses the user or the password), `refused` (the
    /// user lacks permissions), `emptied` (the server lost documents), or `unreadable` for a file. It names no address,
    /// so everybody may see it.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.outage.as_ref().and_then(|(_, error)| error.reason())
    }
}

//! Whether a snapshot is what the store holds now.

use std::time::SystemTime;

use hinagata_document::Error;

/// How changes of other processes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Freshness {
    /// They are not: the store is read once.
    #[default]
    Once,
    /// The files of the embedded store are watched.
    Watched,
    /// Redis tells of every changed key (client tracking).
    Tracked,
    /// Redis publishes changes (keyspace notifications).
    Notified,
    /// Everything is read again every few seconds, because the server offers nothing better.
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

/// Whether a snapshot is what the store holds now.
#[derive(Clone, Debug, Default)]
pub struct StoreHealth {
    /// How changes of others are noticed.
    pub freshness: Freshness,
    /// Since when the store does not answer, and why; `None` while it does.
    pub outage: Option<(SystemTime, Error)>,
}

impl StoreHealth {
    /// Whether the store answers.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.outage.is_none()
    }
}

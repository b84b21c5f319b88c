//! Notifies clients of changes that are visible to them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{Peer, SubscriptionSink},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::{backend::Viewer, watched::WatchGuard};

/// How many changes a slow client can lag behind.
pub(crate) const NOTICE_CAPACITY: usize = 64;

/// A change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeNotice {
    /// The ids of prompts whose list entry changed or disappeared.
    pub(crate) listed: BTreeSet<String>,
    /// Resources of prompts whose content changed: the id of the prompt, and the URI.
    pub(crate) rewritten: Vec<(String, String)>,
    /// Declared resources whose content changed.
    pub(crate) updated: Vec<String>,
    /// Whether anything may have changed.
    pub(crate) anything: bool,
    /// Whether notices were lost, so that every resource may have changed.
    pub(crate) lost: bool,
}

impl ChangeNotice {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn changes_list(&self, viewer: &Viewer) -> bool {
        self.anything || self.listed.iter().any(|id| viewer.can_see(id))
    }

    /// The URIs of `wanted` whose content changed.
    fn uris<'n>(&'n self, viewer: &Viewer, wanted: &'n [String]) -> Vec<&'n str> {
        if self.lost {
            return wanted.iter().map(String::as_str).collect();
        }
        let rewritten =
            self.rewritten.iter().filter(|(id, _)| viewer.can_see(id)).map(|(_, uri)| uri.as_str());
        let updated = self.updated.iter().filter(|_| viewer.can_see_all()).map(String::as_str);
        rewritten.chain(updated).filter(|uri| wanted.iter().any(|known| known == uri)).collect()
    }
}

/// The next notice, or `None` when the sender is gone.
async fn next_notice(notices: &mut Receiver<Arc<ChangeNotice>>) -> Option<Arc<ChangeNotice>> {
    match notices.recv().await {
        Ok(notice) => Some(notice),
        Err(RecvError::Lagged(_)) => {
            Some(Arc::new(ChangeNotice { anything: true, lost: true, ..ChangeNotice::default() }))
        }
        Err(RecvError::Closed) => None,
    }
}

/// The URIs that a client of an older revision subscribed to.
pub(crate) type SubscribedUris = Arc<Mutex<HashMap<String, WatchGuard>>>;

/// Notifies a client of an older revision until it disconnects.
pub(crate) async fn notify_peer(
    peer: Peer<RoleServer>,
    viewer: Viewer,
    subscribed: SubscribedUris,
    tools: bool,
    mut notices: Receiver<Arc<ChangeNotice>>,
) {
    while let Some(notice) = next_notice(&mut notices).await {
        let mut sent = Ok(());
        if notice.changes_list(&viewer) {
            sent = peer.notify_prompt_list_changed().await;
            let _ = peer.notify_resource_list_changed().await;
            if tools {
                let _ = peer.notify_tool_list_changed().await;
            }
        }
        let wanted: Vec<String> =
            subscribed.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        for uri in notice.uris(&viewer, &wanted) {
            sent = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
        }
        if sent.is_err() {
            return;
        }
    }
}

/// Notifies a subscription of the newest revision until it is cancelled.
pub(crate) async fn notify_subscription(
    sink: &SubscriptionSink,
    filter: &SubscriptionFilter,
    viewer: &Viewer,
    mut notices: Receiver<Arc<ChangeNotice>>,
) {
    let wanted = filter.resource_subscriptions.as_deref().unwrap_or_default();
    while let Some(notice) = next_notice(&mut notices).await {
        let mut sent = Ok(());
        if notice.changes_list(viewer) {
            if filter.prompts_list_changed == Some(true) {
                sent = sink.notify_prompt_list_changed().await;
            }
            if filter.resources_list_changed == Some(true) {
                sent = sink.notify_resource_list_changed().await;
            }
            if filter.tools_list_changed == Some(true) {
                sent = sink.notify_tool_list_changed().await;
            }
        }
        for uri in notice.uris(viewer, wanted) {
            sent = sink.notify_resource_updated(uri).await;
        }
        if sent.is_err() {
            return;
        }
    }
}

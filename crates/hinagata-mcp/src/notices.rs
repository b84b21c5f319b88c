//! Telling clients what changed, each of them what is there for them.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{Peer, SubscriptionSink},
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::door::Viewer;

/// Changes that a slow client can be behind.
pub(crate) const WAITING: usize = 64;

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Ids of prompts that stand in the list in another way, or not any more.
    pub(crate) listed: BTreeSet<String>,
    /// Prompts whose source is another one: id and URI.
    pub(crate) rewritten: Vec<(String, String)>,
    /// Declared resources whose content is another one.
    pub(crate) updated: Vec<String>,
    /// Whether anything may have changed.
    pub(crate) anything: bool,
}

impl Notice {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn lists(&self, viewer: &Viewer) -> bool {
        self.anything || self.listed.iter().any(|id| viewer.sees(id))
    }

    /// The URIs whose content changed, as far as `wanted` names them.
    fn uris<'n>(&'n self, viewer: &Viewer, wanted: &'n dyn Fn(&str) -> bool) -> Vec<&'n str> {
        let rewritten = self.rewritten.iter().filter(|(id, _)| viewer.sees(id)).map(|(_, uri)| uri.as_str());
        let updated = self.updated.iter().filter(|_| viewer.sees_all()).map(String::as_str);
        rewritten.chain(updated).filter(|uri| wanted(uri)).collect()
    }
}

/// The next notice; `None` when nothing is told any more.
async fn next(notices: &mut Receiver<Arc<Notice>>) -> Option<Arc<Notice>> {
    match notices.recv().await {
        Ok(notice) => Some(notice),
        Err(RecvError::Lagged(_)) => Some(Arc::new(Notice { anything: true, ..Notice::default() })),
        Err(RecvError::Closed) => None,
    }
}

/// The URIs that a client of an older revision subscribed to.
pub(crate) type Subscribed = Arc<Mutex<HashSet<String>>>;

/// Tells a client of an older revision, until it is gone.
pub(crate) async fn tell_peer(
    peer: Peer<RoleServer>,
    viewer: Viewer,
    subscribed: Subscribed,
    tools: bool,
    mut notices: Receiver<Arc<Notice>>,
) {
    while let Some(notice) = next(&mut notices).await {
        let mut sent = Ok(());
        if notice.lists(&viewer) {
            sent = peer.notify_prompt_list_changed().await;
            let _ = peer.notify_resource_list_changed().await;
            if tools {
                let _ = peer.notify_tool_list_changed().await;
            }
        }
        let wanted: HashSet<String> = subscribed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for uri in notice.uris(&viewer, &|uri| wanted.contains(uri)) {
            sent = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
        }
        if sent.is_err() {
            return;
        }
    }
}

/// Tells a subscription of the newest revision, until it is cancelled.
pub(crate) async fn tell_subscription(
    sink: &SubscriptionSink,
    filter: &SubscriptionFilter,
    viewer: &Viewer,
    mut notices: Receiver<Arc<Notice>>,
) {
    let wanted = |uri: &str| {
        filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|known| known == uri))
    };
    while let Some(notice) = next(&mut notices).await {
        let mut sent = Ok(());
        if notice.lists(viewer) {
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
        for uri in notice.uris(viewer, &wanted) {
            sent = sink.notify_resource_updated(uri).await;
        }
        if sent.is_err() {
            return;
        }
    }
}

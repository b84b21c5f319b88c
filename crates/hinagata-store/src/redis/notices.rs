//! Change notifications from servers.

use std::collections::HashMap;

use futures_util::StreamExt as _;
use hinagata::store::{Freshness, StoreKind};
use redis::{PushInfo, PushKind, RedisResult, Value};
use tokio::sync::mpsc::UnboundedSender;

use super::nodes::{Node, Nodes};
use crate::keys::KeyLayout;

/// A notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerNotice {
    /// These keys changed.
    Changed(Vec<String>),
    /// Anything may have changed.
    AnyChange,
    /// The connection is closed.
    Disconnected,
    /// Nothing relevant.
    Ignored,
}

/// Enables notifications on all servers, in the best way that every server supports.
pub(super) async fn enable_notices(
    nodes: &mut Nodes,
    keys: &KeyLayout,
    sender: &UnboundedSender<PushInfo>,
) -> RedisResult<Freshness> {
    let mut worst = Freshness::Tracked;
    for node in &mut nodes.all {
        let found = if enable_tracking(node, keys).await? {
            Freshness::Tracked
        } else if subscribe_keyspace(node, keys, sender).await? {
            Freshness::Notified
        } else {
            Freshness::Polled
        };
        worst = match (worst, found) {
            (Freshness::Polled, _) | (_, Freshness::Polled) => Freshness::Polled,
            (Freshness::Notified, _) | (_, Freshness::Notified) => Freshness::Notified,
            _ => Freshness::Tracked,
        };
    }
    Ok(worst)
}

/// Client tracking: the server reports every changed key with one of our prefixes.
async fn enable_tracking(node: &mut Node, keys: &KeyLayout) -> RedisResult<bool> {
    if !node.supports_push {
        return Ok(false);
    }
    let mut command = redis::cmd("CLIENT");
    command.arg("TRACKING").arg("ON").arg("BCAST");
    for kind in StoreKind::ALL {
        command.arg("PREFIX").arg(keys.kind_prefix(kind));
    }
    is_accepted(command.query_async::<()>(&mut node.connection).await)
}

/// Keyspace notifications: the server publishes changes, if configured to.
async fn subscribe_keyspace(
    node: &mut Node,
    keys: &KeyLayout,
    sender: &UnboundedSender<PushInfo>,
) -> RedisResult<bool> {
    let set: RedisResult<HashMap<String, String>> =
        redis::cmd("CONFIG").arg("GET").arg("notify-keyspace-events").query_async(&mut node.connection).await;
    let publishes = match set {
        Ok(settings) => settings.values().any(|flags| covers_all_changes(flags)),
        Err(error) if error.code().is_some() => false,
        Err(error) => return Err(error),
    };
    if !publishes {
        return Ok(false);
    }
    let pattern = format!("__keyspace@*__:{}*", escape_glob(keys.prefix()));
    if node.supports_push {
        return is_accepted(node.connection.psubscribe(&pattern).await);
    }
    // RESP2 needs a separate connection for subscriptions.
    let mut subscription = node.client.get_async_pubsub().await?;
    if !is_accepted(subscription.psubscribe(&pattern).await)? {
        return Ok(false);
    }
    let sender = sender.clone();
    tokio::task::spawn_local(async move {
        let mut messages = subscription.into_on_message();
        while let Some(message) = messages.next().await {
            let channel = Value::BulkString(message.get_channel_name().as_bytes().to_vec());
            let data = vec![Value::Nil, channel, Value::Nil];
            if sender.send(PushInfo { kind: PushKind::PMessage, data }).is_err() {
                return;
            }
        }
        let _ = sender.send(PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
    });
    Ok(true)
}

/// Whether the server accepted a command. `false` if it refused.
fn is_accepted(result: RedisResult<()>) -> RedisResult<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.code().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the flags of `notify-keyspace-events` cover every change of a string: set, delete, rename, expire, evict.
fn covers_all_changes(flags: &str) -> bool {
    flags.contains('K') && (flags.contains('A') || "g$xe".chars().all(|flag| flags.contains(flag)))
}

/// Escapes a text for a glob pattern of the server.
pub(super) fn escape_glob(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '^') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Parses a notification.
pub(super) fn parse_notice(push: &PushInfo) -> ServerNotice {
    match (&push.kind, push.data.as_slice()) {
        (PushKind::Disconnection, _) => ServerNotice::Disconnected,
        (PushKind::Invalidate, [Value::Array(keys), ..]) => {
            let text = |key: &Value| redis::from_redis_value::<String>(key.clone()).ok();
            ServerNotice::Changed(keys.iter().filter_map(text).collect())
        }
        // The server was flushed, or dropped tracked keys for lack of memory.
        (PushKind::Invalidate, _) => ServerNotice::AnyChange,
        (PushKind::PMessage, [_, channel, ..]) => {
            let channel = redis::from_redis_value::<String>(channel.clone()).unwrap_or_default();
            match channel.split_once("__:") {
                Some((_, key)) => ServerNotice::Changed(vec![key.to_owned()]),
                None => ServerNotice::Ignored,
            }
        }
        _ => ServerNotice::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::BulkString(value.as_bytes().to_vec())
    }

    #[test]
    fn notifications_are_parsed() {
        let push = |kind, data| parse_notice(&PushInfo { kind, data });
        let keys = Value::Array(vec![text("a"), text("b")]);
        assert_eq!(
            push(PushKind::Invalidate, vec![keys]),
            ServerNotice::Changed(vec!["a".into(), "b".into()])
        );
        assert_eq!(push(PushKind::Invalidate, vec![Value::Nil]), ServerNotice::AnyChange);
        assert_eq!(push(PushKind::Disconnection, vec![]), ServerNotice::Disconnected);
        let message = vec![text("p"), text("__keyspace@0__:shenma:environs:a"), text("set")];
        assert_eq!(
            push(PushKind::PMessage, message),
            ServerNotice::Changed(vec!["shenma:environs:a".into()])
        );
        assert_eq!(push(PushKind::Subscribe, vec![]), ServerNotice::Ignored);
    }

    #[test]
    fn only_complete_notifications_are_used() {
        for (flags, full) in [("KEA", true), ("Kg$xe", true), ("", false), ("EA", false), ("K$", false)] {
            assert_eq!(covers_all_changes(flags), full, "{flags}");
        }
        assert_eq!(escape_glob("a*[b]"), "a\\*\\[b\\]");
    }
}

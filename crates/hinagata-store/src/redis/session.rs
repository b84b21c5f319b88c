//! Reads and writes documents over open connections.

use redis::{Pipeline, RedisError, RedisResult};

use super::nodes::{Node, Nodes};
use crate::{
    keys::KeyLayout,
    redis::notices::escape_glob,
    shared::KeyWrite,
    state::{RawValue, StoreState},
};

/// Keys and values per request.
const BATCH: usize = 1_000;

/// The content of a key.
#[derive(Debug)]
pub(super) enum KeyValue {
    Missing,
    Text(Vec<u8>),
    /// Another type, if the server tells which.
    Other(Option<String>),
}

impl KeyValue {
    pub(super) fn as_raw(&self) -> RawValue<'_> {
        match self {
            Self::Missing => RawValue::Missing,
            Self::Text(text) => RawValue::Text(text),
            Self::Other(kind) => RawValue::Other(kind.as_deref()),
        }
    }
}

/// All keys with our prefix on all servers, sorted.
pub(super) async fn read_all(nodes: &mut Nodes, keys: &KeyLayout) -> RedisResult<Vec<(String, KeyValue)>> {
    let is_cluster = nodes.is_cluster();
    let mut all = Vec::new();
    for node in &mut nodes.all {
        let names = scan(node, keys).await?;
        let mut values = read_values(node, names, is_cluster).await?;
        if !fetch_types(node, &mut values).await? {
            // The server listed the key, so it holds something else.
            let unread = values.iter_mut().filter(|(_, held)| matches!(held, KeyValue::Missing));
            unread.for_each(|(_, held)| *held = KeyValue::Other(None));
        }
        all.extend(values);
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all.dedup_by(|one, other| one.0 == other.0);
    Ok(all)
}

/// The current content of `names`.
pub(super) async fn read_keys(nodes: &mut Nodes, names: Vec<String>) -> RedisResult<Vec<(String, KeyValue)>> {
    let is_cluster = nodes.is_cluster();
    let mut of_node: Vec<Vec<String>> = nodes.all.iter().map(|_| Vec::new()).collect();
    for name in names {
        if let Some(place) = nodes.node_index(&name) {
            of_node[place].push(name);
        }
    }
    let mut all = Vec::new();
    for (node, names) in nodes.all.iter_mut().zip(of_node) {
        let mut values = read_values(node, names, is_cluster).await?;
        // Without types, keys that hold something else count as missing until everything is read again.
        fetch_types(node, &mut values).await?;
        all.extend(values);
    }
    Ok(all)
}

/// The keys of one server with our prefix. Duplicates are possible.
async fn scan(node: &mut Node, keys: &KeyLayout) -> RedisResult<Vec<String>> {
    let pattern = format!("{}*", escape_glob(keys.prefix()));
    let (mut names, mut cursor) = (Vec::new(), 0_u64);
    loop {
        let (next, found): (u64, Vec<Vec<u8>>) = redis::cmd("SCAN")
            .arg(cursor)
            .arg("MATCH")
            .arg(&pattern)
            .arg("COUNT")
            .arg(BATCH)
            .query_async(&mut node.connection)
            .await?;
        // A key that is not UTF-8 is not ours.
        let texts = found.into_iter().filter_map(|key| String::from_utf8(key).ok());
        names.extend(texts.filter(|key| keys.parse_key(key).is_some()));
        cursor = next;
        if cursor == 0 {
            names.sort_unstable();
            names.dedup();
            return Ok(names);
        }
    }
}

async fn read_values(
    node: &mut Node,
    names: Vec<String>,
    is_cluster: bool,
) -> RedisResult<Vec<(String, KeyValue)>> {
    let mut all = Vec::with_capacity(names.len());
    for batch in names.chunks(BATCH) {
        let values = fetch_texts(node, batch, is_cluster).await?;
        for (name, value) in batch.iter().zip(values) {
            all.push((name.clone(), value.map_or(KeyValue::Missing, KeyValue::Text)));
        }
    }
    Ok(all)
}

/// The strings at these keys. `None` for missing keys and other types.
async fn fetch_texts(
    node: &mut Node,
    names: &[String],
    is_cluster: bool,
) -> RedisResult<Vec<Option<Vec<u8>>>> {
    if !is_cluster {
        return redis::cmd("MGET").arg(names).query_async(&mut node.connection).await;
    }
    // The keys of a cluster node belong to many slots, and one command accepts only one slot.
    let mut pipeline = Pipeline::with_capacity(names.len());
    for name in names {
        pipeline.cmd("MGET").arg(name);
    }
    let answers: Vec<Vec<Option<Vec<u8>>>> = pipeline.query_async(&mut node.connection).await?;
    Ok(answers.into_iter().map(|mut answer| answer.pop().flatten()).collect())
}

/// Distinguishes keys of other types from missing keys. Returns `false` if the user may not ask for types.
async fn fetch_types(node: &mut Node, all: &mut [(String, KeyValue)]) -> RedisResult<bool> {
    let missing: Vec<&mut (String, KeyValue)> =
        all.iter_mut().filter(|(_, held)| matches!(held, KeyValue::Missing)).collect();
    if missing.is_empty() {
        return Ok(true);
    }
    let mut pipeline = Pipeline::with_capacity(missing.len());
    for (name, _) in missing.iter().map(|entry| &**entry) {
        pipeline.cmd("TYPE").arg(name);
    }
    let kinds: Vec<String> = match pipeline.query_async(&mut node.connection).await {
        Ok(kinds) => kinds,
        Err(error) if is_denied(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    for (entry, kind) in missing.into_iter().zip(kinds) {
        // A string that was set in between has its own notification.
        if kind != "none" && kind != "string" {
            entry.1 = KeyValue::Other(Some(kind));
        }
    }
    Ok(true)
}

/// Whether the user lacks the permission for a command or a key.
pub(super) fn is_denied(error: &RedisError) -> bool {
    error.code() == Some("NOPERM")
}

/// Writes all changes atomically on one server, and key by key in a cluster.
pub(super) async fn write_all(nodes: &mut Nodes, writes: &[KeyWrite]) -> RedisResult<()> {
    let is_cluster = nodes.is_cluster();
    for place in 0..nodes.all.len() {
        let mut pipeline = redis::pipe();
        if !is_cluster {
            pipeline.atomic();
        }
        let mut any = false;
        for write in writes.iter().filter(|write| nodes.node_index(&write.key) == Some(place)) {
            any = true;
            match &write.text {
                Some(text) => pipeline.cmd("SET").arg(&write.key).arg(text).ignore(),
                None => pipeline.cmd("DEL").arg(&write.key).ignore(),
            };
        }
        if any {
            pipeline.query_async::<()>(&mut nodes.all[place].connection).await?;
        }
    }
    Ok(())
}

/// Replaces the documents of `state`, except those of kinds that the server lost. `all` is sorted by key.
pub(super) fn replace_all(state: &mut StoreState, all: &[(String, KeyValue)]) {
    let present: Vec<String> = all
        .iter()
        .filter(|(_, held)| !matches!(held, KeyValue::Missing))
        .map(|(key, _)| key.clone())
        .collect();
    state.retain_unless_lost(&present);
    for (key, held) in all {
        state.apply_value(key, held.as_raw());
    }
}

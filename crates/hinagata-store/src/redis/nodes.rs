//! The servers of a store: one, or the primaries of a cluster.

use std::collections::HashMap;

use redis::{
    AsyncConnectionConfig, Client, ErrorKind, PushInfo, RedisError, RedisResult, aio::MultiplexedConnection,
    cluster_routing::Slot,
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    RedisOptions,
    address::{ServerAddress, with_resp2},
};

/// A server and its connection.
pub(super) struct Node {
    pub(super) connection: MultiplexedConnection,
    pub(super) client: Client,
    /// Whether it can deliver notifications on the same connection.
    pub(super) supports_push: bool,
    /// Its slots in a cluster, else empty.
    slots: Vec<(u16, u16)>,
    address: String,
}

/// Host, port and slot ranges of a primary.
type Primary = (String, u16, Vec<(u16, u16)>);

/// All servers of a store.
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    /// The server of each slot in a cluster.
    by_slot: Option<HashMap<Slot, usize>>,
}

impl Nodes {
    /// Connects to the first seed that responds, and from there to all servers.
    pub(super) async fn connect_all(
        address: &ServerAddress,
        options: &RedisOptions,
        pushes: &UnboundedSender<PushInfo>,
    ) -> RedisResult<Self> {
        let mut last = None;
        for seed in address.seeds() {
            let found = async {
                let first = match &address.master {
                    None => Node::connect(address, seed.clone(), options, pushes).await?,
                    Some(master) => {
                        let (host, port) = query_sentinel(address, seed.clone(), options, master).await?;
                        Node::connect(address, address.server_at(&host, port), options, pushes).await?
                    }
                };
                Self::discover_nodes(first, address, options, pushes).await
            };
            match found.await {
                Ok(nodes) => return Ok(nodes),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| RedisError::from((ErrorKind::InvalidClientConfig, "no address"))))
    }

    /// Discovers the servers from `first`.
    async fn discover_nodes(
        mut first: Node,
        address: &ServerAddress,
        options: &RedisOptions,
        pushes: &UnboundedSender<PushInfo>,
    ) -> RedisResult<Self> {
        let Some(primaries) = first.primaries().await? else {
            return Ok(Self { all: vec![first], by_slot: None });
        };
        drop(first);
        let mut all = Vec::new();
        for (host, port, slots) in primaries {
            let info = address.server_at(&host, port);
            all.push(Node { slots, ..Node::connect(address, info, options, pushes).await? });
        }
        let mut by_slot = HashMap::new();
        for (place, node) in all.iter().enumerate() {
            let numbers = node.slots.iter().flat_map(|(first, last)| *first..=*last);
            by_slot.extend(numbers.filter_map(Slot::new).map(|slot| (slot, place)));
        }
        Ok(Self { all, by_slot: Some(by_slot) })
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.by_slot.is_some()
    }

    /// The index of the server that owns `key`.
    pub(super) fn node_index(&self, key: &str) -> Option<usize> {
        match &self.by_slot {
            None => Some(0),
            Some(by_slot) => by_slot.get(&Slot::for_key(key)).copied(),
        }
    }

    /// Whether the slots of the cluster are still assigned as before.
    pub(super) async fn is_topology_current(&mut self) -> RedisResult<bool> {
        if !self.is_cluster() {
            return Ok(true);
        }
        let Some(first) = self.all.first_mut() else { return Ok(false) };
        let Some(primaries) = first.primaries().await? else { return Ok(false) };
        let same = |(host, port, slots): &Primary| {
            let address = format!("{host}:{port}");
            self.all.iter().any(|node| node.address == address && node.slots == *slots)
        };
        Ok(primaries.len() == self.all.len() && primaries.iter().all(same))
    }
}

impl Node {
    async fn connect(
        address: &ServerAddress,
        info: redis::ConnectionInfo,
        options: &RedisOptions,
        pushes: &UnboundedSender<PushInfo>,
    ) -> RedisResult<Self> {
        let config = || {
            AsyncConnectionConfig::new()
                .set_connection_timeout(Some(options.timeout))
                .set_response_timeout(Some(options.timeout))
        };
        let display_name = info.addr().to_string();
        let client = address.open_client(info.clone())?;
        let push_config = config().set_push_sender(pushes.clone());
        let (connection, client, supports_push) =
            match client.get_multiplexed_async_connection_with_config(&push_config).await {
                Ok(connection) => (connection, client, true),
                Err(error) if is_old_server(&error) => {
                    let client = address.open_client(with_resp2(info))?;
                    (client.get_multiplexed_async_connection_with_config(&config()).await?, client, false)
                }
                Err(error) => return Err(error),
            };
        Ok(Self { connection, client, supports_push, slots: Vec::new(), address: display_name })
    }

    /// Host, port and slots of every primary of the cluster, sorted, or `None` without a cluster.
    async fn primaries(&mut self) -> RedisResult<Option<Vec<Primary>>> {
        let answer: RedisResult<Vec<Vec<redis::Value>>> =
            redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut self.connection).await;
        let ranges = match answer {
            Ok(ranges) => ranges,
            // Not a cluster, or the user lacks permission: use this server alone.
            Err(error) if error.code().is_some() => return Ok(None),
            Err(error) => return Err(error),
        };
        let own_host = self.address.rsplit_once(':').map_or("localhost", |(host, _)| host).to_owned();
        let mut all: Vec<Primary> = Vec::new();
        for range in ranges {
            let [first, last, primary, ..] = range.as_slice() else { continue };
            let number = |value: &redis::Value| redis::from_redis_value::<u16>(value.clone());
            let redis::Value::Array(primary) = primary else { continue };
            let (Some(host), Some(port)) = (primary.first(), primary.get(1)) else { continue };
            let host: Option<String> = redis::from_redis_value(host.clone())?;
            // A server that does not know its own name uses the address that it was reached at.
            let host =
                host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| own_host.clone());
            let (port, slots) = (number(port)?, (number(first)?, number(last)?));
            match all.iter_mut().find(|(known, at, _)| *known == host && *at == port) {
                Some((_, _, known)) => known.push(slots),
                None => all.push((host, port, vec![slots])),
            }
        }
        all.sort();
        Ok(Some(all))
    }
}

/// Whether the server does not support RESP3, or denies it to this user.
fn is_old_server(error: &RedisError) -> bool {
    let refused = matches!(error.kind(), ErrorKind::RESP3NotSupported);
    refused || matches!(error.code(), Some("NOPROTO" | "ERR"))
}

/// Asks a sentinel for the address of `master`.
async fn query_sentinel(
    address: &ServerAddress,
    sentinel: redis::ConnectionInfo,
    options: &RedisOptions,
    master: &str,
) -> RedisResult<(String, u16)> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.timeout))
        .set_response_timeout(Some(options.timeout));
    let client = address.open_client(with_resp2(sentinel))?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let found: Option<(String, u16)> = redis::cmd("SENTINEL")
        .arg("get-master-addr-by-name")
        .arg(master)
        .query_async(&mut connection)
        .await?;
    found.ok_or_else(|| {
        RedisError::from((
            ErrorKind::InvalidClientConfig,
            "the sentinel does not know the master",
            master.to_owned(),
        ))
    })
}

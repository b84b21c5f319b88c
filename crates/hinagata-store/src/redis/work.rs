//! The thread that keeps a Redis store up to date.

use std::{
    sync::{Arc, mpsc::SyncSender},
    time::{Duration, SystemTime},
};

use hinagata::{
    Code, Error, Reason, Result,
    store::{Freshness, StoreHealth, StoreKind},
};
use redis::{PushInfo, RedisError, RedisResult};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, unbounded_channel},
        oneshot,
    },
    time::{Instant, MissedTickBehavior, interval_at, sleep},
};

use super::{
    RedisOptions,
    address::ServerAddress,
    nodes::Nodes,
    notices::{ServerNotice, enable_notices, parse_notice},
    session::{self, is_denied, read_all, read_keys},
};
use crate::shared::{KeyWrite, SharedState};

/// Maximum characters of a server's error in a message.
const MAX_DISPLAYED: usize = 300;

/// A write request.
pub(super) struct WriteCommand {
    pub(super) writes: Vec<KeyWrite>,
    pub(super) done: oneshot::Sender<Result<()>>,
}

/// The state of the thread.
pub(super) struct RedisWorker {
    pub(super) address: ServerAddress,
    pub(super) options: RedisOptions,
    pub(super) shared: Arc<SharedState>,
    /// Signalled after the first attempt to read everything.
    pub(super) ready: Option<SyncSender<()>>,
}

/// Why a session ended.
enum SessionEnd {
    /// The store was dropped.
    Closed,
    /// The connection was lost.
    Lost(RedisError),
}

impl From<RedisError> for SessionEnd {
    fn from(error: RedisError) -> Self {
        Self::Lost(error)
    }
}

impl RedisWorker {
    /// Runs until the store is dropped.
    pub(super) fn run_until_closed(mut self, mut commands: UnboundedReceiver<WriteCommand>) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, async {
            let (first, longest) = self.options.backoff;
            let mut backoff = first;
            loop {
                let began = Instant::now();
                let error = match self.run_session(&mut commands).await {
                    SessionEnd::Closed => return,
                    SessionEnd::Lost(error) => self.record_outage(&error),
                };
                self.signal_ready();
                // After a long session, retry immediately.
                if began.elapsed() > longest {
                    backoff = first;
                }
                if self.refuse_for(backoff, &error, &mut commands).await.is_none() {
                    return;
                }
                backoff = (backoff * 2).min(longest);
            }
        });
    }

    fn signal_ready(&mut self) {
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(());
        }
    }

    /// Records that the server is unavailable.
    fn record_outage(&self, error: &RedisError) -> Error {
        let outage = outage_error(&self.address, error);
        self.shared.update_state(|state| {
            let freshness = state.health().freshness;
            let outage = Some((SystemTime::now(), outage.clone()));
            state.set_health(StoreHealth { freshness, outage, ..StoreHealth::default() });
        });
        outage
    }

    /// Rejects writes with `error` for `time`. Returns `None` when the store was dropped.
    async fn refuse_for(
        &self,
        time: Duration,
        error: &Error,
        commands: &mut UnboundedReceiver<WriteCommand>,
    ) -> Option<()> {
        let up = sleep(time);
        tokio::pin!(up);
        loop {
            tokio::select! {
                () = &mut up => return Some(()),
                command = commands.recv() => {
                    let _ = command?.done.send(Err(error.clone()));
                }
            }
        }
    }

    /// Connects, reads everything, and follows changes until that fails.
    async fn run_session(&mut self, commands: &mut UnboundedReceiver<WriteCommand>) -> SessionEnd {
        match self.follow_changes(commands).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    async fn follow_changes(
        &mut self,
        commands: &mut UnboundedReceiver<WriteCommand>,
    ) -> Result<std::convert::Infallible, SessionEnd> {
        let (sender, mut notices) = unbounded_channel();
        let mut nodes = Nodes::connect_all(&self.address, &self.options, &sender).await?;
        let keys = self.shared.update_state(|state| state.keys().clone());
        // Enable notifications before reading, so that no change is missed.
        let freshness = enable_notices(&mut nodes, &keys, &sender).await?;
        self.read_everything(&mut nodes, freshness).await?;
        self.signal_ready();
        let every = match freshness {
            Freshness::Polled => self.options.poll_interval,
            _ => self.options.check_interval,
        };
        let ticks = |period: Duration| {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut heartbeat, mut check) = (ticks(self.options.heartbeat_interval), ticks(every));
        loop {
            tokio::select! {
                push = notices.recv() => self.handle_notices(push, &mut notices, &mut nodes, freshness).await?,
                _ = heartbeat.tick() => ping_all(&mut nodes).await?,
                _ = check.tick() => {
                    if !nodes.is_topology_current().await? {
                        return Err(connection_error("the slots of the cluster have moved").into());
                    }
                    self.read_everything(&mut nodes, freshness).await?;
                }
                command = commands.recv() => {
                    let Some(command) = command else { return Err(SessionEnd::Closed) };
                    self.handle_write(command, &mut nodes).await?;
                }
            }
        }
    }

    /// Handles notifications, a whole burst at once.
    async fn handle_notices(
        &self,
        first: Option<PushInfo>,
        more: &mut UnboundedReceiver<PushInfo>,
        nodes: &mut Nodes,
        freshness: Freshness,
    ) -> RedisResult<()> {
        let (mut changed, mut anything) = (Vec::new(), false);
        let mut next = first;
        while let Some(push) = next {
            match parse_notice(&push) {
                ServerNotice::Changed(keys) => changed.extend(keys),
                ServerNotice::AnyChange => anything = true,
                ServerNotice::Disconnected => return Err(connection_error("the connection was closed")),
                ServerNotice::Ignored => {}
            }
            next = more.try_recv().ok();
        }
        if anything || self.has_retained(changed.iter()) {
            return self.read_everything(nodes, freshness).await;
        }
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        let values = read_keys(nodes, changed).await?;
        self.shared.update_state(|state| {
            for (key, value) in &values {
                state.apply_value(key, value.as_raw());
            }
        });
        Ok(())
    }

    /// Whether one of the keys belongs to a kind whose last state stays although the server lost it.
    fn has_retained<'k>(&self, mut keys: impl Iterator<Item = &'k String>) -> bool {
        self.shared.update_state(|state| keys.any(|key| state.is_retained(key)))
    }

    /// Reads everything. A server that had documents of a kind and has none was flushed or lost its data: their last
    /// state stays in use and is reported as stale until there are documents of that kind again.
    async fn read_everything(&self, nodes: &mut Nodes, freshness: Freshness) -> RedisResult<()> {
        let keys = self.shared.update_state(|state| state.keys().clone());
        let all = read_all(nodes, &keys).await?;
        self.shared.update_state(|state| {
            session::replace_all(state, &all);
            let kinds = state.retained_kinds();
            let outage =
                (!kinds.is_empty()).then(|| (SystemTime::now(), emptied_error(&self.address, &kinds)));
            state.set_health(StoreHealth { freshness, outage, ..StoreHealth::default() });
        });
        Ok(())
    }

    async fn handle_write(&self, command: WriteCommand, nodes: &mut Nodes) -> RedisResult<()> {
        match session::write_all(nodes, &command.writes).await {
            Ok(()) => {
                let held = self.has_retained(command.writes.iter().map(|write| &write.key));
                self.shared.update_state(|state| {
                    // A document of a retained kind is read with all others of its kind. A deletion is meant.
                    let known = |write: &&KeyWrite| write.text.is_none() || !state.is_retained(&write.key);
                    let known: Vec<&KeyWrite> = command.writes.iter().filter(known).collect();
                    known.into_iter().for_each(|write| write.apply_to(state));
                });
                if held {
                    self.read_everything(nodes, self.shared.snapshot().health.freshness).await?;
                }
                let _ = command.done.send(Ok(()));
                Ok(())
            }
            // A refused command concerns its caller. A lost connection concerns everybody.
            Err(error) if error.code().is_some() && !error.is_cluster_error() => {
                let _ = command.done.send(Err(refused_error(&self.address, &error)));
                Ok(())
            }
            Err(error) => {
                let _ = command.done.send(Err(outage_error(&self.address, &error)));
                Err(error)
            }
        }
    }
}

async fn ping_all(nodes: &mut Nodes) -> RedisResult<()> {
    for node in &mut nodes.all {
        // The user may not be allowed to PING, but any response is a response.
        match redis::cmd("PING").query_async::<()>(&mut node.connection).await {
            Err(error) if error.code().is_none() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn connection_error(why: &'static str) -> RedisError {
    RedisError::from((redis::ErrorKind::Io, why))
}

/// The error of a server that cannot be read, with a reason for each cause that an operator handles differently.
fn outage_error(address: &ServerAddress, error: &RedisError) -> Error {
    let name = address.display_name();
    let text = hinagata_http::truncate_for_display(&error.to_string(), MAX_DISPLAYED);
    let is_unauthenticated = error.kind() == redis::ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("WRONGPASS" | "NOAUTH"));
    let (reason, message, hint) = if is_unauthenticated {
        (
            Reason::Password,
            format!("{name} refuses the user or the password: {text}"),
            "check the user and the password in `store.url`; the last state stays in use",
        )
    } else if is_denied(error) {
        (
            Reason::Refused,
            format!("{name} refuses a command: {text}"),
            "give the user the commands in docs/reference/store.md; the last state stays in use",
        )
    } else {
        (
            Reason::Unreachable,
            format!("{name} is unavailable: {text}"),
            "check `store.url` and the server; the last state stays in use",
        )
    };
    Error::new(Code::Store, message).with_reason(reason).with_hint(hint)
}

fn refused_error(address: &ServerAddress, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} refused the write: {error}", address.display_name()))
        .with_reason(Reason::Refused)
        .with_hint("check the permissions of the user, and whether the server is a replica or out of memory")
}

/// The error of a server that lost all documents of some kinds.
fn emptied_error(address: &ServerAddress, kinds: &[StoreKind]) -> Error {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let message =
        format!("{} lost all {}; their last state stays in use", address.display_name(), names.join(", "));
    Error::new(Code::Store, message)
        .with_reason(Reason::Emptied)
        .with("kinds", names)
        .with_hint("write them again; a kind is read from the server again as soon as it has a document")
}

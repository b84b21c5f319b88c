//! The thread that keeps a Redis store up to date.

use std::{
    sync::{Arc, mpsc::SyncSender},
    time::{Duration, SystemTime},
};

use hinagata::{
    Code, Error, Reason, Result,
    store::{Freshness, StoreHealth},
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
    session::{self, read_all, read_keys},
};
use crate::shared::{KeyWrite, SharedState};

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
        let outage = unreachable_error(&self.address, error);
        self.shared.update_state(|state| {
            let freshness = state.health().freshness;
            state.set_health(StoreHealth { freshness, outage: Some((SystemTime::now(), outage.clone())) });
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
        if anything || self.is_retained() {
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

    /// Whether the last state is retained although the server was flushed.
    fn is_retained(&self) -> bool {
        let snapshot = self.shared.snapshot();
        snapshot.health.outage.as_ref().is_some_and(|(_, error)| error.reason() == Some(Reason::Emptied))
    }

    /// Reads everything. A server that had documents and has none was flushed or lost its data: the last state is
    /// retained and reported as stale until there are documents again.
    async fn read_everything(&self, nodes: &mut Nodes, freshness: Freshness) -> RedisResult<()> {
        let keys = self.shared.update_state(|state| state.keys().clone());
        let all = read_all(nodes, &keys).await?;
        self.shared.update_state(|state| {
            if all.is_empty() && state.key_count() > 0 {
                let outage = Some((SystemTime::now(), emptied_error(&self.address)));
                state.set_health(StoreHealth { freshness, outage });
            } else {
                session::replace_all(state, &all);
                state.set_health(StoreHealth { freshness, outage: None });
            }
        });
        Ok(())
    }

    async fn handle_write(&self, command: WriteCommand, nodes: &mut Nodes) -> RedisResult<()> {
        match session::write_all(nodes, &command.writes).await {
            Ok(()) => {
                let held = self.is_retained();
                self.shared.update_state(|state| {
                    if !held {
                        command.writes.iter().for_each(|write| write.apply_to(state));
                    }
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
                let _ = command.done.send(Err(unreachable_error(&self.address, &error)));
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

fn unreachable_error(address: &ServerAddress, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} is unavailable: {error}", address.display_name()))
        .with_reason(Reason::Unreachable)
        .with_hint(
            "check `store.url`, the server, and the permissions of its user; the last state stays in use",
        )
}

fn refused_error(address: &ServerAddress, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} refused the write: {error}", address.display_name()))
        .with_reason(Reason::Refused)
        .with_hint("check the permissions of the user, and whether the server is a replica or out of memory")
}

/// The error of an outage after a flush.
fn emptied_error(address: &ServerAddress) -> Error {
    Error::new(Code::Store, format!("{} is empty; the last state stays in use", address.display_name()))
        .with_reason(Reason::Emptied)
        .with_hint("write the documents again; the server is used again as soon as it has one")
}

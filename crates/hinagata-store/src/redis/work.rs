//! The thread that keeps a store in Redis fresh.

use std::{
    sync::{Arc, mpsc::SyncSender},
    time::{Duration, SystemTime},
};

use hinagata::{
    Code, Error, Result,
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

/// Something to write.
pub(super) struct WriteCommand {
    pub(super) writes: Vec<KeyWrite>,
    pub(super) done: oneshot::Sender<Result<()>>,
}

/// What the thread works with.
pub(super) struct RedisWorker {
    pub(super) address: ServerAddress,
    pub(super) options: RedisOptions,
    pub(super) shared: Arc<SharedState>,
    /// Told once the first try to read everything is over.
    pub(super) ready: Option<SyncSender<()>>,
}

/// Why a session ended.
enum SessionEnd {
    /// Nobody needs the store any more.
    Closed,
    /// The servers have to be found anew.
    Lost(RedisError),
}

impl From<RedisError> for SessionEnd {
    fn from(error: RedisError) -> Self {
        Self::Lost(error)
    }
}

impl RedisWorker {
    /// Works until nobody needs the store any more.
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
                // A server that answered for a while is tried again at once.
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

    /// Notes that the server is gone.
    fn record_outage(&self, error: &RedisError) -> Error {
        let told = unreachable_error(&self.address, error);
        self.shared.update_state(|state| {
            let freshness = state.health().freshness;
            state.set_health(StoreHealth { freshness, outage: Some((SystemTime::now(), told.clone())) });
        });
        told
    }

    /// Answers with `error` until the time is up; `None` when nobody needs the store any more.
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
        let (told, mut notices) = unbounded_channel();
        let mut nodes = Nodes::connect_all(&self.address, &self.options, &told).await?;
        let keys = self.shared.update_state(|state| state.keys().clone());
        // First to listen, then to read: what changes in between is told.
        let freshness = enable_notices(&mut nodes, &keys, &told).await?;
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
                        return Err(connection_error("the cluster was cut anew").into());
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

    /// Reads what the server says has changed, a whole burst at once.
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
            values.iter().for_each(|(key, held)| state.apply_value(key, held.as_raw()))
        });
        Ok(())
    }

    /// Whether the last state is kept although the server was emptied.
    fn is_retained(&self) -> bool {
        let snapshot = self.shared.snapshot();
        snapshot.health.outage.as_ref().is_some_and(|(_, error)| error.reason() == Some(EMPTIED))
    }

    /// Reads everything. A server that had something and has nothing at all any more was flushed, or came back without
    /// its data: the last state is kept, and told to be old, until something is there again.
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
            // What the server refuses concerns whoever asked; what it cannot hear concerns everybody.
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
        // A user may be forbidden to ask even that; an answer is an answer.
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
    Error::new(Code::Store, format!("{} cannot be used: {error}", address.display_name()))
        .with("reason", "unreachable")
        .with_hint(
            "check `store.url`, that the server runs, and what its user may do; the last state stays in use",
        )
}

fn refused_error(address: &ServerAddress, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} refuses to write: {error}", address.display_name()))
        .with("reason", "refused")
        .with_hint("check what the user of the store may do, and whether the server is a replica or full")
}

/// The reason of an outage that is none of the connection.
const EMPTIED: &str = "emptied";

fn emptied_error(address: &ServerAddress) -> Error {
    Error::new(
        Code::Store,
        format!("{} has nothing any more; the last state stays in use", address.display_name()),
    )
    .with("reason", EMPTIED)
    .with_hint("write the documents again; as soon as one is there, what is there counts")
}

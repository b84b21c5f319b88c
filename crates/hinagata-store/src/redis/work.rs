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
    address::Address,
    nodes::Nodes,
    notices::{Notice, listen, notice},
    session::{self, read_all, read_keys},
};
use crate::shared::{Shared, Write};

/// Something to write.
pub(super) struct Command {
    pub(super) writes: Vec<Write>,
    pub(super) done: oneshot::Sender<Result<()>>,
}

/// What the thread works with.
pub(super) struct Worker {
    pub(super) address: Address,
    pub(super) options: RedisOptions,
    pub(super) shared: Arc<Shared>,
    /// Told once the first try to read everything is over.
    pub(super) ready: Option<SyncSender<()>>,
}

/// Why a session ended.
enum Ended {
    /// Nobody needs the store any more.
    Closed,
    /// The servers have to be found anew.
    Lost(RedisError),
}

impl From<RedisError> for Ended {
    fn from(error: RedisError) -> Self {
        Self::Lost(error)
    }
}

impl Worker {
    /// Works until nobody needs the store any more.
    pub(super) fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, async {
            let (first, longest) = self.options.backoff;
            let mut backoff = first;
            loop {
                let began = Instant::now();
                let error = match self.session(&mut commands).await {
                    Ended::Closed => return,
                    Ended::Lost(error) => self.outage(&error),
                };
                self.be_ready();
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

    fn be_ready(&mut self) {
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(());
        }
    }

    /// Notes that the server is gone.
    fn outage(&self, error: &RedisError) -> Error {
        let told = unreachable_server(&self.address, error);
        self.shared.update(|state| {
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
        commands: &mut UnboundedReceiver<Command>,
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
    async fn session(&mut self, commands: &mut UnboundedReceiver<Command>) -> Ended {
        match self.follow(commands).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    async fn follow(
        &mut self,
        commands: &mut UnboundedReceiver<Command>,
    ) -> Result<std::convert::Infallible, Ended> {
        let (told, mut notices) = unbounded_channel();
        let mut nodes = Nodes::connect(&self.address, &self.options, &told).await?;
        let keys = self.shared.update(|state| state.keys().clone());
        // First to listen, then to read: what changes in between is told.
        let freshness = listen(&mut nodes, &keys, &told).await?;
        self.read_everything(&mut nodes, freshness).await?;
        self.be_ready();
        let every = match freshness {
            Freshness::Polled => self.options.poll,
            _ => self.options.check,
        };
        let ticks = |period: Duration| {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let (mut heartbeat, mut check) = (ticks(self.options.heartbeat), ticks(every));
        loop {
            tokio::select! {
                push = notices.recv() => self.noticed(push, &mut notices, &mut nodes, freshness).await?,
                _ = heartbeat.tick() => ping(&mut nodes).await?,
                _ = check.tick() => {
                    if !nodes.are_current().await? {
                        return Err(lost("the cluster was cut anew").into());
                    }
                    self.read_everything(&mut nodes, freshness).await?;
                }
                command = commands.recv() => {
                    let Some(command) = command else { return Err(Ended::Closed) };
                    self.write(command, &mut nodes).await?;
                }
            }
        }
    }

    /// Reads what the server says has changed, a whole burst at once.
    async fn noticed(
        &self,
        first: Option<PushInfo>,
        more: &mut UnboundedReceiver<PushInfo>,
        nodes: &mut Nodes,
        freshness: Freshness,
    ) -> RedisResult<()> {
        let (mut changed, mut anything) = (Vec::new(), false);
        let mut next = first;
        while let Some(push) = next {
            match notice(&push) {
                Notice::Changed(keys) => changed.extend(keys),
                Notice::Anything => anything = true,
                Notice::Gone => return Err(lost("the connection was closed")),
                Notice::Nothing => {}
            }
            next = more.try_recv().ok();
        }
        if anything || self.is_held() {
            return self.read_everything(nodes, freshness).await;
        }
        changed.sort_unstable();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        let values = read_keys(nodes, changed).await?;
        self.shared.update(|state| values.iter().for_each(|(key, held)| state.apply(key, held.raw())));
        Ok(())
    }

    /// Whether the last state is kept although the server was emptied.
    fn is_held(&self) -> bool {
        let snapshot = self.shared.snapshot();
        snapshot.health.outage.as_ref().is_some_and(|(_, error)| error.reason() == Some(EMPTIED))
    }

    /// Reads everything. A server that had something and has nothing at all any more was flushed, or came back without
    /// its data: the last state is kept, and told to be old, until something is there again.
    async fn read_everything(&self, nodes: &mut Nodes, freshness: Freshness) -> RedisResult<()> {
        let keys = self.shared.update(|state| state.keys().clone());
        let all = read_all(nodes, &keys).await?;
        self.shared.update(|state| {
            if all.is_empty() && state.count() > 0 {
                let outage = Some((SystemTime::now(), emptied(&self.address)));
                state.set_health(StoreHealth { freshness, outage });
            } else {
                session::replace(state, &all);
                state.set_health(StoreHealth { freshness, outage: None });
            }
        });
        Ok(())
    }

    async fn write(&self, command: Command, nodes: &mut Nodes) -> RedisResult<()> {
        match session::write(nodes, &command.writes).await {
            Ok(()) => {
                let held = self.is_held();
                self.shared.update(|state| {
                    if !held {
                        command.writes.iter().for_each(|write| write.apply(state));
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
                let _ = command.done.send(Err(refused(&self.address, &error)));
                Ok(())
            }
            Err(error) => {
                let _ = command.done.send(Err(unreachable_server(&self.address, &error)));
                Err(error)
            }
        }
    }
}

async fn ping(nodes: &mut Nodes) -> RedisResult<()> {
    for node in &mut nodes.all {
        // A user may be forbidden to ask even that; an answer is an answer.
        match redis::cmd("PING").query_async::<()>(&mut node.connection).await {
            Err(error) if error.code().is_none() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn lost(why: &'static str) -> RedisError {
    RedisError::from((redis::ErrorKind::Io, why))
}

fn unreachable_server(address: &Address, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} cannot be used: {error}", address.shown()))
        .with("reason", "unreachable")
        .with_hint(
            "check `store.url`, that the server runs, and what its user may do; the last state stays in use",
        )
}

fn refused(address: &Address, error: &RedisError) -> Error {
    Error::new(Code::Store, format!("{} refuses to write: {error}", address.shown()))
        .with("reason", "refused")
        .with_hint("check what the user of the store may do, and whether the server is a replica or full")
}

/// The reason of an outage that is none of the connection.
const EMPTIED: &str = "emptied";

fn emptied(address: &Address) -> Error {
    Error::new(Code::Store, format!("{} has nothing any more; the last state stays in use", address.shown()))
        .with("reason", EMPTIED)
        .with_hint("write the documents again; as soon as one is there, what is there counts")
}

//! Sessions of older revisions over HTTP. They live as long as their clients do.
//!
//! This wraps the sessions of the library, which end after five idle minutes, start every stream with an empty event
//! in every revision, and let a request run on whose client has left. The reasons are in `docs/design/mcp-sessions.md`.

use std::{
    cmp::Reverse,
    collections::HashMap,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
        RequestId, ServerJsonRpcMessage, ServerResult,
    },
    transport::streamable_http_server::session::{
        RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError, SessionError},
    },
};
use tokio::{runtime::Handle, time::Instant};
use tokio_stream::Stream;

/// Maximum concurrent sessions.
const MAX_SESSIONS: usize = 1_024;

/// How long a session may be idle: without a request and without an open stream.
const IDLE_TIME: Duration = Duration::from_secs(8 * 3_600);

/// How often idle sessions are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// When a client that lost a stream is told to come back.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// How long a request runs on after its client lost the stream, if the client can resume it.
const RESUME_TIME: Duration = Duration::from_secs(5);

/// The first revision whose streams start with an event without data.
const PRIMED_SINCE: &str = "2025-11-25";

tokio::task_local! {
    /// The name of the caller whose request the task handles. The library opens sessions without it.
    static CALLER: Option<Arc<str>>;
}

/// Handles a request of `caller`, who owns the session that it opens.
pub(crate) async fn with_caller<F: Future>(caller: Option<Arc<str>>, handling: F) -> F::Output {
    CALLER.scope(caller, handling).await
}

type Inner = LocalSessionManager;
type EventStream = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// All sessions.
#[derive(Debug)]
pub(crate) struct HttpSessions {
    inner: Inner,
    entries: Mutex<HashMap<SessionId, SessionEntry>>,
    /// For the tasks that cancel requests.
    this: Weak<Self>,
}

/// What is known about a session besides its messages.
#[derive(Debug)]
struct SessionEntry {
    /// The name of the caller that opened it.
    owner: Option<Arc<str>>,
    /// Whether streams of its revision start with an event without data.
    is_primed: bool,
    open_streams: usize,
    last_used: Instant,
    /// Requests without a response, by the number of their stream.
    unanswered: HashMap<u64, UnansweredRequest>,
}

#[derive(Debug)]
struct UnansweredRequest {
    id: RequestId,
    /// Open streams that wait for the response.
    streams: usize,
}

impl SessionEntry {
    fn is_idle(&self) -> bool {
        self.open_streams == 0 && self.unanswered.is_empty()
    }
}

impl HttpSessions {
    /// No sessions yet. Idle ones are ended in the background until the result is dropped.
    ///
    /// Must be called inside a tokio runtime.
    pub(crate) fn start() -> Arc<Self> {
        let mut inner = Inner::default();
        inner.session_config.keep_alive = None;
        inner.session_config.sse_retry = Some(RETRY_TIME);
        let sessions =
            Arc::new_cyclic(|this| Self { inner, entries: Mutex::default(), this: Weak::clone(this) });
        tokio::spawn(sweep_sessions(Arc::downgrade(&sessions)));
        sessions
    }

    /// Whether `caller` can open a new session, if need be in place of an idle one.
    pub(crate) fn has_room(&self, caller: Option<&str>) -> bool {
        let entries = self.entries();
        entries.len() < MAX_SESSIONS || find_displaced(&entries, caller).is_some()
    }

    /// Whether the viewer owns the session. Unknown sessions are rejected later.
    pub(crate) fn is_owner(&self, session: &str, viewer: Option<&str>) -> bool {
        self.entries()
            .get(session)
            .is_none_or(|entry| entry.owner.is_none() || entry.owner.as_deref() == viewer)
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<SessionId, SessionEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the client of a session is alive.
    fn touch_session(&self, id: &SessionId) {
        if let Some(entry) = self.entries().get_mut(id) {
            entry.last_used = Instant::now();
        }
    }

    /// Ends an idle session if all places are taken.
    async fn make_room(&self, caller: Option<&str>) -> Result<(), LocalSessionManagerError> {
        let displaced = {
            let entries = self.entries();
            if entries.len() < MAX_SESSIONS {
                return Ok(());
            }
            find_displaced(&entries, caller)
                .map(|(id, entry)| (Arc::clone(id), entry.owner.clone(), entry.last_used.elapsed()))
        };
        let Some((id, owner, idle)) = displaced else {
            return Err(SessionError::Io(io::Error::other("too many open sessions")).into());
        };
        tracing::warn!(
            sessions = MAX_SESSIONS,
            owner = owner.as_deref(),
            idle_seconds = idle.as_secs(),
            "ending the session that has been idle for the longest time, to make room for a new one"
        );
        self.close_session(&id).await
    }

    async fn end_idle_sessions(&self) {
        let is_over = |entry: &SessionEntry| entry.is_idle() && entry.last_used.elapsed() >= IDLE_TIME;
        let over: Vec<SessionId> = {
            let entries = self.entries();
            entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| Arc::clone(id)).collect()
        };
        for id in over {
            tracing::info!(idle_hours = IDLE_TIME.as_secs() / 3_600, "ending an idle session");
            if let Err(error) = self.close_session(&id).await {
                tracing::warn!(%error, "cannot end an idle session");
            }
        }
    }

    /// A stream of the session, which counts as life while it is open. `request` is the request that it answers.
    fn follow_stream(
        &self,
        id: &SessionId,
        inner: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        request: Option<RequestId>,
    ) -> SessionStream {
        let mut entries = self.entries();
        let entry = entries.get_mut(id);
        let is_primed = entry.as_ref().is_some_and(|entry| entry.is_primed);
        if let Some(entry) = entry {
            entry.open_streams += 1;
            entry.last_used = Instant::now();
        }
        SessionStream {
            inner: Box::pin(inner),
            is_primed,
            sessions: Weak::clone(&self.this),
            session: Arc::clone(id),
            request,
            number: None,
            can_resume: false,
        }
    }

    /// Notes that the stream `number` waits for the response to `request`.
    fn add_unanswered(&self, session: &SessionId, number: u64, request: &RequestId) {
        if let Some(entry) = self.entries().get_mut(session) {
            let waiting = entry.unanswered.entry(number);
            waiting.or_insert_with(|| UnansweredRequest { id: request.clone(), streams: 0 }).streams += 1;
        }
    }

    fn remove_unanswered(&self, session: &SessionId, number: u64) {
        if let Some(entry) = self.entries().get_mut(session) {
            entry.unanswered.remove(&number);
        }
    }

    /// The request without a response whose stream has this number.
    fn find_unanswered(&self, session: &SessionId, number: u64) -> Option<RequestId> {
        Some(self.entries().get(session)?.unanswered.get(&number)?.id.clone())
    }

    /// Notes that a stream of the session was closed. Returns the request that nobody waits for any more.
    fn close_stream(&self, session: &SessionId, number: Option<u64>) -> Option<RequestId> {
        let mut entries = self.entries();
        let entry = entries.get_mut(session)?;
        entry.open_streams = entry.open_streams.saturating_sub(1);
        entry.last_used = Instant::now();
        let waiting = entry.unanswered.get_mut(&number?)?;
        waiting.streams = waiting.streams.saturating_sub(1);
        (waiting.streams == 0).then(|| waiting.id.clone())
    }

    /// Cancels a request if its client did not come back to the stream `number`.
    async fn cancel_abandoned(&self, session: &SessionId, number: u64) {
        let abandoned = {
            let mut entries = self.entries();
            let waiting = entries.get_mut(session).map(|entry| &mut entry.unanswered);
            waiting.and_then(|waiting| {
                let is_abandoned = waiting.get(&number).is_some_and(|request| request.streams == 0);
                is_abandoned.then(|| waiting.remove(&number)).flatten()
            })
        };
        if let Some(request) = abandoned {
            self.cancel_request(session, request.id).await;
        }
    }

    async fn cancel_request(&self, session: &SessionId, request: RequestId) {
        tracing::debug!(%request, "the client left; cancelling its request");
        let params = CancelledNotificationParam::new(Some(request), Some("the client left".to_owned()));
        let cancelled = CancelledNotification::new(params);
        let message =
            ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled));
        // It fails only for a session that has ended, with its requests.
        let _ = self.inner.accept_message(session, message).await;
    }
}

/// The session that gives way to a new one of `caller`: of the callers with the most sessions, the one that has been idle
/// for the longest time. Nobody takes the place of another caller who has no more sessions.
fn find_displaced<'e>(
    entries: &'e HashMap<SessionId, SessionEntry>,
    caller: Option<&str>,
) -> Option<(&'e SessionId, &'e SessionEntry)> {
    let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
    for entry in entries.values() {
        *counts.entry(entry.owner.as_deref()).or_default() += 1;
    }
    let count = |owner: Option<&str>| counts.get(&owner).copied().unwrap_or_default();
    let may_end = |owner: Option<&str>| owner == caller || count(owner) > count(caller);
    let idle = entries.iter().filter(|(_, entry)| entry.is_idle() && may_end(entry.owner.as_deref()));
    idle.max_by_key(|(_, entry)| (count(entry.owner.as_deref()), Reverse(entry.last_used)))
}

async fn sweep_sessions(sessions: Weak<HttpSessions>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.end_idle_sessions().await;
    }
}

impl SessionManager for HttpSessions {
    type Error = LocalSessionManagerError;
    type Transport = <Inner as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let owner = CALLER.try_with(Clone::clone).ok().flatten();
        self.make_room(owner.as_deref()).await?;
        let (id, transport) = self.inner.create_session().await?;
        let entry = SessionEntry {
            owner,
            is_primed: false,
            open_streams: 0,
            last_used: Instant::now(),
            unanswered: HashMap::new(),
        };
        self.entries().insert(Arc::clone(&id), entry);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let response = self.inner.initialize_session(id, message).await?;
        if let Some(entry) = self.entries().get_mut(id) {
            entry.is_primed = is_primed(&response);
        }
        Ok(response)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.entries().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.follow_stream(id, stream, request))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.touch_session(id);
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_standalone_stream(id).await?;
        let first = tokio_stream::once(ServerSseMessage::priming("0", RETRY_TIME));
        Ok(self.follow_stream(id, tokio_stream::StreamExt::chain(first, stream), None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let number = stream_number(&last_event_id);
        let request = number.and_then(|number| self.find_unanswered(id, number));
        let stream = self.inner.resume(id, last_event_id).await?;
        let mut stream = self.follow_stream(id, stream, request);
        stream.note_number(number);
        Ok(stream)
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.inner.restore_session(id).await
    }
}

/// Whether the negotiated revision has events without data.
fn is_primed(response: &ServerJsonRpcMessage) -> bool {
    let ServerJsonRpcMessage::Response(response) = response else { return false };
    let ServerResult::InitializeResult(result) = &response.result else { return false };
    result.protocol_version.as_str() >= PRIMED_SINCE
}

/// The number of the stream in the id of an event, `INDEX/NUMBER`. Streams of notifications have none.
fn stream_number(event_id: &str) -> Option<u64> {
    event_id.split_once('/')?.1.parse().ok()
}

/// A stream of a session. Closing it cancels the request that it was to answer.
struct SessionStream {
    inner: EventStream,
    /// Whether events without data are passed on.
    is_primed: bool,
    sessions: Weak<HttpSessions>,
    session: SessionId,
    /// The request that it answers, until it did.
    request: Option<RequestId>,
    number: Option<u64>,
    /// Whether the client has seen an id that it can resume from.
    can_resume: bool,
}

impl SessionStream {
    fn note_number(&mut self, number: Option<u64>) {
        let (Some(number), None, Some(request)) = (number, self.number, &self.request) else { return };
        self.number = Some(number);
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.add_unanswered(&self.session, number, request);
        }
    }

    /// Notes an event that passes. Returns whether the client gets it.
    fn note_event(&mut self, event: &ServerSseMessage) -> bool {
        self.note_number(event.event_id.as_deref().and_then(stream_number));
        let is_answer = event.message.as_deref().is_some_and(|message| {
            matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
        });
        if is_answer
            && self.request.take().is_some()
            && let (Some(sessions), Some(number)) = (self.sessions.upgrade(), self.number)
        {
            sessions.remove_unanswered(&self.session, number);
        }
        let is_passed = event.message.is_some() || self.is_primed;
        self.can_resume |= is_passed && event.event_id.is_some();
        is_passed
    }
}

impl Stream for SessionStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let event = ready!(self.inner.as_mut().poll_next(context));
            match &event {
                Some(event) if !self.note_event(event) => {}
                _ => return Poll::Ready(event),
            }
        }
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        let abandoned = sessions.close_stream(&self.session, self.number);
        let (Some(request), Ok(runtime)) = (self.request.take(), Handle::try_current()) else { return };
        let (session, number, can_resume) = (Arc::clone(&self.session), self.number, self.can_resume);
        match number {
            // Another stream waits for the same response.
            Some(_) if abandoned.is_none() => {}
            Some(number) => drop(runtime.spawn(async move {
                if can_resume {
                    tokio::time::sleep(RESUME_TIME).await;
                }
                sessions.cancel_abandoned(&session, number).await;
            })),
            None => drop(runtime.spawn(async move { sessions.cancel_request(&session, request).await })),
        }
    }
}

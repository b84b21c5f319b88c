//! What is known about a call, and the one place that reports it: to the metrics, the log and the audit log.
//!
//! The report is made when the call ends. A call whose future is dropped ends too: its client left before the answer,
//! although a model may have been called already.

use std::{
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use hinagata_host::AuditEntry;

use crate::{
    problem::Problem,
    request_id::RequestId,
    route::{PathParams, RouteSpec},
    state::App,
};

/// The status of a call whose client left before the answer.
const CLIENT_LEFT: u16 = 499;

/// The longest name of a path in a report.
const LONGEST_NAME: usize = 256;

/// What handlers and the gate note about a call.
#[derive(Debug)]
pub(crate) struct CallNotes {
    pub(crate) request_id: RequestId,
    /// The address of the client: that of the connection, or the one that a trusted proxy names.
    pub(crate) client: IpAddr,
    /// The caller, for calls that the audit log records.
    audited: OnceLock<Arc<str>>,
    model: OnceLock<Arc<str>>,
    /// Names that the body has instead of the path.
    names: OnceLock<PathParams>,
    body_was_read: AtomicBool,
}

impl CallNotes {
    pub(crate) fn new(request_id: RequestId, client: IpAddr) -> Self {
        let (audited, model, names) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { request_id, client, audited, model, names, body_was_read: AtomicBool::new(false) }
    }

    /// Records the call of `caller` in the audit log when it ends.
    pub(crate) fn set_audited(&self, caller: Arc<str>) {
        let _ = self.audited.set(caller);
    }

    /// Notes the model that the prompt is sent to.
    pub(crate) fn set_model(&self, model: &str) {
        let _ = self.model.set(model.into());
    }

    /// Notes names that the body has instead of the path, for the audit log.
    pub(crate) fn set_names(&self, names: &[(&'static str, &str)]) {
        let _ = self.names.set(names.iter().map(|(name, value)| (*name, shorten(value))).collect());
    }

    /// Notes that a handler took the whole body.
    pub(crate) fn set_body_read(&self) {
        self.body_was_read.store(true, Ordering::Relaxed);
    }

    /// Whether a handler took the whole body.
    pub(crate) fn is_body_read(&self) -> bool {
        self.body_was_read.load(Ordering::Relaxed)
    }
}

fn shorten(value: &str) -> String {
    value[..value.floor_char_boundary(LONGEST_NAME)].to_owned()
}

/// A call that is not reported yet. Dropping it reports that the client left.
pub(crate) struct CallRecord {
    app: Arc<App>,
    route: &'static RouteSpec,
    /// The index of the route in the table.
    route_number: usize,
    names: PathParams,
    notes: Arc<CallNotes>,
    started: Instant,
    is_reported: bool,
}

impl CallRecord {
    /// A call that begins now.
    pub(crate) fn new(
        app: &Arc<App>,
        (route_number, route): (usize, &'static RouteSpec),
        params: &[(&'static str, String)],
        notes: &Arc<CallNotes>,
    ) -> Self {
        let names = params.iter().map(|(name, value)| (*name, shorten(value)));
        Self {
            app: Arc::clone(app),
            route,
            route_number,
            names: names.collect(),
            notes: Arc::clone(notes),
            started: Instant::now(),
            is_reported: false,
        }
    }

    /// Reports the answer; `problem` is the error that it contains.
    pub(crate) fn finish(mut self, status: u16, problem: Option<&Problem>) {
        self.report(status, problem);
    }

    fn report(&mut self, status: u16, problem: Option<&Problem>) {
        self.is_reported = true;
        let time = self.started.elapsed();
        self.app.metrics.record_answer(self.route_number, status, time);
        self.log(status, problem, time);
        let Some(who) = self.notes.audited.get() else { return };
        self.names.extend(self.notes.names.get().into_iter().flatten().cloned());
        self.app.audit.add_entry(AuditEntry {
            at: SystemTime::now(),
            request: Some(self.notes.request_id.to_shared()),
            who: Arc::clone(who),
            from: self.notes.client,
            method: self.route.method,
            route: self.route.path,
            names: std::mem::take(&mut self.names),
            model: self.notes.model.get().cloned(),
            status,
            micros: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        });
    }

    /// Writes the log line. Texts of callers are recorded as strings, which the log quotes.
    fn log(&self, status: u16, problem: Option<&Problem>, time: Duration) {
        let (method, route) = (self.route.method, self.route.path);
        let request = self.notes.request_id.as_str();
        let id = self.names.first().map(|(_, value)| value.as_str());
        let (code, reason) = (problem.map(Problem::code), problem.and_then(Problem::reason));
        let error = problem.map(Problem::detail);
        if status >= 500 {
            let provider_status = problem.and_then(Problem::provider_status);
            let provider_message = problem.and_then(Problem::provider_message);
            tracing::warn!(
                request,
                method,
                route,
                id,
                status,
                code,
                reason,
                error,
                provider_status,
                provider_message,
                ?time,
                "answered"
            );
        } else if status == CLIENT_LEFT {
            tracing::info!(request, method, route, id, status, ?time, "the client left before the answer");
        } else {
            tracing::debug!(request, method, route, id, status, code, reason, error, ?time, "answered");
        }
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.is_reported {
            self.report(CLIENT_LEFT, None);
        }
    }
}

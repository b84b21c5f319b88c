//! Threads that answer questions beside the one that reads messages.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

use lsp_server::{ErrorCode, RequestId, Response};

type Job = Box<dyn FnOnce() + Send>;

/// How many questions are answered at once.
const THREADS: usize = 2;

/// How many cancelled requests are remembered.
const MOST_CANCELLED: usize = 1_000;

/// The threads, and the requests that the client does not wait for any more.
pub(crate) struct Workers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    cancelled: Arc<Mutex<HashSet<RequestId>>>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let threads = (0..THREADS)
            .map(|_| {
                let waiting = Arc::clone(&waiting);
                thread::spawn(move || {
                    while let Some(job) = next_job(&waiting) {
                        job();
                    }
                })
            })
            .collect();
        Self { jobs: Some(jobs), threads, cancelled: Arc::default() }
    }

    /// Answers a request on another thread.
    pub(crate) fn answer_request(
        &self,
        id: RequestId,
        send: impl Fn(Response) + Send + 'static,
        work: impl FnOnce(RequestId) -> Response + Send + 'static,
    ) {
        let cancelled = Arc::clone(&self.cancelled);
        let job = move || {
            let is_cancelled = || lock(&cancelled).remove(&id);
            let response = if is_cancelled() {
                cancelled_response(id.clone())
            } else {
                // A fault in one answer must not end the others.
                let work = AssertUnwindSafe(|| work(id.clone()));
                catch_unwind(work).unwrap_or_else(|_| failed_response(id.clone()))
            };
            let response = if is_cancelled() { cancelled_response(id.clone()) } else { response };
            send(response);
        };
        if let Some(jobs) = &self.jobs {
            // The receivers live as long as the sender.
            drop(jobs.send(Box::new(job)));
        }
    }

    /// Marks a request as not needed any more. It is answered with an error, unless it was answered already.
    pub(crate) fn cancel_request(&self, id: RequestId) {
        let mut cancelled = lock(&self.cancelled);
        // What was answered before it was cancelled stays in the list.
        if cancelled.len() >= MOST_CANCELLED {
            cancelled.clear();
        }
        cancelled.insert(id);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

fn next_job(waiting: &Mutex<Receiver<Job>>) -> Option<Job> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn lock(cancelled: &Mutex<HashSet<RequestId>>) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    cancelled.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed_response(id: RequestId) -> Response {
    let message = "the server failed to answer: this is a fault of the server".to_owned();
    Response::new_err(id, ErrorCode::InternalError as i32, message)
}

fn cancelled_response(id: RequestId) -> Response {
    Response::new_err(id, ErrorCode::RequestCanceled as i32, "the request was cancelled".to_owned())
}

//! A backend whose renders never end, and that tells how many go on.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use hinagata::{RenderJob, Rendered, ports::PortFuture};
use hinagata_mcp::{RenderBackend, RenderReport, Viewer};
use tokio::sync::Notify;

use crate::support::Served;

/// Renders nothing, and counts the renders that go on.
#[derive(Default)]
pub(crate) struct Endless {
    running: AtomicUsize,
    changed: Notify,
}

impl Endless {
    /// The workspace of the fixtures, whose renders never end.
    pub(crate) fn serve() -> (Arc<Self>, Served) {
        let endless = Arc::new(Self::default());
        let served = Served::rendered_by(Arc::new(EndlessBackend(Arc::clone(&endless))));
        (endless, served)
    }

    pub(crate) fn count(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Waits until as many renders go on.
    pub(crate) async fn wait_for(&self, count: usize) {
        while self.count() != count {
            self.changed.notified().await;
        }
    }

    fn add(&self, more: bool) {
        if more {
            self.running.fetch_add(1, Ordering::SeqCst);
        } else {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
        self.changed.notify_one();
    }
}

struct Running(Arc<Endless>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.add(false);
    }
}

struct EndlessBackend(Arc<Endless>);

impl RenderBackend for EndlessBackend {
    fn render_prompt(&self, _: RenderJob) -> PortFuture<'_, hinagata::Result<Rendered>> {
        let endless = Arc::clone(&self.0);
        Box::pin(async move {
            endless.add(true);
            let _running = Running(endless);
            std::future::pending().await
        })
    }

    fn record_report(&self, _: &Viewer, _: &RenderReport<'_>) {}
}

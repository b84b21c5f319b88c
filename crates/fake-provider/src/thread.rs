//! A server on a thread of its own, so that tests need no runtime.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

/// A server that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct ServerThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Runs `serve` with a listener on a free TCP port.
    pub(crate) fn start<F: Future<Output = io::Result<()>>>(
        serve: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> (SocketAddr, Self) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("is a socket");
        let address = listener.local_addr().expect("has an address");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                tokio::select! {
                    served = serve(listener) => served.expect("serves"),
                    _ = stopped => {}
                }
            });
        });
        (address, Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! `fake-provider [PORT]`: answers every request immediately, for benchmarks.

use std::{io::Write as _, net::TcpListener, sync::Arc};

use fake_provider::{State, serve};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    serve(listener, Arc::new(State::without_recording())).await
}

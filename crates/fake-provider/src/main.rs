//! `fake-provider [PORT]`: answers every request immediately, for benchmarks.
//!
//! A line of standard input is a JSON list of texts: the next request gets them as a stream that does not end. Then the line
//! `queued` is printed.

use std::{
    io::{BufRead as _, Write as _},
    net::TcpListener,
    sync::Arc,
};

use fake_provider::{Reply, State, serve};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    let state = Arc::new(State::without_recording());
    let queue = Arc::clone(&state);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(pieces) => {
                    queue.push(Reply::Hang(pieces));
                    // Whoever closed its end does not wait for this line.
                    let _ = writeln!(std::io::stdout(), "queued");
                }
                Err(error) => {
                    let _ = writeln!(std::io::stderr(), "not a list of texts: {error}");
                }
            }
        }
    });
    serve(listener, state).await
}

//! A proxy that opens tunnels.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::thread::ServerThread;

/// Most bytes of a request.
const LARGEST: usize = 16 << 10;

/// A proxy for `CONNECT`, which runs until it is dropped. Every tunnel leads to the same server, whatever its client asks
/// for, so that tests can use any name of a host.
#[derive(Debug)]
pub struct FakeProxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _thread: ServerThread,
}

impl FakeProxy {
    /// Starts a proxy whose tunnels lead to `target`; without one, it never answers.
    ///
    /// # Panics
    /// If no TCP port or thread is available.
    #[must_use]
    pub fn start(target: Option<SocketAddr>) -> Self {
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::clone(&requests);
        let (address, thread) = ServerThread::start(move |listener| async move {
            let listener = TcpListener::from_std(listener)?;
            loop {
                let (client, _) = listener.accept().await?;
                // A connection that fails is the client's to notice.
                tokio::spawn(open_tunnel(client, target, Arc::clone(&shared)));
            }
        });
        Self { address, requests, _thread: thread }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests for tunnels so far, with their headers.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn open_tunnel(
    mut client: TcpStream,
    target: Option<SocketAddr>,
    requests: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LARGEST || client.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(&head).into_owned());
    let Some(target) = target else { return std::future::pending().await };
    let mut server = TcpStream::connect(target).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

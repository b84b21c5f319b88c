//! A proxy that passes requests and answers on, and nothing else: what a call through a daemon is held against.

use anyhow::{Context, Result};
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

/// Passes everything on to `upstream`, a host with a port, until the process ends.
pub(crate) fn serve(upstream: &str) -> Result<()> {
    let upstream: Authority = upstream.parse().context("the address to pass on to")?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(listen(upstream))
}

async fn listen(upstream: Authority) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(connection(stream, client.clone(), upstream.clone()));
    }
}

async fn connection(stream: TcpStream, client: Client<HttpConnector, Incoming>, upstream: Authority) {
    let pass = service_fn(|request| pass(&client, &upstream, request));
    // Who leaves ends it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), pass).await;
}

async fn pass(
    client: &Client<HttpConnector, Incoming>,
    upstream: &Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(hyper::http::uri::Scheme::HTTP);
    parts.authority = Some(upstream.clone());
    *request.uri_mut() = Uri::from_parts(parts)?;
    request.headers_mut().remove(HOST);
    Ok(client.request(request).await?)
}

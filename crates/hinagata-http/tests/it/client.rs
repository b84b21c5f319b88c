//! Requests to real local servers: what is answered, and what is rejected.

use std::{
    future::Future,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, TcpListener, TcpStream},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use hinagata_http::{AllowedHosts, HttpClient, HttpError, HttpRequest, HttpResponse};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// A server with one kind of answer, which counts requests.
struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request, a head and a body, with what `answer` writes.
    fn start(answer: impl Fn(&str, &str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
        let port = listener.local_addr().expect("has an address").port();
        let asked = Arc::new(AtomicUsize::new(0));
        let (answer, count) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
                thread::spawn(move || serve(stream, &*answer, &count));
            }
        });
        Self { port, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&str, &str, &mut TcpStream), count: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().expect("can be read"));
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("is a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("has a body");
    count.fetch_add(1, Ordering::SeqCst);
    answer(&head, &String::from_utf8_lossy(&body), &mut stream);
}

fn reply(stream: &mut TcpStream, head: &str, body: &str) {
    let length = body.len();
    let text = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    // The client may be gone.
    let _ = stream.write_all(text.as_bytes());
}

fn client(allowed: &[&str]) -> HttpClient {
    HttpClient::new(AllowedHosts::parse(allowed).expect("are hosts"))
}

fn ask(client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    block_on(client.send_request(request))
}

fn get(allowed: &[&str], url: String) -> Result<HttpResponse, HttpError> {
    ask(&client(allowed), HttpRequest::new("get", url))
}

#[test]
fn a_listed_host_answers_a_request() {
    let server = Server::start(|head, body, stream| {
        reply(stream, "201 Created\r\nx-a: 1\r\nx-a: 2", &format!("{head}{body}"));
    });
    let request = HttpRequest {
        headers: vec![("X-Custom".to_owned(), "yes".to_owned())],
        body: Some(b"{}".to_vec()),
        content_type: Some("application/json"),
        ..HttpRequest::new("post", server.url("/path?q=1"))
    };
    let response = ask(&client(&["127.0.0.1"]), request).expect("is answered");
    let text = String::from_utf8(response.body).expect("is text");
    assert_eq!(response.status, 201);
    assert!(response.headers.contains(&("x-a".to_owned(), "1, 2".to_owned())));
    assert!(text.starts_with("POST /path?q=1 HTTP/1.1\r\n"), "{text}");
    assert!(
        text.contains("x-custom: yes\r\n") && text.contains("content-type: application/json\r\n"),
        "{text}"
    );
    assert!(text.ends_with("{}"), "{text}");
}

#[test]
fn an_unlisted_host_is_never_connected_to() {
    let server = Server::start(|_, _, stream| reply(stream, "200 OK", ""));
    for allowed in [&[][..], &["example.com"], &["*"], &["127.0.0.1:1"], &["localhost:1"]] {
        let error = get(allowed, server.url("/")).expect_err("is not listed");
        assert!(matches!(error, HttpError::Forbidden(_)), "{allowed:?}: {error:?}");
    }
    assert_eq!(server.asked(), 0);
    assert!(get(&["localhost"], server.url("/")).is_ok());
}

#[test]
fn a_redirect_is_checked_like_a_request() {
    let target = Server::start(|_, _, stream| reply(stream, "200 OK", "secret"));
    let (port, elsewhere) = (target.port, format!("http://localhost:{}/", target.port));
    let server = Server::start(move |head, _, stream| {
        let to = match head.split(' ').nth(1) {
            Some("/name") => elsewhere.clone(),
            Some("/address") => format!("http://127.0.0.1:{port}/"),
            Some("/file") => "file:///etc/passwd".to_owned(),
            _ => "/again".to_owned(),
        };
        reply(stream, &format!("302 Found\r\nlocation: {to}"), "");
    });
    let own = format!("127.0.0.1:{}", server.port);
    for path in ["/name", "/address"] {
        let error = get(&[&own], server.url(path)).expect_err("leads out");
        assert!(matches!(error, HttpError::Forbidden(_)), "{path}: {error:?}");
    }
    assert_eq!(target.asked(), 0);
    // Other schemes are not followed.
    assert_eq!(get(&[&own], server.url("/file")).expect("is answered").status, 302);
    assert!(matches!(get(&[&own], server.url("/circle")), Err(HttpError::Connection(_))));
    assert_eq!(get(&["127.0.0.1"], server.url("/address")).expect("is listed").body, b"secret");
}

#[test]
fn a_name_with_a_private_address_is_rejected() {
    let server = Server::start(|_, _, stream| reply(stream, "200 OK", "private"));
    let answers = |address: [u8; 4], allowed: &[&str]| {
        let names = Arc::new(move |_: &str| Ok(vec![IpAddr::from(address)]));
        let client = HttpClient::with_resolver(AllowedHosts::parse(allowed).expect("are hosts"), names);
        ask(&client, HttpRequest::new("GET", format!("http://api.example.com:{}/", server.port)))
    };
    for address in [[127, 0, 0, 1], [10, 0, 0, 1], [169, 254, 169, 254]] {
        let error = answers(address, &["api.example.com", "localhost"]).expect_err("is private");
        assert!(matches!(error, HttpError::Forbidden(_)), "{error:?}");
    }
    assert_eq!(server.asked(), 0);
    let listed = answers([127, 0, 0, 1], &["api.example.com", "127.0.0.1"]).expect("both are listed");
    assert_eq!(listed.body, b"private");
}

#[test]
fn one_private_address_rejects_the_name() {
    let names = Arc::new(|_: &str| Ok(vec![IpAddr::from([93, 184, 216, 34]), IpAddr::from([127, 0, 0, 1])]));
    let client = HttpClient::with_resolver(AllowedHosts::parse(["*"]).expect("is a list"), names);
    let error = ask(&client, HttpRequest::new("GET", "http://api.example.com/")).expect_err("is spoiled");
    assert!(matches!(error, HttpError::Forbidden(_)), "{error:?}");
}

#[test]
fn an_endless_response_is_ended_by_time_or_size() {
    let flood = Server::start(|_, _, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let request = HttpRequest { max_bytes: 100_000, ..HttpRequest::new("GET", flood.url("/")) };
    assert_eq!(ask(&client(&["127.0.0.1"]), request), Err(HttpError::TooLarge(100_000)));
    let silent = Server::start(|_, _, stream| {
        let _ = stream.read(&mut [0]);
    });
    let time = Duration::from_millis(50);
    let request = HttpRequest { timeout: time, ..HttpRequest::new("GET", silent.url("/")) };
    assert_eq!(ask(&client(&["127.0.0.1"]), request), Err(HttpError::Timeout(time)));
}

#[test]
fn an_invalid_request_is_rejected() {
    let wrong =
        |request: HttpRequest| matches!(ask(&client(&["127.0.0.1"]), request), Err(HttpError::Invalid(_)));
    assert!(wrong(HttpRequest::new("GET", "nowhere")));
    assert!(wrong(HttpRequest::new("G T", "http://127.0.0.1/")));
    assert!(wrong(HttpRequest::new("CONNECT", "http://127.0.0.1/")));
    assert!(wrong(HttpRequest::new("GET", "file:///etc/passwd")));
    for (name, value) in [("Host", "internal"), ("a b", "c"), ("a", "b\r\nc: d"), ("Content-Length", "5")] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        assert!(wrong(HttpRequest { headers, ..HttpRequest::new("GET", "http://127.0.0.1/") }), "{name}");
    }
}

#[test]
fn a_missing_server_is_a_connection_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    let port = listener.local_addr().expect("has an address").port();
    drop(listener);
    let error = get(&["127.0.0.1"], format!("http://127.0.0.1:{port}/")).expect_err("nobody listens");
    assert!(matches!(error, HttpError::Connection(_)), "{error:?}");
}

#[test]
fn dropping_the_future_cancels_the_request() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = Server::start(move |_, _, stream| {
        // Returns when the peer is gone.
        let _ = stream.read(&mut [0]);
        let _ = sender.send(());
    });
    let client = client(&["127.0.0.1"]);
    let mut request = Box::pin(client.send_request(HttpRequest {
        timeout: Duration::from_secs(600),
        ..HttpRequest::new("GET", server.url("/"))
    }));
    let mut cx = Context::from_waker(Waker::noop());
    while server.asked() == 0 {
        assert!(request.as_mut().poll(&mut cx).is_pending());
        thread::yield_now();
    }
    drop(request);
    receiver.recv().expect("the server hears it");
}

//! `http_request`: hooks have no network, and the engine sends requests to listed hosts for them.
#![cfg(feature = "http")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use hinagata_python::{HookOptions, HookPool};
use serde_json::{Value, json};

use crate::support::{Ask, options};

/// A local server that echoes requests, except for some paths.
fn server() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    let port = listener.local_addr().expect("has an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("can be read"));
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("is a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("has a body");
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path == "/silent" {
        // Until the peer disconnects.
        let _ = stream.read(&mut [0]);
        return;
    }
    let more = if path == "/away" { "location: http://192.168.0.1/\r\n" } else { "" };
    let status = if path == "/away" { "302 Found" } else { "200 OK" };
    let text = format!("{}{}", head.lines().next().unwrap_or_default(), String::from_utf8_lossy(&body));
    let length = text.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{more}x-own: yes\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
}

/// The result of a hook that makes the request `call`.
fn ask(hosts: &[&str], call: &str) -> Value {
    let source = format!(
        "async def pre_render(variables, context):\n    \
         http_request = context['http_request']\n    \
         try:\n        return await {call}\n    \
         except Exception as error:\n        \
         return {{'raised': type(error).__name__, 'message': str(error)}}\n"
    );
    let allowed_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let pool =
        HookPool::new(HookOptions { allowed_hosts, http_timeout: Duration::from_secs(20), ..options() });
    Ask::new(&source).permissions(&["http_request"]).pre_render(&pool).expect("runs")
}

#[test]
fn a_hook_can_reach_a_listed_host() {
    let url = format!("http://127.0.0.1:{}/path", server());
    let got = ask(
        &["127.0.0.1"],
        &format!("http_request('POST', '{url}', json={{'a': [1, 'é']}}, headers={{'X-A': 'b'}})"),
    );
    assert_eq!((&got["status"], &got["headers"]["x-own"]), (&json!(200), &json!("yes")));
    assert_eq!(got["body"], "POST /path HTTP/1.1{\"a\":[1,\"é\"]}");
    let got = ask(&["127.0.0.1"], &format!("http_request('PUT', '{url}', body=b'plain', timeout=15)"));
    assert_eq!(got["body"], "PUT /path HTTP/1.1plain");
}

#[test]
fn an_unlisted_host_is_a_permission_error() {
    let port = server();
    for (hosts, url) in [
        (&[][..], format!("http://127.0.0.1:{port}/")),
        (&["example.com", "*"], format!("http://127.0.0.1:{port}/")),
        (&["127.0.0.1"], format!("http://127.0.0.1:{port}/away")),
        (&["127.0.0.1"], "http://169.254.169.254/latest".to_owned()),
    ] {
        let got = ask(hosts, &format!("http_request('GET', '{url}')"));
        assert_eq!(got["raised"], "PermissionError", "{url}: {got}");
        assert!(
            got["message"].as_str().is_some_and(|message| message.contains("hooks.allowed_hosts")),
            "{got}"
        );
    }
}

#[test]
fn each_failure_raises_a_matching_exception() {
    let port = server();
    for (call, exception) in [
        (format!("http_request('GET', 'http://127.0.0.1:{port}/silent', timeout=0.05)"), "TimeoutError"),
        ("http_request('GET', 'nowhere')".to_owned(), "ValueError"),
        (format!("http_request('GET', 'http://127.0.0.1:{port}/', headers={{'Host': 'x'}})"), "ValueError"),
        (format!("http_request('GET', 'http://127.0.0.1:{port}/', timeout=-1)"), "ValueError"),
        ("http_request('GET', 'http://127.0.0.1:1/')".to_owned(), "ConnectionError"),
        (format!("http_request('GET', 'http://127.0.0.1:{port}/', body='a', json=1)"), "TypeError"),
    ] {
        let got = ask(&["127.0.0.1"], &call);
        assert_eq!(got["raised"], exception, "{call}: {got}");
    }
}

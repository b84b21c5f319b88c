//! The log of a store: one line for each change of its condition, without values and passwords.

use std::{
    io,
    sync::{Mutex, OnceLock, PoisonError},
};

use crate::support::{Server, free_port, options, wait_for};
use hinagata::Reason;
use hinagata_store::RedisStore;

/// Everything that was logged in this process.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct LogWriter;

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn start_log() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        tracing_subscriber::fmt().with_ansi(false).with_writer(|| LogWriter).init();
    });
}

/// The lines about the store at a TCP port.
fn lines(port: u16) -> Vec<String> {
    let log = String::from_utf8_lossy(&LOG.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    let address = format!("127.0.0.1:{port}");
    log.lines().filter(|line| line.contains(&address)).map(str::to_owned).collect()
}

/// Checks that the lines contain these texts, one each, in this order.
fn assert_lines(port: u16, wanted: &[&str]) {
    let lines = lines(port);
    assert_eq!(lines.len(), wanted.len(), "{lines:#?}");
    for (line, wanted) in lines.iter().zip(wanted) {
        assert!(line.contains(wanted), "`{wanted}` is not in {line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
}

#[test]
fn every_change_of_a_server_is_one_line() {
    start_log();
    let port = free_port();
    let url = format!("redis://:hunter2@127.0.0.1:{port}");
    let store = RedisStore::open(&url, options()).expect("an address");
    let mut server = Server::start_at(port, &["--requirepass", "other"]);
    wait_for(&store, "the refusal", |snapshot| snapshot.health.reason() == Some(Reason::Password));
    let login = ["-a", "other", "--no-auth-warning"];
    let cli = |arguments: &[&str]| server.cli(&[&login[..], arguments].concat());
    cli(&["SET", "shenma:environs:a", "1"]);
    cli(&["SET", "shenma:environs:b", "\"hunter2"]);
    cli(&["CONFIG", "SET", "requirepass", "hunter2"]);
    wait_for(&store, "the connection", |snapshot| snapshot.health.is_up());
    server.kill();
    wait_for(&store, "the outage", |snapshot| !snapshot.health.is_up());
    server = Server::start_at(port, &["--requirepass", "hunter2"]);
    wait_for(&store, "the emptiness", |snapshot| snapshot.health.reason() == Some(Reason::Emptied));
    server.cli(&["-a", "hunter2", "--no-auth-warning", "SET", "shenma:environs:b", "1"]);
    wait_for(&store, "the recovery", |snapshot| snapshot.health.is_up());
    drop(store);
    assert_lines(
        port,
        &[
            "store unavailable",
            "store refused the password",
            "store connected",
            "key=shenma:environs:b reason=\"invalid JSON",
            "store lost",
            "store emptied",
            "store has documents again",
            "document is valid again or gone",
            "store stopped",
        ],
    );
    let lines = lines(port);
    assert!(
        lines[0].contains("reason=\"unreachable\"") && lines[1].contains("reason=\"password\""),
        "{lines:?}"
    );
}

#[test]
fn many_invalid_documents_are_a_few_lines() {
    start_log();
    let server = Server::start(&[]);
    let mut command = vec!["MSET".to_owned()];
    for number in 0..200 {
        command.extend([format!("shenma:environs:n{number}"), "hunter2".to_owned()]);
    }
    server.cli(&command.iter().map(String::as_str).collect::<Vec<_>>());
    drop(RedisStore::open(&server.url(), options()).expect("an address"));
    let lines = lines(server.port);
    assert!(lines.len() < 30 && lines.iter().any(|line| line.contains("more documents")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:#?}");
}

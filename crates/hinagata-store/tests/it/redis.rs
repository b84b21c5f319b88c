//! A real Redis: shared, killed, slow, flushed, old, encrypted, clustered.

use std::{fs, process::Command, sync::Arc, time::Duration};

use crate::support::{LONG, Server, cli, free_port, nowhere, open, options, wait_for};
use hinagata::{
    Code, Engine, Reason, Request, Result,
    ports::Store,
    store::{Freshness, StoreChange, StoreKind, StoreSnapshot},
};
use hinagata_store::{RedisOptions, RedisStore};
use serde_json::{Value, json};

fn engine(store: &Arc<RedisStore>) -> Engine {
    Engine::builder(nowhere()).with_store(Arc::<RedisStore>::clone(store)).open()
}

fn text(engine: &Engine, prompt: &str) -> Result<String> {
    engine.render_blocking(&Request::new(prompt)).map(hinagata::Rendered::into_text)
}

fn environ(id: &str, value: Value) -> Vec<StoreChange> {
    vec![StoreChange::set(StoreKind::Environ, id, value)]
}

/// Waits until the environ `id` is `value`.
fn wait_for_environ(store: &dyn Store, id: &str, value: &Value) {
    wait_for(store, &format!("{id} = {value}"), |snapshot| {
        snapshot.environs.get(id).is_some_and(|stored| *stored.value == *value)
    });
}

#[test]
fn a_change_through_one_store_is_visible_in_another() {
    let server = Server::start(&[]);
    let (one, other) = (open(&server), open(&server));
    let (first, second) = (engine(&one), engine(&other));
    assert_eq!(one.snapshot().health.freshness, Freshness::Tracked);

    let template = StoreChange::set(StoreKind::Template, "t", json!({"prompt": "{{.a.b}} {{.c}}"}));
    first.write_store_blocking(vec![template]).expect("written");
    first.write_store_blocking(environ("a.b", json!(1))).expect("written");
    first.write_store_blocking(environ("c", json!("x"))).expect("written");
    assert_eq!(text(&first, "t").expect("at once where it was written"), "1 x");
    wait_for_environ(&*other, "c", &json!("x"));
    assert_eq!(text(&second, "t").expect("and soon elsewhere"), "1 x");

    // Other programs write too.
    server.set("shenma:environs:a:b", "2");
    wait_for_environ(&*one, "a.b", &json!(2));
    wait_for_environ(&*other, "a.b", &json!(2));
    server.cli(&["DEL", "shenma:environs:c"]);
    wait_for(&*other, "c is gone", |snapshot| !snapshot.environs.contains_key("c"));
    server.cli(&["RENAME", "shenma:environs:a:b", "shenma:environs:a:z"]);
    wait_for(&*other, "a.b is a.z", |snapshot| {
        snapshot.environs.contains_key("a.z") && !snapshot.environs.contains_key("a.b")
    });
    second.write_store_blocking(vec![StoreChange::delete(StoreKind::Template, "t")]).expect("written");
    wait_for(&*one, "t is gone", |snapshot| snapshot.templates.is_empty());
    assert_eq!(text(&first, "t").expect_err("gone").code(), Code::NotFound);
}

#[test]
fn renders_continue_during_an_outage_and_after_it() {
    let mut server = Server::start(&[]);
    server.set("shenma:templates:t", r#"{"prompt": "{{.a}}"}"#);
    server.set("shenma:environs:a", "1");
    let store = open(&server);
    let engine = engine(&store);
    assert_eq!(text(&engine, "t").expect("fine"), "1");

    server.kill();
    wait_for(&*store, "the outage", |snapshot| !snapshot.health.is_up());
    assert_eq!(text(&engine, "t").expect("the last state serves"), "1");
    let error = engine.write_store_blocking(environ("a", json!(2))).expect_err("nobody is there");
    assert_eq!(error.code(), Code::Store);

    // It comes back without its data: the last state of each kind is kept until it has documents again.
    server.run();
    wait_for(&*store, "the emptiness", |snapshot| {
        snapshot.health.outage.as_ref().is_some_and(|(_, error)| error.reason() == Some(Reason::Emptied))
    });
    assert_eq!(text(&engine, "t").expect("the last state serves"), "1");
    server.set("shenma:templates:t", r#"{"prompt": "again {{.a}}"}"#);
    let again = |snapshot: &StoreSnapshot| snapshot.templates["t"].value["prompt"] == "again {{.a}}";
    wait_for(&*store, "the template", again);
    assert_eq!(text(&engine, "t").expect("the last environ serves"), "again 1");
    engine.write_store_blocking(environ("a", json!(2))).expect("written");
    assert!(store.snapshot().health.is_up(), "{:?}", store.snapshot().health);
    assert_eq!(text(&engine, "t").expect("fine"), "again 2");
}

#[test]
fn one_document_after_a_flush_replaces_only_its_kind() {
    let server = Server::start(&[]);
    server.set("shenma:templates:s", r#"{"prompt": "{{.a}} {{template \"t\" .}}"}"#);
    server.set("shenma:templates:t", r#"{"prompt": "text"}"#);
    server.set("shenma:environs:a", "1");
    server.set("shenma:environs:b", "1");
    let store = open(&server);
    let engine = engine(&store);
    server.cli(&["FLUSHALL"]);
    wait_for(&*store, "the emptiness", |snapshot| snapshot.health.reason() == Some(Reason::Emptied));
    engine.write_store_blocking(environ("a", json!(2))).expect("written");
    assert_eq!(text(&engine, "s").expect("the prompts are still there"), "2 text");
    let snapshot = store.snapshot();
    assert_eq!(*snapshot.tree, json!({"a": 2}), "the environs are those of the server");
    let (_, error) = snapshot.health.outage.clone().expect("the templates are lost");
    assert_eq!((error.reason(), &error.details()["kinds"]), (Some(Reason::Emptied), &json!(["templates"])));
    // Changes of other kinds are seen, and a deleted document of a lost kind is not served.
    server.set("shenma:environs:c", "3");
    wait_for_environ(&*store, "c", &json!(3));
    engine.write_store_blocking(vec![StoreChange::delete(StoreKind::Template, "s")]).expect("written");
    assert_eq!(text(&engine, "s").expect_err("deleted").code(), Code::NotFound);
    assert_eq!(text(&engine, "t").expect("serves"), "text");
    server.set("shenma:templates:u", r#"{"prompt": "new"}"#);
    let snapshot = wait_for(&*store, "the recovery", |snapshot| snapshot.health.is_up());
    assert_eq!(snapshot.templates.keys().map(|id| &**id).collect::<Vec<_>>(), ["u"]);
}

#[test]
fn a_server_that_comes_back_with_one_document_does_not_discard_prompts() {
    let mut server = Server::start(&[]);
    server.set("shenma:templates:s", r#"{"prompt": "one"}"#);
    server.set("shenma:templates:t", r#"{"prompt": "two"}"#);
    server.set("shenma:environs:a", "1");
    let store = open(&server);
    server.kill();
    wait_for(&*store, "the outage", |snapshot| !snapshot.health.is_up());
    server.run();
    server.set("shenma:environs:a", "2");
    wait_for_environ(&*store, "a", &json!(2));
    let snapshot = wait_for(&*store, "the emptiness", |snapshot| {
        snapshot
            .health
            .outage
            .as_ref()
            .is_some_and(|(_, error)| error.details().get("kinds") == Some(&json!(["templates"])))
    });
    assert_eq!(snapshot.templates.len(), 2);
}

#[test]
fn an_outage_has_a_reason() {
    let server = Server::start(&["--requirepass", "secret"]);
    let reason_at = |url: &str| {
        let store = RedisStore::open(url, options()).expect("an address");
        let (_, error) = store.snapshot().health.outage.clone().expect("it cannot be read");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        error.reason()
    };
    let port = server.port;
    assert_eq!(reason_at(&format!("redis://:hunter2@127.0.0.1:{port}")), Some(Reason::Password));
    assert_eq!(reason_at(&format!("redis://127.0.0.1:{port}")), Some(Reason::Password));
    let login = ["-a", "secret", "--no-auth-warning"];
    let user = ["ACL", "SETUSER", "blind", "on", ">hunter2", "~shenma:*", "+@all", "-scan"];
    assert_eq!(server.cli(&[&login[..], &user].concat()), "OK");
    assert_eq!(reason_at(&format!("redis://blind:hunter2@127.0.0.1:{port}")), Some(Reason::Refused));
    assert_eq!(reason_at(&format!("redis://:hunter2@127.0.0.1:{}", free_port())), Some(Reason::Unreachable));
    let store =
        RedisStore::open(&format!("redis://:secret@127.0.0.1:{port}"), options()).expect("an address");
    assert_eq!(store.snapshot().health.reason(), None);
}

#[test]
fn a_user_with_the_documented_commands_reads_writes_and_is_notified() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/store.md"));
    let page = page.expect("is there");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER")).expect("shows how");
    let server = Server::start(&[]);
    assert_eq!(server.cli(&line.split(' ').collect::<Vec<_>>()), "OK", "{line}");
    let url = format!("redis://hinagata:password@127.0.0.1:{}", server.port);
    let store = Arc::new(RedisStore::open(&url, options()).expect("an address"));
    assert_eq!(store.snapshot().health.freshness, Freshness::Tracked, "{:?}", store.snapshot().health);
    engine(&store).write_store_blocking(environ("a", json!(1))).expect("written");
    server.set("shenma:environs:a", "2");
    wait_for_environ(&*store, "a", &json!(2));
    engine(&store).write_store_blocking(vec![StoreChange::delete(StoreKind::Environ, "a")]).expect("written");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn without_the_command_type_a_key_of_another_type_does_not_hide_the_others() {
    let server = Server::start(&[]);
    server.set("shenma:environs:a", "1");
    server.cli(&["HSET", "shenma:templates:hash", "field", "value"]);
    server.cli(&["ACL", "SETUSER", "simple", "on", ">secret", "~shenma:*", "&*", "+@all", "-type"]);
    let url = format!("redis://simple:secret@127.0.0.1:{}", server.port);
    let store = RedisStore::open(&url, options()).expect("an address");
    let snapshot = store.snapshot();
    assert!(snapshot.health.is_up(), "{:?}", snapshot.health);
    assert_eq!(*snapshot.tree, json!({"a": 1}));
    let [found] = snapshot.diagnostics.as_slice() else { panic!("{:?}", snapshot.diagnostics) };
    assert_eq!(found.source, "store:shenma:templates:hash");
    // A deletion is still a deletion.
    server.cli(&["DEL", "shenma:environs:a"]);
    wait_for(&store, "a is gone", |snapshot| snapshot.environs.is_empty());
}

#[test]
fn a_flushed_server_keeps_the_last_state_and_is_reported() {
    let server = Server::start(&[]);
    server.set("shenma:environs:a", "1");
    let store = open(&server);
    server.cli(&["FLUSHALL"]);
    let snapshot = wait_for(&*store, "the emptiness", |snapshot| !snapshot.health.is_up());
    assert_eq!(*snapshot.environs["a"].value, json!(1));
    // After the next write, this kind is read from the server again, without the lost documents.
    server.set("shenma:environs:b", "2");
    let snapshot = wait_for(&*store, "the new state", |snapshot| snapshot.health.is_up());
    assert_eq!(*snapshot.tree, json!({"b": 2}));
    // Deleting the last document is intended.
    server.cli(&["DEL", "shenma:environs:b"]);
    let snapshot = wait_for(&*store, "nothing", |snapshot| snapshot.environs.is_empty());
    assert!(snapshot.health.is_up());
}

#[test]
fn invalid_values_are_reported_and_the_last_valid_one_is_used() {
    let server = Server::start(&[]);
    server.set("shenma:environs:a", "1");
    server.set("shenma:environs:b", "not json");
    server.cli(&["HSET", "shenma:templates:hash", "field", "value"]);
    let store = open(&server);
    let faults = |snapshot: &hinagata::store::StoreSnapshot| {
        snapshot.diagnostics.iter().map(|found| found.source.clone()).collect::<Vec<_>>()
    };
    assert_eq!(faults(&store.snapshot()), ["store:shenma:templates:hash", "store:shenma:environs:b"]);
    server.cli(&["DEL", "shenma:environs:a"]);
    server.cli(&["RPUSH", "shenma:environs:a", "1"]);
    wait_for(&*store, "a is gone or a list", |snapshot| {
        snapshot.environs.get("a").is_none_or(|stored| stored.stale.is_some())
    });
    server.set("shenma:environs:a", "3");
    wait_for_environ(&*store, "a", &json!(3));
    server.set("shenma:environs:a", "{broken");
    let snapshot = wait_for(&*store, "a is bad", |snapshot| snapshot.environs["a"].stale.is_some());
    assert_eq!(*snapshot.environs["a"].value, json!(3));
    server.set("shenma:environs:a", "4");
    server.set("shenma:environs:b", "\"json\"");
    server.cli(&["DEL", "shenma:templates:hash"]);
    wait_for_environ(&*store, "b", &json!("json"));
    wait_for(&*store, "all is well", |snapshot| snapshot.diagnostics.is_empty());
}

#[test]
fn a_hanging_server_blocks_no_reader() {
    let server = Server::start(&[]);
    server.set("shenma:templates:t", r#"{"prompt": "text"}"#);
    let patient = RedisOptions {
        timeout: Duration::from_millis(200),
        heartbeat_interval: Duration::from_millis(50),
        ..options()
    };
    let store = Arc::new(RedisStore::open(&server.url(), patient).expect("an address"));
    let engine = engine(&store);
    server.signal("-STOP");
    wait_for(&*store, "the outage", |snapshot| !snapshot.health.is_up());
    assert_eq!(text(&engine, "t").expect("the last state serves"), "text");
    server.signal("-CONT");
    wait_for(&*store, "the recovery", |snapshot| snapshot.health.is_up());
}

#[test]
fn opening_succeeds_without_a_server() {
    let port = free_port();
    let store =
        RedisStore::open(&format!("redis://:secret@127.0.0.1:{port}"), options()).expect("an address");
    let (_, error) = store.snapshot().health.outage.clone().expect("nobody is there");
    assert!(!error.to_string().contains("secret") && !format!("{store:?}").contains("secret"), "{error}");
    let server = Server::start_at(port, &["--requirepass", "secret"]);
    wait_for(&store, "the recovery", |snapshot| snapshot.health.is_up());
    let write = vec![StoreChange::set(StoreKind::Environ, "a", json!(1))];
    Engine::builder(nowhere())
        .with_store(Arc::new(store))
        .open()
        .write_store_blocking(write)
        .expect("written");
    assert_eq!(cli(server.port, &["-a", "secret", "--no-auth-warning", "GET", "shenma:environs:a"]), "1");
}

#[test]
fn without_tracking_keyspace_events_or_polling_are_used() {
    let server = Server::start(&["--notify-keyspace-events", "KA"]);
    let allow = |name: &str, rules: &[&str]| {
        let start = ["ACL", "SETUSER", name, "on", ">secret", "~shenma:*", "&*", "+@all"];
        assert_eq!(server.cli(&[&start[..], rules].concat()), "OK");
    };
    allow("listener", &["-client|tracking"]);
    allow("reader", &["-client|tracking", "-config"]);
    let as_user = |name: &str| format!("redis://{name}:secret@127.0.0.1:{}", server.port);
    let listener = RedisStore::open(&as_user("listener"), options()).expect("an address");
    assert_eq!(listener.snapshot().health.freshness, Freshness::Notified);
    let often = RedisOptions { poll_interval: Duration::from_millis(20), ..options() };
    let reader = RedisStore::open(&as_user("reader"), often).expect("an address");
    assert_eq!(reader.snapshot().health.freshness, Freshness::Polled);
    server.set("shenma:environs:a", "1");
    wait_for_environ(&listener, "a", &json!(1));
    wait_for_environ(&reader, "a", &json!(1));
}

#[test]
fn a_refused_write_is_reported() {
    let server = Server::start(&[]);
    server.cli(&["ACL", "SETUSER", "reader", "on", ">secret", "~shenma:*", "+@all", "-set"]);
    let url = format!("redis://reader:secret@127.0.0.1:{}", server.port);
    let store = Arc::new(RedisStore::open(&url, options()).expect("an address"));
    let error = engine(&store).write_store_blocking(environ("a", json!(1))).expect_err("forbidden");
    assert_eq!((error.code(), error.reason()), (Code::Store, Some(Reason::Refused)), "{error}");
    assert!(store.snapshot().health.is_up(), "reading goes on");
}

#[test]
fn lost_notifications_are_recovered_by_the_periodic_check() {
    let server = Server::start(&["--notify-keyspace-events", "KA"]);
    server.cli(&["ACL", "SETUSER", "listener", "on", ">secret", "~*", "&*", "+@all", "-client|tracking"]);
    let watchful = RedisOptions { check_interval: Duration::from_millis(20), ..options() };
    let url = format!("redis://listener:secret@127.0.0.1:{}", server.port);
    let store = RedisStore::open(&url, watchful).expect("an address");
    assert_eq!(store.snapshot().health.freshness, Freshness::Notified);
    // From now on, the server sends no notifications.
    server.cli(&["CONFIG", "SET", "notify-keyspace-events", ""]);
    server.set("shenma:environs:a", "1");
    wait_for_environ(&store, "a", &json!(1));
}

#[test]
fn connections_use_tls_and_verify_certificates() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| place.path().join(name).to_str().expect("is text").to_owned();
    let openssl = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(place.path()).output();
        assert!(done.expect("openssl runs").status.success(), "{arguments:?}");
    };
    openssl(&[
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj",
        "/CN=test",
    ]);
    openssl(&[
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "request.pem",
        "-subj",
        "/CN=localhost",
    ]);
    fs::write(place.path().join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").expect("written");
    openssl(&[
        "x509",
        "-req",
        "-in",
        "request.pem",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-extfile",
        "names",
        "-out",
        "cert.pem",
    ]);
    let port = free_port();
    let (cert, key, ca) = (file("cert.pem"), file("key.pem"), file("ca.pem"));
    let arguments = [
        "--port",
        "0",
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &ca,
    ]
    .map(str::to_owned);
    let _server = Server::start_at(port, &arguments.each_ref().map(String::as_str));
    let url = format!("rediss://localhost:{port}");
    let trusting = RedisOptions { certificates: Some(file("ca.pem").into()), ..options() };
    let store = Arc::new(RedisStore::open(&url, trusting).expect("an address"));
    engine(&store).write_store_blocking(environ("a", json!(1))).expect("written");
    assert_eq!(store.snapshot().health.freshness, Freshness::Tracked);

    // Without the authority, the certificate is rejected.
    let store = RedisStore::open(&url, options()).expect("an address");
    assert!(!store.snapshot().health.is_up());
}

#[test]
fn a_cluster_is_one_store() {
    let ports = [free_port(), free_port(), free_port()];
    let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
    let servers: Vec<Server> = ports.iter().map(|port| Server::start_at(*port, &arguments)).collect();
    let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut create = vec!["--cluster", "create"];
    create.extend(addresses.iter().map(String::as_str));
    create.extend(["--cluster-replicas", "0", "--cluster-yes"]);
    cli(ports[0], &create);
    for server in &servers {
        wait_until_joined(server);
    }
    let store = Arc::new(
        RedisStore::open(&format!("redis://{}", addresses.join(",")), options()).expect("an address"),
    );
    assert_eq!(store.snapshot().health.freshness, Freshness::Tracked, "{:?}", store.snapshot().health);
    let engine = engine(&store);
    let changes =
        (0..100).map(|number| StoreChange::set(StoreKind::Environ, format!("n.v{number}"), json!(number)));
    engine.write_store_blocking(changes.collect()).expect("written");
    let template = StoreChange::set(StoreKind::Template, "t", json!({"prompt": "{{.n.v7}} {{.n.v99}}"}));
    engine.write_store_blocking(vec![template]).expect("written");
    assert_eq!(text(&engine, "t").expect("fine"), "7 99");
    let counts: Vec<usize> =
        servers.iter().map(|server| server.cli(&["DBSIZE"]).parse().expect("a number")).collect();
    assert!(counts.iter().all(|count| *count > 0) && counts.iter().sum::<usize>() == 101, "{counts:?}");

    // Another store reads everything, and is notified of changes on every server.
    let other = RedisStore::open(&format!("redis://{}", addresses[1]), options()).expect("an address");
    assert_eq!(other.snapshot().environs.len(), 100);
    for number in 0..100 {
        assert_eq!(cli(ports[0], &["-c", "SET", &format!("shenma:environs:n:v{number}"), "0"]), "OK");
    }
    for store in [&*store as &dyn Store, &other] {
        wait_for(store, "all are 0", |snapshot| {
            snapshot.environs.values().all(|stored| *stored.value == json!(0))
        });
    }
}

/// Waits until a server of a cluster is ready, by polling, because it sends no notification.
fn wait_until_joined(server: &Server) {
    let deadline = std::time::Instant::now() + LONG;
    while !server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
        assert!(std::time::Instant::now() < deadline, "the cluster never gets ready");
        std::thread::yield_now();
    }
}

#[test]
fn sentinels_locate_the_server() {
    let server = Server::start(&[]);
    server.set("shenma:environs:a", "1");
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("sentinel.conf");
    fs::write(&file, format!("sentinel monitor main 127.0.0.1 {} 1\n", server.port)).expect("written");
    let sentinel = Server::start(&[file.to_str().expect("is text"), "--sentinel"]);
    let url = format!("redis+sentinel://127.0.0.1:{}/main", sentinel.port);
    let store = RedisStore::open(&url, options()).expect("an address");
    assert_eq!(*store.snapshot().tree, json!({"a": 1}), "{:?}", store.snapshot().health);
    let store = RedisStore::open(&url.replace("main", "other"), options()).expect("an address");
    assert!(!store.snapshot().health.is_up());
}

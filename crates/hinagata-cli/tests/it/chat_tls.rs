//! `hina chat` with a provider that has TLS: the certificates that a process trusts come from its environment.

use std::{fs, net::TcpListener, path::Path, process::Command, thread};

use fake_provider::{ANSWER, FakeProvider, FakeProxy, Reply};

/// A host of no machine, which only a proxy leads to.
const HOST: &str = "model.example";

struct Stage {
    place: tempfile::TempDir,
    provider: FakeProvider,
}

impl Stage {
    /// A workspace, and a provider whose certificate is for `host`.
    fn new(host: &str) -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let provider = FakeProvider::start_tls(host);
        let prompt = place.path().join("user_data/shared/prompts/p");
        fs::create_dir_all(&prompt).expect("made");
        fs::write(prompt.join("template.md"), "Hello").expect("written");
        fs::write(place.path().join("hinagata.toml"), "").expect("written");
        let certificate = provider.certificate().expect("has one");
        fs::write(place.path().join("trusted.pem"), certificate).expect("written");
        Self { place, provider }
    }

    /// `hina chat` with the model, which trusts the provider.
    fn chat(&self) -> Command {
        let root: &Path = self.place.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
        command.current_dir(root).args(["chat", "p", "--model", "m"]);
        command.env("HINAGATA_STATE", root.join("state")).env("XDG_CONFIG_HOME", root.join("config"));
        command.env("HINAGATA_LLM_RETRIES", "").env("SSL_CERT_FILE", root.join("trusted.pem"));
        command.env("OPENAI_BASE_URL", self.provider.base_url()).env("OPENAI_API_KEY", "sk-secret-1");
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
            command.env_remove(name);
        }
        command
    }
}

/// What a command prints, and what it reports.
fn run(command: &mut Command) -> (String, String) {
    let output = command.output().expect("hina runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_provider_with_tls_is_asked_over_http2() {
    let stage = Stage::new("localhost");
    for arguments in [&[][..], &["--no-stream"]] {
        assert_eq!(run(stage.chat().args(arguments)), (ANSWER.to_owned(), String::new()), "{arguments:?}");
    }
    let received = stage.provider.received();
    assert!(received.len() == 2 && received.iter().all(|one| one.is_http2), "{received:?}");
}

#[test]
fn a_certificate_that_nobody_trusts_is_refused() {
    let (stage, other) = (Stage::new("localhost"), Stage::new("localhost"));
    let (text, talk) = run(stage.chat().env("SSL_CERT_FILE", other.place.path().join("trusted.pem")));
    assert_eq!(text, "");
    assert!(talk.contains("cannot connect to `openai`") && talk.contains("certificate"), "{talk}");
    let wrong_host = Stage::new(HOST);
    let address = format!("https://localhost:{}/v1", wrong_host.provider.address().port());
    let (_, talk) = run(wrong_host.chat().env("OPENAI_BASE_URL", address));
    assert!(talk.contains("certificate") && talk.contains("cannot connect"), "{talk}");
    assert!(stage.provider.received().is_empty() && wrong_host.provider.received().is_empty());
}

#[test]
fn a_proxy_opens_a_tunnel_and_sees_no_request() {
    let stage = Stage::new(HOST);
    let proxy = FakeProxy::start(Some(stage.provider.address()));
    let address = format!("http://me:pass@{}", proxy.address());
    let (text, talk) = run(stage.chat().env("HTTPS_PROXY", address));
    assert_eq!((text.as_str(), talk.as_str()), (ANSWER, ""));
    assert!(stage.provider.received()[0].is_http2, "also through the tunnel");
    let requests = proxy.requests();
    assert_eq!(requests.len(), 1);
    let port = stage.provider.address().port();
    assert!(requests[0].starts_with(&format!("CONNECT {HOST}:{port} HTTP/1.1\r\n")), "{requests:?}");
    let head = requests[0].to_lowercase();
    assert!(
        head.contains("proxy-authorization: basic bwu6cgfzcw==") && head.contains("user-agent: hinagata/")
    );
    assert!(!head.contains("sk-secret-1"));
    assert!(stage.provider.received()[0].header("proxy-authorization").is_none());
}

#[test]
fn a_connection_that_is_not_open_in_time_is_given_up() {
    let stage = Stage::new(HOST);
    let proxy = FakeProxy::start(None);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("https://localhost:{}/v1", listener.local_addr().expect("has one").port());
    let accepting = thread::spawn(move || listener.accept().expect("a client"));
    let mut no_tunnel = stage.chat();
    no_tunnel.env("HTTPS_PROXY", format!("http://{}", proxy.address()));
    let mut no_handshake = stage.chat();
    no_handshake.env("OPENAI_BASE_URL", silent);
    for mut command in [no_tunnel, no_handshake] {
        let (_, talk) = run(command.env("HINAGATA_LLM_CONNECT_TIMEOUT", "50ms"));
        assert!(talk.contains("no connection within 50ms; `llm.connect_timeout` sets the limit"), "{talk}");
    }
    drop(accepting.join());
}

#[test]
fn a_request_that_the_provider_did_not_take_is_sent_again_once() {
    let stage = Stage::new("localhost");
    stage.provider.reply(Reply::Refuse);
    assert_eq!(run(&mut stage.chat()), (ANSWER.to_owned(), String::new()));
    assert_eq!((stage.provider.received().len(), stage.provider.connections()), (2, 2));
    stage.provider.reply(Reply::Refuse).reply(Reply::Refuse);
    let (_, talk) = run(&mut stage.chat());
    assert!(talk.contains("the connection to `openai`") && talk.contains("failed"), "{talk}");
    assert_eq!(stage.provider.received().len(), 4);
}

//! Tools of packs from the command line: a transcript has no server.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Command, Output},
    thread,
};

/// A server that gives every text back in capitals.
pub(crate) fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("has an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&stream);
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("is a number");
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let answer = String::from_utf8_lossy(&body).to_uppercase();
            let _ = write!(
                &stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    address
}

fn hina(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hina"))
        .args(arguments)
        .current_dir(root)
        .env("HINAGATA_STATE", root.join("state"))
        .env("XDG_CONFIG_HOME", root.join("config"))
        .output()
        .expect("hina runs")
}

pub(crate) fn printed_texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

pub(crate) fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
    fs::write(path, text).expect("written");
}

#[test]
fn a_prompt_calls_the_tool_of_an_approved_pack() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path();
    write(root, "hinagata.toml", "");
    write(root, "user_data/packs/loud/pack.json", r#"{"pack_id": "loud", "version": "1.0.0"}"#);
    write(
        root,
        "user_data/packs/loud/tools/shout.json",
        r#"{"url": "/shout", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
            "returns": {"type": "object", "properties": {"TEXT": {"type": "string"}}}}"#,
    );
    write(root, "user_data/shared/prompts/p/template.md", "<{{ loud_shout('hello').TEXT }}>");
    let refused = hina(root, &["render", "p"]);
    assert!(!refused.status.success(), "nothing of a pack is used before it is approved: {refused:?}");

    assert!(hina(root, &["pack", "approve", "loud"]).status.success());
    let (text, warnings) = printed_texts(&hina(root, &["render", "p"]));
    assert_eq!(text.trim_end(), "<>", "it has no address: {warnings}");
    assert!(warnings.contains("loud.shout") && warnings.contains("base_url"), "{warnings}");

    let (page, _) = printed_texts(&hina(root, &["doctor"]));
    assert!(page.contains("tools/shout.json") && page.contains("base_url"), "{page}");

    let address = format!("tools.base_url=http://{}", serve());
    let (text, warnings) = printed_texts(&hina(root, &["--set", &address, "render", "p"]));
    assert_eq!((text.trim_end(), warnings.as_str()), ("<HELLO>", ""));
    let (page, _) = printed_texts(&hina(root, &["--set", &address, "explain", "p"]));
    assert!(page.contains("tool loud.shout"), "{page}");

    // A workspace that nobody trusts cannot say where tools go.
    write(
        root,
        "hinagata.toml",
        &format!("[tools]\nbase_url = \"{}\"\n", &address["tools.base_url=".len()..]),
    );
    let (text, warnings) = printed_texts(&hina(root, &["render", "p"]));
    assert_eq!(text.trim_end(), "<>");
    assert!(warnings.contains("not trusted"), "{warnings}");
}

#[test]
fn the_tool_of_a_pack_takes_the_place_of_another_if_the_user_says_so() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path();
    write(root, "hinagata.toml", "");
    write(root, "user_data/packs/loud/pack.json", r#"{"pack_id": "loud"}"#);
    write(root, "user_data/packs/loud/tools/shout.json", r#"{"url": "/shout", "default": "LOUD"}"#);
    write(
        root,
        "user_data/packs/calm/pack.json",
        r#"{"pack_id": "calm", "replaces": {"tools": {"loud.shout": "calm.whisper"}}}"#,
    );
    write(root, "user_data/packs/calm/tools/whisper.json", r#"{"url": "/whisper", "default": "calm"}"#);
    write(root, "user_data/shared/prompts/p/template.md", "{{ loud_shout() }} {{ calm_whisper() }}");
    // Nobody answers either of them: what is seen are their defaults.
    let text = || printed_texts(&hina(root, &["render", "p"])).0.trim_end().to_owned();
    assert!(hina(root, &["pack", "approve", "loud"]).status.success());
    let (_, told) = printed_texts(&hina(root, &["pack", "approve", "calm"]));
    assert!(told.contains("It proposes to replace `loud.shout`"), "{told}");
    assert_eq!(text(), "LOUD calm");
    assert!(hina(root, &["pack", "approve", "calm", "--accept", "loud.shout"]).status.success());
    assert_eq!(text(), "calm calm");
    assert!(hina(root, &["pack", "approve", "calm", "--decline", "loud.shout"]).status.success());
    assert_eq!(text(), "LOUD calm");
}

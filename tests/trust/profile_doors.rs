//! The same rules at the other doors: what an untrusted workspace cannot hand out over HTTP and MCP either.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{daemon::Daemon, protocol::asked, support::Home};

const HIDDEN: &str = "hidden-text";

fn tempting(settings: &str, text: &str) -> Home {
    let home = Home::new();
    home.write(settings, text);
    home.write("ok.md", "open-text\n");
    home.write(".env", format!("TOKEN={HIDDEN}\n"));
    home.write_outside("vault/card.md", HIDDEN);
    symlink("../vault", home.path("vault")).expect("a link");
    symlink(".env", home.path("inner.md")).expect("a link");
    home
}

#[test]
fn a_profile_hands_nothing_out_over_http_and_says_so() {
    let home = tempting(".eddierc", "context: {include: ['**/*', 'vault/*', inner.md], includs: 1}\n");
    let daemon = Daemon::start(&home, &[]);
    let token = daemon.token(&home);
    let post =
        |path: &str, body: &Value| daemon.request("POST", path, Some(&token), &body.to_string()).json();
    for (path, body) in [
        ("/api/agents/manager/invoke", json!({"prompt": "hi"})),
        ("/api/context/pack", json!({})),
        ("/api/context/pack", json!({"include": [".env", "inner.md", "vault/card.md", "ok.md"]})),
    ] {
        let answer = post(path, &body).to_string();
        assert!(!answer.contains(HIDDEN) && answer.contains("open-text"), "{path} {body}: {answer}");
        assert!(answer.contains("because the workspace is not trusted"), "{path} {body}: {answer}");
        assert!(answer.contains("unknown setting `context.includs`"), "{path} {body}: {answer}");
    }
    let answer = post("/api/agents/manager/invoke", &json!({"prompt": "{% include '.env' %}"}));
    assert_eq!(
        (answer["status"].as_u64(), answer["code"].as_str()),
        (Some(403), Some("approval")),
        "{answer}"
    );
    let answer = post("/api/agents/manager/invoke", &json!({"prompt": "hi", "context": "mine"})).to_string();
    assert!(answer.contains("mine") && !answer.contains("open-text"), "{answer}");
    let answer = post("/api/context/pack", &json!({"max_bytes": 9_000_000})).to_string();
    assert!(
        answer.contains("`max_bytes` is limited to 250000 by the settings, 9000000 was requested"),
        "{answer}"
    );
}

#[test]
fn a_resource_over_mcp_is_no_secret_and_no_link_out() {
    let home = tempting(
        "hinagata.toml",
        "[[resources]]\nuri = 'x://env'\nname = 'a'\nfile = '.env'\n\
         [[resources]]\nuri = 'x://link'\nname = 'b'\nfile = 'inner.md'\n\
         [[resources]]\nuri = 'x://vault'\nname = 'c'\nfile = 'vault/card.md'\n\
         [[resources]]\nuri = 'x://any/{name}'\nname = 'd'\nfile = '{name}'\n\
         [[resources]]\nuri = 'x://packed'\nname = 'e'\ncontext = { include = ['**/*', 'vault/*', 'inner.md'] }\n\
         [[resources]]\nuri = 'x://ok'\nname = 'f'\nfile = 'ok.md'\n",
    );
    let uris = ["x://env", "x://link", "x://vault", "x://any/.env", "x://packed", "x://ok"];
    let reads = uris.map(|uri| ("resources/read", json!({"uri": uri})));
    let answers: Vec<String> = asked(&home, &[], &reads).0.iter().map(Value::to_string).collect();
    for (uri, answer) in uris.iter().zip(&answers) {
        assert!(!answer.contains(HIDDEN), "{uri}: {answer}");
    }
    assert!(answers[4].contains("open-text") && answers[5].contains("open-text"), "{answers:?}");
    for answer in &answers[..4] {
        assert!(answer.contains("error"), "{answer}");
    }
    for answer in [&answers[0], &answers[1], &answers[3]] {
        assert!(answer.contains("withheld"), "{answer}");
    }
}

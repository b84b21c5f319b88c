//! A template of any length ends no process: neither that of a command nor the daemon.

use super::{daemon::Daemon, support::Home};

/// Templates of the greatest length that go on and on: `(before, again, after)`.
const CHAINS: [(&str, &str, &str, &str); 6] = [
    ("a/template.md", "{{ a", "[0]", " }}"),
    ("b/template.md", "{{ a", "|upper", " }}"),
    ("c/template.md", "{{ a", "()", " }}"),
    ("d/template.md", "{{ ", "not ", "a }}"),
    ("e/template.gotmpl", "{{ 1", " | print", " }}"),
    ("f/template.gotmpl", "{{ ", "(", " }}"),
];

#[test]
fn a_long_chain_is_answered_by_every_door_and_ends_none() {
    let home = Home::new();
    for (file, before, again, after) in CHAINS {
        let chain = again.repeat(180_000 / again.len());
        home.write(&format!("user_data/shared/prompts/{file}"), format!("{before}{chain}{after}"));
    }
    let daemon = Daemon::start(&home, &[]);
    for (file, ..) in CHAINS {
        let (id, path) = (&file[..1], format!("user_data/shared/prompts/{file}"));
        for call in
            [&["render", id][..], &["explain", id], &["validate", id], &["show", id], &["render-file", &path]]
        {
            let ran = home.run(call);
            assert!((0..=9).contains(&ran.code), "{call:?}: {ran:?}");
        }
        for route in [format!("/api/render/prompts/{id}"), format!("/api/prompts/{id}/explain")] {
            let answer = daemon.request("POST", &route, None, "{}");
            let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
            assert!(answer.status == 200 || code.starts_with("render."), "{route}: {code}");
        }
    }
    assert_eq!(daemon.get("/healthz", None).status, 200);
    daemon.stop();
}

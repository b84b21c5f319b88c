//! Values that are declared secret: wherever a hook carries them, they are not shown.

use serde_json::json;

use crate::{
    held_daemon::{Daemon, answer},
    support::Home,
};

const SECRET: &str = "hunter2secret";

/// A workspace with the prompt `leak`, whose hook carries its secret to everywhere.
fn leaky() -> Home {
    let home = Home::new();
    let source = r#"
METADATA = {"id": "leak"}
VARIABLES = {"required": [{"name": "pw", "type": "string", "secret": True}], "optional": [{"name": "raise_it", "type": "string", "default": ""}]}
TEMPLATE = "{{ copy }} {{ listed }} {{ text }} {{ deep }}"
def pre_render(variables, context):
    secret = variables.pop("pw")
    print("printing", secret)
    print({"as": [secret]})
    variables["copy"] = secret
    variables["listed"] = [1, secret]
    variables["deep"] = {secret: {"x": secret}}
    variables["text"] = "the secret is " + secret.strip() + "!"
    variables["system"] = {"stolen": secret}
    if variables["raise_it"]:
        raise ValueError("it is " + secret)
"#;
    home.write("user_data/shared/prompts/leak/prompt.py", source);
    home
}

#[test]
fn the_log_of_a_daemon_holds_no_secret_that_a_hook_prints_or_raises() {
    let home = leaky();
    let daemon = Daemon::start(&home, &[]);
    let call = |raise: &str| {
        let body = json!({"variables": {"pw": SECRET, "raise_it": raise}});
        answer(daemon.send("/api/render/prompts/leak", &[], &body))
    };
    let (status, body) = call("");
    assert_eq!(status, 200, "{body}");
    assert!(body.to_string().contains(SECRET), "the prompt itself may use it: {body}");
    let (status, body) = call("yes");
    assert_eq!(status, 500, "{body}");
    assert!(!body.to_string().contains(SECRET), "{body}");
    let body = json!({"variables": {"pw": SECRET}});
    let (status, body) = answer(daemon.send("/api/prompts/leak/explain", &[], &body));
    assert_eq!(status, 200, "{body}");
    assert!(!body["trace"].to_string().contains(SECRET), "{}", body["trace"]);
    let said = daemon.end("-TERM");
    assert!(said.contains("printing •••"), "what it prints is logged: {said}");
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn an_explanation_shows_no_secret_wherever_a_hook_copied_it() {
    let home = leaky();
    for arguments in [&["explain", "leak"][..], &["explain", "leak", "--json"]] {
        let value = format!("pw={SECRET}\n");
        let ran = home.done(&[arguments, &[value.as_str()]].concat());
        let trace = match arguments.len() {
            2 => ran.stdout.clone(),
            _ => ran.json()["trace"].to_string(),
        };
        assert!(!trace.contains(SECRET) && !ran.stderr.contains(SECRET), "{arguments:?}: {ran:?}");
        assert!(trace.contains("the secret is •••!"), "{trace}");
    }
    let ran = home.run(&["render", "leak", &format!("pw={SECRET}"), "raise_it=yes"]);
    assert!(ran.code == 1 && !ran.has(SECRET) && ran.has("it is •••"), "{ran:?}");
}

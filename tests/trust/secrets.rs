//! Values that are declared secret: wherever a hook carries them, they are not shown.

use serde_json::json;

use super::{daemon::Daemon, support::Home};

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
        daemon.post("/api/render/prompts/leak", &body)
    };
    let used = call("");
    assert_eq!(used.status, 200, "{used:?}");
    assert!(used.body.contains(SECRET), "the prompt itself may use it: {used:?}");
    let raised = call("yes");
    assert_eq!(raised.status, 500, "{raised:?}");
    assert!(!raised.body.contains(SECRET), "{raised:?}");
    let explained = daemon.post("/api/prompts/leak/explain", &json!({"variables": {"pw": SECRET}}));
    assert_eq!(explained.status, 200, "{explained:?}");
    let trace = &explained.json()["trace"];
    assert!(!trace.to_string().contains(SECRET), "{trace}");
    let said = daemon.stop();
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

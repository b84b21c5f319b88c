//! What a person sees before approving a pack.

use super::support::{Home, write_pack};

#[test]
fn hidden_characters_secrets_powers_and_mistakes_are_shown_and_cannot_be_silenced() {
    let home = Home::new();
    let pack = home.path("user_data/packs/r");
    let more = r#", "prompts": ["ghost"], "variable_providers": [{"file": "../../../etc/passwd", "namespace": "system"},
        {"file": "variables/v.py", "namespace": "v", "permissions": {"http_request": true}}]"#;
    write_pack(&pack, "r", "1.0.0", more);
    // No file of the project contains the whole token.
    let token = ["ghp_", "R8x2LkQ9vTz4mWp7", "Yc1Nf6Hs3Bd5Ja0Ge2Ui"].concat();
    let code = format!("TOKEN = \"{token}\"  # hina: allow-file(secret.literal)\n");
    home.write("user_data/packs/r/variables/v.py", code);
    home.write(
        "user_data/packs/r/prompts/greet_r/template.md",
        "{# hina: allow-file(text.hidden) #}Be brief.\u{e0068}\u{e0069}\n{{ name }}\n",
    );
    let text = home.done(&["pack", "show", "r", "--code"]).stdout;
    for part in [
        "hidden prompts/greet_r/template.md:1:",
        "spell `hi`",
        "secret variables/v.py:1:",
        "may send requests to the hosts in `hooks.allowed_hosts`",
        "text.hidden",
        "lists the prompt `ghost`",
        "`../../../etc/passwd` is outside of the pack",
        "the namespace `system` is reserved",
        "== variables/v.py",
        "    1  TOKEN",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{e0068}') && text.contains("Be brief.\\u{e0068}\\u{e0069}"), "{text}");
    let json = home.done(&["pack", "show", "r", "--json"]).json();
    assert!(json.get("code").is_none() && json["changes"].is_null(), "{json}");
    assert!(json["findings"].is_array(), "{json}");
}

#[test]
fn an_approved_pack_that_changed_shows_its_difference() {
    let home = Home::new();
    write_pack(&home.path("user_data/packs/r"), "r", "1.0.0", "");
    home.done(&["pack", "approve", "r", "--yes"]);
    assert!(home.done(&["pack", "show", "r", "--json"]).json()["changes"].is_null());
    home.write("user_data/packs/r/prompts/greet_r/template.md", "other\n");
    let text = home.done(&["pack", "show", "r"]).stdout;
    assert!(text.contains("Changes since you approved it") && text.contains("+other"), "{text}");
}

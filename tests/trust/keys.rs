//! Keys that are for some prompts alone reach nothing else, whatever leads there.

use serde_json::{Value, json};

use super::{daemon::Daemon, http::Answer, support::Home};

/// What a key for `team` must never see.
const SECRETS: [&str; 5] = ["other-text", "hidden-text", "topsecret", "tool-address", "agent-text"];

/// Ids that nobody tells it who was not asked for them.
const IDS: [&str; 5] = ["other.b", "hidden", "secret.env", "crm.lookup", "general_system"];

struct Place {
    home: Home,
    daemon: Daemon,
    admin: String,
    /// For the prompts of `team`, with every scope but admin.
    team: String,
}

impl Place {
    fn new() -> Self {
        let home = Home::new();
        let scopes = ["--scope", "read", "--scope", "render", "--scope", "chat", "--scope", "write"];
        let bound = ["--prompt", "team.*", "--prompt", "team_*", "--environ", "team.*"];
        let (admin, first) = home.new_key("boss", &["--scope", "admin"]);
        let (team, second) = home.new_key("team", &[scopes.as_slice(), &bound].concat());
        home.write_outside("config/hinagata/config.toml", format!("{first}{second}"));
        home.write("user_data/shared/prompts/hidden/template.md", "hidden-text");
        home.write("user_data/shared/prompts/partials/part.md", "a shared part");
        let file = "---\ninputs:\n  f: {type: file}\n---\n{{ f }}";
        home.write("user_data/shared/prompts/team_file/template.md", file);
        home.write("project/readme.txt", "of the project");
        let agent =
            json!({"agent_id": "spy", "prompt_id": "hidden", "prompt_variables": {"x": "agent-text"}});
        home.write("user_data/shared/agents/spy/agent.json", agent.to_string());
        let daemon = Daemon::start(&home, &[]);
        let place = Self { home, daemon, admin, team };
        for (path, value) in [
            ("templates/other.b", json!({"name": "b", "prompt": "other-text"})),
            ("templates/team.own", json!({"name": "own", "prompt": "of the team"})),
            ("environs/secret.env", json!("topsecret")),
            ("environs/team.colour", json!("blue")),
            (
                "tools/crm.lookup",
                json!({
                    "name": "lookup", "kind": "restful", "restful": {"method": "GET", "url": "http://tool-address.invalid/x"},
                }),
            ),
        ] {
            let answer =
                place.daemon.request("PUT", &format!("/api/{path}"), Some(&place.admin), &value.to_string());
            assert!(answer.status < 300, "{path}: {answer:?}");
        }
        place
    }

    fn team(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.daemon.request(method, path, Some(&self.team), &body.to_string())
    }

    fn write(&self, id: &str, document: &Value) {
        let answer = self.team("PUT", &format!("/api/templates/{id}"), document);
        assert!(answer.status < 300, "{document}: {answer:?}");
    }

    /// What every way to render a prompt answers.
    fn renders(&self, id: &str, variables: &Value) -> Vec<Answer> {
        let body = json!({"variables": variables});
        let get = json!({"name": id, "arguments": variables});
        let got = self.daemon.mcp_call(&self.team, "prompts/get", &get);
        vec![
            self.team("POST", &format!("/api/render/prompts/{id}"), &body),
            self.team("POST", &format!("/api/prompts/{id}/render"), &json!({"args": variables})),
            self.team("POST", &format!("/api/prompts/{id}/explain"), &body),
            self.team("GET", &format!("/api/prompts/{id}/explain"), &json!({})),
            self.team("POST", &format!("/api/prompts/{id}/validate"), &body),
            self.team("POST", &format!("/api/chat/prompts/{id}"), &body),
            self.team("GET", &format!("/api/prompts/{id}"), &json!({})),
            self.team("GET", &format!("/api/prompts/{id}/definition"), &json!({})),
            Answer { status: 0, head: String::new(), body: got.to_string() },
        ]
    }
}

fn has_no_secret(answer: &Answer, why: &str) {
    for secret in SECRETS {
        assert!(!answer.body.contains(secret), "{why} gives {secret}: {answer:?}");
    }
}

#[test]
fn a_template_that_includes_another_prompt_does_not_tell_it() {
    let place = Place::new();
    let hidden = "user_data/shared/prompts/hidden/template.md";
    let documents = [
        json!({"prompt": "{{template \"other.b\" .}}"}),
        json!({"prompt": "{{template \"Other.B\" .}}"}),
        json!({"prompt": "{{.secret.env}} {{index . \"secret\"}} {{.environs.secret.env}} {{.}}"}),
        json!({"engine": "jinja", "prompt": "{% include 'other.b' %}"}),
        json!({"engine": "jinja", "prompt": "{% include ['nothing', 'other.b'] ignore missing %}"}),
        json!({"engine": "jinja", "prompt": "{% include variables.name %}"}),
        json!({"engine": "jinja", "prompt": "{% extends 'other.b' %}"}),
        json!({"engine": "jinja", "prompt": "{% import 'other.b' as o %}{{ o }}"}),
        json!({"engine": "jinja", "prompt": "{% from 'other.b' import x with context %}{{ x }}"}),
        json!({"engine": "jinja", "prompt": "{% include 'hidden/template.md' %}{% include 'store:other.b' %}"}),
        json!({"engine": "jinja", "prompt": "{{ secret.env }} {{ environs }} {{ environs.secret.env }}"}),
        json!({"engine": "jinja", "undefined": "debug", "prompt": "{{ secret.env }} {{ environs | tojson }}"}),
        json!({"extends": "other.b"}),
        json!({"extends": "hidden"}),
        json!({"prompt": "{{.s}}", "parameters": [{"name": "s", "source": "environ", "from": "secret.env"}]}),
        json!({"prompt": "{{.f}}", "parameters": [{"name": "f", "type": "file"}]}),
        json!({"messages": [{"role": "user", "content": "{{template \"other.b\" .}}"}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "resource", "uri": "a://b", "file": hidden}]}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "resource", "uri": "prompt://other.b", "text": "x"}]}]}),
        json!({"messages": [{"role": "{{template \"other.b\" .}}", "content": "x"}]}),
    ];
    for (number, document) in documents.iter().enumerate() {
        let id = format!("team.try{number}");
        let written = place.team("PUT", &format!("/api/templates/{id}"), document);
        has_no_secret(&written, &document.to_string());
        let variables = json!({"name": "other.b", "f": hidden});
        for answer in place.renders(&id, &variables) {
            has_no_secret(&answer, &document.to_string());
        }
    }
    // Whoever is bound to nothing has it, so it is the key that decides.
    let body = json!({"variables": {}}).to_string();
    let answer = place.daemon.request("POST", "/api/render/prompts/team.try0", Some(&place.admin), &body);
    assert!(answer.status == 200 && answer.body.contains("other-text"), "{answer:?}");
    let answer = place.team("POST", "/api/render/prompts/team.try0", &json!({}));
    assert!(
        answer.status == 500 && answer.body.contains("`prompts` of the key"),
        "it is told why: {answer:?}"
    );
}

#[test]
fn an_extension_does_not_lead_there_either() {
    let place = Place::new();
    let extension = |name: &str, prompt: &str| {
        json!({
            "name": name, "version": "1.0.0",
            "contributes": {"prompts": [{"name": prompt, "userPrompt": "{{template \"other.b\" .}}"}]},
        })
    };
    let put =
        |id: &str, document: &Value| place.team("PUT", &format!("/api/extensions/{id}"), document).status;
    assert!(put("team", &extension("team", "x")) < 300);
    for answer in place.renders("team.x", &json!({})) {
        has_no_secret(&answer, "an extension");
    }
    for (id, document) in [
        ("team", extension("other", "b")),
        ("team2", extension("other", "c")),
        ("team3", json!({"name": "team", "contributes": {"prompts": []}})),
    ] {
        assert_eq!(put(id, &document), 403, "{document}");
    }
}

#[test]
fn what_a_prompt_of_the_workspace_lets_callers_name_is_no_way_to_others() {
    let place = Place::new();
    let render = |file: &str, context: Value| {
        let body = json!({"variables": {"f": file}, "context": context});
        place.team("POST", "/api/render/prompts/team_file", &body)
    };
    assert!(render("project/readme.txt", json!({})).body.contains("of the project"));
    let root = place.home.root().display().to_string();
    for (file, context) in [
        ("user_data/shared/prompts/hidden/template.md", json!({})),
        ("./user_data/shared/prompts/hidden/template.md", json!({})),
        ("project/../user_data/shared/prompts/hidden/template.md", json!({})),
        ("template.md", json!({"workspace_path": "user_data/shared/prompts/hidden"})),
        ("shared/prompts/hidden/template.md", json!({"workspace_path": format!("{root}/user_data")})),
        ("agents/spy/agent.json", json!({"workspace_path": "user_data/shared"})),
        (&format!("{root}/user_data/shared/prompts/hidden/template.md"), json!({})),
        ("../hidden/template.md", json!({})),
    ] {
        let answer = render(file, context);
        // Its own file of that name is its own.
        assert!(file == "template.md" || answer.status != 200, "{file}: {answer:?}");
        has_no_secret(&answer, file);
    }
}

#[test]
fn no_route_tells_a_bound_key_of_others() {
    let place = Place::new();
    place.write("team.inc", &json!({"prompt": "{{template \"other.b\" .}}"}));
    let routes = place.daemon.get("/openapi.json", Some(&place.admin)).json();
    let paths = routes["paths"].as_object().expect("has paths");
    assert!(paths.len() > 25, "the routes are there");
    let bodies = [
        json!({}),
        json!({"variables": {}, "prompt": "x", "source": "store:templates:other:b"}),
        json!({"module": {"objective": ["x"], "uses": ["preset:x"]}, "accept": true, "include": ["**/*"]}),
    ];
    for (path, methods) in paths {
        for method in methods.as_object().expect("has methods").keys() {
            for id in [
                "team.inc",
                "other.b",
                "Other-B",
                "hidden",
                "secret.env",
                "secret",
                "crm.lookup",
                "othr.b",
                "spy",
            ] {
                // What is written would be there for a reason.
                if method == "delete" && id == "team.inc" {
                    continue;
                }
                let asked = path.replace("{id}", id).replace("{pack}", id);
                for body in &bodies {
                    let answer = place.team(&method.to_uppercase(), &asked, body);
                    let why = format!("{method} {asked} {body}");
                    has_no_secret(&answer, &why);
                    let named = |known: &&&str| answer.body.contains(**known) && !asked.contains(**known);
                    // The description of the routes has examples of its own, the same for every caller.
                    let described =
                        ["/openapi.json", "/docs", "/docs.css", "/docs.js", "/"].contains(&path.as_str());
                    let echoed = id == "team.inc" && path.starts_with("/api/");
                    let told = IDS.iter().filter(named).filter(|known| !(echoed && **known == "other.b"));
                    assert!(described || told.count() == 0, "{why} names others: {answer:?}");
                }
                if !path.contains('{') {
                    break;
                }
            }
        }
    }
}

#[test]
fn lists_and_near_names_have_what_is_the_keys_alone() {
    let place = Place::new();
    let list = |path: &str| place.team("GET", path, &json!({})).json();
    assert_eq!(list("/api/prompts"), json!(["team.own", "team_file"]));
    assert_eq!(list("/api/templates"), json!(["team.own"]));
    assert_eq!(list("/api/environs"), json!(["team.colour"]));
    assert_eq!((list("/api/tools"), list("/api/extensions")), (json!([]), json!([])));
    for (path, status) in [
        ("/api/environs/secret.env", 404),
        ("/api/environs/secret", 404),
        ("/api/environs/team", 200),
        ("/api/tools/crm.lookup", 404),
        ("/api/prompts/other.b", 404),
        ("/api/prompts/other.bb", 404),
        ("/api/prompts/general_systen", 404),
        ("/api/packs", 403),
        ("/metrics", 403),
    ] {
        let answer = place.team("GET", path, &json!({}));
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(
            !answer.body.contains("general_system") && !answer.body.contains("secret.env`, `"),
            "{answer:?}"
        );
    }
    for (path, body) in [
        ("/api/agents/spy/invoke", json!({"prompt": "x"})),
        ("/api/context/pack", json!({"include": ["**"]})),
    ] {
        assert_eq!(place.team("POST", path, &body).status, 403, "{path}");
    }
    for path in
        ["/api/environs/secret.env", "/api/tools/crm.lookup", "/api/templates/other.b", "/api/environs/other"]
    {
        assert_eq!(place.team("PUT", path, &json!({"prompt": "x"})).status, 403, "{path}");
    }
    assert!(
        place.team("PUT", "/api/environs/team.size", &json!(5)).status < 300,
        "what it names, it may write"
    );
}

#[test]
fn shared_variables_that_are_withheld_are_told() {
    let place = Place::new();
    place.write("team.colour", &json!({"prompt": "{{.team.colour}}"}));
    let answer = place.team("POST", "/api/render/prompts/team.colour", &json!({}));
    assert_eq!((answer.status, &answer.json()["rendered_prompt"]), (200, &json!("blue")), "{answer:?}");
    place.write(
        "team.soft",
        &json!({"engine": "jinja", "undefined": "empty", "prompt": "[{{ environs.secret.env }}]"}),
    );
    let answer = place.team("POST", "/api/render/prompts/team.soft", &json!({})).json();
    assert_eq!(answer["rendered_prompt"], "[]");
    assert!(answer["warnings"].to_string().contains("not available to this caller"), "{answer}");
    place.write("team.hard", &json!({"prompt": "{{.secret.env}}"}));
    let answer = place.team("POST", "/api/render/prompts/team.hard", &json!({}));
    assert!(answer.status == 400 && answer.body.contains("`environs` of the key"), "{answer:?}");
    place.write("team.plain", &json!({"prompt": "{{.variables.x}}"}));
    let answer = place.team("POST", "/api/render/prompts/team.plain", &json!({"variables": {"x": 1}})).json();
    assert_eq!(answer["warnings"], Value::Null, "nothing is withheld from it");
}

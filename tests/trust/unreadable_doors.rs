//! What a call needs and cannot be read is told in the answers of every door: over HTTP, over the Model Context Protocol, and
//! to scripts.

use std::{fs, os::unix::fs::symlink, thread, time::Instant};

use serde_json::{Value, json};

use super::{
    daemon::{Daemon, LONG},
    packs::{remembered, write_pack},
    protocol::asked,
    spoiled::{Way, assert_none_silent, called, furnished, spoil},
    support::Home,
};

/// A prompt that is asked for, its variables, and the agent that asks.
type Asked = (&'static str, Value, Option<&'static str>);

/// An answer of a door.
#[derive(Debug)]
struct Told {
    door: &'static str,
    /// The warnings of an answer, or all of a refusal.
    text: String,
    /// Whether there is a result.
    is_done: bool,
    whole: String,
}

impl Told {
    /// `result` is the answer where there is one, `refused` what is told instead.
    fn new(door: &'static str, result: Option<&Value>, refused: String, whole: String) -> Self {
        let text = result.map_or(refused, ToString::to_string);
        Self { door, text, is_done: result.is_some(), whole }
    }
}

/// What every door answers.
fn answers(home: &Home, (prompt, variables, agent): &Asked) -> Vec<Told> {
    let mut all =
        vec![over_http(home, prompt, variables, *agent), to_script(home, prompt, variables, *agent)];
    // Clients of the protocol are no agents.
    if agent.is_none() {
        all.extend(over_mcp(home, prompt, variables));
    }
    all
}

fn over_http(home: &Home, prompt: &str, variables: &Value, agent: Option<&str>) -> Told {
    let context = agent.map_or(json!({}), |agent| json!({"agent_id": agent}));
    let body = json!({"variables": variables, "context": context});
    let answer = Daemon::start(home, &[]).post(&format!("/api/render/prompts/{prompt}"), &body);
    let parsed = answer.json();
    let warnings = (parsed["status"] == "success").then(|| &parsed["warnings"]);
    Told::new("http", warnings, answer.body.clone(), answer.body.clone())
}

fn to_script(home: &Home, prompt: &str, variables: &Value, agent: Option<&str>) -> Told {
    let given = home.write_outside("given.json", variables.to_string());
    let given = given.to_str().expect("is text");
    let agent = agent.map_or(vec![], |agent| vec!["--agent", agent]);
    let ran = home.run(&[&["render", prompt, "--json", "--vars", given], &agent[..]].concat());
    let parsed = (ran.code == 0).then(|| ran.json());
    Told::new("hina", parsed.as_ref().map(|all| &all["warnings"]), ran.stderr.clone(), format!("{ran:?}"))
}

/// As a prompt, and as a tool.
fn over_mcp(home: &Home, prompt: &str, variables: &Value) -> Vec<Told> {
    let get = json!({"name": prompt, "arguments": variables});
    let tool = json!({"name": "get_prompt", "arguments": get});
    let (answers, ran) = asked(home, &["--tools"], &[("prompts/get", get), ("tools/call", tool)]);
    let told = |(door, answer): (&'static str, &Value)| {
        let result = answer.get("result").filter(|result| result["isError"] != json!(true));
        let warnings = result.map(|result| &result["_meta"]["hinagata/warnings"]);
        // Who asks is told that it is whoever runs the server who can mend it; they find the file in the log.
        Told::new(door, warnings, format!("{answer} {}", ran.stderr), format!("{answer} {ran:?}"))
    };
    ["prompts/get", "tools/call"].into_iter().zip(&answers).map(told).collect()
}

#[test]
fn answers_of_all_doors_tell() {
    let ada = json!({"name": "Ada"});
    let cases: [(&str, Asked); 6] = [
        ("user_data/shared/prompts/defaults.json", ("hello", ada.clone(), None)),
        ("user_data/shared/prompts/resolution.json", ("hello", ada.clone(), None)),
        ("user_data/shared/vocab.json", ("hey", ada.clone(), None)),
        ("user_data/shared/agents/rumi/agent.json", ("hello", ada.clone(), Some("rumi"))),
        ("user_data/shared/prompts/hello/template.md", ("hello", ada, None)),
        ("user_data/shared/prompts/partials/tone.md", ("toned", json!({}), None)),
    ];
    let whole = furnished();
    let mut silent = Vec::new();
    for (file, call) in &cases {
        for told in answers(&whole, call) {
            assert!(told.is_done && ["[]", "null"].contains(&&*told.text), "{told:?}");
        }
        for way in [Way::Broken, Way::NotText, Way::Directory, Way::Dangling] {
            let home = furnished();
            spoil(&home, &home.path(file), way);
            let all = answers(&home, call).into_iter().filter(|told| !told.text.contains(called(file)));
            silent.extend(all.map(|told| format!("{file} {way:?}, {}: {}", told.door, told.whole)));
        }
    }
    assert_none_silent(&silent);
}

/// A workspace whose store holds a prompt, and a shared variable that a prompt of the workspace reads.
fn with_store() -> Home {
    let home = furnished();
    home.write("user_data/shared/prompts/coloured/template.md", "{{ environs.team.colour }}");
    home.done(&["store", "set", "environs", "team.colour", r#""blue""#]);
    home.done(&["store", "set", "templates", "stored", r#"{"prompt": "stored"}"#]);
    home
}

#[test]
fn a_store_that_cannot_be_read_is_told() {
    let file = "user_data/store/store.redb";
    let calls: [Asked; 3] =
        [("coloured", json!({}), None), ("stored", json!({}), None), ("hello", json!({"name": "Ada"}), None)];
    let whole = with_store();
    for told in calls.iter().flat_map(|call| answers(&whole, call)) {
        assert!(told.is_done && ["[]", "null"].contains(&&*told.text), "{told:?}");
    }
    let mut silent = Vec::new();
    for way in [Way::Broken, Way::Truncated, Way::Directory, Way::Dangling, Way::Circle, Way::Outside] {
        let home = with_store();
        spoil(&home, &home.path(file), way);
        for call in &calls {
            let all = answers(&home, call).into_iter().filter(|told| !told.text.contains(file));
            silent.extend(all.map(|told| format!("{way:?}, {} of {}: {}", told.door, call.0, told.whole)));
        }
        let ran = home.run(&["render", "hello", "name=Ada"]);
        if ran.stderr.matches("warning").count() != 1 {
            silent.push(format!("{way:?}, told once: {ran:?}"));
        }
    }
    assert_none_silent(&silent);
}

#[test]
fn a_directory_of_the_store_that_cannot_be_read_is_told() {
    let place = "user_data/store";
    let mut silent = Vec::new();
    for target in ["nowhere", "store", "/usr"] {
        let home = with_store();
        fs::remove_dir_all(home.path(place)).expect("was there");
        symlink(target, home.path(place)).expect("linked");
        let all = answers(&home, &("coloured", json!({}), None));
        let all = all.into_iter().filter(|told| !told.text.contains(place));
        silent.extend(all.map(|told| format!("a link to {target}, {}: {}", told.door, told.whole)));
    }
    assert_none_silent(&silent);
}

#[test]
fn a_bound_key_is_told_no_names_of_what_cannot_be_read() {
    let home = with_store();
    write_pack(&home);
    home.done(&["pack", "approve", "hp", "--yes"]);
    let (key, table) = home.new_key("bound", &["--prompt", "hello"]);
    home.write_outside("config/hinagata/config.toml", table);
    spoil(&home, &home.path("user_data/store/store.redb"), Way::Broken);
    spoil(&home, &remembered(&home, "approval.json"), Way::Broken);
    let daemon = Daemon::start(&home, &[]);
    let body = json!({"variables": {"name": "Ada"}}).to_string();
    let answer = daemon.request("POST", "/api/render/prompts/hello", Some(&key), &body);
    let told = daemon.mcp_call(&key, "prompts/get", &json!({"name": "hello", "arguments": {"name": "Ada"}}));
    for (all, warnings) in [
        (answer.body.clone(), answer.json()["warnings"].to_string()),
        (told.to_string(), told["result"]["_meta"]["hinagata/warnings"].to_string()),
    ] {
        assert!(warnings.contains("the store cannot be read"), "{all}");
        assert!(warnings.contains("the decisions about a pack cannot be read"), "{all}");
        let root = home.outside("").display().to_string();
        for hidden in ["store.redb", "approval.json", "hp", &root] {
            assert!(!all.contains(hidden), "{hidden}: {all}");
        }
    }
}

#[test]
fn a_store_that_is_whole_again_is_used_again() {
    let home = with_store();
    let path = home.path("user_data/store/store.redb");
    let good = fs::read(&path).expect("is there");
    fs::write(&path, "no store").expect("is written");
    let daemon = Daemon::start(&home, &[]);
    let render = || daemon.post("/api/render/prompts/coloured", &json!({})).body;
    assert!(render().contains("store.redb"), "{}", render());
    fs::write(&path, good).expect("is written");
    let started = Instant::now();
    while !render().contains("blue") {
        assert!(started.elapsed() < LONG, "{}", render());
        thread::yield_now();
    }
    assert!(!render().contains("store.redb"), "{}", render());
}

//! Slips of whoever writes or calls a prompt: a name that does nothing, a path that leads elsewhere. Each is told by the
//! call that it changes.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use super::support::{Home, Ran};

const PROMPTS: &str = "user_data/shared/prompts";

fn with_prompt(files: &[(&str, &str)]) -> Home {
    let home = Home::new();
    for (path, text) in files {
        home.write(&format!("{PROMPTS}/{path}"), text);
    }
    home
}

/// The messages of the warnings of a call that printed JSON.
fn warnings(ran: &Ran) -> Vec<String> {
    let all = ran.json()["warnings"].as_array().cloned().unwrap_or_default();
    all.iter().map(|warning| warning["message"].as_str().unwrap_or_default().to_owned()).collect()
}

fn near(ran: &Ran) -> Vec<Value> {
    ran.json()["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|warning| warning["near"][0].clone())
        .collect()
}

#[test]
fn a_relative_workspace_path_starts_at_the_working_directory() {
    let home = with_prompt(&[("where/template.md", "{{ system.workspace_path }}")]);
    let project = home.path("project").canonicalize().unwrap_or_else(|_| home.path("project"));
    fs::create_dir_all(&project).expect("made");
    home.write("project/path.json", r#""../project""#);
    home.write("project/path.txt", "./");
    let real = project.canonicalize().expect("is there").display().to_string();
    for written in [
        "workspace_path=.",
        "workspace_path=../project",
        "workspace_path:=@path.json",
        "workspace_path=@path.txt",
    ] {
        let output = home
            .command(&["render", "where", "--context", written])
            .current_dir(&project)
            .output()
            .expect("hina runs");
        let ran = Ran::from_output(&output);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (real.as_str(), ""), "{written}");
    }
    fs::create_dir(home.outside("work")).expect("made");
    let ran = home.done(&["render", "where", "--context", "workspace_path=~/work"]);
    assert_eq!(ran.stdout, home.outside("work").display().to_string());
}

#[test]
fn a_hook_sees_the_project_that_a_relative_path_names() {
    let hook = "import os\nPERMISSIONS = {'read_file': True}\nTEMPLATE = '{{ found }}'\ndef pre_render(variables, context):\n    variables['found'] = ' '.join(sorted(os.listdir(context['workspace_path'])))\n    return variables\n";
    let home = with_prompt(&[("tree/prompt.py", hook)]);
    home.write("project/a.txt", "");
    home.write("project/b.txt", "");
    let output = home
        .command(&["render", "tree", "--context", "workspace_path=."])
        .current_dir(home.path("project"))
        .output()
        .expect("hina runs");
    let ran = Ran::from_output(&output);
    assert_eq!(ran.stdout, "a.txt b.txt", "{ran:?}");
}

#[test]
fn a_workspace_path_that_leads_nowhere_is_told() {
    let home = with_prompt(&[("where/template.md", "x")]);
    for call in [
        &["render", "where", "--context", "workspace_path=nope"][..],
        &["render", "where", "--json", "--context", "workspace_path=nope"],
    ] {
        let ran = home.done(call);
        assert!(ran.stderr.contains("/nope` is not a directory"), "{ran:?}");
    }
    let ran = home.run(&["render", "where", "--context", "workspace_path:=5"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("`workspace_path` of the context must be a string"),
        "{ran:?}"
    );
}

#[test]
fn a_number_that_lost_digits_is_told() {
    let home = with_prompt(&[("number/template.md", "{{ n }}")]);
    let file = format!("{PROMPTS}/number/template.md");
    for call in [&["render", "number"][..], &["render-file", &file]] {
        let told = |number: &str| home.done(&[call, &[&format!("n:={number}")]].concat()).stderr;
        assert!(told("18446744073709551616").contains("the number in `n` exceeds 64 bits"), "{call:?}");
        assert_eq!(told("18446744073709551615"), "", "{call:?}");
    }
}

#[test]
fn an_agent_that_is_not_there_ends_the_call() {
    let home = with_prompt(&[("hello/template.md", "Hello")]);
    home.write("user_data/shared/agents/rumi/agent.json", "{}");
    let ran = home.run(&["render", "hello", "--agent", "rumy"]);
    assert!(ran.code == 3 && ran.stderr.contains("did you mean `rumi`?"), "{ran:?}");
    let ran = home.done(&["render", "hello", "--context", "agent_id=rumy", "--json"]);
    assert_eq!(
        (warnings(&ran), near(&ran)),
        (vec!["agent `rumy` not found".to_owned()], vec![json!("rumi")])
    );
    home.write("user_data/packs/kit/pack.json", r#"{"pack_id": "kit"}"#);
    home.write("user_data/packs/kit/agents/mika/agent.json", "{}");
    let ran = home.run(&["render", "hello", "--agent", "mika"]);
    assert!(ran.code == 3 && ran.stderr.contains("the pack `kit` has one, but is pending"), "{ran:?}");
    home.write("user_data/shared/agents/rumi/agent.json", r#"{"prompt_varibles": {"a": 1}}"#);
    let ran = home.done(&["render", "hello", "--agent", "rumi", "--json"]);
    assert_eq!(near(&ran), [json!("prompt_variables")]);
}

#[test]
fn a_misspelled_variable_is_told() {
    let home = with_prompt(&[
        ("hello/template.md", "---\ninputs: {name: string}\n---\nHello {{ name }}{{ other }}"),
        ("free/template.md", "Hello {{ name }}"),
        ("all/template.md", "{{ variables | length }}"),
        ("dynamic/template.md", "{% include which ignore missing %}"),
    ]);
    let ran = home.run(&["render", "hello", "nmae=Rumi"]);
    assert_eq!(ran.code, 1);
    for part in ["the required variable `name` is missing", "unknown variable `nmae`", "did you mean `name`?"]
    {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let ran = home.done(&["render", "hello", "name=Rumi", "zzz=1", "yyy=2", "--json"]);
    assert_eq!(warnings(&ran), ["the prompt neither declares nor reads the variables `zzz`, `yyy`"]);
    let ran = home.done(&["render", "free", "nmae=Rumi", "--json"]);
    assert_eq!(near(&ran), [json!("name")]);
    for call in [
        &["render", "hello", "name=a", "other=b", "--json"][..],
        &["render", "free", "name=a", "--json"],
        &["render", "all", "x=1", "--json"],
        &["render", "dynamic", "x=1", "which=y", "--json"],
    ] {
        assert_eq!(warnings(&home.done(call)), [] as [&str; 0], "{call:?}");
    }
    let ran = home.run(&["validate", "hello", "nmae=Rumi", "--json"]);
    assert_eq!(ran.json()["unknown"], json!([{"name": "nmae", "near": ["name"]}]));
}

#[test]
fn names_that_nobody_knows_are_told_and_grant_nothing() {
    let python = "METADATA = {\"descripton\": \"x\", \"license\": \"MIT\"}\nPERMISSIONS = {\"read_fle\": True}\nLIMITS = {\"max_outputsize\": 5}\nVARIABLES = {\"optional\": [{\"name\": \"a\", \"typ\": \"string\", \"defalt\": \"x\"}]}\nTEMPLATE = 'x{{ a }}'\n";
    let home = with_prompt(&[
        ("python/prompt.py", python),
        (
            "matter/template.md",
            "---\ninputs: {a: {typ: string, default: x}}\nlimts: {max_output_size: 5}\n---\n{{ a }}",
        ),
        ("json/prompt.json", r#"{"userPrompt": "x", "permissions": ["subproces"], "x-own": 1}"#),
        ("yaml/prompt.yaml", "userPrompt: x\nparameters: [{name: a, requierd: true}]\n"),
        ("module/module.yaml", "context: {a: {type: string, defualt: x}}\nsections: {objective: [Do it.]}\n"),
    ]);
    for (prompt, expected) in [
        ("python", &["description", "read_file", "max_output_size", "type", "default"][..]),
        ("matter", &["type", "limits"]),
        ("json", &["subprocess"]),
        ("yaml", &["required"]),
        ("module", &["default"]),
    ] {
        let ran = home.done(&["render", prompt, "--json"]);
        let mut found: Vec<String> =
            near(&ran).iter().map(|near| near.as_str().unwrap_or_default().to_owned()).collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{prompt}: {ran:?}");
        assert!(ran.json()["warnings"][0]["line"].is_u64(), "{ran:?}");
        let shown = home.done(&["show", prompt]);
        assert!(
            expected.iter().all(|name| shown.stderr.contains(&format!("did you mean `{name}`?"))),
            "{shown:?}"
        );
        let doctor = home.run(&["doctor"]);
        assert!(
            expected.iter().all(|name| doctor.stdout.contains(&format!("did you mean `{name}`?"))),
            "{doctor:?}"
        );
    }
    let shown = home.done(&["show", "python", "--json"]);
    assert_eq!(shown.json()["permissions"], json!([]));
    assert!(!home.done(&["show", "python"]).stdout.contains("read_fle"), "an unknown permission is none");
}

#[test]
fn a_cap_that_nobody_knows_stops_every_render() {
    let home = with_prompt(&[("hello/template.md", "Hello")]);
    for text in [r#"{"caps": {"max_outputsize": 5}}"#, r#"{"cap": {"max_output_size": 5}}"#] {
        home.write(&format!("{PROMPTS}/defaults.json"), text);
        let ran = home.run(&["render", "hello"]);
        assert!(
            ran.code == 1 && ran.stderr.contains("defaults.json:1:") && ran.stderr.contains("did you mean"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_class_that_nobody_knows_is_named() {
    let home = with_prompt(&[(
        "typo/prompt.py",
        "VARIABLES = {\n    \"required\": [{\"name\": \"a\"}],\n    \"optionl\": [{\"name\": \"b\"}],\n}\nTEMPLATE = 'x'\n",
    )]);
    let ran = home.run(&["render", "typo", "a=1"]);
    for part in ["unknown class of variables `optionl`", "did you mean `optional`?", "prompt.py:3:6"] {
        assert!(ran.code == 1 && ran.stderr.contains(part), "{part}: {ran:?}");
    }
}

#[test]
fn a_variable_may_be_optional_and_custom_and_nothing_else_twice() {
    let both = "VARIABLES = {\n    \"custom\": [{\"name\": \"level\", \"default\": \"low\"}, {\"name\": \"tone\", \"default\": \"dry\"}],\n    \"optional\": [{\"name\": \"level\", \"default\": \"high\"}, {\"name\": \"tone\", \"type\": \"string\"}],\n}\nTEMPLATE = '{{ level }} {{ tone }}'\n";
    let twice = "VARIABLES = {\n    \"required\": [{\"name\": \"a\"}],\n    \"optional\": [{\"name\": \"b\"}, {\"name\": \"a\"}],\n}\nTEMPLATE = 'x'\n";
    let home = with_prompt(&[("both/prompt.py", both), ("twice/prompt.py", twice)]);
    assert_eq!(home.done(&["render", "both"]).stdout, "high dry");
    let trace = home.done(&["explain", "both", "--json"]).json()["trace"]["variables"].clone();
    let level = &trace[0];
    assert_eq!(
        (&level["layer"], &level["lost"][0]["layer"], &level["lost"][0]["value"]),
        (&json!("optional"), &json!("custom"), &json!("low"))
    );
    assert_eq!(trace[1]["layer"], "custom");
    let ran = home.run(&["render", "twice", "a=1"]);
    assert!(ran.code == 1 && ran.stderr.contains("prompt.py:3:33"), "the second declaration: {ran:?}");
    // The caret ends with the declaration.
    assert!(ran.stderr.contains(&format!(" {}\n", "^".repeat(r#"{"name": "a"}"#.len()))), "{ran:?}");
}

#[test]
fn a_directory_that_is_linked_in_is_told() {
    let home = with_prompt(&[("hello/template.md", "Hello"), ("hollow/notes.txt", "no prompt")]);
    home.write_outside("elsewhere/template.md", "out");
    for name in ["l1", "general_system"] {
        symlink(home.outside("elsewhere"), home.path(&format!("{PROMPTS}/{name}"))).expect("linked");
    }
    symlink("hello", home.path(&format!("{PROMPTS}/inside"))).expect("linked");
    let ran = home.run(&["render", "l1"]);
    assert!(
        ran.code == 3
            && ran.stderr.contains("prompts/l1` is ignored because it is a link that points outside of"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("did you mean"), "{ran:?}");
    let ran = home.run(&["render", "l2"]);
    assert!(
        ran.code == 3 && !ran.stderr.contains("did you mean"),
        "nothing that is not there is proposed: {ran:?}"
    );
    let ran = home.run(&["render", "hollo"]);
    assert!(ran.stderr.contains("did you mean `hello`?") && !ran.stderr.contains("hollow"), "{ran:?}");
    assert_eq!(home.done(&["render", "inside"]).stdout, "Hello");
    let ran = home.done(&["render", "general_system", "agent_name=Rumi", "--json"]);
    assert!(warnings(&ran).iter().any(|told| told.contains("general_system` is ignored")), "{ran:?}");
    for call in [&["doctor"][..], &["list"]] {
        let ran = home.run(call);
        assert!(ran.has("prompts/l1` is ignored") && ran.has("general_system` is ignored"), "{ran:?}");
    }
}

#[test]
fn what_is_computed_is_told() {
    let python =
        "METADATA = dict(version=\"2.0\", type=\"system\")\nVARIABLES = dict(required=[])\nTEMPLATE = 'x'\n";
    let home = with_prompt(&[("computed/prompt.py", python)]);
    let shown = home.done(&["show", "computed"]).stdout;
    assert!(
        shown.starts_with("computed (computed)\n")
            && shown.contains("METADATA, VARIABLES: computed by prompt.py"),
        "{shown}"
    );
    let listed = home.done(&["list"]).stdout;
    assert!(listed.contains("computed\tcomputed\t-\t"), "{listed}");
    let ran = home.done(&["list", "--type", "system"]);
    assert!(!ran.stdout.contains("computed") && ran.stderr.contains("`computed` is left out"), "{ran:?}");
    let listed = home.done(&["list", "--json"]).json();
    let line = listed
        .as_array()
        .into_iter()
        .flatten()
        .find(|line| line["prompt_id"] == "computed")
        .expect("is listed");
    assert_eq!(
        (&line["computed"], &line["type"], &line["version"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
}

#[test]
fn the_skeleton_works_with_everything_in_it() {
    let home = Home::new();
    home.done(&["new", "full", "--full"]);
    let path = home.path(&format!("{PROMPTS}/full/prompt.py"));
    let text = fs::read_to_string(&path).expect("is there");
    let at = text.find("# Hooks run").expect("has room for hooks");
    let code = |line: &str| line.strip_prefix("# ").unwrap_or_default().to_owned();
    let hooks: Vec<String> = text[at..].lines().skip(2).map(code).collect();
    fs::write(&path, format!("{}{}\n", &text[..at], hooks.join("\n"))).expect("written");
    let ran = home.done(&["render", "full", "topic= lamps "]);
    assert_eq!(ran.stdout.trim_end(), "Write a short, friendly text about lamps.");
}

#[test]
fn a_word_means_what_a_render_of_it_takes() {
    let home = with_prompt(&[("history_compression/template.md", "x")]);
    home.write("user_data/shared/vocab.json", r#"{"prompt.nowhere": ["prompt.history_compression"], "prompt.history_compression": ["prompt.squeeze"]}"#);
    let meant = home.done(&["vocab", "prompt", "squeeze"]).stdout;
    let taken = home.run(&["render", "squeeze", "--json"]);
    assert_eq!(meant.trim(), "history_compression");
    assert!(taken.has("history_compression"), "{taken:?}");
}

#[test]
fn a_template_that_includes_itself_reaches_a_limit() {
    let home = with_prompt(&[("round/template.md", "{% include 'round/template.md' %}")]);
    let ran = home.run(&["render", "round", "--json"]);
    assert!(ran.code == 7 && ran.stderr.contains("render.limit"), "{ran:?}");
}

#[test]
fn a_pack_that_is_replaced_by_the_same_bytes_stays_approved_and_says_so() {
    let home = Home::new();
    home.write_outside("p/pack.json", r#"{"pack_id": "p"}"#);
    home.write_outside("p/prompts/theirs/template.md", "theirs");
    let source = home.outside("p").display().to_string();
    let first = home.done(&["pack", "install", &source]);
    assert!(first.stderr.contains("Nothing of it is used before `hina pack approve p`"), "{first:?}");
    home.done(&["pack", "approve", "p", "--yes"]);
    let again = home.done(&["pack", "install", &source, "--replace"]);
    assert!(again.stderr.contains("Its files match your approval, so it is used."), "{again:?}");
    assert_eq!(home.done(&["render", "theirs"]).stdout, "theirs");
    home.write_outside("p/prompts/theirs/template.md", "other");
    let other = home.done(&["pack", "install", &source, "--replace"]);
    assert!(other.stderr.contains("Nothing of it is used before"), "{other:?}");
}

#[test]
fn a_provider_that_fails_or_is_held_back_is_named() {
    let home = with_prompt(&[("both/template.md", "{{ one }}{{ two }}")]);
    home.write("user_data/packs/p/pack.json", r#"{"variable_providers": [{"file": "one.py", "namespace": "one"}, {"file": "two.py", "namespace": "two"}]}"#);
    for name in ["one", "two"] {
        home.write(
            &format!("user_data/packs/p/{name}.py"),
            "def provide(context):\n    raise ValueError('no luck')\n",
        );
    }
    let ran = home.done(&["render", "both", "--json"]);
    let told = warnings(&ran);
    assert!(
        told.len() == 2 && told.iter().all(|told| told.contains("because the pack `p` that provides it is")),
        "{ran:?}"
    );
    home.done(&["pack", "approve", "p", "--yes"]);
    let ran = home.done(&["render", "both"]);
    assert!(ran.stderr.contains("provider one: ") && ran.stderr.contains("provider two: "), "{ran:?}");
}

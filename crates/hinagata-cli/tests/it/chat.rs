//! `hina chat` with a provider on this machine: a transcript has no server.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use fake_provider::{ANSWER, FakeProvider, Reply};
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret-1234";

fn hina(root: &Path, provider: &FakeProvider) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(root).env("HINAGATA_STATE", root.join("state"));
    command.env("XDG_CONFIG_HOME", root.join("config")).env("HINAGATA_LLM_RETRIES", "1ms, 1ms");
    command.env("OPENAI_BASE_URL", provider.base_url()).env("OPENAI_API_KEY", KEY);
    command
        .env("OLLAMA_HOST", provider.url())
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("ANTHROPIC_BASE_URL");
    command
}

fn chat(root: &Path, provider: &FakeProvider, arguments: &[&str]) -> Output {
    hina(root, provider).args(["chat", "p", "name=Rumi"]).args(arguments).output().expect("hina runs")
}

fn workspace() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    write(place.path(), "hinagata.toml", "");
    write(
        place.path(),
        "user_data/shared/prompts/p/template.md",
        "Say hello to {{ name }} as {{ system.model }}.",
    );
    place
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
    fs::write(path, text).expect("written");
}

fn printed_texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_answer_is_printed() {
    let (place, provider) = (workspace(), FakeProvider::start());
    for arguments in [&["--model", "m"][..], &["--model", "m", "--no-stream"], &["--model", "ollama/m"]] {
        let output = chat(place.path(), &provider, arguments);
        assert_eq!(printed_texts(&output), (ANSWER.to_owned(), String::new()), "{arguments:?}");
        assert!(output.status.success());
    }
    let received = provider.received();
    assert_eq!(received[0].body["messages"], json!([{"role": "user", "content": "Say hello to Rumi as m."}]));
    assert_eq!((&received[0].body["stream"], received[1].body.get("stream")), (&json!(true), None));
}

#[test]
fn scripts_get_the_whole_answer() {
    let (place, provider) = (workspace(), FakeProvider::start());
    let (text, _) = printed_texts(&chat(
        place.path(),
        &provider,
        &["--json", "--model", "m", "-o", "temperature=0", "-o", "user=7up"],
    ));
    let answer: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(answer["usage"]["total_tokens"], 7);
    let body = &provider.received()[0].body;
    assert_eq!((&body["temperature"], &body["user"]), (&json!(0), &json!("7up")));
}

#[test]
fn what_comes_is_printed_before_the_next_comes() {
    let (place, provider) = (workspace(), FakeProvider::start());
    let piece = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    provider.reply(Reply::Steps(vec![piece("one"), piece("two"), "data: [DONE]\n\n".to_owned()]));
    let mut child = hina(place.path(), &provider)
        .args(["chat", "p", "--model", "m"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("hina runs");
    let mut stdout = child.stdout.take().expect("is piped");
    for wanted in ["one", "two"] {
        provider.step();
        let mut came = [0; 3];
        stdout.read_exact(&mut came).expect("is printed");
        assert_eq!(came, wanted.as_bytes());
    }
    provider.step();
    assert!(child.wait().expect("ends").success());
}

#[test]
fn a_failure_says_what_the_provider_said_and_never_the_key() {
    let (place, provider) = (workspace(), FakeProvider::start());
    provider.reply(Reply::status(401, &format!(r#"{{"error": {{"message": "no such key: {KEY}"}}}}"#)));
    let output = chat(place.path(), &provider, &["--model", "m"]);
    let (text, talk) = printed_texts(&output);
    assert_eq!((output.status.code(), text.as_str()), (Some(5), ""));
    for told in
        ["error[model]: `openai` rejected the API key", "status 401: no such key: •••", "OPENAI_API_KEY"]
    {
        assert!(talk.contains(told), "{talk}");
    }
    assert!(!talk.contains(KEY), "{talk}");

    provider.reply(Reply::status(400, KEY));
    let (_, talk) = printed_texts(&chat(place.path(), &provider, &["--model", "m", "--json"]));
    let error: Value = serde_json::from_str(&talk).expect("is JSON");
    assert_eq!(error.pointer("/error/details/provider_status"), Some(&json!(400)), "{talk}");
    assert!(!talk.contains(KEY), "{talk}");
}

#[test]
fn a_response_that_is_no_answer_is_an_error_however_it_is_printed() {
    let (place, provider) = (workspace(), FakeProvider::start());
    for arguments in [&["--model", "m"][..], &["--model", "m", "--no-stream"], &["--model", "m", "--json"]] {
        for reply in
            [Reply::page("<html>gateway</html>"), Reply::status(200, "[1, 2]"), Reply::status(200, "")]
        {
            provider.reply(reply.clone());
            let output = chat(place.path(), &provider, arguments);
            let (text, talk) = printed_texts(&output);
            assert_eq!(
                (output.status.code(), text.as_str()),
                (Some(5), ""),
                "{arguments:?} {reply:?}: {talk}"
            );
            assert!(talk.contains("invalid response from `openai`"), "{talk}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_is_printed_as_far_as_it_came() {
    let (place, provider) = (workspace(), FakeProvider::start());
    let piece = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "half"}}]}));
    provider.reply(Reply::BreakOff(vec![piece]));
    let output = chat(place.path(), &provider, &["--model", "m"]);
    let (text, talk) = printed_texts(&output);
    assert_eq!((output.status.code(), text.as_str()), (Some(5), "half"), "{talk}");
    assert!(talk.contains("ended early"), "{talk}");
}

#[test]
fn nobody_there_says_where_the_address_is_from() {
    let (place, provider) = (workspace(), FakeProvider::start());
    let mut command = hina(place.path(), &provider);
    drop(provider);
    let output = command.args(["chat", "p", "--model", "m"]).output().expect("hina runs");
    let (_, talk) = printed_texts(&output);
    assert_eq!(output.status.code(), Some(5));
    assert!(talk.contains("cannot connect to `openai`") && talk.contains("OPENAI_BASE_URL"), "{talk}");
}

#[test]
fn the_doctor_tells_which_providers_have_keys() {
    let (place, provider) = (workspace(), FakeProvider::start());
    let (page, _) = printed_texts(&hina(place.path(), &provider).arg("doctor").output().expect("hina runs"));
    assert!(page.contains("openai: key in OPENAI_API_KEY"), "{page}");
    assert!(page.contains("anthropic: no key; set ANTHROPIC_API_KEY"), "{page}");
    assert!(page.contains("ollama: without a key at http://127.0.0.1:"), "{page}");
    assert!(!page.contains(KEY));
}

#[test]
fn a_hook_asks_the_model_of_the_settings_once_the_workspace_is_trusted() {
    let (place, provider) = (workspace(), FakeProvider::start());
    write(place.path(), "hinagata.toml", "[llm]\nmodel = \"small\"\n[models.small]\nmodel = \"m-1\"\n");
    write(
        place.path(),
        "user_data/shared/prompts/h/prompt.py",
        r#"METADATA = {"name": "h", "version": "1.0.0", "template": "template.md"}
PERMISSIONS = {"llm_call": True}

async def pre_render(variables, context):
    variables["said"] = await context["llm_call"]("Hi", max_tokens=5)
"#,
    );
    write(place.path(), "user_data/shared/prompts/h/template.md", "<{{ said }}>");
    let run = |arguments: &[&str]| hina(place.path(), &provider).args(arguments).output().expect("hina runs");
    let refused = run(&["render", "h"]);
    assert!(!refused.status.success() && provider.received().is_empty(), "{refused:?}");
    assert!(run(&["trust", "--yes"]).status.success());
    let (text, talk) = printed_texts(&run(&["render", "h"]));
    assert_eq!(text, format!("<{ANSWER}>"), "{talk}");
    let body = &provider.received()[0].body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("m-1"), &json!(5)));
}

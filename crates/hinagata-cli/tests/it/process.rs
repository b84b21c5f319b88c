//! `hina process` with a provider on this machine: a transcript has no server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use fake_provider::{ANSWER, FakeProvider, Reply};
use serde_json::{Value, json};

fn hina(root: &Path, provider: &FakeProvider) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(root).env("HINAGATA_STATE", root.join("state"));
    command.env("XDG_CONFIG_HOME", root.join("config")).env("HINAGATA_LLM_RETRIES", "1ms");
    command.env("OPENAI_BASE_URL", provider.base_url()).env("OPENAI_API_KEY", "sk-1");
    command.arg("process");
    command
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    fs::write(place.path().join("a.txt"), "The first part.\n\nThe second part.\n").expect("written");
    place
}

fn text_reply(text: &str) -> Reply {
    let chunk = json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]});
    Reply::Stream(vec![format!("data: {chunk}\n\n"), "data: [DONE]\n\n".to_owned()])
}

fn printed_texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn saved_files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("state/processes")).into_iter().flatten();
    entries.map(|entry| entry.expect("is readable").path()).collect()
}

#[test]
fn a_text_is_analysed_then_summarised() {
    let (place, provider) = (place(), FakeProvider::start());
    for text in ["an1", "an2", "su1", "the summary"] {
        provider.reply(text_reply(text));
    }
    let arguments = ["summarize", "a.txt", "--model", "m", "--chunk-tokens", "7", "--token-limit", "7"];
    let output = hina(place.path(), &provider)
        .args(arguments)
        .args(["--target-tokens", "70", "--instruction", "Mind the parts.", "-o", "temperature=0"])
        .output()
        .expect("hina runs");
    assert_eq!(printed_texts(&output), ("the summary".to_owned(), String::new()));
    let asked: Vec<String> = provider.received().iter().map(|request| request.body.to_string()).collect();
    assert_eq!(asked.len(), 4);
    assert!(asked[0].contains("The first part.") && !asked[0].contains("The second part."), "{}", asked[0]);
    assert!(asked[1].contains("The second part.") && asked[1].contains("an1"), "{}", asked[1]);
    assert!(asked[3].contains("about 70 tokens") && asked[3].contains("an2"), "{}", asked[3]);
    assert!(asked.iter().all(|body| body.contains("Mind the parts.") && body.contains("\"temperature\":0")));
    assert!(saved_files(place.path()).is_empty());
}

#[test]
fn what_failed_is_kept_and_goes_on_where_it_ended() {
    let (place, provider) = (place(), FakeProvider::start());
    provider.reply(text_reply("ONE")).reply(Reply::status(400, "no"));
    let concat = ["concat", "a.txt", "--model", "m", "--chunk-tokens", "7", "--json"];
    let output = hina(place.path(), &provider)
        .args(concat)
        .args(["--instruction", "Shout.", "--separator", " + "])
        .output()
        .expect("hina runs");
    let (text, talk) = printed_texts(&output);
    assert_eq!((output.status.code(), text.as_str()), (Some(5), ""));
    let error: Value = serde_json::from_str(&talk).expect("is JSON");
    assert_eq!(error.pointer("/error/details/partial"), Some(&json!("ONE")), "{talk}");
    let state = saved_files(place.path()).remove(0);
    assert_eq!(error.pointer("/error/details/state"), Some(&json!(state)), "{talk}");

    provider.reply(text_reply("TWO"));
    let output =
        hina(place.path(), &provider).args(["concat", "--resume"]).arg(&state).output().expect("hina runs");
    assert_eq!(printed_texts(&output), ("ONE + TWO".to_owned(), String::new()));
    let asked = provider.received();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[1].body, asked[2].body, "the model, the instruction and the options are kept too");
    assert!(saved_files(place.path()).is_empty(), "what has its result is not kept");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_state() {
    let (place, provider) = (place(), FakeProvider::start());
    provider.reply(text_reply("ONE")).reply(Reply::Silence);
    let child = hina(place.path(), &provider)
        .args(["stream", "a.txt", "--model", "m", "--max-chunks", "1", "--chunk-tokens", "7"])
        .args(["--instruction", "Fold.", "--state", "mine.json"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hina runs");
    let runtime = tokio_runtime();
    runtime.block_on(provider.wait_for_requests(2));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("ends");
    let (text, talk) = printed_texts(&output);
    assert_eq!((output.status.code(), text.as_str()), (Some(1), ""), "{talk}");
    assert!(talk.contains("hina process stream --resume mine.json"), "{talk}");

    provider.reply(text_reply("TWO"));
    let output = hina(place.path(), &provider)
        .args(["stream", "--resume", "mine.json", "--json"])
        .output()
        .expect("hina runs");
    let result: Value = serde_json::from_str(&printed_texts(&output).0).expect("is JSON");
    let estimated = &result["estimated"];
    assert_eq!((&result["output"], &result["calls"], estimated), (&json!("TWO"), &json!(1), &json!(true)));
    assert!(provider.received()[2].body.to_string().contains("ONE"));
    assert!(place.path().join("mine.json").exists(), "a file that the user named is the user's");
}

#[cfg(unix)]
fn tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn a_conversation_goes_on_with_materials_and_what_fits_of_it() {
    let (place, provider) = (place(), FakeProvider::start());
    let talk = json!([
        {"role": "user", "content": "An old question of many words that nobody needs"},
        {"role": "assistant", "content": "An old answer"},
    ]);
    fs::write(place.path().join("talk.json"), talk.to_string()).expect("written");
    provider.reply(text_reply("a note")).reply(Reply::Canned);
    let output = hina(place.path(), &provider)
        .args(["dialogue", "talk.json", "--say", "And now?", "--material", "a.txt", "--two-pass"])
        .args(["--target-tokens", "5", "--model", "m", "--json"])
        .output()
        .expect("hina runs");
    let (text, told) = printed_texts(&output);
    let result: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!((&result["output"], &result["preparation"]), (&json!(ANSWER), &json!("a note")));
    assert_eq!((&result["left_out"], &result["calls"]), (&json!(2), &json!(2)));
    assert_eq!(result["messages"].as_array().map(Vec::len), Some(4));
    let asked = provider.received();
    for request in &asked {
        let body = request.body.to_string();
        assert!(
            body.contains("And now?") && body.contains("The first part.") && !body.contains("An old"),
            "{body}"
        );
    }
    assert!(asked[1].body.to_string().contains("a note"));
}

#[test]
fn arguments_that_lead_nowhere_are_told_before_any_call() {
    let (place, provider) = (place(), FakeProvider::start());
    fs::write(place.path().join("no.json"), "{}").expect("written");
    for (arguments, told) in [
        (&["concat", "a.txt", "--model", "m"][..], "no instruction for the texts"),
        (&["dialogue", "--model", "m"], "no conversation"),
        (&["dialogue", "no.json", "--model", "m"], "`no.json` is not a conversation"),
        (&["summarize", "--resume", "no.json", "--model", "m"], "`no.json` is not a saved process"),
        (&["summarize", "--resume", "none.json", "--model", "m"], "file `none.json` not found"),
        (&["summarize", "none.txt", "--model", "m"], "none.txt"),
    ] {
        let output = hina(place.path(), &provider).args(arguments).output().expect("hina runs");
        let (text, talk) = printed_texts(&output);
        assert!(!output.status.success() && text.is_empty() && talk.contains(told), "{arguments:?}: {talk}");
    }
    assert!(provider.received().is_empty());
}

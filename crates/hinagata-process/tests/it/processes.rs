//! Processes with scripted answers: what fails, what is kept, what is told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use futures_util::FutureExt as _;
use hinagata::{
    Code, Error, Reason, Result,
    definition::AdHocModules,
    module::{CompiledPrompt, Message, PromptModule, TextOptions, prompt_text},
    ports::PortFuture,
    tokens::TokenCount,
};
use hinagata_process::{
    Answer, Ask, Chunk, Concat, Dialogue, Event, Failure, Finish, Outcome, Process, Prompts, Running, Stream,
    Summarize,
};
use serde_json::{Value, json};

/// Answers in their order, and waits for ever when there are none left.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Result<Answer>>>,
    asked: Mutex<Vec<String>>,
}

impl Script {
    fn of(answers: &[&str]) -> Self {
        let script = Self::default();
        script.add(answers.iter().map(|text| Ok(Answer::new(*text))));
        script
    }

    fn add(&self, answers: impl IntoIterator<Item = Result<Answer>>) {
        self.answers.lock().expect("is whole").extend(answers);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("is whole").clone()
    }
}

impl Ask for Script {
    fn ask_model<'a>(
        &'a self,
        prompt: CompiledPrompt,
        pieces: &'a (dyn Fn(&str) + Send + Sync),
    ) -> PortFuture<'a, Result<Answer>> {
        self.asked.lock().expect("is whole").push(prompt_text(&prompt, &TextOptions::default()));
        let next = self.answers.lock().expect("is whole").pop_front();
        Box::pin(async move {
            let Some(answer) = next else { return std::future::pending().await };
            if let Ok(answer) = &answer {
                pieces(&answer.content);
            }
            answer
        })
    }

    fn count_tokens(&self, text: &str) -> TokenCount {
        TokenCount::estimate(text.chars().count(), 0)
    }
}

fn module() -> PromptModule<Value> {
    let chunks = |context: &Value| {
        let place = |name: &str| context["range"][name].as_u64().map(|at| at as usize);
        let all = context["chunks"].as_array().cloned().unwrap_or_default();
        let (start, end) = (place("start").unwrap_or(0), place("end").unwrap_or(all.len()));
        all[start..end]
            .iter()
            .map(|chunk| chunk["content"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    PromptModule::new()
        .state(|context: &Value| context["state"]["content"].as_str().map(|text| format!("state={text};")))
        .chunks(chunks)
        .messages(|context: &Value| {
            let all = context["messages"].as_array().into_iter().flatten();
            all.map(|said| format!("{};", said["content"].as_str().unwrap_or_default())).collect::<Vec<_>>()
        })
}

fn chunks(texts: &[&str]) -> Vec<Chunk> {
    texts.iter().map(|text| Chunk::new("t", *text)).collect()
}

fn run_with(
    process: &mut Process,
    script: &Script,
    prompts: &dyn Prompts,
) -> Option<Result<Outcome, Failure>> {
    process.run_calls(&Running::new(prompts, script, &|_: Event<'_>| ())).now_or_never()
}

fn run(process: &mut Process, script: &Script) -> Option<Result<Outcome, Failure>> {
    run_with(process, script, &module())
}

fn cut() -> Result<Answer> {
    Ok(Answer { finish: Finish::Length, ..Answer::new("half a th") })
}

fn down() -> Result<Answer> {
    Err(Error::new(Code::Model, "down"))
}

/// The same process after it was written down and read again.
fn read_again(process: &Process) -> Process {
    serde_json::from_str(&serde_json::to_string(process).expect("is data")).expect("is a process")
}

#[test]
fn a_stream_holds_as_many_chunks_as_fit_and_a_large_one_alone() {
    let mut stream = Stream::new(chunks(&["aa", "bb", "cccccccc", "d"]));
    stream.options.token_limit = Some(4);
    let script = Script::of(&["1", "2", "3"]);
    let outcome = run(&mut stream.into(), &script).expect("ends").expect("succeeds");
    assert_eq!((outcome.output.as_str(), outcome.tokens, outcome.estimated), ("3", 1, true));
    let asked = script.asked();
    assert_eq!(asked.len(), 3);
    assert!(
        asked[0].contains("aa") && asked[0].contains("bb") && asked[0].contains("state=;"),
        "{}",
        asked[0]
    );
    assert!(asked[1].contains("cccccccc") && asked[1].contains("state=1;"), "{}", asked[1]);
    assert!(asked[2].contains("state=2;"), "{}", asked[2]);
}

#[test]
fn a_stream_that_fails_goes_on_behind_its_last_whole_answer() {
    for failure in [cut(), down()] {
        let mut stream = Stream::new(chunks(&["a", "b", "c"]));
        stream.options.max_chunk = Some(1);
        let mut process = Process::from(stream);
        let script = Script::of(&["after a"]);
        script.add([failure]);
        let failed = run(&mut process, &script).expect("ends").expect_err("fails");
        assert_eq!((failed.error.code(), failed.partial.as_str()), (Code::Model, "after a"));

        let script = Script::of(&["after b", "after c"]);
        let outcome = run(&mut read_again(&process), &script).expect("ends").expect("succeeds");
        assert_eq!(outcome.output, "after c");
        assert!(script.asked()[0].contains("state=after a;"), "{:?}", script.asked());
    }
}

#[test]
fn dropping_a_run_keeps_what_was_answered() {
    let mut process = Process::from(Concat::new(chunks(&["a", "b", "c"])));
    assert!(run(&mut process, &Script::of(&["A", "B"])).is_none(), "the third answer never comes");
    assert_eq!(process.partial_output(), "A\nB");
    let script = Script::of(&["C"]);
    let outcome = run(&mut process, &script).expect("ends").expect("succeeds");
    assert_eq!((outcome.output.as_str(), script.asked().len()), ("A\nB\nC", 1));
}

#[test]
fn calls_at_once_are_joined_in_order_and_a_failure_keeps_those_before_it() {
    let mut concat = Concat::new(chunks(&["a", "b", "c", "d", "e", "f"]));
    concat.options.parallel = true;
    let mut process = Process::from(concat);
    let script = Script::of(&["A", "B", "C"]);
    script.add([down()]);
    let failed = run(&mut process, &script).expect("ends").expect_err("fails");
    assert_eq!(failed.partial, "A\nB\nC");
    let outcome =
        run(&mut read_again(&process), &Script::of(&["D", "E", "F"])).expect("ends").expect("succeeds");
    assert_eq!(outcome.output, "A\nB\nC\nD\nE\nF");
}

#[test]
fn a_dialogue_whose_answer_fails_does_not_prepare_it_again() {
    let mut dialogue = Dialogue::new(vec![Message::user("hi")]);
    dialogue.options.two_pass = true;
    let mut process = Process::from(dialogue);
    let script = Script::of(&["be kind"]);
    script.add([down()]);
    let failed = run(&mut process, &script).expect("ends").expect_err("fails");
    assert_eq!(failed.partial, "be kind");

    let script = Script::of(&["hello"]);
    let mut again = read_again(&process);
    let outcome = run(&mut again, &script).expect("ends").expect("succeeds");
    assert_eq!((outcome.output.as_str(), outcome.preparation.as_deref()), ("hello", Some("be kind")));
    assert!(script.asked()[0].contains("be kind") && script.asked().len() == 1, "{:?}", script.asked());
    let Process::Dialogue(dialogue) = again else { panic!("it is one still") };
    assert_eq!(dialogue.context.messages.last(), Some(&Message::assistant("hello")));
    assert_eq!(dialogue.context.preparation_note, None, "the next answer has a note of its own");
}

#[test]
fn a_dialogue_sends_what_fits_and_keeps_everything() {
    let mut dialogue = Dialogue::new(vec![
        Message::user("the old question"),
        Message::assistant("the old answer"),
        Message::user("the new question"),
    ]);
    dialogue.options.target_tokens = Some(20);
    let (script, mut process) = (Script::of(&["answer"]), Process::from(dialogue));
    let outcome = run(&mut process, &script).expect("ends").expect("succeeds");
    assert_eq!(outcome.left_out, 2);
    let asked = script.asked().remove(0);
    assert!(asked.contains("the new question") && !asked.contains("old"), "{asked}");
    let Process::Dialogue(dialogue) = process else { panic!("it is one still") };
    assert_eq!(dialogue.context.messages.len(), 4);
}

#[test]
fn a_summary_that_fails_does_not_analyse_again() {
    let mut summarize = Summarize::new(chunks(&["a", "b"]));
    summarize.options.max_chunk = Some(1);
    let mut process = Process::from(summarize);
    let script = Script::of(&["an1", "an2", "su1"]);
    script.add([down()]);
    let failed = run(&mut process, &script).expect("ends").expect_err("fails");
    assert_eq!(failed.partial, "su1");
    let asked = script.asked();
    assert!(asked[1].contains("an1") && asked[2].contains("an2") && asked[3].contains("su1"), "{asked:?}");

    let script = Script::of(&["su2"]);
    let mut again = read_again(&process);
    let outcome = run(&mut again, &script).expect("ends").expect("succeeds");
    assert_eq!((outcome.output.as_str(), outcome.preparation.as_deref()), ("su2", Some("an2")));
    assert!(script.asked()[0].contains("su1") && script.asked().len() == 1);
    let done = run(&mut again, &Script::default()).expect("asks nobody").expect("succeeds");
    assert_eq!(done.output, "su2");
}

#[test]
fn nothing_to_work_on_is_an_error_before_any_call() {
    for mut process in
        [Process::from(Stream::default()), Concat::default().into(), Summarize::default().into()]
    {
        let script = Script::of(&["never"]);
        let failed = run(&mut process, &script).expect("ends").expect_err("fails");
        assert_eq!((failed.error.code(), failed.error.reason()), (Code::Validation, Some(Reason::NoChunks)));
        assert!(script.asked().is_empty());
    }
}

#[test]
fn whoever_watches_is_told_of_every_step_and_piece() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let watch = {
        let told = Arc::clone(&told);
        move |event: Event<'_>| {
            let line = match event {
                Event::Started(step) => format!("{} {}/{}", step.phase.name(), step.number + 1, step.total),
                Event::Piece(step, text) => format!("{text}{}", if step.is_last() { "!" } else { "" }),
                Event::Finished(_) => "done".to_owned(),
                other => panic!("{other:?} is new"),
            };
            told.lock().expect("is whole").push(line);
        }
    };
    let mut process = Process::from(Summarize::new(chunks(&["a", "b", "c"])));
    let (script, module) = (Script::of(&["1", "2", "3", "4"]), module());
    process
        .run_calls(&Running::new(&module, &script, &watch))
        .now_or_never()
        .expect("ends")
        .expect("succeeds");
    assert_eq!(
        *told.lock().expect("is whole"),
        [
            "analysis 1/4",
            "1",
            "done",
            "analysis 2/4",
            "2",
            "done",
            "summary 3/4",
            "3",
            "done",
            "summary 4/4",
            "4!",
            "done"
        ]
    );
}

#[test]
fn a_call_of_concat_knows_how_many_chunks_are_done() {
    let module =
        || PromptModule::new().state(|context: &Value| format!("so far {};", context["processedCount"]));
    for (size, parallel, expected) in
        [(1, false, ["so far 0;", "so far 1;", "so far 2;"]), (1, true, ["so far 0;"; 3])]
    {
        let mut concat = Concat::new(chunks(&["a", "b", "c"]));
        (concat.options.batch_size, concat.options.parallel) = (size, parallel);
        let script = Script::of(&["1", "2", "3"]);
        run_with(&mut concat.into(), &script, &module()).expect("ends").expect("succeeds");
        for (asked, expected) in script.asked().iter().zip(expected) {
            assert!(asked.contains(expected), "{asked}");
        }
    }
}

#[test]
fn a_dialogue_without_messages_has_none_yet() {
    let dialogue: Dialogue = serde_json::from_value(json!({"context": {"materials": []}})).expect("is one");
    let script = Script::of(&["Hello"]);
    let outcome = run(&mut dialogue.into(), &script).expect("ends").expect("succeeds");
    assert_eq!(outcome.output, "Hello");
}

#[test]
fn module_files_say_what_presets_say_with_what_a_process_knows() {
    let preset =
        json!({"module": "mine", "uses": ["preset:stream"], "sections": {"terms": ["A term of mine."]}});
    let modules = AdHocModules::from_documents([&preset]).expect("is a module");
    let mut stream = Stream::new(chunks(&["first piece", "second piece"]));
    stream.options.max_chunk = Some(1);
    // What no module declares is in nobody's way.
    stream.context.variables.insert("unknown".to_owned(), json!(1));
    let script = Script::of(&["one", "two"]);
    run_with(&mut stream.into(), &script, &modules).expect("ends").expect("succeeds");
    let asked = script.asked();
    assert!(asked[0].contains("first piece") && !asked[0].contains("second piece"), "{}", asked[0]);
    assert!(asked[1].contains("second piece") && asked[1].contains("one"), "{}", asked[1]);
    assert!(
        asked[1].contains("These are the last chunks") && asked[1].contains("A term of mine."),
        "{}",
        asked[1]
    );
}

//! Adapts `hinagata-process` to recorded cases, with scripted answers.

use std::{collections::VecDeque, sync::Mutex};

use futures_util::FutureExt as _;
use hinagata::{Code, Error, Result, ports::PortFuture};
use hinagata_module::{CompiledPrompt, PromptModule};
use hinagata_process::{Answer, Ask, Event, Finish, Process, Running};
use serde_json::{Map, Value, json};

use super::module::{StandIns, remove_hints};

/// The calls of a process, and its output or its partial result.
pub(super) fn run_process(input: &Map<String, Value>) -> Result<Value, String> {
    let module = input.get("module").cloned().unwrap_or_default();
    let module = PromptModule::from_json_with(&module, &StandIns).map_err(|error| error.to_string())?;
    let mut process = process(input).map_err(|error| error.to_string())?;
    let script = Script::new(input);
    let running = Running::new(&module, &script, &|_: Event<'_>| ());
    let outcome =
        process.run_calls(&running).now_or_never().ok_or("the process is waiting without a pending call")?;
    let calls = script.into_calls();
    Ok(match outcome {
        Ok(outcome) => json!({"calls": calls, "output": outcome.output}),
        Err(failure) => json!({"calls": calls, "partial": failure.partial}),
    })
}

fn process(input: &Map<String, Value>) -> serde_json::Result<Process> {
    let field = |name: &str| input.get(name).cloned();
    let mut options = field("options").unwrap_or_else(|| json!({}));
    // The reference spells this option differently.
    if let Some(include) = options.get("includematerials").cloned() {
        options["includeMaterials"] = include;
    }
    serde_json::from_value(
        json!({"process": field("workflow"), "context": field("context"), "options": options}),
    )
}

/// Scripted answers in order, and the recorded calls.
struct Script {
    answers: Mutex<VecDeque<Value>>,
    calls: Mutex<Vec<Value>>,
    brief: bool,
}

impl Script {
    fn new(input: &Map<String, Value>) -> Self {
        let answers = input.get("responses").and_then(Value::as_array).into_iter().flatten().cloned();
        Self {
            answers: Mutex::new(answers.collect()),
            calls: Mutex::default(),
            brief: input.get("brief").and_then(Value::as_bool).unwrap_or_default(),
        }
    }

    fn into_calls(self) -> Vec<Value> {
        self.calls.into_inner().unwrap_or_default()
    }

    fn note(&self, prompt: &CompiledPrompt) {
        let mut call = prompt.to_json();
        remove_hints(&mut call);
        if self.brief {
            call = titles(&call);
        }
        if let Ok(mut calls) = self.calls.lock() {
            calls.push(call);
        }
    }

    fn next(&self) -> Result<Answer> {
        let next = self.answers.lock().ok().and_then(|mut answers| answers.pop_front());
        let failed = |why: &str| Err(Error::new(Code::Model, why));
        match next {
            None => failed("no answers left"),
            Some(Value::String(text)) => Ok(Answer::new(text)),
            Some(answer) => match answer["throw"].as_str() {
                Some(why) => failed(why),
                None => Ok(Answer {
                    content: answer["content"].as_str().unwrap_or_default().to_owned(),
                    tokens: answer["usage"]["completionTokens"].as_u64(),
                    finish: Finish::from_name(answer["finishReason"].as_str().unwrap_or("stop")),
                }),
            },
        }
    }
}

impl Ask for Script {
    fn ask_model<'a>(
        &'a self,
        prompt: CompiledPrompt,
        _pieces: &'a (dyn Fn(&str) + Send + Sync),
    ) -> PortFuture<'a, Result<Answer>> {
        self.note(&prompt);
        Box::pin(std::future::ready(self.next()))
    }
}

/// The titles of a call's sections.
fn titles(call: &Value) -> Value {
    let part = |name: &str| -> Vec<&Value> {
        let elements = call[name].as_array().into_iter().flatten();
        elements.filter(|element| element["type"] == "section").map(|element| &element["title"]).collect()
    };
    let titles =
        json!({"instructions": part("instructions"), "data": part("data"), "output": part("output")});
    json!({"titles": titles, "hasSchema": call.pointer("/metadata/outputSchema").is_some()})
}

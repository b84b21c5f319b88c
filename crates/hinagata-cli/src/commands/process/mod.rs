//! `hina process`: long texts and conversations, in several calls of a model.

mod arguments;
mod prompts;
mod saved;
mod show;

use hinagata::{counter_for_model, module::json::messages_to_json};
use hinagata_process::{Failure as Ended, LlmModel, Outcome, Process, Running};
use serde_json::{Map, Value, json};

use self::{
    prompts::ProcessPrompts,
    saved::{SavedProcess, StateFile},
    show::Show,
};
use super::chat::{finish_answer, new_runtime, request_options};
use crate::{
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    signals::{Hangups, stop_signal},
    stack,
    workspace::{Globals, Workspace},
};

pub(crate) use self::arguments::Arguments;

/// How a process ended.
enum End {
    Result(Outcome),
    Failed(Ended),
    Stopped,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let (kind, common) = (&arguments.process, arguments.process.common());
    let llm = workspace.host.llm()?;
    let resumed = common.resume.as_deref().map(|path| saved::read_saved(path, kind.name())).transpose()?;
    let asked = common.model.clone().or_else(|| resumed.as_ref()?.model.clone());
    let choice = llm.choose_model(asked.as_deref(), None)?;
    let options = match &resumed {
        Some(saved) if common.options.is_empty() => saved.options.clone(),
        _ => request_options(&common.options)?,
    };
    let host = &workspace.host;
    let counter = counter_for_model(&host.settings, &host.root.path, choice.name())?;
    let model = LlmModel::new(llm, choice, options.clone()).with_counter(counter);
    let mut saved = match resumed {
        Some(saved) => saved,
        None => {
            let (modules, instructions) = (common.modules()?, kind.instructions()?);
            SavedProcess::new(kind.process(&model, &Inputs::default())?, modules, instructions)
        }
    };
    saved.model = asked;
    saved.options = options;
    let prompts = ProcessPrompts::new(&saved, &common.variables()?)?;
    prompts.set_variables(&mut saved.process);
    let show = Show::new(&saved.process, globals);
    let (mut process, arguments) = saved.split_process();
    let on_problem = |why| {
        show.hide();
        workspace.print_advice(why, "the process goes on; its answers are lost if it ends early");
    };
    let file = StateFile::new(arguments, &process, common, &on_problem);
    let end = stack::run_with_stack(&hinagata_value::Limits::default(), || {
        run_until_stopped(&mut process, Running::new(&prompts, &model, &show).with_keeper(&file))
    })?;
    show.finish()?;
    match end {
        End::Result(outcome) => {
            file.delete_ours();
            print(&workspace, &process, &outcome, &show, globals)
        }
        End::Failed(failed) => Err(with_state(failed, &file, &show)),
        End::Stopped => Err(stopped_failure(&file, &show)),
    }
}

/// Runs a process until it ends or a signal stops it. A terminal that is closed stops it as SIGTERM does.
fn run_until_stopped(process: &mut Process, running: Running<'_>) -> Result<End, Failure> {
    new_runtime()?.block_on(async {
        let (stop, mut hangups) = (stop_signal()?, Hangups::listen()?);
        tokio::select! {
            ended = process.run_calls(&running) => Ok(ended.map_or_else(End::Failed, End::Result)),
            () = stop => Ok(End::Stopped),
            () = hangups.next() => Ok(End::Stopped),
        }
    })
}

fn print(
    workspace: &Workspace,
    process: &Process,
    outcome: &Outcome,
    show: &Show,
    globals: &Globals,
) -> Result<(), Failure> {
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&as_json(process, outcome, show));
    }
    if outcome.left_out > 0 {
        let count = outcome.left_out;
        workspace.print_advice(
            format!("left out {count} of the oldest messages"),
            "`--target-tokens` sets how much of the conversation is sent",
        );
    }
    if !show.has_printed() {
        output::print_part(&outcome.output)?;
    }
    finish_answer(workspace, outcome.output.chars().next_back())
}

fn as_json(process: &Process, outcome: &Outcome, show: &Show) -> Map<String, Value> {
    let mut all = Map::from_iter([
        ("process".to_owned(), process.name().into()),
        ("calls".to_owned(), show.calls().into()),
    ]);
    if let Value::Object(fields) = json!(outcome) {
        all.extend(fields);
    }
    if let Process::Dialogue(dialogue) = process {
        all.insert("messages".to_owned(), messages_to_json(&dialogue.context.messages));
    }
    all
}

/// The failure of a process, with the path of its saved state.
fn with_state(failed: Ended, file: &StateFile<'_>, show: &Show) -> Failure {
    let Ended { error, partial } = failed;
    match file.resume_hint(show.calls()) {
        None => error.into(),
        Some(Ok((path, go_on))) => {
            let error = error.with("partial", partial).with("state", path.display().to_string());
            Failure::from(error).with_hint(go_on)
        }
        Some(Err(why)) => Failure::from(error.with("partial", partial)).with_hint(why),
    }
}

fn stopped_failure(file: &StateFile<'_>, show: &Show) -> Failure {
    let failure = Failure::system_error(format!("stopped after {} complete answers", show.calls()));
    match file.resume_hint(show.calls()) {
        None => failure,
        Some(Ok((_, go_on))) => failure.with_hint(go_on),
        Some(Err(why)) => failure.with_hint(why),
    }
}

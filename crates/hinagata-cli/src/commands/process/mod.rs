//! `hina process`: long texts and conversations, in several calls of a model.

mod arguments;
mod kept;
mod prompts;
mod show;

use hinagata_process::{Failure as Ended, LlmModel, Outcome, Process, Running};
use serde_json::{Map, Value, json};

use self::{kept::Kept, prompts::Said, show::Show};
use super::chat::{end, request_options, runtime};
use crate::{
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    signals::signals,
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
    let resumed = common.resume.as_deref().map(|path| kept::read(path, kind.name())).transpose()?;
    let asked = common.model.clone().or_else(|| resumed.as_ref()?.model.clone());
    let choice = llm.choose_model(asked.as_deref(), None)?;
    let options = match &resumed {
        Some(kept) if common.options.is_empty() => kept.options.clone(),
        _ => request_options(&common.options)?,
    };
    let model = LlmModel::new(llm, choice, options.clone());
    let mut kept = match resumed {
        Some(kept) => kept,
        None => {
            let (modules, instructions) = (common.modules()?, kind.instructions()?);
            Kept::new(kind.process(&model, &Inputs::default())?, modules, instructions)
        }
    };
    kept.model = asked;
    kept.options = options;
    let said = Said::new(&kept, &common.variables()?)?;
    said.give(&mut kept.process);
    let show = Show::new(&kept.process, globals);
    let end =
        stack::with(&hinagata_value::Limits::default(), || follow(&mut kept.process, &said, &model, &show))?;
    show.finish()?;
    match end {
        End::Result(outcome) => {
            kept::forget(common.resume.as_deref());
            print(&workspace, &kept, &outcome, &show, globals)
        }
        End::Failed(failed) => Err(with_state(failed, &kept, common, &show)),
        End::Stopped => Err(stopped(&kept, common, &show)),
    }
}

/// Runs a process until it ends, or somebody asks to stop.
fn follow(process: &mut Process, said: &Said, model: &LlmModel, show: &Show) -> Result<End, Failure> {
    runtime()?.block_on(async {
        let running = Running::new(said, model, show);
        let stop = signals()?;
        tokio::select! {
            ended = process.run(&running) => Ok(ended.map_or_else(End::Failed, End::Result)),
            () = stop => Ok(End::Stopped),
        }
    })
}

fn print(
    workspace: &Workspace,
    kept: &Kept,
    outcome: &Outcome,
    show: &Show,
    globals: &Globals,
) -> Result<(), Failure> {
    if Format::of(globals) == Format::Json {
        return output::print_json(&as_json(kept, outcome, show));
    }
    if outcome.left_out > 0 {
        let count = outcome.left_out;
        workspace.remark(
            format!("{count} of the oldest messages were left out"),
            "`--target-tokens` says how much of the conversation is sent",
        );
    }
    if !show.has_printed() {
        output::print_part(&outcome.output)?;
    }
    end(workspace, outcome.output.chars().next_back())
}

fn as_json(kept: &Kept, outcome: &Outcome, show: &Show) -> Map<String, Value> {
    let mut all = Map::from_iter([
        ("process".to_owned(), kept.process.name().into()),
        ("calls".to_owned(), show.calls().into()),
    ]);
    if let Value::Object(fields) = json!(outcome) {
        all.extend(fields);
    }
    if let Process::Dialogue(dialogue) = &kept.process {
        all.insert("messages".to_owned(), json!(dialogue.context.messages));
    }
    all
}

/// The failure of a process, with where its state is.
fn with_state(failed: Ended, kept: &Kept, common: &arguments::Common, show: &Show) -> Failure {
    let Ended { error, partial } = failed;
    match kept::keep(kept, common, show.calls()) {
        None => error.into(),
        Some(Ok(path)) => {
            let error = error.with("partial", partial).with("state", path.display().to_string());
            Failure::from(error).advise(kept::how_to_resume(kept, &path))
        }
        Some(Err(why)) => Failure::from(error.with("partial", partial)).advise(why),
    }
}

fn stopped(kept: &Kept, common: &arguments::Common, show: &Show) -> Failure {
    let failure = Failure::failed(format!("stopped after {} whole answers", show.calls()));
    match kept::keep(kept, common, show.calls()) {
        None => failure,
        Some(Ok(path)) => failure.advise(kept::how_to_resume(kept, &path)),
        Some(Err(why)) => failure.advise(why),
    }
}

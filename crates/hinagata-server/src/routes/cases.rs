//! Test cases of a prompt: listed, run, and written from a call.
//!
//! Nothing leaves the machine: models answer from recordings. Hooks run in trusted workspaces only.

use std::{collections::BTreeSet, path::Path, sync::Arc, thread};

use hinagata::{
    Diagnostic, Digest, Engine, Error,
    edit::{EditError, HeldFile, LARGEST},
    secret::SecretAction,
    source::Entry,
};
use hinagata_test::{
    CallLimits, CallMode, Case, CaseFile, Cassettes, FoundCases, NewCase, RunOptions, Runner, SnapshotMode,
    TESTS, append_case, find_cases, report::to_json,
};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::files::{held_file, shown_path, stored_path};
use crate::{
    access::Scope,
    answer,
    call::{Answer, Call},
    fields::Fields,
    findings::finding_json,
    problem::Problem,
    state::App,
};

/// The file of new cases, unless the caller names one.
const DEFAULT_FILE: &str = "cases.yaml";

/// Most cases of one run.
const MOST_CASES: usize = 2_000;

/// Most cases that run at the same time.
const MOST_JOBS: usize = 4;

/// The chosen candidate of the prompt in the path, and the engine as the caller sees it.
fn find_prompt(call: &Call) -> Result<(Engine, Arc<Entry>), Problem> {
    let engine = call.engine();
    let entry = engine.catalog().choose(&call.prompt_name()?)?.entry;
    Ok((engine, entry))
}

/// The test files of the prompt at `source`.
fn prompt_cases(engine: &Engine, source: &str) -> FoundCases {
    find_cases(&engine.catalog(), |one| one == source)
}

/// `GET /api/prompts/{id}/tests`
pub(super) async fn list_cases(call: Call) -> Answer {
    let (engine, entry) = find_prompt(&call)?;
    let app = Arc::clone(&call.app);
    let work = move || {
        let found = prompt_cases(&engine, entry.source());
        let catalog = engine.catalog();
        let file_json = |file: &CaseFile| {
            let is_own = catalog.held_file(&file.file).is_some_and(|held| held.is_own());
            let cases: Vec<Value> = file.cases.iter().map(case_json).collect();
            json!({"file": file.file, "prompt": file.prompt, "writable": is_own, "cases": cases})
        };
        let mut body = json!({
            "source": entry.source(),
            "files": found.files.iter().map(file_json).collect::<Vec<_>>(),
            "problems": problems_json(&found.problems, entry.source()),
        });
        app.places.hide_in_value(&mut body);
        body
    };
    let body = tokio::task::spawn_blocking(work).await.map_err(|_| unexpected())?;
    answer::json_with_etag(&call.parts, &body)
}

fn unexpected() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", "the test cases failed unexpectedly")
}

fn case_json(case: &Case) -> Value {
    json!({
        "name": case.name, "line": case.place.line, "column": case.place.column,
        "assertions": case.assertions.len(), "model": case.model, "skip": case.skip,
    })
}

fn problems_json(problems: &[Error], source: &str) -> Vec<Value> {
    let finding = |problem: &Error| finding_json(&Diagnostic::error(source, problem.clone()));
    problems.iter().map(finding).collect()
}

/// Which cases run.
struct Selection {
    file: Option<String>,
    name: Option<String>,
    /// Whether their snapshots are written.
    is_update: bool,
}

/// `POST /api/prompts/{id}/tests/run`
pub(super) async fn run_cases(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let selection = Selection {
        file: fields.take_string("file")?,
        name: fields.take_string("name")?,
        is_update: fields.take_boolean("update")?.unwrap_or(false),
    };
    fields.check_unknown()?;
    if selection.is_update {
        call.require_scope(Scope::Write, "writing snapshots")?;
    }
    let (engine, entry) = find_prompt(&call)?;
    call.notes.set_names(&[("id", entry.id().as_str())]);
    let app = Arc::clone(&call.app);
    let body = if selection.is_update {
        app.run_exclusive(move |app| Ok(run_selected(app, &engine, &entry, &selection))).await?
    } else {
        let work = move || run_selected(&app, &engine, &entry, &selection);
        tokio::task::spawn_blocking(work).await.map_err(|_| unexpected())?
    };
    answer::json_response(&body?)
}

fn run_selected(app: &App, engine: &Engine, entry: &Entry, selection: &Selection) -> Result<Value, Problem> {
    let FoundCases { mut files, problems } = prompt_cases(engine, entry.source());
    if let Some(file) = &selection.file {
        let wanted = stored_path(app, &engine.catalog(), file);
        files.retain(|found| found.file == wanted);
    }
    if let Some(name) = &selection.name {
        files.iter_mut().for_each(|file| file.cases.retain(|case| case.name == *name));
        files.retain(|file| !file.cases.is_empty());
    }
    let count: usize = files.iter().map(|file| file.cases.len()).sum();
    if count == 0 && (problems.is_empty() || selection.name.is_some()) {
        return Err(Problem::not_found(format!("`{}` has no such test cases", entry.id()))
            .with_hint(format!("`GET /api/prompts/{}/tests` lists the cases", entry.id())));
    }
    if count > MOST_CASES {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("these are {count} cases; at most {MOST_CASES} run at once"),
        )
        .with_hint("name a file or a case"));
    }
    for file in &files {
        check_contexts(app, file)?;
        if selection.is_update {
            check_snapshot_place(engine, file)?;
        }
    }
    let is_trusted = app.workspace.trust.is_trusted();
    let settings = &app.workspace.settings;
    let policy = settings.secret_policy(is_trusted).with_action(SecretAction::Redact);
    let models =
        Cassettes::new(app.llm.clone(), CallMode::Replay, CallLimits { calls: 0, cost: None }, policy);
    let runner = Runner {
        engine,
        settings,
        options: RunOptions {
            jobs: thread::available_parallelism().map_or(1, usize::from).min(MOST_JOBS),
            snapshots: if selection.is_update { SnapshotMode::Update } else { SnapshotMode::Refuse },
            is_complete: selection.name.is_none(),
            is_trusted,
            may_call_out: false,
        },
        models: Some(&models),
    };
    let mut body = to_json(&runner.run_files(&files, &|_| ()));
    body["problems"] = problems_json(&problems, entry.source()).into();
    app.places.hide_in_value(&mut body);
    Ok(body)
}

/// Refuses cases whose templates could read files that a call may not read.
fn check_contexts(app: &App, file: &CaseFile) -> Result<(), Problem> {
    for case in &file.cases {
        app.check_context(&case.context.call).map_err(|error| error.at(case.place.clone()))?;
        if let Some(project) = &case.context.project {
            let path = Map::from_iter([("workspace_path".to_owned(), Value::from(project.as_str()))]);
            app.check_context(&path).map_err(|error| error.at(case.place.clone()))?;
        }
    }
    Ok(())
}

/// Snapshots are written beside the user's own test files only, and through no link.
fn check_snapshot_place(engine: &Engine, file: &CaseFile) -> Result<(), Problem> {
    let held = engine.catalog().held_file(&file.file).filter(HeldFile::is_own);
    let read_only = || Problem::from(EditError::ReadOnly { path: file.file.clone() });
    let held = held.ok_or_else(read_only)?;
    let (prefix, inner) = held.split_path();
    let mut path = engine.root().join(prefix);
    let (directory, name) = inner.rsplit_once('/').unwrap_or(("", inner));
    let stem = Path::new(name).file_stem().unwrap_or_default();
    for part in Path::new(directory).join("snapshots").join(stem).components() {
        path.push(part);
        if path.is_symlink() {
            return Err(read_only());
        }
    }
    Ok(())
}

/// `POST /api/prompts/{id}/tests`
pub(super) async fn save_case(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let name = fields.take_string("name")?.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| Problem::bad_request("missing `name`"))?;
    let file = fields.take_string("file")?.unwrap_or_else(|| DEFAULT_FILE.to_owned());
    let variables = fields.take_object("variables")?;
    let assertions = fields.take_list("assert")?.unwrap_or_default();
    fields.check_unknown()?;
    if file.contains('/') || ![".yaml", ".yml"].iter().any(|ending| file.ends_with(ending)) {
        return Err(Problem::bad_request(format!("invalid name of a test file: `{file}`")).with_hint(
            "use a name such as `cases.yaml`; the file is in the directory `tests` of the prompt",
        ));
    }
    let (engine, entry) = find_prompt(&call)?;
    let held = held_file(&call.app, &engine.catalog(), &format!("{}/{TESTS}/{file}", entry.source()))?;
    if !held.is_own() {
        return Err(Problem::from(EditError::ReadOnly { path: held.path })
            .with_member("copy_route", format!("/api/prompts/{}/copy", entry.id())));
    }
    call.notes.set_names(&[("id", entry.id().as_str())]);
    let (variables, left_out) = without_secrets(&engine, &entry, variables)?;
    let case = NewCase { name, variables, assertions };
    let written = call
        .app
        .run_edit(move |app| write_case(app, &entry, &held, &case).map(|is_new| (held, case, is_new)));
    let (held, case, is_new) = written.await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let body = json!({"file": shown_path(&call.app, &held.path), "name": case.name, "left_out": left_out});
    answer::json_with_status(status, &body)
}

/// The variables without the values of secret parameters, and the names of those.
fn without_secrets(
    engine: &Engine,
    entry: &Entry,
    mut variables: Map<String, Value>,
) -> Result<(Map<String, Value>, Vec<String>), Problem> {
    let parameters = engine.definition(entry.id().as_str())?.parameters;
    let secret: BTreeSet<String> = parameters
        .iter()
        .filter(|parameter| parameter.secret)
        .map(|parameter| parameter.name.clone())
        .filter(|name| variables.contains_key(name))
        .collect();
    variables.retain(|name, _| !secret.contains(name));
    Ok((variables, secret.into_iter().collect()))
}

/// Adds the case to its file; whether the file is new.
fn write_case(app: &App, entry: &Entry, held: &HeldFile, case: &NewCase) -> Result<bool, Problem> {
    let present = held.read_bytes(LARGEST)?;
    let seen = present.as_deref().map(Digest::sha256);
    let text = String::from_utf8(present.unwrap_or_default())
        .map_err(|_| Problem::bad_request(format!("`{}` is not UTF-8 text", held.path)))?;
    let text = append_case(&held.path, &text, entry.id().as_str(), case)
        .map_err(|error| Problem::in_request_body(&error))?;
    if text.len() as u64 > LARGEST {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("a file has at most {} KiB", LARGEST >> 10),
        )
        .with_hint("write the case into another file"));
    }
    let check = |now: Option<&Digest>| match now == seen.as_ref() {
        true => Ok(()),
        false => {
            Err(Problem::new(StatusCode::PRECONDITION_FAILED, "precondition", "the file has just changed")
                .with_hint("save the case again"))
        }
    };
    Ok(app.catalog().write_file(held, text.as_bytes(), check)?.is_new)
}

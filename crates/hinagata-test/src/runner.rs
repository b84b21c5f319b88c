//! Runs cases: renders each in fixed surroundings, and checks the result.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use crate::{
    case::{Case, CaseFile, Stubs},
    checks::{AnswerFacts, Assertion, ExpectedError, Grade, Services, Subject, Verdict, combine_verdicts},
    models::{CaseModels, ModelError},
    outcome::{CaseResult, Failure, Report, Status},
    snapshot::{SnapshotMode, Snapshots},
    stubs::{FixedClock, StubbedHooks, StubbedModel, StubbedTools, UNSTUBBED, fixed_surroundings},
};
use hinagata::{
    Catalog, Code, Context, Engine, Error, Rendered, Request, Result, Settings, counter_for_model,
    definition::UndefinedMode,
    ports::{Model, Tools},
};

/// Stack of a thread in addition to the limit of templates.
const SPARE_STACK: usize = 1 << 20;

/// How cases run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Cases that run at the same time.
    pub jobs: usize,
    /// What becomes of snapshots.
    pub snapshots: SnapshotMode,
    /// Whether all cases of their files run, so that what no case uses is an orphan.
    pub is_complete: bool,
    /// Whether the user trusts the workspace; without trust, no hooks run.
    pub is_trusted: bool,
    /// Whether hooks may reach beyond the test.
    pub may_call_out: bool,
}

/// Runs cases on an engine.
pub struct Runner<'r> {
    /// The engine of the workspace.
    pub engine: &'r Engine,
    /// The settings, which name tokenizers.
    pub settings: &'r Settings,
    /// How cases run.
    pub options: RunOptions,
    /// What answers in place of models.
    pub models: Option<&'r dyn CaseModels>,
}

/// What engines that see the same are shared by.
#[derive(PartialEq, Eq, Hash)]
struct EngineKey {
    now: SystemTime,
    timezone: String,
    os: String,
    file: PathBuf,
}

struct Run<'r> {
    runner: &'r Runner<'r>,
    catalog: Catalog,
    root: PathBuf,
    engines: Mutex<HashMap<EngineKey, Engine>>,
    /// Without stubs, all cases share one set of tools, and plans with it.
    tools: Arc<StubbedTools>,
}

impl Runner<'_> {
    /// Runs the cases of files. `on_result` hears of each as it ends, in any order.
    pub fn run_files(&self, files: &[CaseFile], on_result: &(dyn Fn(&CaseResult) + Sync)) -> Report {
        let started = Instant::now();
        let surroundings = self.engine.surroundings();
        let run = Run {
            runner: self,
            catalog: self.engine.catalog(),
            root: self.engine.root(),
            engines: Mutex::default(),
            tools: Arc::new(StubbedTools::new(surroundings.tools, Arc::default())),
        };
        let snapshots: Vec<Snapshots> = files
            .iter()
            .map(|file| Snapshots::for_file(&run.root.join(&file.file), &file.names, self.options.snapshots))
            .collect();
        let jobs: Vec<(&CaseFile, &Case, &Snapshots)> = files
            .iter()
            .zip(&snapshots)
            .flat_map(|(file, snapshots)| file.cases.iter().map(move |case| (file, case, snapshots)))
            .collect();
        let results: Mutex<Vec<Option<CaseResult>>> = Mutex::new(vec![None; jobs.len()]);
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((file, case, snapshots)) = jobs.get(index).copied() else { return };
                let result = run.run_case(file, case, snapshots);
                on_result(&result);
                results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
            }
        };
        let threads = self.options.jobs.clamp(1, jobs.len().max(1));
        let stack = self.settings.limits().stack.saturating_add(SPARE_STACK);
        std::thread::scope(|scope| {
            let start = |_| std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).is_ok();
            if !(0..threads).map(start).fold(false, |any, started| any | started) {
                // Without another thread, renders have the stack of this one.
                work();
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut report = Report { results: results.into_iter().flatten().collect(), ..Report::default() };
        self.count_snapshots(&snapshots, &run.root, &mut report);
        if let Some(models) = self.models {
            (report.calls, report.cost) = models.totals();
        }
        report.time = started.elapsed();
        report
    }

    fn count_snapshots(&self, snapshots: &[Snapshots], root: &Path, report: &mut Report) {
        for file in snapshots {
            report.snapshots_written += file.count_written();
            if !self.options.is_complete {
                continue;
            }
            for orphan in file.find_orphans() {
                let is_removed =
                    self.options.snapshots == SnapshotMode::Update && std::fs::remove_file(&orphan).is_ok();
                if is_removed {
                    report.snapshots_removed += 1;
                } else {
                    let path = orphan.strip_prefix(root).unwrap_or(&orphan);
                    report.orphans.push(path.to_string_lossy().replace('\\', "/"));
                }
            }
        }
    }
}

impl Run<'_> {
    fn run_case(&self, file: &CaseFile, case: &Case, snapshots: &Snapshots) -> CaseResult {
        let started = Instant::now();
        let mut result = CaseResult {
            file: file.file.clone(),
            prompt: file.prompt.clone(),
            name: case.name.clone(),
            place: case.place.clone(),
            status: Status::Passed,
            score: 1.0,
            assertions: case.assertions.len() + usize::from(case.error.is_some()),
            time: Duration::ZERO,
            notes: Vec::new(),
        };
        if let Some(reason) = case.skip.clone().or_else(|| self.reason_to_skip(file)) {
            result.status = Status::Skipped(reason);
            return result;
        }
        let failures = self.find_failures(file, case, snapshots, &mut result);
        if !failures.is_empty() {
            result.status = Status::Failed(failures);
        }
        result.time = started.elapsed();
        result
    }

    /// Why the cases of a file do not run: its directory is not the prompt that its name refers to.
    fn reason_to_skip(&self, file: &CaseFile) -> Option<String> {
        let directory = prompt_directory(&file.file)?;
        let entry = self.catalog.entry_at(directory)?;
        if !self.catalog.is_usable(&entry) {
            return Some(format!("the pack of `{directory}` is not approved"));
        }
        if file.prompt != entry.id().as_str() {
            return None;
        }
        let chosen = self.catalog.choose(&file.prompt).ok()?;
        let other = chosen.entry.source();
        (other != directory).then(|| format!("`{}` refers to `{other}`", file.prompt))
    }

    /// The engine of a case. Cases without stubs that see the same share one, and its prepared prompts.
    fn engine_for(&self, file: &CaseFile, case: &Case) -> Engine {
        if *case.stubs != Stubs::default() {
            return self.new_engine(file, case);
        }
        let key = EngineKey {
            now: case.context.now,
            timezone: case.context.timezone.clone(),
            os: case.context.os.clone(),
            file: self.test_directory(file),
        };
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.entry(key).or_insert_with(|| self.new_engine(file, case)).clone()
    }

    fn new_engine(&self, file: &CaseFile, case: &Case) -> Engine {
        let Runner { engine, options, models, .. } = self.runner;
        let mut surroundings = engine.surroundings();
        let context = &case.context;
        surroundings.clock = Arc::new(FixedClock(context.now));
        surroundings.timezone = Some(context.timezone.clone());
        surroundings.os.clone_from(&context.os);
        "en".clone_into(&mut surroundings.language);
        let own_tools = surroundings.tools.take();
        let tools: Arc<dyn Tools> = if case.stubs.tools.is_empty() {
            self.tools.clone()
        } else {
            Arc::new(StubbedTools::new(own_tools, Arc::clone(&case.stubs)))
        };
        surroundings.tools = Some(tools);
        surroundings.hooks = Some(Arc::new(StubbedHooks {
            inner: surroundings.hooks.take(),
            stubs: Arc::clone(&case.stubs),
            fixed: fixed_surroundings(context.now, &context.timezone),
            is_trusted: options.is_trusted,
            may_call_out: options.may_call_out,
        }));
        let port: Option<Arc<dyn Model>> =
            models.and_then(|models| models.hook_port(&self.test_directory(file)));
        surroundings.model = Some(Arc::new(StubbedModel::new(Arc::clone(&case.stubs), port)));
        engine.with_surroundings(surroundings)
    }

    fn test_directory(&self, file: &CaseFile) -> PathBuf {
        self.root.join(&file.file).parent().map(Path::to_owned).unwrap_or_default()
    }

    fn find_failures(
        &self,
        file: &CaseFile,
        case: &Case,
        snapshots: &Snapshots,
        result: &mut CaseResult,
    ) -> Vec<Failure> {
        let engine = self.engine_for(file, case);
        let mut context = Context::from_map(&case.context.call);
        context.project = case.context.project.as_ref().map(|path| self.root.join(path));
        let request = Request::new(&file.prompt).with_variable_map(&case.variables).with_context(&context);
        let started = Instant::now();
        let rendered = engine.render_blocking(&request);
        let render_time = started.elapsed();
        let rendered = match (self.check_stubs(rendered), &case.error) {
            (Ok(rendered), _) => rendered,
            (Err(error), expected) => return self.check_error(case, expected.as_ref(), error),
        };
        let warnings = rendered.warnings.iter().map(|warning| {
            let place = warning.error.place().map(|place| format!("{place}: ")).unwrap_or_default();
            format!("{place}{}", warning.error.message())
        });
        result.notes = warnings.collect();
        let expected_answer_error = case.error.as_ref().is_some_and(|error| is_about_answer(error.code));
        if let Some(expected) = case.error.as_ref().filter(|_| !expected_answer_error || case.model.is_none())
        {
            let message = format!("the render succeeds; expected the error `{}`", expected.code);
            return vec![plain_failure(case, "error", message)];
        }
        let runs = if case.model.is_some() { case.repeat } else { 1 };
        let mut failures = Vec::new();
        for turn in 0..runs {
            let facts = match self.ask_model(file, case, &rendered, turn) {
                Ok(facts) => facts,
                Err(failure) => {
                    match (&case.error, failure.error.clone()) {
                        (Some(expected), Some(error)) if is_about_answer(error.code()) => {
                            failures.extend(self.check_error(case, Some(expected), error));
                        }
                        _ => failures.push(*failure),
                    }
                    continue;
                }
            };
            if let Some(expected) = &case.error {
                let message = format!("the answer is valid; expected the error `{}`", expected.code);
                failures.push(plain_failure(case, "error", message));
                continue;
            }
            let subject = Subject {
                rendered: &rendered,
                variables: &case.variables,
                render_time,
                answer: facts.as_ref(),
            };
            let services =
                RunServices { run: self, file, case, request: &request, engine: &engine, snapshots, turn };
            let (found, score) = check_assertions(case, &subject, &services);
            result.score = result.score.min(score);
            failures.extend(found.into_iter().map(|mut failure| {
                if runs > 1 {
                    failure.title = format!("{} (answer {})", failure.title, turn + 1);
                }
                failure
            }));
        }
        if !failures.is_empty() && case.assertions.is_empty() {
            result.score = 0.0;
        }
        failures
    }

    /// The render, or the error about a call that no stub answers, which only caused a warning.
    fn check_stubs(&self, rendered: Result<Rendered>) -> Result<Rendered> {
        let rendered = rendered?;
        let is_unstubbed = |error: &Error| error.details().contains_key(UNSTUBBED);
        match rendered.warnings.iter().find(|warning| is_unstubbed(&warning.error)) {
            Some(warning) => Err(warning.error.clone()),
            None => Ok(rendered),
        }
    }

    /// The failures of a case whose render failed.
    fn check_error(&self, case: &Case, expected: Option<&ExpectedError>, error: Error) -> Vec<Failure> {
        let asserted = case.assertions.iter().filter_map(|assertion| match &assertion.check {
            crate::checks::Check::Error(expected) => Some((Some(assertion), expected)),
            _ => None,
        });
        let all: Vec<(Option<&Assertion>, &ExpectedError)> =
            expected.map(|expected| (None, expected)).into_iter().chain(asserted).collect();
        if all.is_empty() || error.details().contains_key(UNSTUBBED) {
            return vec![Failure::from_error(case.place.clone(), "render", error)];
        }
        let mut failures = Vec::new();
        for (assertion, expected) in all {
            let is_code = error.code() == expected.code;
            let is_message =
                expected.message.as_ref().is_none_or(|message| error.message().contains(message.as_str()));
            let holds = (is_code && is_message) != assertion.is_some_and(|assertion| assertion.is_negated);
            if holds {
                continue;
            }
            let place = assertion.map_or(&case.place, |assertion| &assertion.place);
            let mut failure = Failure::from_error(place.clone(), "error", error.clone());
            let wanted = match &expected.message {
                Some(message) if is_code => format!("a message with {message:?}"),
                _ => format!("the error `{}`", expected.code),
            };
            failure.message = format!("expected {wanted}, found `{}`: {}", error.code(), failure.message);
            failures.push(failure);
        }
        failures
    }

    /// The answer of the model of a case.
    fn ask_model(
        &self,
        file: &CaseFile,
        case: &Case,
        rendered: &Rendered,
        turn: u32,
    ) -> std::result::Result<Option<AnswerFacts>, Box<Failure>> {
        let Some(model) = &case.model else { return Ok(None) };
        let Some(models) = self.runner.models else {
            let message = "this program calls no models; it was built without the feature `llm`".to_owned();
            return Err(Box::new(plain_failure(case, "model", message)));
        };
        let directory = self.test_directory(file);
        models
            .answer_prompt(&directory, model, rendered, &case.options, turn)
            .map(Some)
            .map_err(|error| Box::new(model_failure(case, error)))
    }
}

/// Whether an error can only come from the answer of a model.
fn is_about_answer(code: Code) -> bool {
    matches!(code, Code::Answer | Code::Model)
}

fn plain_failure(case: &Case, title: &str, message: String) -> Failure {
    Failure { place: case.place.clone(), title: title.to_owned(), message, difference: None, error: None }
}

fn model_failure(case: &Case, error: ModelError) -> Failure {
    match error {
        ModelError::Miss { message, difference } => {
            Failure { difference, ..plain_failure(case, "model", message) }
        }
        ModelError::Failed(error) => Failure::from_error(case.place.clone(), "model", error),
    }
}

/// The failures of all assertions, and the score.
fn check_assertions(case: &Case, subject: &Subject<'_>, services: &RunServices<'_>) -> (Vec<Failure>, f64) {
    let mut failures = Vec::new();
    let mut parts: Vec<(Assertion, Verdict)> = Vec::with_capacity(case.assertions.len());
    for assertion in case.assertions.iter() {
        let verdict = match assertion.run_check(subject, services) {
            Ok(verdict) => verdict,
            Err(error) => {
                let failure = Failure::from_error(assertion.place.clone(), &assertion.describe(), error);
                failures.push(failure);
                Verdict::from_failure("")
            }
        };
        parts.push((assertion.clone(), verdict));
    }
    let whole = combine_verdicts(parts, case.threshold);
    if !failures.is_empty() || !whole.passed {
        let failed =
            whole.parts.iter().filter(|(assertion, verdict)| assertion.weight > 0.0 && !verdict.passed);
        let known: Vec<_> = failures.iter().map(|failure| failure.place.clone()).collect();
        let shown = failed.filter(|(assertion, _)| !known.contains(&assertion.place));
        let shown: Vec<Failure> =
            shown.map(|(assertion, verdict)| Failure::from_verdict(assertion, verdict)).collect();
        failures.extend(shown);
        if failures.is_empty() || case.threshold.is_some() && !whole.passed {
            failures.insert(0, plain_failure(case, "threshold", whole.message));
        }
    }
    (failures, whole.score)
}

/// What the checks of one case need.
struct RunServices<'r> {
    run: &'r Run<'r>,
    file: &'r CaseFile,
    case: &'r Case,
    request: &'r Request<'r>,
    engine: &'r Engine,
    snapshots: &'r Snapshots,
    turn: u32,
}

impl Services for RunServices<'_> {
    fn count_tokens(&self, model: &str, text: &str) -> Result<u64> {
        let counter = counter_for_model(self.run.runner.settings, &self.run.root, model)?;
        Ok(counter.count_tokens(text).tokens as u64)
    }

    fn grade(&self, model: Option<&str>, rubric: &str, text: &str) -> Result<Grade> {
        let model = model.or(self.case.model.as_deref());
        let Some(models) = self.run.runner.models else {
            return Err(Error::new(
                Code::Model,
                "this program calls no models; it was built without the feature `llm`",
            ));
        };
        let directory = self.run.test_directory(self.file);
        models.grade_text(&directory, model, rubric, text).map_err(|error| match error {
            ModelError::Failed(error) => error,
            ModelError::Miss { message, difference } => {
                let error = Error::new(Code::Model, message);
                match difference {
                    Some(difference) => error.with("difference", difference),
                    None => error,
                }
            }
        })
    }

    fn check_snapshot(&self, name: Option<&str>, ending: &str, text: &str) -> Verdict {
        let answer = (self.turn > 0).then(|| format!("answer {}", self.turn + 1));
        let parts: Vec<&str> = name.into_iter().chain(answer.as_deref()).collect();
        self.snapshots.check_text(&self.case.name, &parts, ending, text)
    }

    fn find_undefined(&self) -> Option<Error> {
        let request = self.request.clone().with_undefined(UndefinedMode::Error);
        self.engine.render_blocking(&request).err().filter(|error| error.code() == Code::RenderUndefined)
    }
}

/// The directory of the prompt of a test file.
pub(crate) fn prompt_directory(file: &str) -> Option<&str> {
    file.rsplit_once('/')?.0.strip_suffix("/tests")
}

//! Texts that parameters take from a project directory: changes, and packed files.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    task::{Poll, Waker},
    thread,
};

use hinagata::{
    Code, Error, Reason, Result, Settings, Warning,
    definition::ProjectValue,
    ports::{PortFuture, ProjectReader, ProjectText},
};
use hinagata_context::{ContextOptions, Packer};
use serde_json::json;

use crate::{error::context_error, profile::Profile, project::Project, request::PackRequest};

/// Reads project directories, with the rules of a workspace for secrets and ignored files.
#[derive(Clone, Debug)]
pub struct ProjectPacker {
    settings: Settings,
    trusted: bool,
}

impl ProjectPacker {
    /// A reader with the settings of a workspace, which the user trusts or not.
    #[must_use]
    pub fn new(settings: &Settings, trusted: bool) -> Self {
        Self { settings: settings.clone(), trusted }
    }

    fn read_value(&self, directory: &Path, value: &ProjectValue) -> Result<ProjectText> {
        let profile = if self.trusted { Profile::Own } else { Profile::Untrusted };
        let mut project = Project::read(&json!({}), directory, profile)?;
        project.context.secrets = self.settings.secret_policy(self.trusted);
        match value {
            ProjectValue::Diff(revisions) => read_changes(project, revisions.as_deref()),
            ProjectValue::Context(fields) => {
                let request = PackRequest::from_fields(fields.clone())?;
                let (options, warnings) = request.apply_to(&project, &self.settings)?;
                pack_files(&project, &options, warnings)
            }
        }
    }
}

impl ProjectReader for ProjectPacker {
    fn read_project<'a>(
        &'a self,
        directory: &'a Path,
        value: &'a ProjectValue,
    ) -> PortFuture<'a, Result<ProjectText>> {
        let (reader, directory, value) = (self.clone(), directory.to_owned(), value.clone());
        run_on_thread(move || reader.read_value(&directory, &value))
    }
}

/// The changes that are not committed, or those between two revisions.
fn read_changes(mut project: Project, revisions: Option<&str>) -> Result<ProjectText> {
    project.context.sections.diffs = revisions.is_none();
    project.context.sections.diff = revisions.map(str::to_owned);
    let changes = Packer::new(&project.context).read_changes().map_err(context_error)?;
    let mut warnings = project.warnings(&changes.report);
    if changes.text.is_empty() {
        // Nothing but a failure or a rule is noted.
        if let Some(notice) = changes.report.notices.first() {
            return Err(project_error(notice.message.clone())
                .with_hint("pass a value, or use a directory with changes in a git repository"));
        }
        let what = revisions.map_or_else(|| "not committed".to_owned(), |named| format!("in `{named}`"));
        let error = project_error(format!("the project has no changes that are {what}"));
        warnings.push(Warning { about: "diff".to_owned(), error });
    }
    if changes.is_cut {
        return Err(project_error("the changes are too long".to_owned())
            .with_hint("commit some of them, or name two revisions that are closer"));
    }
    Ok(project_text(changes.text, warnings))
}

fn pack_files(
    project: &Project,
    options: &ContextOptions,
    mut warnings: Vec<Warning>,
) -> Result<ProjectText> {
    let packed = Packer::new(options).pack().map_err(context_error)?;
    if !packed.report.has_packed() {
        return Err(project_error("no file of the project is packed".to_owned())
            .with_hint("change the patterns in `include`, or pass a value"));
    }
    warnings.extend(project.warnings(&packed.report));
    Ok(project_text(packed.text, warnings))
}

fn project_text(text: String, warnings: Vec<Warning>) -> ProjectText {
    let warnings = warnings.into_iter().map(|Warning { about, error }| (about, error)).collect();
    ProjectText { text, warnings }
}

fn project_error(message: String) -> Error {
    Error::new(Code::Validation, message).with_reason(Reason::Arguments)
}

/// Runs `work` on a thread of its own, because whoever polls a render must not be blocked. What it starts ends by itself
/// within the limits of git.
fn run_on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PortFuture<'static, Result<T>> {
    type Slot<T> = (Option<Result<T>>, Option<Waker>);
    let slot: Arc<Mutex<Slot<T>>> = Arc::new(Mutex::new((None, None)));
    let filled = Arc::clone(&slot);
    let started = thread::Builder::new().name("project".into()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| Err(Error::new(Code::System, "reading the project failed")));
        let mut slot = filled.lock().unwrap_or_else(PoisonError::into_inner);
        slot.0 = Some(result);
        if let Some(waker) = slot.1.take() {
            waker.wake();
        }
    });
    Box::pin(async move {
        started.map_err(|error| Error::new(Code::System, format!("cannot start a thread: {error}")))?;
        poll_fn(move |context| {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            match slot.0.take() {
                Some(result) => Poll::Ready(result),
                None => {
                    slot.1 = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    })
}

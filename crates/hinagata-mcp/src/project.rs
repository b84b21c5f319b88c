//! The project directory of a session: the directory in which its client works.
//!
//! A flag or a setting comes first, because its author meant this server. Roots come next, because editors start their
//! servers anywhere and know which project is open. The working directory of this process is last: terminals start it in
//! the project. Only a client that the user starts is asked for roots. A client that connects over a network cannot choose
//! directories of this machine.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hinagata_value::encoding::decode_percent_strict;
use rmcp::{
    RoleServer,
    model::{InputRequest, InputRequiredResult, InputResponses},
    service::{Peer, RequestContext},
};
use serde_json::Value;

use crate::{failure::truncate_for_display, input::supports_input_required};

/// The id of the question for roots in a response.
const ROOTS_ID: &str = "project_roots";

/// How long a client may take to list its roots.
const ROOTS_TIME: Duration = Duration::from_secs(5);

/// How often a client of the newest revision is asked for its roots before the working directory is used.
const MAX_ASKS: u8 = 3;

/// Where the project directory of clients comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProjectSource {
    /// There is none: files are beneath the workspace alone.
    #[default]
    Absent,
    /// This directory for all clients.
    Fixed(PathBuf),
    /// The roots of the client, or the working directory of this process. For a client that the user starts.
    Client {
        /// The working directory of this process.
        working_directory: PathBuf,
    },
}

/// The roots of one client.
#[derive(Debug, Default)]
pub(crate) struct ClientRoots(Mutex<RootsState>);

#[derive(Debug, Default)]
struct RootsState {
    /// The chosen root, if the client answered.
    answer: Option<Option<PathBuf>>,
    /// How often the client of the newest revision was asked.
    asks: u8,
}

impl ClientRoots {
    fn state(&self) -> MutexGuard<'_, RootsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the roots: the client changed them.
    pub(crate) fn forget_roots(&self) {
        *self.state() = RootsState::default();
    }

    /// The project directory. A client of an older revision is asked for its roots now.
    pub(crate) async fn find_directory(
        &self,
        source: &ProjectSource,
        context: &RequestContext<RoleServer>,
    ) -> Option<PathBuf> {
        match source {
            ProjectSource::Absent => None,
            ProjectSource::Fixed(directory) => Some(directory.clone()),
            ProjectSource::Client { working_directory } => {
                if self.is_unknown(context) && !supports_input_required(context) {
                    let listed = list_roots(&context.peer).await;
                    self.state().answer = Some(choose_root(&listed, working_directory));
                }
                let answer = self.state().answer.clone().flatten();
                Some(answer.unwrap_or_else(|| working_directory.clone()))
            }
        }
    }

    /// The result that asks a client of the newest revision for its roots, if they are unknown.
    pub(crate) fn ask_roots(
        &self,
        source: &ProjectSource,
        context: &RequestContext<RoleServer>,
    ) -> Option<InputRequiredResult> {
        if !matches!(source, ProjectSource::Client { .. })
            || !supports_input_required(context)
            || !self.is_unknown(context)
            || self.state().asks >= MAX_ASKS
        {
            return None;
        }
        self.state().asks += 1;
        let request = InputRequest::ListRoots(Default::default());
        Some(InputRequiredResult::from_input_requests([(ROOTS_ID.to_owned(), request)].into()))
    }

    /// Takes the roots out of the client's responses.
    pub(crate) fn take_response(&self, source: &ProjectSource, responses: &mut Option<InputResponses>) {
        let Some(listed) = responses.as_mut().and_then(|responses| responses.remove(ROOTS_ID)) else {
            return;
        };
        if responses.as_ref().is_some_and(InputResponses::is_empty) {
            *responses = None;
        }
        if let ProjectSource::Client { working_directory } = source {
            self.state().answer = Some(choose_root(&root_uris(&listed), working_directory));
        }
    }

    /// Whether the client has roots that it was not asked for.
    fn is_unknown(&self, context: &RequestContext<RoleServer>) -> bool {
        self.state().answer.is_none()
            && context.client_capabilities().is_some_and(|capabilities| capabilities.roots.is_some())
    }
}

/// The URIs of the client's roots. A client that does not answer has none.
#[expect(deprecated, reason = "clients have roots, and nothing replaces them")]
async fn list_roots(peer: &Peer<RoleServer>) -> Vec<String> {
    match tokio::time::timeout(ROOTS_TIME, peer.list_roots()).await {
        Ok(Ok(listed)) => listed.roots.into_iter().map(|root| root.uri).collect(),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not list its roots");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!(seconds = ROOTS_TIME.as_secs(), "the client did not list its roots in time");
            Vec::new()
        }
    }
}

fn root_uris(listed: &Value) -> Vec<String> {
    let roots = listed.get("roots").and_then(Value::as_array);
    let uri = |root: &Value| root.get("uri").and_then(Value::as_str).map(str::to_owned);
    roots.into_iter().flatten().filter_map(uri).collect()
}

/// The directory of the root that holds the working directory, or of the first one. Others are logged.
fn choose_root(uris: &[String], working_directory: &Path) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = uris.iter().filter_map(|uri| root_directory(uri)).collect();
    let holding = directories.iter().find(|directory| working_directory.starts_with(directory));
    let chosen = holding.or_else(|| directories.first())?.clone();
    for other in directories.iter().filter(|other| **other != chosen) {
        tracing::info!(project = %chosen.display(), root = %other.display(), "only one root is the project");
    }
    Some(chosen)
}

/// The directory that a `file:` URI names, without links.
fn root_directory(uri: &str) -> Option<PathBuf> {
    let directory = file_path(uri).and_then(|path| path.canonicalize().ok()).filter(|path| path.is_dir());
    if directory.is_none() {
        tracing::warn!(
            root = truncate_for_display(uri),
            "a root of the client is not a directory of this machine"
        );
    }
    directory
}

fn file_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = decode_percent_strict(path.split(['?', '#']).next()?)?;
    // On Windows, `/C:/work` is `C:/work`.
    let path = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':')).unwrap_or(&path);
    let path = Path::new(path);
    path.is_absolute().then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_that_holds_the_working_directory_is_the_project() {
        let place = tempfile::tempdir().expect("a directory");
        let top = place.path().canonicalize().expect("is there");
        let uri = |name: &str| format!("file://{}", top.join(name).display()).replace(' ', "%20");
        for name in ["first", "my work/sub"] {
            std::fs::create_dir_all(top.join(name)).expect("is made");
        }
        let uris = [uri("absent"), "https://example.com/".to_owned(), uri("first"), uri("my work")];
        let chosen = |from: &str| choose_root(&uris, &top.join(from));
        assert_eq!(chosen("my work/sub"), Some(top.join("my work")));
        assert_eq!(chosen("elsewhere"), Some(top.join("first")));
        assert_eq!(choose_root(&uris[..2], &top), None);
        assert_eq!(file_path("file://host/share"), None);
    }
}

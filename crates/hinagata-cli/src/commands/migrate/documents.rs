//! Documents and prompts of the store that do not work here, or not as before.

use hinagata::{
    Code, Diagnostic, Engine, Severity,
    store::{StorePrompt, StorePrompts, StoreSnapshot},
};
use serde_json::Value;

use super::finding::Finding;
use crate::{hints::hint_text, workspace::Workspace};

/// The start of the source of a document of the store.
const STORE: &str = "store:";

/// The problems of all documents and prompts of the store.
pub(super) fn find_problems(
    engine: &Engine,
    workspace: &Workspace,
    snapshot: &StoreSnapshot,
) -> Vec<Finding> {
    let of_documents = hinagata_server::workspace_findings(engine);
    let mut all: Vec<Finding> = of_documents.iter().filter_map(document_problem).collect();
    let limit = workspace.host.settings.count("limits.max_output_size").unwrap_or(u64::MAX);
    let catalog = engine.catalog();
    for (id, prompts) in StorePrompts::from_snapshot(snapshot).prompts {
        if let Some(error) = catalog.choose(id.as_str()).err().filter(|error| error.code() == Code::Conflict)
        {
            let finding = Finding::decision("prompts", id.as_str(), error.message());
            all.push(error.hint().map(hint_text).into_iter().fold(finding, Finding::with_advice));
        }
        for prompt in &prompts {
            if prompt.name != id.as_str() {
                let message = format!("lists show it as `{id}`; its old name still works");
                all.push(Finding::note("prompts", &prompt.name, message));
            }
            all.extend(size_problem(prompt, limit));
        }
    }
    all
}

/// The finding about a document; `None` for findings about anything else than the store.
fn document_problem(found: &Diagnostic) -> Option<Finding> {
    let key = found.source.strip_prefix(STORE)?;
    let error = &found.error;
    let finding = match found.severity {
        Severity::Error => Finding::decision("documents", key, error.message()),
        Severity::Warning => Finding::note("documents", key, error.message()),
    };
    let mut finding = error.hint().map(hint_text).into_iter().fold(finding, Finding::with_advice);
    let hidden = error.details().get("prompts").and_then(Value::as_array);
    finding.hidden_prompts =
        hidden.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect();
    Some(finding)
}

/// The finding about a prompt whose own text exceeds the limit of a render.
fn size_problem(prompt: &StorePrompt, limit: u64) -> Option<Finding> {
    let document = prompt.document();
    let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count() as u64);
    let text =
        ["prompt", "userPrompt"].into_iter().filter_map(|key| document.get(key)).map(length).sum::<u64>();
    let messages = document.get("messages").and_then(Value::as_array).into_iter().flatten();
    let size = match text {
        0 => messages.filter_map(|message| message.get("content")).map(length).sum(),
        _ => text,
    };
    (size > limit).then(|| {
        let message = format!("its text has {size} characters, and a render at most {limit}");
        Finding::decision("limits", &prompt.name, message)
            .with_advice("raise the setting `limits.max_output_size`")
    })
}

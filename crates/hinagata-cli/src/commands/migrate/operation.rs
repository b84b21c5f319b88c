//! What changes for the clients of the older daemon, whatever the store contains.

use hinagata_server::{Scope, ServerSettings};

use super::finding::Finding;
use crate::{failure::Failure, hints::hint_text, workspace::Workspace};

/// The system message that the older daemon adds to a prompt without messages.
const SYSTEM_MESSAGE: &str = "You are a helpful assistant.";

/// The differences in access, chat and limits.
pub(super) fn find_differences(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let settings = &workspace.host.settings;
    let server = ServerSettings::from_settings(settings)?;
    let mut all = Vec::new();
    if let Err(error) = server.check_openness(server.listen) {
        let finding = Finding::decision("access", "server.listen", error.message());
        all.push(error.hint().map(hint_text).into_iter().fold(finding, Finding::with_advice));
    }
    all.push(chat_difference(&server));
    if settings.text("llm.system").is_none() {
        let message =
            format!("a prompt without messages is sent without the system message `{SYSTEM_MESSAGE}`");
        all.push(
            Finding::note("chat", "llm.system", message)
                .with_advice("set `llm.system` to that text if models should get it as before"),
        );
    }
    for (name, unit) in
        [("limits.max_output_size", "characters of a render"), ("server.max_body", "bytes of a body")]
    {
        if let Some(limit) = settings.count(name) {
            let message = format!("at most {limit} {unit}; the older daemon has no limit");
            all.push(Finding::note("limits", name, message));
        }
    }
    all.push(Finding::note("prompts", "GET /api/prompts", "lists contain the built-in prompts too"));
    Ok(all)
}

/// How programs that send no key can chat.
fn chat_difference(server: &ServerSettings) -> Finding {
    if server.keys.iter().any(|key| key.has_scope(Scope::Chat)) {
        let message = "clients must send `Authorization: Bearer KEY`";
        return Finding::note("access", "keys", message);
    }
    if server.keys.is_empty() && server.local_chat {
        let message = "programs on this machine chat without a key; others need one";
        return Finding::note("chat", "server.local_chat", message);
    }
    let message = "chat needs a key, which clients of the older daemon do not send";
    Finding::decision("chat", "keys", message).with_advice(
        "`hina key NAME --scope read --scope render --scope chat` creates one; `server.local_chat = true` lets programs on \
         this machine chat without one, while no keys are set",
    )
}

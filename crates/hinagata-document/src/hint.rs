//! The next step that an error suggests. The library says which step; each door says how to take it there.

use std::fmt;

use hinagata_value::ValueType;
use serde::{Serialize, Serializer};

/// A suggested next step.
///
/// A variant exists where doors word the step differently: the command line names its command, the daemon its route.
/// Everything else is [`Hint::Advice`]. `Display` is the wording for a door that has none of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Pass a variable with the call.
    PassVariable {
        /// Its name.
        name: String,
        /// Its type.
        kind: ValueType,
    },
    /// List the prompts.
    ListPrompts,
    /// List the agents.
    ListAgents,
    /// List the packs.
    ListPacks,
    /// List the settings.
    ListSettings,
    /// List the files that a packed context leaves out.
    ListLeftOut,
    /// Show the candidates of a name.
    ShowCandidates {
        /// The id of the prompt.
        id: String,
    },
    /// Choose one of the candidates of a name.
    ChooseCandidate {
        /// The id of the prompt.
        id: String,
        /// One of the candidates.
        source: String,
    },
    /// Show what a pack contains and proposes.
    ShowPack {
        /// The id of the pack.
        pack: String,
    },
    /// Review a pack, then approve it.
    ApprovePack {
        /// The id of the pack.
        pack: String,
    },
    /// See what changed in a pack since its approval, then approve it again.
    VerifyPack {
        /// The id of the pack.
        pack: String,
    },
    /// Remove a pack.
    RemovePack {
        /// The id of the pack.
        pack: String,
    },
    /// Install the packs that the settings want, as they are locked.
    SyncPacks,
    /// Lock what the workspace has now.
    LockWorkspace,
    /// Review the settings and the code of the workspace, then trust it.
    TrustWorkspace,
    /// Review the settings and the code of a library, then trust it.
    TrustLibrary {
        /// Its workspace root.
        path: String,
    },
    /// Forget that the workspace was trusted.
    RevokeTrust,
    /// Diagnose the workspace.
    DiagnoseWorkspace,
    /// Create a workspace in a directory.
    CreateWorkspace {
        /// The directory.
        path: String,
    },
    /// Name the format of a foreign file.
    NameFormat,
    /// Print the JSON Schema of a kind of documents.
    PrintSchema {
        /// The kind, such as `tools`.
        kind: String,
    },
    /// Show how long each part of a render takes.
    ExplainRender,
    /// Export the documents of a copy of the store.
    ExportStore,
    /// Allow values that are redacted and not secret.
    AllowSecrets {
        /// Their hashes. Short values can be guessed from them, so doors for other machines do not show them.
        hashes: Vec<String>,
    },
    /// A sentence that is the same at every door.
    Advice(String),
    /// Several steps.
    Steps(Vec<Self>),
}

/// Words a hint for a door.
pub type HintText = fn(&Hint) -> String;

impl Hint {
    /// This step, then `next`.
    #[must_use]
    pub fn then(self, next: impl Into<Self>) -> Self {
        let mut steps = match self {
            Self::Steps(steps) => steps,
            step => vec![step],
        };
        steps.push(next.into());
        Self::Steps(steps)
    }

    /// The hint as text; `word_step` words what a door says in its own way.
    #[must_use]
    pub fn to_text(&self, word_step: impl Fn(&Self) -> Option<String> + Copy) -> String {
        match self {
            Self::Steps(steps) => {
                steps.iter().map(|step| step.to_text(word_step)).collect::<Vec<_>>().join("; ")
            }
            step => word_step(step).unwrap_or_else(|| step.common_text()),
        }
    }

    fn common_text(&self) -> String {
        match self {
            Self::PassVariable { name, .. } => format!("pass the variable `{name}`"),
            Self::ListPrompts => "list the prompts to see which exist".to_owned(),
            Self::ListAgents => "list the agents to see which exist".to_owned(),
            Self::ListPacks => "list the packs to see which are installed".to_owned(),
            Self::ListSettings => "list the settings to see which exist".to_owned(),
            Self::ListLeftOut => "the report of the packed context lists them".to_owned(),
            Self::ShowCandidates { id } => format!("list the candidates of `{id}`"),
            Self::ChooseCandidate { id, source } => {
                format!("choose one of the candidates of `{id}`, for example `{source}`")
            }
            Self::ShowPack { pack } => format!("review the pack `{pack}`"),
            Self::ApprovePack { pack } => format!("review the pack `{pack}`, then approve it"),
            Self::VerifyPack { pack } => {
                format!("see what changed in the pack `{pack}`, then approve it again")
            }
            Self::RemovePack { pack } => format!("remove the pack `{pack}`"),
            Self::SyncPacks => "synchronize the packs of the workspace".to_owned(),
            Self::LockWorkspace => "lock the workspace as it is now".to_owned(),
            Self::TrustWorkspace => {
                "review the settings and the code of the workspace, then trust it".to_owned()
            }
            Self::TrustLibrary { path } => {
                format!("review the settings and the code of the library `{path}`, then trust it")
            }
            Self::RevokeTrust => "revoke the trust in the workspace".to_owned(),
            Self::DiagnoseWorkspace => "diagnose the workspace for details".to_owned(),
            Self::CreateWorkspace { path } => format!("create a workspace in `{path}`"),
            Self::NameFormat => "name its format".to_owned(),
            Self::PrintSchema { kind } => format!("the JSON Schema of `{kind}` describes the document"),
            Self::ExplainRender => "explain the prompt to see which part is slow".to_owned(),
            Self::ExportStore => "export a copy of the store to recover its documents".to_owned(),
            Self::AllowSecrets { .. } => {
                "if a value is not a secret, the owner of the workspace can allow it with `context.secret_allow`"
                    .to_owned()
            }
            Self::Advice(text) => text.clone(),
            Self::Steps(_) => self.to_text(|_| None),
        }
    }

    /// The same hint with all its texts changed by `change`.
    #[must_use]
    pub(crate) fn map_texts(mut self, change: &impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::PassVariable { name: text, .. }
            | Self::ShowCandidates { id: text }
            | Self::ShowPack { pack: text }
            | Self::ApprovePack { pack: text }
            | Self::VerifyPack { pack: text }
            | Self::RemovePack { pack: text }
            | Self::CreateWorkspace { path: text }
            | Self::TrustLibrary { path: text }
            | Self::PrintSchema { kind: text }
            | Self::Advice(text) => *text = change(text),
            Self::ChooseCandidate { id, source } => {
                *id = change(id);
                *source = change(source);
            }
            Self::Steps(steps) => {
                let changed = std::mem::take(steps).into_iter().map(|step| step.map_texts(change)).collect();
                *steps = changed;
            }
            Self::ListPrompts
            | Self::ListAgents
            | Self::ListPacks
            | Self::ListSettings
            | Self::ListLeftOut
            | Self::SyncPacks
            | Self::LockWorkspace
            | Self::TrustWorkspace
            | Self::RevokeTrust
            | Self::DiagnoseWorkspace
            | Self::NameFormat
            | Self::ExplainRender
            | Self::ExportStore
            | Self::AllowSecrets { .. } => {}
        }
        self
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(|_| None))
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::Advice(text.to_owned())
    }
}

impl From<&String> for Hint {
    fn from(text: &String) -> Self {
        Self::Advice(text.clone())
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::Advice(text)
    }
}

impl From<&Self> for Hint {
    fn from(hint: &Self) -> Self {
        hint.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_words_its_own_steps_and_leaves_the_others() {
        let hint = Hint::from("correct the file").then(Hint::TrustWorkspace).then("or leave it");
        let words = |step: &Hint| (*step == Hint::TrustWorkspace).then(|| "run `trust`".to_owned());
        assert_eq!(hint.to_text(words), "correct the file; run `trust`; or leave it");
        assert_eq!(
            hint.to_string(),
            "correct the file; review the settings and the code of the workspace, then trust it; or leave it"
        );
    }

    #[test]
    fn every_text_of_a_hint_can_be_masked() {
        let hint =
            Hint::ChooseCandidate { id: "s3cret".into(), source: "p/s3cret".into() }.then("use s3cret");
        let masked = hint.map_texts(&|text| text.replace("s3cret", "***"));
        assert_eq!(masked.to_string(), "choose one of the candidates of `***`, for example `p/***`; use ***");
    }
}

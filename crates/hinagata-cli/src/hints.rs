//! The hints of the command line, with the command to run.

use hinagata::Hint;
use hinagata_value::ValueType;

/// The text of a hint.
pub(crate) fn hint_text(hint: &Hint) -> String {
    hint.to_text(command_text)
}

/// The step with its command; `None` where the common wording names everything.
fn command_text(step: &Hint) -> Option<String> {
    Some(match step {
        Hint::PassVariable { name, kind } => format!("pass `{}`", example(name, *kind)),
        Hint::ListPrompts => "`hina list` lists the prompts".to_owned(),
        Hint::ListAgents => "`hina agent list` lists the agents".to_owned(),
        Hint::ListPacks => "`hina pack list` lists the packs".to_owned(),
        Hint::ListSettings => "`hina config` lists the settings".to_owned(),
        Hint::ListLeftOut => "`hina context pack --report` lists them with the reason".to_owned(),
        Hint::ShowCandidates { id } => format!("`hina resolve {id}` lists the candidates"),
        Hint::ChooseCandidate { id, source } => format!("choose one with `hina resolve {id} {source}`"),
        Hint::ShowPack { pack } => format!("review it with `hina pack show {pack}`"),
        Hint::ApprovePack { pack } => {
            format!("review it with `hina pack show {pack}`, then run `hina pack approve {pack}`")
        }
        Hint::VerifyPack { pack } => {
            format!("see what changed with `hina pack verify {pack}`, then run `hina pack approve {pack}`")
        }
        Hint::RemovePack { pack } => format!("remove it with `hina pack remove {pack}`"),
        Hint::SyncPacks => "`hina pack sync` installs what is wanted and locked".to_owned(),
        Hint::LockWorkspace => "`hina lock` locks what the workspace has now".to_owned(),
        Hint::TrustWorkspace => "review its settings and code, then run `hina trust`".to_owned(),
        Hint::TrustLibrary { path } => {
            format!("review its settings and code, then run `hina trust --root {path}`")
        }
        Hint::RevokeTrust => "`hina trust --revoke` revokes your trust".to_owned(),
        Hint::DiagnoseWorkspace => "run `hina doctor` for details".to_owned(),
        Hint::CreateWorkspace { path } => format!("`hina init --root {path}` creates a workspace there"),
        Hint::NameFormat => {
            "name its format with `--from`; `hina import --help` lists the formats".to_owned()
        }
        Hint::PrintSchema { kind } => format!("`hina store schema {kind}` prints the JSON Schema"),
        Hint::ExplainRender => "`hina explain` shows which part is slow".to_owned(),
        Hint::ExportStore => "`hina store export` on a copy recovers its documents".to_owned(),
        Hint::AllowSecrets { hashes } => format!(
            "if a value is not a secret, add its hash to `context.secret_allow` in your own settings: {}",
            hashes.join(", ")
        ),
        _ => return None,
    })
}

/// An argument that passes a value of the type.
fn example(name: &str, kind: ValueType) -> String {
    match kind {
        ValueType::List => format!("{name}:='[]'"),
        ValueType::Object => format!("{name}:='{{}}'"),
        ValueType::Integer | ValueType::Number => format!("{name}:=1"),
        ValueType::Boolean => format!("{name}:=true"),
        ValueType::File => format!("{name}=notes.md"),
        ValueType::String | ValueType::Any | ValueType::Null => format!("{name}=…"),
    }
}

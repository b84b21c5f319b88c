//! Where everything is in a workspace and in the user's state directory: each name of a directory or file once.

use std::path::Path;

/// The file with the settings of a workspace, beneath its root.
pub const SETTINGS_FILE: &str = "hinagata.toml";

/// The directory of the user's prompts and packs, beneath the root.
pub const USER_DATA: &str = "user_data";

/// Path of what is the user's own, from the workspace root.
pub const SHARED: &str = "user_data/shared";

/// Path of the user's prompts from the workspace root.
pub const SHARED_PROMPTS: &str = "user_data/shared/prompts";

/// Path of the packs from the workspace root.
pub const PACKS: &str = "user_data/packs";

/// Path from the workspace root that the built-in prompts stand for.
pub const BUILTIN_PROMPTS: &str = "ecosystem/default/prompts";

/// The directory of a pack that holds its prompts.
pub const PROMPTS: &str = "prompts";

/// The directory of agents, beneath [`SHARED`] and in packs.
pub const AGENTS: &str = "agents";

/// The directory that holds shared parts, and therefore no prompt.
pub const PARTIALS: &str = "partials";

/// The file of the state directory that names the trusted workspaces.
pub const TRUST_FILE: &str = "trust.json";

/// The file of the state directory with the states of files that were compared with an approval.
pub const STAMPS_FILE: &str = "stamps.json";

/// The names of files with the settings of a workspace, the first rank that is there counts.
pub const SETTINGS_RANKS: [&[&str]; 3] = [
    &[SETTINGS_FILE],
    &["hinagata.config.json", "hinagata.config.jsonc", "hinagata.config.yaml", "hinagata.config.yml"],
    &[
        "eddie.config.json",
        "eddie.config.jsonc",
        "eddie.config.yaml",
        "eddie.config.yml",
        ".eddierc",
        ".eddierc.json",
        ".eddierc.jsonc",
        ".eddierc.yaml",
        ".eddierc.yml",
    ],
];

/// Every name of a file with the settings of a workspace.
pub fn settings_names() -> impl Iterator<Item = &'static str> {
    SETTINGS_RANKS.into_iter().flatten().copied()
}

/// Whether a file of this name has the settings of a workspace.
pub fn is_settings_file(name: &str) -> bool {
    settings_names().any(|known| known == name)
}

/// Whether `path` holds settings under another name than [`SETTINGS_FILE`] that mark a workspace; files for a whole
/// home directory do not.
pub fn has_other_settings(path: &Path) -> bool {
    SETTINGS_RANKS[1..]
        .iter()
        .flat_map(|names| names.iter())
        .any(|name| !name.starts_with('.') && path.join(name).symlink_metadata().is_ok())
}

/// Whether settings called `name` are those of the program whose habits `compat` follows.
pub fn is_foreign_settings(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    SETTINGS_RANKS[2].contains(&name)
}

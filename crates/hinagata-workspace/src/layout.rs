//! Names of the directories and files in a workspace and in the user's state directory.

use std::path::Path;

/// The file with the settings of a workspace, beneath its root.
pub const SETTINGS_FILE: &str = "hinagata.toml";

/// The directory of the user's prompts and packs, beneath the root.
pub const USER_DATA: &str = "user_data";

/// Path of the user's own files from the workspace root.
pub const SHARED: &str = "user_data/shared";

/// Path of the user's prompts from the workspace root.
pub const SHARED_PROMPTS: &str = "user_data/shared/prompts";

/// Path of the packs from the workspace root.
pub const PACKS: &str = "user_data/packs";

/// Path from the workspace root under which the built-in prompts are listed.
pub const BUILTIN_PROMPTS: &str = "ecosystem/default/prompts";

/// The directory of prompts in a pack.
pub const PROMPTS: &str = "prompts";

/// The directory of agents, beneath [`SHARED`] and in packs.
pub const AGENTS: &str = "agents";

/// The directory of partials, which is not a prompt.
pub const PARTIALS: &str = "partials";

/// The file of the state directory that names the trusted workspaces.
pub const TRUST_FILE: &str = "trust.json";

/// The file of the state directory with the stamps of files that were compared with an approval.
pub const STAMPS_FILE: &str = "stamps.json";

/// The names of settings files of a workspace by rank; the first rank with a file is used.
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

/// All names of settings files of a workspace.
pub fn settings_names() -> impl Iterator<Item = &'static str> {
    SETTINGS_RANKS.into_iter().flatten().copied()
}

/// Whether `name` is the name of a settings file of a workspace.
pub fn is_settings_file(name: &str) -> bool {
    settings_names().any(|known| known == name)
}

/// Whether `path` has a settings file with another name than [`SETTINGS_FILE`] that marks a workspace. Hidden files do
/// not mark one, because they may be in a home directory.
pub fn has_other_settings(path: &Path) -> bool {
    SETTINGS_RANKS[1..]
        .iter()
        .flat_map(|names| names.iter())
        .any(|name| !name.starts_with('.') && path.join(name).symlink_metadata().is_ok())
}

/// Whether `name` is a settings file of the program that the setting `compat` imitates.
pub fn is_foreign_settings(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    SETTINGS_RANKS[2].contains(&name)
}

//! The hosts that `hina mcp install` knows: one row each.
//!
//! Checked on 2026-11-18: Claude Code 2.1.326, Gemini CLI 0.61.0, Qwen Code 0.24.4 and opencode 1.18.33 in their npm
//! packages; Claude Desktop, Cursor, VS Code and Zed in their documentation and issue trackers of that day.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{failure::Failure, workspace::current_directory};

/// Where a host keeps its servers, how it writes them, and what its users see.
#[derive(Debug)]
pub(super) struct HostSpec {
    /// The name on the command line.
    pub(super) name: &'static str,
    /// The name for users.
    pub(super) title: &'static str,
    /// The files of the user, the preferred one first. `~`, `{config}` and `{app}` stand for directories.
    user_files: &'static [&'static str],
    /// The same on Windows, where that differs.
    windows_files: &'static [&'static str],
    /// Variables that replace the beginning of a path of the user.
    moved_by: &'static [(&'static str, &'static str)],
    /// The files of a project, the preferred one first.
    project_files: &'static [&'static str],
    /// The key of the object that contains the servers by name.
    pub(super) servers_key: &'static str,
    pub(super) syntax: Syntax,
    pub(super) program: ProgramShape,
    /// `None` if the file cannot name servers by address.
    pub(super) remote: Option<RemoteShape>,
    /// What stands for the project directory, if the host does not start the servers of a project there.
    pub(super) project_directory: Option<&'static str>,
    /// Whether the host is started from a desktop, without the PATH of a shell.
    pub(super) is_desktop: bool,
    pub(super) skills: Option<SkillPlaces>,
    /// How users call a prompt; `SERVER` and `PROMPT` stand for the names.
    pub(super) call: &'static str,
    /// What users do next.
    pub(super) next_step: &'static str,
}

/// What a host accepts in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    /// With comments and trailing commas.
    JsonWithComments,
}

/// The entry of a server that the host starts.
#[derive(Debug)]
pub(super) struct ProgramShape {
    /// Fields with fixed values.
    pub(super) fixed: &'static [(&'static str, &'static str)],
    /// Whether `command` is a list with the arguments.
    pub(super) is_list: bool,
    /// The field of the environment variables.
    pub(super) environment: &'static str,
}

/// The entry of a server at an address.
#[derive(Debug)]
pub(super) struct RemoteShape {
    /// Fields with fixed values.
    pub(super) fixed: &'static [(&'static str, &'static str)],
    /// The field of the address.
    pub(super) url: &'static str,
    /// What stands before and after the name of an environment variable in a header, if the host replaces it.
    pub(super) reference: Option<(&'static str, &'static str)>,
}

/// The directories of Agent Skills.
#[derive(Debug)]
pub(super) struct SkillPlaces {
    user: &'static str,
    project: &'static str,
    /// Whether `$ARGUMENTS` in a skill stands for what the user writes after its name.
    pub(super) has_arguments: bool,
}

const PLAIN_PROGRAM: ProgramShape = ProgramShape { fixed: &[], is_list: false, environment: "env" };
const STDIO_PROGRAM: ProgramShape = ProgramShape { fixed: &[("type", "stdio")], ..PLAIN_PROGRAM };

/// An entry in whose headers `before`, the name of an environment variable and `}` stand for its value.
const fn remote_shape(
    fixed: &'static [(&'static str, &'static str)],
    url: &'static str,
    before: &'static str,
) -> Option<RemoteShape> {
    Some(RemoteShape { fixed, url, reference: Some((before, "}")) })
}

/// Directories of skills without arguments.
const fn fixed_skills(user: &'static str, project: &'static str) -> Option<SkillPlaces> {
    Some(SkillPlaces { user, project, has_arguments: false })
}

pub(super) const HOSTS: [HostSpec; 8] = [
    HostSpec {
        name: "claude-code",
        title: "Claude Code",
        user_files: &["~/.claude.json"],
        windows_files: &[],
        moved_by: &[("CLAUDE_CONFIG_DIR", "~/.claude/"), ("CLAUDE_CONFIG_DIR", "~/")],
        project_files: &[".mcp.json"],
        servers_key: "mcpServers",
        syntax: Syntax::Json,
        program: STDIO_PROGRAM,
        remote: remote_shape(&[("type", "http")], "url", "${"),
        project_directory: None,
        is_desktop: false,
        skills: Some(SkillPlaces {
            user: "~/.claude/skills",
            project: ".claude/skills",
            has_arguments: true,
        }),
        call: "/mcp__SERVER__PROMPT",
        next_step: "start `claude`; it asks once before it uses a server of a project",
    },
    HostSpec {
        name: "claude-desktop",
        title: "Claude Desktop",
        user_files: &["{app}/Claude/claude_desktop_config.json"],
        windows_files: &[],
        moved_by: &[],
        project_files: &[],
        servers_key: "mcpServers",
        syntax: Syntax::Json,
        program: PLAIN_PROGRAM,
        // An entry with an address is ignored, or ends the program at its start.
        remote: None,
        project_directory: None,
        is_desktop: true,
        skills: None,
        call: "the menu `+` beside the message",
        next_step: "quit Claude Desktop and start it again; closing its window is not enough",
    },
    HostSpec {
        name: "cursor",
        title: "Cursor",
        user_files: &["~/.cursor/mcp.json"],
        windows_files: &[],
        moved_by: &[],
        project_files: &[".cursor/mcp.json"],
        servers_key: "mcpServers",
        syntax: Syntax::JsonWithComments,
        program: PLAIN_PROGRAM,
        remote: remote_shape(&[], "url", "${env:"),
        project_directory: Some("${workspaceFolder}"),
        is_desktop: true,
        skills: fixed_skills("~/.cursor/skills", ".cursor/skills"),
        call: "/PROMPT",
        next_step: "restart Cursor, then switch the server on under Customize, MCPs",
    },
    HostSpec {
        name: "vscode",
        title: "VS Code",
        user_files: &["{app}/Code/User/mcp.json"],
        windows_files: &[],
        moved_by: &[],
        project_files: &[".vscode/mcp.json"],
        servers_key: "servers",
        syntax: Syntax::JsonWithComments,
        program: STDIO_PROGRAM,
        remote: remote_shape(&[("type", "http")], "url", "${env:"),
        project_directory: Some("${workspaceFolder}"),
        is_desktop: true,
        skills: fixed_skills("~/.copilot/skills", ".github/skills"),
        call: "/mcp.SERVER.PROMPT",
        next_step: "run the command `MCP: List Servers` in VS Code and start the server",
    },
    HostSpec {
        name: "gemini-cli",
        title: "Gemini CLI",
        user_files: &["~/.gemini/settings.json"],
        windows_files: &[],
        moved_by: &[("GEMINI_CLI_HOME", "~/")],
        project_files: &[".gemini/settings.json"],
        servers_key: "mcpServers",
        syntax: Syntax::JsonWithComments,
        program: PLAIN_PROGRAM,
        remote: remote_shape(&[], "httpUrl", "${"),
        project_directory: None,
        is_desktop: false,
        skills: fixed_skills("~/.gemini/skills", ".gemini/skills"),
        call: "/PROMPT",
        next_step: "start `gemini`; `/mcp` shows the server",
    },
    HostSpec {
        name: "qwen-code",
        title: "Qwen Code",
        user_files: &["~/.qwen/settings.json"],
        windows_files: &[],
        moved_by: &[("QWEN_HOME", "~/.qwen/")],
        project_files: &[".qwen/settings.json"],
        servers_key: "mcpServers",
        syntax: Syntax::JsonWithComments,
        program: PLAIN_PROGRAM,
        remote: remote_shape(&[], "httpUrl", "${"),
        project_directory: None,
        is_desktop: false,
        skills: fixed_skills("~/.qwen/skills", ".qwen/skills"),
        call: "/PROMPT",
        next_step: "start `qwen`; `/mcp` shows the server",
    },
    HostSpec {
        name: "opencode",
        title: "opencode",
        user_files: &["{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"],
        windows_files: &[],
        moved_by: &[("OPENCODE_CONFIG_DIR", "{config}/opencode/")],
        project_files: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        servers_key: "mcp",
        syntax: Syntax::JsonWithComments,
        program: ProgramShape { fixed: &[("type", "local")], is_list: true, environment: "environment" },
        remote: remote_shape(&[("type", "remote")], "url", "{env:"),
        project_directory: None,
        is_desktop: false,
        skills: fixed_skills("{config}/opencode/skills", ".opencode/skills"),
        call: "/SERVER:PROMPT:mcp",
        next_step: "start `opencode`; `opencode mcp list` shows the server",
    },
    HostSpec {
        name: "zed",
        title: "Zed",
        user_files: &["{config}/zed/settings.json"],
        windows_files: &["{app}/Zed/settings.json"],
        moved_by: &[],
        project_files: &[".zed/settings.json"],
        servers_key: "context_servers",
        syntax: Syntax::JsonWithComments,
        program: ProgramShape { fixed: &[("source", "custom")], ..PLAIN_PROGRAM },
        // Headers are sent as they are written.
        remote: Some(RemoteShape { fixed: &[("source", "custom")], url: "url", reference: None }),
        project_directory: None,
        is_desktop: true,
        skills: fixed_skills("~/.agents/skills", ".agents/skills"),
        call: "/PROMPT",
        next_step: "open the settings of the Agent Panel; a green dot marks a running server",
    },
];

impl HostSpec {
    /// Whether it works in projects, which have files of their own.
    pub(super) const fn has_projects(&self) -> bool {
        !self.project_files.is_empty()
    }

    /// The host called `name`.
    pub(super) fn from_name(name: &str) -> Result<&'static Self, Failure> {
        let names = || HOSTS.iter().map(|host| host.name);
        HOSTS.iter().find(|host| host.name == name).ok_or_else(|| {
            let similar = hinagata_value::near_names(name, names());
            Failure::usage_error(format!("unknown host `{name}`"))
                .with_near(similar)
                .with_hint(format!("hosts: {}", names().collect::<Vec<_>>().join(", ")))
        })
    }
}

/// For whom something is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Scope {
    /// All projects of the user
    User,
    /// The project in the current directory
    Project,
}

impl Scope {
    pub(super) const ALL: [Self; 2] = [Self::User, Self::Project];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The operating systems whose directories differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Unix,
    MacOs,
    Windows,
}

impl System {
    const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Unix
    };
}

/// The directories and variables that decide where files are.
pub(super) struct Surroundings {
    system: System,
    home: PathBuf,
    variable: fn(&str) -> Option<OsString>,
    /// The project directory.
    pub(super) current: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    pub(super) fn from_process() -> Result<Self, Failure> {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or_else(|| {
            Failure::system_error("the home directory is unknown")
                .with_hint("set HOME to your home directory")
        })?;
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Ok(Self { system: System::CURRENT, home, variable, current: current_directory() })
    }

    /// The file with the servers of a host: the first that exists, else the preferred one. `None` if the host has no
    /// file for this scope.
    pub(super) fn config_file(&self, host: &HostSpec, scope: Scope) -> Option<PathBuf> {
        let files: Vec<PathBuf> = match scope {
            Scope::Project => host.project_files.iter().map(|file| self.current.join(file)).collect(),
            Scope::User => {
                let own = match self.system {
                    System::Windows if !host.windows_files.is_empty() => host.windows_files,
                    _ => host.user_files,
                };
                own.iter().map(|file| self.user_path(host, file)).collect()
            }
        };
        files.iter().find(|file| file.symlink_metadata().is_ok()).or(files.first()).cloned()
    }

    /// The directory of a host's skills, and whether they have arguments.
    pub(super) fn skill_directory(&self, host: &HostSpec, scope: Scope) -> Option<PathBuf> {
        let places = host.skills.as_ref()?;
        Some(match scope {
            Scope::User => self.user_path(host, places.user),
            Scope::Project => self.current.join(places.project),
        })
    }

    /// A path of the table as a path of this machine.
    fn user_path(&self, host: &HostSpec, path: &str) -> PathBuf {
        let moved = host.moved_by.iter().find_map(|(variable, beginning)| {
            let directory = (self.variable)(variable)?;
            Some(PathBuf::from(directory).join(path.strip_prefix(beginning)?))
        });
        moved.unwrap_or_else(|| match path.split_once('/') {
            Some(("{config}", rest)) => self.config_home().join(rest),
            Some(("{app}", rest)) => self.app_home().join(rest),
            Some(("~", rest)) => self.home.join(rest),
            _ => self.home.join(path),
        })
    }

    fn config_home(&self) -> PathBuf {
        // The base directory specification says to ignore relative paths.
        let named = (self.variable)("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(".config"))
    }

    /// Where desktop programs keep their files.
    fn app_home(&self) -> PathBuf {
        match self.system {
            System::Unix => self.config_home(),
            System::MacOs => self.home.join("Library/Application Support"),
            System::Windows => {
                (self.variable)("APPDATA").map_or_else(|| self.home.join("AppData/Roaming"), PathBuf::from)
            }
        }
    }

    /// A path as the user writes it: from the current directory, or from the home directory.
    pub(super) fn display_path(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.current) {
            return rest.display().to_string();
        }
        match path.strip_prefix(&self.home) {
            Ok(rest) if self.home != Path::new("/") => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(system: System, variable: fn(&str) -> Option<OsString>) -> Surroundings {
        Surroundings { system, home: "/home/u".into(), variable, current: "/w".into() }
    }

    fn user_file(name: &str, system: System, variable: fn(&str) -> Option<OsString>) -> String {
        let host = HOSTS.iter().find(|host| host.name == name).expect("a host");
        let file = surroundings(system, variable).config_file(host, Scope::User).expect("has one");
        file.display().to_string()
    }

    #[test]
    fn files_are_where_each_system_has_them() {
        let none: fn(&str) -> Option<OsString> = |_| None;
        let appdata: fn(&str) -> Option<OsString> = |name| (name == "APPDATA").then(|| "/roaming".into());
        let xdg: fn(&str) -> Option<OsString> = |name| (name == "XDG_CONFIG_HOME").then(|| "/xdg".into());
        for (name, system, variable, file) in [
            ("claude-code", System::Unix, none, "/home/u/.claude.json"),
            ("claude-desktop", System::Unix, xdg, "/xdg/Claude/claude_desktop_config.json"),
            (
                "claude-desktop",
                System::MacOs,
                none,
                "/home/u/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            ("claude-desktop", System::Windows, appdata, "/roaming/Claude/claude_desktop_config.json"),
            ("vscode", System::Unix, none, "/home/u/.config/Code/User/mcp.json"),
            ("vscode", System::MacOs, none, "/home/u/Library/Application Support/Code/User/mcp.json"),
            ("opencode", System::MacOs, xdg, "/xdg/opencode/opencode.json"),
            ("zed", System::MacOs, none, "/home/u/.config/zed/settings.json"),
            ("zed", System::Windows, appdata, "/roaming/Zed/settings.json"),
            ("cursor", System::Windows, appdata, "/home/u/.cursor/mcp.json"),
        ] {
            assert_eq!(user_file(name, system, variable), file, "{name} {system:?}");
        }
    }

    #[test]
    fn variables_of_a_host_move_its_files() {
        let moved: fn(&str) -> Option<OsString> = |name| Some(format!("/moved/{name}").into());
        for (name, file) in [
            ("claude-code", "/moved/CLAUDE_CONFIG_DIR/.claude.json"),
            ("gemini-cli", "/moved/GEMINI_CLI_HOME/.gemini/settings.json"),
            ("qwen-code", "/moved/QWEN_HOME/settings.json"),
            ("opencode", "/moved/OPENCODE_CONFIG_DIR/opencode.json"),
        ] {
            assert_eq!(user_file(name, System::Unix, moved), file);
        }
        let skills = surroundings(System::Unix, moved).skill_directory(&HOSTS[0], Scope::User);
        assert_eq!(skills.expect("has some"), Path::new("/moved/CLAUDE_CONFIG_DIR/skills"));
    }

    #[test]
    fn an_existing_file_is_preferred() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let host = HOSTS.iter().find(|host| host.name == "opencode").expect("a host");
        let surroundings =
            Surroundings { current: place.path().to_owned(), ..surroundings(System::Unix, |_| None) };
        let name = || {
            let file = surroundings.config_file(host, Scope::Project).expect("has one");
            file.strip_prefix(place.path()).expect("beneath").display().to_string()
        };
        assert_eq!(name(), "opencode.json");
        std::fs::create_dir(place.path().join(".opencode")).expect("made");
        std::fs::write(place.path().join(".opencode/opencode.jsonc"), "{}").expect("written");
        assert_eq!(name(), ".opencode/opencode.jsonc");
    }
}

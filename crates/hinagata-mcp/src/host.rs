//! The programs that show prompts to a person, and what each of them needs so that every word of a prompt arrives.
//!
//! The protocol leaves to the host what it does with a list of arguments and with messages, and hosts differ. A profile
//! says how one host differs from the protocol; `docs/reference/mcp.md` has the same table, and a test compares them.

use rmcp::model::{Implementation, ProtocolVersion};

/// How the arguments of a prompt are listed, and how they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentStyle {
    /// All of them as declared. They arrive by name.
    Declared,
    /// The host gives the typed line to the required arguments. All are listed, and one of them is required, so it gets
    /// the whole line.
    OneRequired,
    /// The host splits the line among all listed arguments. If there are several, none is listed, and the line arrives
    /// as the argument `input`.
    Unlisted,
    /// The host gives one word of the line to each listed argument. The required ones are listed, and places for further
    /// words.
    Words,
    /// The host hides prompts with several arguments. One is listed, and gets the whole line.
    Line,
    /// The host passes `$1`, `$2` and so on, and inserts the typed words later. The required ones are listed, texts last.
    Placeholders,
}

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageStyle {
    /// Whether the host keeps the roles. If not, each turn starts with its role when there is more than one.
    pub(crate) roles: bool,
    /// Whether the host passes on contents other than text. If not, texts replace them.
    pub(crate) media: bool,
    /// Whether the host passes on more than the first message.
    pub(crate) several: bool,
}

/// What the description of a prompt says about its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageStyle {
    /// Their names.
    Names,
    /// The command to type: `/NAME --changes="…"`.
    Command,
    /// The options that follow the line, as `--tries=…`. The host itself shows the other arguments.
    Options,
    /// Nothing: the host inserts what is typed.
    Nothing,
}

/// The messages as the protocol has them.
const AS_RENDERED: MessageStyle = MessageStyle { roles: true, media: true, several: true };

/// One text of the user.
const ONE_TEXT: MessageStyle = MessageStyle { roles: false, media: false, several: false };

/// What one host needs.
#[derive(Debug, PartialEq)]
pub(crate) struct HostProfile {
    /// The name in the setting `mcp.host`.
    pub(crate) name: &'static str,
    /// How the names of its clients start, in lower case.
    clients: &'static [&'static str],
    pub(crate) arguments: ArgumentStyle,
    /// Whether required arguments are listed as optional if the client has forms: the host refuses a call without them,
    /// so the form would never be seen.
    pub(crate) asks_by_form: bool,
    /// What descriptions say about arguments.
    pub(crate) usage: UsageStyle,
    pub(crate) messages: MessageStyle,
    /// Whether the host shows names in any script.
    pub(crate) any_script: bool,
    /// Its position in [`PROFILES`].
    pub(crate) index: usize,
}

const PLAIN: HostProfile = HostProfile {
    name: "default",
    clients: &[],
    arguments: ArgumentStyle::Declared,
    asks_by_form: false,
    usage: UsageStyle::Names,
    messages: AS_RENDERED,
    any_script: false,
    index: 0,
};

/// All profiles. The first is for clients that no other profile matches.
pub(crate) static PROFILES: [HostProfile; 10] = [
    PLAIN,
    HostProfile {
        name: "claude-code",
        clients: &["claude-code"],
        arguments: ArgumentStyle::Words,
        asks_by_form: true,
        usage: UsageStyle::Options,
        messages: MessageStyle { roles: false, ..AS_RENDERED },
        any_script: true,
        index: 1,
    },
    HostProfile { name: "claude-desktop", clients: &["claude-ai"], any_script: true, index: 2, ..PLAIN },
    HostProfile {
        name: "gemini-cli",
        clients: &["gemini-cli"],
        arguments: ArgumentStyle::OneRequired,
        usage: UsageStyle::Command,
        messages: ONE_TEXT,
        any_script: true,
        index: 3,
        ..PLAIN
    },
    HostProfile {
        name: "qwen-code",
        clients: &["qwen-cli", "qwen-code"],
        arguments: ArgumentStyle::Unlisted,
        usage: UsageStyle::Command,
        messages: ONE_TEXT,
        any_script: true,
        index: 4,
        ..PLAIN
    },
    HostProfile {
        name: "opencode",
        clients: &["opencode"],
        arguments: ArgumentStyle::Placeholders,
        usage: UsageStyle::Nothing,
        messages: ONE_TEXT,
        index: 5,
        ..PLAIN
    },
    HostProfile { name: "vscode", clients: &["visual studio code", "vscode"], index: 6, ..PLAIN },
    HostProfile { name: "cursor", clients: &["cursor"], index: 7, ..PLAIN },
    HostProfile {
        name: "zed",
        clients: &["zed"],
        arguments: ArgumentStyle::Line,
        usage: UsageStyle::Command,
        messages: ONE_TEXT,
        any_script: true,
        index: 8,
        ..PLAIN
    },
    HostProfile {
        name: "langchain",
        clients: &["langchain"],
        messages: MessageStyle { media: false, ..AS_RENDERED },
        index: 9,
        ..PLAIN
    },
];

impl HostProfile {
    /// The profile for clients that no other profile matches.
    pub(crate) fn default_profile() -> &'static Self {
        &PROFILES[0]
    }

    /// Whether lists of prompts differ from those of the protocol.
    pub(crate) fn changes_list(&self) -> bool {
        self.arguments != ArgumentStyle::Declared || self.usage != UsageStyle::Names || self.any_script
    }

    /// The profile called `name` in the settings; `None` for `auto`.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The profile for a client.
    pub(crate) fn for_client(client: Option<&Implementation>) -> &'static Self {
        let Some(client) = client else { return Self::default_profile() };
        let matches = |start: &&str| {
            client.name.get(..start.len()).is_some_and(|name| name.eq_ignore_ascii_case(start))
        };
        PROFILES
            .iter()
            .find(|profile| profile.clients.iter().any(&matches))
            .unwrap_or_else(Self::default_profile)
    }
}

/// What the client of a request can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostView {
    pub(crate) profile: &'static HostProfile,
    /// Whether the client shows forms.
    pub(crate) forms: bool,
    /// The contents and form fields that its revision of the protocol has.
    pub(crate) revision: Revision,
}

/// What a revision of the protocol has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// Audio contents, since 2025-03-26.
    pub(crate) audio: bool,
    /// Contents that link to resources, since 2025-06-18.
    pub(crate) links: bool,
    /// Form fields with several choices, since 2025-11-25.
    pub(crate) multi_select: bool,
}

impl Revision {
    /// What the revision `version` has; the newest if the client names none.
    pub(crate) fn from_version(version: Option<&ProtocolVersion>) -> Self {
        let since =
            |first: &ProtocolVersion| version.is_none_or(|version| version.as_str() >= first.as_str());
        Self {
            audio: since(&ProtocolVersion::V_2025_03_26),
            links: since(&ProtocolVersion::V_2025_06_18),
            multi_select: since(&ProtocolVersion::V_2025_11_25),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_recognized_by_the_start_of_their_name() {
        for (client, profile) in [
            ("claude-code", "claude-code"),
            ("claude-ai", "claude-desktop"),
            ("gemini-cli-mcp-client", "gemini-cli"),
            ("qwen-cli-mcp-client-prompts", "qwen-code"),
            ("opencode", "opencode"),
            ("Visual Studio Code - Insiders", "vscode"),
            ("cursor-vscode", "cursor"),
            ("Zed", "zed"),
            ("mcp", "default"),
            ("", "default"),
        ] {
            let client = Implementation::new(client, "1");
            assert_eq!(HostProfile::for_client(Some(&client)).name, profile, "{}", client.name);
        }
        assert!(PROFILES.iter().enumerate().all(|(index, profile)| profile.index == index));
    }

    #[test]
    fn the_setting_has_every_profile() {
        let setting = hinagata::settings::setting("mcp.host").expect("is a setting");
        let names: Vec<&str> =
            std::iter::once("auto").chain(PROFILES.iter().map(|profile| profile.name)).collect();
        assert_eq!(format!("{:?}", setting.kind), format!("Word({names:?})"));
    }

    /// The row of a profile in the reference.
    fn table_row(profile: &HostProfile) -> String {
        let clients: Vec<String> = profile.clients.iter().map(|start| format!("`{start}`")).collect();
        let arguments = match profile.arguments {
            ArgumentStyle::Declared => "as declared",
            ArgumentStyle::OneRequired => "as declared; only the one that takes the line is required",
            ArgumentStyle::Unlisted => "none if there are several; the line is `input`",
            ArgumentStyle::Words => "those that take the line, and `+2` to `+20` for further words",
            ArgumentStyle::Line => "the first one, which takes the line",
            ArgumentStyle::Placeholders => "the required ones, texts last; `$1` is inserted as it is",
        };
        let optional = if profile.asks_by_form { "; none is required if the client has forms" } else { "" };
        let usage = match profile.usage {
            UsageStyle::Names => "names",
            UsageStyle::Command => "`/NAME --argument=\"…\"`",
            UsageStyle::Options => "options `--argument=…`",
            UsageStyle::Nothing => "nothing",
        };
        let messages = match profile.messages {
            MessageStyle { several: false, .. } => "one text",
            MessageStyle { media: false, .. } => "texts",
            MessageStyle { roles: false, .. } => "roles as headings",
            _ => "as rendered",
        };
        let names = if profile.any_script { "any script" } else { "ASCII" };
        format!(
            "| `{}` | {} | {arguments}{optional} | {usage} | {messages} | {names} |",
            profile.name,
            clients.join(", ")
        )
    }

    #[test]
    fn the_reference_has_the_table_of_profiles() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mcp.md");
        let text = std::fs::read_to_string(file).expect("can be read");
        let rows: Vec<String> = PROFILES.iter().map(table_row).collect();
        let header = "| host | client | arguments | description says | messages | names |\n|---|---|---|---|---|---|\n";
        let table = format!("{header}{}\n\n", rows.join("\n"));
        assert!(text.contains(&table), "docs/reference/mcp.md must have this table:\n\n{table}");
    }

    #[test]
    fn older_revisions_have_fewer_contents() {
        let old = Revision::from_version(Some(&ProtocolVersion::V_2024_11_05));
        assert_eq!(old, Revision { audio: false, links: false, multi_select: false });
        let newer = Revision::from_version(Some(&ProtocolVersion::V_2025_06_18));
        assert_eq!(newer, Revision { audio: true, links: true, multi_select: false });
    }
}

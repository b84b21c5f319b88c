//! The registry of all settings: name, type, default, meaning, and the trust that each needs.
//!
//! Files, environment and flags are parsed by this table, `hina config` prints it, and a test compares
//! `docs/reference/settings.md` with it.

use serde_json::Value;

use super::Kind;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name, as `section.key`. The key `*` matches any name: each entry of the section is a setting.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Whether it can be unset, which is written `-`.
    pub optional: bool,
    /// The default in the syntax of a flag; empty for a section.
    pub default: &'static str,
    /// A description in one line.
    pub meaning: &'static str,
    /// What it may do in an untrusted workspace.
    pub power: Power,
    /// Another environment variable that sets it; its own variable overrides this one.
    pub variable: Option<&'static str>,
    /// Whether the values of several layers are combined: maps are merged by key, lists are joined.
    pub merges: bool,
}

/// What a setting may do in an untrusted workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Power {
    /// It takes effect.
    Harmless,
    /// Its paths beneath the workspace root take effect; others are ignored.
    Reaching,
    /// It can lower the limit, but not raise it; words are listed from the lowest to the highest.
    Raising,
    /// It is ignored, because it can run programs, open connections or send data.
    Widening,
}

impl Setting {
    /// The default value; `null` if there is none.
    #[must_use]
    pub fn default_value(&self) -> Value {
        self.read_text(self.default).unwrap_or_default()
    }

    /// Parses the text of a flag or an environment variable.
    pub(super) fn read_text(&self, text: &str) -> Result<Value, super::kind::InvalidValue> {
        if self.optional && text.trim() == "-" {
            return Ok(Value::Null);
        }
        self.kind.parse_text(text)
    }

    /// Whether it is a section whose entries are settings.
    #[must_use]
    pub fn is_section(&self) -> bool {
        self.name.ends_with(".*")
    }

    /// The name without the `*`.
    pub(super) fn stem(&self) -> &'static str {
        self.name.trim_end_matches(".*")
    }

    /// The environment variable that sets it; for a section, the prefix of the variables of its entries.
    #[must_use]
    pub fn own_variable(&self) -> String {
        format!("HINAGATA_{}", self.name.trim_end_matches('*').replace('.', "_").to_uppercase())
    }

    const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    const fn power(mut self, power: Power) -> Self {
        self.power = power;
        self
    }

    const fn merging(mut self) -> Self {
        self.merges = true;
        self
    }

    const fn variable(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }
}

/// The setting `name`, which may be an entry of a section.
#[must_use]
pub fn setting(name: &str) -> Option<&'static Setting> {
    let entry_of = |setting: &&Setting| {
        let rest = name.strip_prefix(setting.stem()).and_then(|rest| rest.strip_prefix('.'));
        setting.is_section() && rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('.'))
    };
    SETTINGS.iter().find(|setting| setting.name == name).or_else(|| SETTINGS.iter().find(entry_of))
}

const fn setting_of(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting {
        name,
        kind,
        optional: false,
        default,
        meaning,
        power: Power::Harmless,
        variable: None,
        merges: false,
    }
}

/// A limit of templates.
const fn limit(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    setting_of(name, kind, default, meaning).power(Power::Raising)
}

const fn privileged(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    setting_of(name, kind, default, meaning).power(Power::Widening)
}

const COUNT_I64: Kind = Kind::Count(i64::MAX as u64);
const COUNT_U32: Kind = Kind::Count(u32::MAX as u64);

/// All settings, by section.
pub static SETTINGS: &[Setting] = &[
    setting_of("catalog.paths", Kind::Texts, "", "additional directories with prompts, relative to the workspace root")
        .power(Power::Reaching),
    setting_of(
        "catalog.foreign",
        Kind::ForeignPaths,
        "",
        "files and directories with prompts of other formats, each a table of `path` and `format`",
    )
    .power(Power::Reaching),
    privileged(
        "catalog.libraries",
        Kind::Texts,
        "",
        "other workspaces whose prompts are used, too; absolute, or from the home directory as ~/…",
    ),
    setting_of("check.levels", Kind::Any, "-", "levels of findings by code or `group.*`: error, warning, hint, off")
        .optional()
        .merging(),
    setting_of("check.paths", Kind::Any, "-", "levels for some files, each a table of `path`, a glob, and `levels`")
        .optional()
        .merging(),
    setting_of("render.language", Kind::Text, "-", "`system.language`; - uses the locale")
        .optional(),
    setting_of(
        "render.timezone",
        Kind::Text,
        "-",
        "time zone of `system.datetime`, such as Asia/Tokyo; - uses that of the machine",
    )
    .optional(),
    setting_of(
        "render.undefined",
        Kind::Word(&["empty", "jinja", "error", "debug"]),
        "-",
        "how undefined variables behave, unless the prompt decides; - is empty, and error for prompts of the store",
    )
    .optional(),
    limit("limits.steps", COUNT_I64, "20_000_000", "operations, and each item or 64 bytes produced"),
    limit("limits.bytes", Kind::Bytes, "64MiB", "bytes alive in produced values and captures"),
    limit("limits.output", COUNT_I64, "-", "characters of a bare template; - applies only the limit of bytes").optional(),
    limit("limits.calls", COUNT_U32, "200", "nested calls and includes"),
    limit("limits.nesting", COUNT_U32, "200", "nested expressions and blocks"),
    limit("limits.value_depth", COUNT_U32, "1_000", "nested lists and maps when printed or compared"),
    limit("limits.stack", Kind::Bytes, "1MiB", "stack of a render"),
    limit("limits.range_items", COUNT_I64, "100_000", "items of one range"),
    limit("limits.fill", Kind::Bytes, "1MiB", "bytes added by one repeat, pad or indent"),
    limit("limits.source", Kind::Bytes, "256KiB", "size of one template source"),
    limit("limits.templates", COUNT_U32, "500", "templates loaded in one render"),
    limit("limits.passes", COUNT_U32, "32", "passes of one render that waits for tools"),
    limit("limits.requests", COUNT_U32, "1_000", "tool calls in one render"),
    limit("limits.deadline", Kind::Time, "-", "processor time of the render itself; - is 500 ms in the daemon and in the MCP server, and none elsewhere").optional(),
    // Prompts and `defaults.json` can override these, up to the caps.
    setting_of(
        "limits.max_output_size",
        COUNT_I64,
        "-",
        "characters of a prompt without its own limit; - is 50 000, for agents and modules 2 000 000",
    )
    .optional(),
    setting_of(
        "limits.max_execution_time",
        Kind::Time,
        "5s",
        "time for all Python of a render without its own limit",
    ),
    limit("caps.max_output_size", COUNT_I64, "-", "the highest limit that a prompt can set; - sets none").optional(),
    limit("caps.max_execution_time", Kind::Time, "60s", "the highest limit that a prompt can set; - sets none")
        .optional(),
    setting_of("cache.templates", COUNT_U32, "100", "compiled templates in the cache"),
    privileged(
        "hooks.isolation",
        Kind::Word(&["call", "prompt", "spawn"]),
        "call",
        "what shares one Python process",
    ),
    privileged(
        "hooks.sandbox",
        Kind::Word(&["enforce", "best-effort", "off"]),
        "enforce",
        "whether hooks run where the system cannot confine Python",
    ),
    privileged("hooks.python", Kind::Text, "-", "the Python interpreter; - finds python3")
        .optional()
        .variable("HINAGATA_PYTHON"),
    privileged(
        "hooks.workers",
        COUNT_U32,
        "-",
        "hooks that run concurrently, and as many variable providers; - is two per processor, at least 4, at most 64",
    )
    .optional(),
    privileged("hooks.allowed_hosts", Kind::Texts, "", "hosts that `http_request` may reach"),
    privileged("hooks.timeout", Kind::Time, "10s", "timeout of one `http_request`"),
    privileged("hooks.max_tokens", COUNT_U32, "4_096", "maximum tokens of one answer to `llm_call`"),
    privileged("store.url", Kind::Text, "embedded", "address of the store: embedded, memory, or redis://…")
        .variable("REDIS_URL"),
    privileged("store.prefix", Kind::Text, "shenma:", "prefix of the keys in the store"),
    privileged("store.certificates", Kind::Text, "-", "PEM file with the authority of a rediss:// server; - uses the common authorities")
        .optional(),
    setting_of(
        "store.serve_stale",
        Kind::Flag,
        "false",
        "whether the last good version of a template replaces one that no longer parses",
    ),
    setting_of("packs.index", Kind::Text, "-", "index of packs: an https address, or a path relative to the workspace root")
        .optional(),
    setting_of(
        "packs.signatures",
        Kind::Word(&["required", "known", "off"]),
        "off",
        "which packs must be signed: all of them; those that have a signature by one of `packs.keys`; none",
    )
    .power(Power::Raising),
    privileged("packs.keys", Kind::Texts, "", "public keys of minisign whose signatures count; only in the user's own settings"),
    privileged("packs.allowed_hosts", Kind::Texts, "", "hosts and networks with private addresses that packs may be fetched from"),
    setting_of("packs.*", Kind::Any, "", "a pack that the workspace wants: its source, or a range of versions of the index"),
    privileged("tools.base_url", Kind::Text, "-", "base of relative tool addresses").optional(),
    privileged("tools.allowed_hosts", Kind::Texts, "", "hosts and networks that tools may reach"),
    privileged("tools.timeout", Kind::Time, "10s", "timeout of one tool call"),
    privileged("tools.max_answer", Kind::Bytes, "1MiB", "maximum size of one tool response"),
    privileged("tools.concurrency", COUNT_U32, "64", "concurrent calls of the tools of one module"),
    privileged("tools.modules.*", Kind::Any, "", "address, headers and timeout of the tools of a module"),
    privileged("mcp_servers.*", Kind::Any, "", "MCP servers whose tools can be called"),
    privileged("llm.model", Kind::Text, "-", "the model if neither call nor prompt names one").optional(),
    privileged("llm.provider", Kind::Text, "-", "provider of models that are not configured; - decides by their names")
        .optional(),
    privileged("llm.system", Kind::Text, "-", "system message for prompts without one")
        .optional(),
    privileged("llm.timeout", Kind::Time, "120s", "timeout of an answer, and between two pieces of a streamed one"),
    privileged("llm.connect_timeout", Kind::Time, "10s", "timeout of connecting to a provider"),
    privileged("llm.retries", Kind::Texts, "100ms, 300ms", "delays before retries; empty disables retries"),
    privileged("llm.retry_after", Kind::Time, "2s", "longest `Retry-After` that is honoured"),
    privileged("llm.concurrency", COUNT_U32, "256", "concurrent calls of each provider; further ones are refused"),
    privileged("llm.breaker_failures", COUNT_U32, "5", "consecutive failures after which calls of a provider are suspended; 0 never suspends them"),
    privileged("llm.breaker_pause", Kind::Time, "10s", "how long calls of a failing provider are suspended before one is tried"),
    privileged("llm.max_answer", Kind::Bytes, "32MiB", "maximum size of one model answer"),
    privileged("llm.providers.*", Kind::Any, "", "address, key and headers of a provider"),
    privileged("models.*", Kind::Any, "", "a model: provider, the provider's name for it, aliases, options, turns, tokenizer file, price"),
    privileged("v1.models", Kind::Texts, "", "models of the settings that callers of `/v1` may name, beside prompts"),
    privileged("v1.system", Kind::Word(&["append", "refuse", "drop"]), "append", "what becomes of the instructions of callers of `/v1`"),
    setting_of("answers.mode", Kind::Word(&["strict", "repair", "off"]), "repair", "how answers with a schema are checked"),
    privileged("answers.retries", COUNT_U32, "1", "how often a wrong answer is asked again with its faults"),
    privileged("agent.max_steps", COUNT_U32, "8", "maximum answers of a chat in which the model calls tools"),
    privileged("agent.allow_tools", Kind::Texts, "", "tools that the model of a chat may call without approval; * stands for any characters"),
    privileged("server.listen", Kind::Text, "127.0.0.1:8700", "address and TCP port of the daemon; port 0 selects a free one"),
    privileged(
        "server.open",
        Kind::Flag,
        "false",
        "whether other machines may read and render without a key",
    ),
    privileged(
        "server.local_chat",
        Kind::Flag,
        "false",
        "whether programs on this machine may chat without a key, while no keys are set",
    ),
    privileged("server.origins", Kind::Texts, "", "origins of web pages that may call the daemon, such as https://example.com"),
    privileged("server.hosts", Kind::Texts, "", "additional host names of the daemon"),
    privileged("server.workspaces", Kind::Texts, "", "directories outside the workspace that `workspace_path` may name"),
    privileged("server.project", Kind::Text, "-", "the project directory, beneath which callers of the daemon name files; - is none").optional(),
    privileged("server.trusted_proxies", Kind::Texts, "", "addresses or networks of reverse proxies whose `X-Forwarded-For` counts"),
    privileged("server.max_body", Kind::Bytes, "4MiB", "maximum size of a request body"),
    privileged("server.threads", COUNT_U32, "-", "threads that answer requests; - is one per core").optional(),
    privileged("server.max_connections", COUNT_U32, "1_024", "concurrent connections; a further one replaces an idle one, or gets 503"),
    privileged("server.max_requests", COUNT_U32, "256", "concurrent requests, besides chats and waiting renders; further ones get 503"),
    privileged("server.max_chats", COUNT_U32, "256", "concurrent chats; further ones get 503"),
    privileged("server.max_waits", COUNT_U32, "256", "concurrent renders that wait for a tool or a hook; further ones get 503"),
    privileged("server.max_queued", COUNT_U32, "-", "renders that may wait for a core; further ones get 503; - is 8 per core").optional(),
    privileged("server.rate", COUNT_U32, "-", "requests per second of one key, or of one address without a key; - sets no limit")
        .optional(),
    privileged("server.header_timeout", Kind::Time, "30s", "timeout of receiving the request head"),
    privileged("server.request_timeout", Kind::Time, "60s", "timeout of one request, except chats and events"),
    privileged("server.stop_timeout", Kind::Time, "30s", "time for running requests to finish when the daemon stops"),
    privileged("server.linger", Kind::Time, "500ms", "time for which a stopping daemon still accepts requests"),
    privileged("server.audit", Kind::Text, "state", "file of the audit log of the daemon and of the MCP server; state is the user's state directory, off disables it"),
    privileged("server.audit_size", Kind::Bytes, "64MiB", "size at which a file of the audit log is rotated"),
    privileged("server.audit_files", COUNT_U32, "10", "older files of the audit log that are kept"),
    privileged("server.log", Kind::Text, "info", "log level: error, warn, info, debug, trace, or a filter by module")
        .variable("HINAGATA_LOG"),
    privileged("server.log_format", Kind::Word(&["text", "json"]), "text", "format of the log"),
    privileged(
        "server.trace_values",
        Kind::Flag,
        "false",
        "whether trace spans contain values of variables; secret ones never",
    ),
    privileged("keys", Kind::Any, "-", "API keys of the daemon, each with hash, name and scopes").optional(),
    setting_of("context.include", Kind::Texts, "", "patterns and directories to pack; empty packs all text files"),
    setting_of("context.exclude", Kind::Texts, "", "patterns of files to leave out"),
    setting_of("context.base_dir", Kind::Text, "-", "the directory that patterns start at; - is that of the project").optional(),
    setting_of("context.max_tokens", COUNT_U32, "100_000", "maximum tokens of the text; - sets none").optional(),
    setting_of("context.max_bytes", Kind::Bytes, "-", "maximum bytes of all files; - sets none").optional(),
    setting_of("context.max_files", COUNT_U32, "-", "maximum number of files, without those of resources; - sets none")
        .optional(),
    setting_of("context.model", Kind::Text, "-", "the model whose tokens are counted; - is that of `llm.model`").optional(),
    setting_of("context.focus", Kind::Texts, "", "patterns of files that are chosen first"),
    setting_of("context.priorities", Kind::Any, "-", "patterns with numbers; files with higher numbers are chosen first").optional().merging(),
    setting_of("context.kinds", Kind::Any, "-", "what happens to the kinds lock, generated, vendored, minified, data: take, last or omit")
        .optional()
        .merging(),
    setting_of("context.encoding", Kind::Text, "-", "encoding of files that are not UTF-8; - tells it by their bytes").optional(),
    setting_of("context.variables", Kind::Any, "-", "variables of template resources").optional().merging(),
    setting_of("context.resources", Kind::Any, "-", "sections after the files, each a bundle of files or a template").optional(),
    privileged("context.include_ignored", Kind::Flag, "false", "whether ignored files are packed"),
    // From stricter to looser: an untrusted workspace can only be stricter.
    limit(
        "context.secrets",
        Kind::Word(&["omit", "redact"]),
        "redact",
        "what happens to files with secrets: redact replaces the values by marks, omit leaves the files out",
    ),
    setting_of(
        "context.secret_rules",
        Kind::SecretRules,
        "",
        "more rules for secrets, each with name, pattern and keywords; those of all files count",
    )
    .merging(),
    privileged(
        "context.secret_allow",
        Kind::SecretExceptions,
        "",
        "values that are not secret: hashes, or a rule with a path; those of all files count",
    )
    .merging(),
    privileged("context.include_secrets", Kind::Flag, "false", "whether files with secrets are packed and included unchanged"),
    setting_of("context.include_generated", Kind::Flag, "false", "whether generated directories are packed"),
    setting_of("context.format", Kind::Word(&["plain", "markdown", "xml", "json"]), "plain", "how files are delimited"),
    setting_of("context.tree", Kind::Flag, "-", "whether the text starts with the tree of files; - does in markdown and xml").optional(),
    setting_of("context.header_text", Kind::Text, "-", "text at the start").optional(),
    setting_of("context.instruction_file", Kind::Text, "-", "file whose text comes at the end").optional(),
    setting_of("context.include_diffs", Kind::Flag, "false", "whether the text has the changes that are not committed"),
    setting_of("context.include_logs", Kind::Any, "-", "number of commits that the text lists; true lists 50").optional(),
    setting_of("context.diff", Kind::Text, "-", "two revisions, such as main..HEAD, whose changes the text has").optional(),
    setting_of("context.line_numbers", Kind::Flag, "false", "whether lines start with their numbers"),
    setting_of("context.remove_empty_lines", Kind::Flag, "false", "whether empty lines are removed"),
    setting_of("context.truncate_base64", Kind::Flag, "false", "whether long runs of Base64 are shortened"),
    setting_of("context.compress", Kind::Flag, "false", "whether outlines replace the texts of files"),
    setting_of("agents.mode", Kind::Text, "single", "how agents cooperate; for programs that read it"),
    setting_of("agents.enable_subagents", Kind::Flag, "true", "whether the manager may call subagents; for programs that read it"),
    setting_of("agents.manager", Kind::Any, "-", "the default agent: prompt or prompt_template, variables, resources")
        .optional()
        .merging(),
    setting_of("agents.subagents", Kind::Any, "-", "further agents, each with an id and the fields of the manager").optional(),
    setting_of(
        "mcp.host",
        Kind::Word(&[
            "auto",
            "default",
            "claude-code",
            "claude-desktop",
            "gemini-cli",
            "qwen-code",
            "opencode",
            "vscode",
            "cursor",
            "zed",
            "langchain",
        ]),
        "auto",
        "the program for which prompts are prepared over MCP; auto goes by the name of the client",
    ),
    privileged("mcp.tools", Kind::Flag, "false", "whether prompts are also tools over MCP, for clients without prompts"),
    privileged("mcp.skills", Kind::Flag, "false", "whether prompts are also Agent Skills over MCP, for clients with that extension"),
    setting_of("mcp.expose", Kind::Texts, "", "prompts that are served over MCP: ids, or tags as tag:NAME; * stands for any characters; empty serves all"),
    setting_of("mcp.builtin_prompts", Kind::Flag, "-", "whether built-in prompts are served over MCP; - does where there are no others").optional(),
    privileged("mcp.rate", COUNT_U32, "5_000", "renders and completions per second of one key, or of one address without a key, over MCP of the daemon; - sets no limit").optional(),
    setting_of("resources", Kind::Any, "-", "MCP resources, each with uri and text, file, blob, prompt or context")
        .optional(),
    setting_of("system_prompt", Kind::Text, "-", "system prompt of agents without their own").optional(),
    privileged("project_dir", Kind::Text, "-", "the directory that agents and context start at; - is the workspace root")
        .optional(),
    setting_of("version", Kind::Count(1), "1", "version of the settings format"),
    privileged("compat", Kind::Word(&["eddie"]), "-", "compatibility profile, such as eddie; - is none").optional(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_type() {
        for setting in SETTINGS.iter().filter(|setting| !setting.is_section()) {
            assert!(setting.read_text(setting.default).is_ok(), "{}", setting.name);
        }
    }

    #[test]
    fn every_name_is_unique_and_found() {
        for (place, setting_here) in SETTINGS.iter().enumerate() {
            assert!(
                !SETTINGS[..place].iter().any(|other| other.name == setting_here.name),
                "{}",
                setting_here.name
            );
            let name = setting_here.name.replace('*', "x");
            assert_eq!(setting(&name).map(|found| found.name), Some(setting_here.name));
        }
        assert!(setting("limits").is_none() && setting("models.").is_none() && setting("models").is_none());
        assert!(setting("mcp_servers.a.b").is_none(), "an entry is set whole");
    }

    #[test]
    fn privileged_settings_of_the_specification_are_widening() {
        for name in [
            "hooks.sandbox",
            "hooks.allowed_hosts",
            "mcp_servers.x",
            "tools.base_url",
            "tools.allowed_hosts",
            "tools.modules.x",
            "llm.model",
            "llm.providers.x",
            "models.x",
            "store.url",
            "keys",
            "compat",
            "context.include_secrets",
            "context.secret_allow",
            "context.include_ignored",
        ] {
            assert_eq!(setting(name).map(|found| found.power), Some(Power::Widening), "{name}");
        }
        assert!(
            SETTINGS
                .iter()
                .filter(|setting| setting.name.starts_with("hooks."))
                .all(|setting| setting.power == Power::Widening)
        );
    }
}

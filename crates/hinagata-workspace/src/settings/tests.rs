use hinagata_document::{Code, Hint, Reason};
use serde_json::json;

use super::*;

fn file(name: &str, text: &str) -> Option<SettingsFile> {
    Some(SettingsFile { name: name.to_owned(), text: text.to_owned() })
}

/// Sources with the workspace's file.
fn workspace(text: &str) -> SettingsSources {
    SettingsSources { workspace: file("hinagata.toml", text), ..SettingsSources::default() }
}

fn trusted(sources: &SettingsSources) -> Settings {
    Settings::resolve(sources, true).expect("is fine")
}

fn messages(settings: &Settings) -> Vec<String> {
    settings.diagnostics().iter().map(|diagnostic| diagnostic.error.message().to_owned()).collect()
}

#[test]
fn without_any_source_the_defaults_apply() {
    let settings = Settings::default();
    assert_eq!(settings.limits(), hinagata_value::Limits::default());
    assert_eq!((settings.undefined(), settings.template_cache()), (None, 100));
    assert_eq!(settings.catalog_paths(), [] as [&str; 0]);
    assert_eq!((settings.language(), settings.timezone()), (None, None));
    assert_eq!(settings.time("hooks.timeout"), Some(std::time::Duration::from_secs(10)));
}

#[test]
fn later_layers_win_and_overridden_values_are_recorded() {
    let sources = SettingsSources {
        user: file("config.toml", "[render]\nlanguage = \"de\"\n"),
        extended: Vec::new(),
        workspace: file("hinagata.toml", "[render]\nlanguage = \"ja\"\n"),
        environment: vec![("HINAGATA_RENDER_LANGUAGE".into(), "fr".into())],
        flags: vec!["render.language=zh".into()],
    };
    let settings = trusted(&sources);
    let language = settings.get("render.language").expect("is a setting");
    let overridden: Vec<_> =
        language.overridden.iter().map(|(value, origin)| (value.clone(), origin.to_string())).collect();
    assert_eq!((language.value.clone(), language.origin.to_string()), (json!("zh"), "--set".to_owned()));
    assert_eq!(
        overridden,
        [
            (json!("fr"), "HINAGATA_RENDER_LANGUAGE".to_owned()),
            (json!("ja"), "hinagata.toml:2:12".to_owned()),
            (json!("de"), "config.toml:2:12".to_owned()),
            (json!(null), "default".to_owned()),
        ]
    );
}

#[test]
fn the_workspace_beats_the_users_file() {
    let sources = SettingsSources {
        user: file("config.toml", "catalog.paths = [\"mine\"]"),
        extended: Vec::new(),
        ..workspace("[catalog]\npaths = [\"prompts\"]")
    };
    assert_eq!(Settings::resolve(&sources, false).expect("is fine").catalog_paths(), ["prompts"]);
}

#[test]
fn an_untrusted_workspace_sets_nothing_privileged() {
    let text = "
        compat = 'eddie'
        [hooks]
        sandbox = 'off'
        [mcp_servers.files]
        command = 'rm'
        [store]
        url = 'redis://evil'
        [render]
        language = 'ja'
    ";
    let settings = Settings::resolve(&workspace(text), false).expect("is fine");
    assert_eq!(settings.text("hooks.sandbox"), Some("enforce"));
    assert_eq!((settings.text("compat"), settings.text("store.url")), (None, Some("embedded")));
    assert!(settings.section("mcp_servers").is_empty());
    assert_eq!(settings.language(), Some("ja"), "what is harmless counts");
    assert_eq!(settings.diagnostics().len(), 4, "{:?}", messages(&settings));
    let first = &settings.diagnostics()[0].error;
    assert_eq!(first.reason(), Some(Reason::Untrusted));
    assert!(
        first.hint().is_some_and(|hint| *hint == Hint::TrustWorkspace.then("or set it in your own settings"))
            && first.place().is_some()
    );

    let settings = trusted(&workspace(text));
    assert_eq!((settings.text("hooks.sandbox"), settings.text("compat")), (Some("off"), Some("eddie")));
    assert_eq!(settings.section("mcp_servers")["files"], json!({"command": "rm"}));
    assert!(settings.diagnostics().is_empty());
}

#[test]
fn a_profile_from_a_file_name_differs_from_an_explicit_one() {
    let origin = |name: &str, text: &str, trust: bool| {
        let sources = SettingsSources { workspace: file(name, text), ..SettingsSources::default() };
        let settings = Settings::resolve(&sources, trust).expect("is fine");
        (settings.get("compat").expect("is a setting").origin.clone(), settings.diagnostics().len())
    };
    let named = Origin::FileName(".eddierc".to_owned());
    for trust in [false, true] {
        assert_eq!(origin(".eddierc", "a: 1", trust), (named.clone(), 0));
    }
    assert_eq!(origin(".eddierc", "compat: eddie", false), (named, 1), "the words need trust");
    assert!(matches!(origin(".eddierc", "compat: eddie", true).0, Origin::Workspace(_)));
    assert_eq!(origin("hinagata.toml", "", true).0, Origin::Default);
}

#[test]
fn privileged_settings_of_the_user_apply_everywhere() {
    let sources = SettingsSources {
        user: file("config.toml", "hooks.sandbox = 'best-effort'"),
        extended: Vec::new(),
        environment: vec![
            ("HINAGATA_STORE_URL".into(), "redis://ours".into()),
            ("HINAGATA_LLM_MODEL".into(), "gpt-5".into()),
            ("HINAGATA_MCP_SERVERS_FILES".into(), "{command = 'x'}".into()),
        ],
        flags: vec!["hooks.isolation=spawn".into()],
        workspace: None,
    };
    let settings = Settings::resolve(&sources, false).expect("is fine");
    assert_eq!(settings.text("hooks.sandbox"), Some("best-effort"));
    assert_eq!(settings.text("hooks.isolation"), Some("spawn"));
    assert_eq!(settings.text("store.url"), Some("redis://ours"));
    assert_eq!(settings.text("llm.model"), Some("gpt-5"));
    assert_eq!(settings.section("mcp_servers")["files"], json!({"command": "x"}));
}

#[test]
fn an_untrusted_workspace_lowers_limits_but_cannot_raise_them() {
    let sources = SettingsSources {
        user: file("config.toml", "limits.steps = 1000\ncaps.max_output_size = 500"),
        extended: Vec::new(),
        ..workspace("[limits]\nsteps = 5000\ncalls = 10\ndeadline = '2s'\n[caps]\nmax_output_size = '-'\n")
    };
    let settings = Settings::resolve(&sources, false).expect("is fine");
    let limits = settings.limits();
    assert_eq!((limits.steps, limits.calls), (1000, 10));
    assert_eq!(limits.deadline, Some(std::time::Duration::from_secs(2)), "none was set before");
    assert_eq!(settings.count("caps.max_output_size"), Some(500));
    assert_eq!(
        messages(&settings),
        [
            "`caps.max_output_size` stays 500: an untrusted workspace cannot raise it",
            "`limits.steps` stays 1 000: an untrusted workspace cannot raise it"
        ]
    );
    assert_eq!(trusted(&sources).limits().steps, 5000);
}

#[test]
fn an_untrusted_workspace_reaches_nothing_outside() {
    let sources = workspace("catalog.paths = ['prompts', '/etc', '../other', './more']");
    let settings = Settings::resolve(&sources, false).expect("is fine");
    assert_eq!(settings.catalog_paths(), ["prompts", "./more"]);
    assert_eq!(settings.diagnostics().len(), 2);
    assert_eq!(trusted(&sources).catalog_paths().len(), 4);
}

#[test]
fn unknown_names_are_warnings_with_similar_names() {
    let mut sources = workspace("[limts]\nsteps = 1\n[render]\nlangauge = 'ja'\n[my_tool]\nx = 1\n");
    sources.environment = vec![
        ("HINAGATA_RENDER_LANGAUGE".into(), "x".into()),
        ("HINAGATA_ROOT".into(), "x".into()),
        ("HINAGATA_CASH".into(), "x".into()),
        ("HINAGATA_CACHE".into(), "x".into()),
        ("HINAGATA_SERVICE_PORT_HTTP".into(), "x".into()),
        ("HINAGATA_PORT_8700_TCP_ADDR".into(), "x".into()),
        ("RENDER_LANGUAGE".into(), "x".into()),
    ];
    let settings = trusted(&sources);
    let near: Vec<_> =
        settings.diagnostics().iter().map(|found| found.error.near().first().map(String::as_str)).collect();
    let variable = Some("HINAGATA_RENDER_LANGUAGE");
    assert_eq!(near, [Some("limits"), None, Some("render.language"), None, variable]);
    assert_eq!(settings.diagnostics()[2].error.place().map(|place| place.line), Some(4));
    assert_eq!(settings.limits().steps, 20_000_000);
}

#[test]
fn trust_covers_the_values_of_privileged_settings() {
    let text = |text: &str| workspace(text).privileged_text();
    let trusted = text("[server]\nmax_body = '1MiB'\n[hooks]\ntimeout = '1s'\n");
    assert!(trusted.is_some());
    for same in [
        "# a comment\n[hooks]\ntimeout = 1\n\n[server]\nmax_body = 1048576\n",
        "server.max_body = '1MiB'\nhooks.timeout = '1000ms'\nrender.language = 'ja'\nunknown = 1\n",
    ] {
        assert_eq!(text(same), trusted, "{same}");
    }
    for other in
        ["[server]\nmax_body = '1MiB'\n", "", "[server]\nmax_body = '2MiB'\n[hooks]\ntimeout = '1s'\n"]
    {
        assert_ne!(text(other), trusted, "{other}");
    }
    assert_eq!((text(""), text("render.language = 'ja'")), (None, None));
    let mut extending = workspace("hooks.timeout = '1s'");
    extending.extended.extend(file("base.toml", "server.max_body = '1MiB'\nhooks.timeout = '9s'"));
    assert_eq!(extending.privileged_text(), trusted, "what is extended counts below");
}

#[test]
fn all_problems_are_reported_at_once() {
    let sources = SettingsSources {
        user: file("config.toml", "limits.bytes = true\nrender = 5"),
        extended: Vec::new(),
        workspace: file("hinagata.toml", "[hooks]\nsandbox = 'of'\nallowed_hosts = [1]"),
        environment: vec![("HINAGATA_LIMITS_STEPS".into(), "many".into())],
        flags: vec!["limits.calls=-1".into(), "render.langauge=ja".into(), "render.language".into()],
    };
    let error = Settings::resolve(&sources, true).expect_err("is wrong");
    assert_eq!(
        (error.code(), error.reason(), error.exit_code()),
        (Code::Definition, Some(Reason::Settings), 2)
    );
    let problems = error.details()["problems"].as_array().expect("a list");
    let messages: Vec<_> =
        problems.iter().map(|problem| problem["message"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        messages,
        [
            "`limits.bytes` must be a number of bytes, not a boolean",
            "`render` must be a section, not an integer",
            "`hooks.allowed_hosts` must be a list of strings, but contains an integer",
            "`hooks.sandbox` cannot be `of`",
            "`limits.steps` must be a whole number, not `many` (HINAGATA_LIMITS_STEPS)",
            "`limits.calls` must be a whole number, not `-1` (--set)",
            "unknown setting `render.langauge`",
            "`--set render.language` has no value",
        ]
    );
    assert_eq!(problems[3]["line"], 2);
    assert_eq!(error.place().map(ToString::to_string).as_deref(), Some("config.toml:1:16"));
}

#[test]
fn invalid_toml_is_reported_with_its_place() {
    let error = Settings::resolve(&workspace("[render\nlanguage = 'ja'"), true).expect_err("is no TOML");
    assert_eq!(error.place().map(|place| (place.file.as_str(), place.line)), Some(("hinagata.toml", 1)));
}

#[test]
fn own_variables_beat_those_of_other_programs() {
    let mut sources = SettingsSources {
        environment: vec![("REDIS_URL".into(), "redis://theirs".into())],
        ..SettingsSources::default()
    };
    assert_eq!(trusted(&sources).text("store.url"), Some("redis://theirs"));
    sources.environment.push(("HINAGATA_STORE_URL".into(), "embedded".into()));
    assert_eq!(trusted(&sources).text("store.url"), Some("embedded"));
    sources.user = file("config.toml", "hooks.python = '/of/the/file'");
    sources.environment.push(("HINAGATA_PYTHON".into(), "/of/the/variable".into()));
    assert_eq!(trusted(&sources).text("hooks.python"), Some("/of/the/variable"));
}

#[test]
fn a_dash_unsets_an_optional_setting() {
    let sources = SettingsSources {
        user: file("config.toml", "limits.deadline = '1s'\nkeys = [{name = 'a'}]"),
        extended: Vec::new(),
        flags: vec!["limits.deadline=-".into()],
        ..SettingsSources::default()
    };
    let settings = trusted(&sources);
    assert_eq!(settings.limits().deadline, None);
    assert_eq!(settings.get("keys").map(|keys| keys.value.clone()), Some(json!([{"name": "a"}])));
    let invalid = SettingsSources { flags: vec!["limits.steps=-".into()], ..SettingsSources::default() };
    assert!(Settings::resolve(&invalid, true).is_err(), "steps are always bounded");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_settings_panic(text in ".{0,80}", toml in "[\\[\\]a-z._=\"'{},0-9\\n -]{0,80}", flag in ".{0,40}") {
        for file_text in [&text, &toml] {
            let sources = SettingsSources {
                environment: vec![("HINAGATA_LIMITS_BYTES".into(), (&text).into()), (format!("HINAGATA_{toml}").into(), "".into())],
                flags: vec![flag.clone(), format!("limits.deadline={flag}"), format!("models.x={toml}")],
                ..workspace(file_text)
            };
            let _ = Settings::resolve(&sources, false);
        }
    }
}

const ACME: &str = "[[context.secret_rules]]\nname = 'acme'\npattern = 'acme-[0-9]+'\nkeywords = ['acme-']\n";

fn redacted(settings: &Settings, trusted: bool, text: &str) -> String {
    let redactor = crate::secret::Redactor::new(settings.secret_policy(trusted));
    redactor.redact_text("a.txt", text.to_owned()).unwrap_or_else(|omitted| format!("omitted: {omitted}"))
}

#[test]
fn rules_of_all_layers_count_and_an_untrusted_workspace_removes_none() {
    let other = "[context]\nsecret_rules = [{name = 'other', pattern = 'other-[0-9]+'}]\n";
    for text in [other, "[context]\nsecret_rules = []\n", ""] {
        let sources = SettingsSources { user: file("config.toml", ACME), ..workspace(text) };
        let settings = Settings::resolve(&sources, false).expect("is fine");
        let expected =
            if text == other { "«redacted:acme» «redacted:other»" } else { "«redacted:acme» other-2" };
        assert_eq!(redacted(&settings, false, "acme-1 other-2"), expected, "{text}");
    }
}

#[test]
fn exceptions_of_an_untrusted_workspace_are_ignored() {
    let hash = hinagata_secrets::hash_value(b"acme-1");
    let allowing = format!("{ACME}[context]\nsecret_allow = ['{hash}', {{rule = 'acme', path = '*.md'}}]\n");
    let untrusted = Settings::resolve(&workspace(&allowing), false).expect("is fine");
    assert_eq!(redacted(&untrusted, false, "acme-1"), "«redacted:acme»");
    assert!(messages(&untrusted)[0].contains("`context.secret_allow` of this workspace is ignored"));
    assert_eq!(redacted(&trusted(&workspace(&allowing)), true, "acme-1"), "acme-1");
    let user = SettingsSources { user: file("config.toml", &allowing), ..SettingsSources::default() };
    assert_eq!(redacted(&Settings::resolve(&user, false).expect("is fine"), false, "acme-1"), "acme-1");
    let comment = "acme-1 hina:allow-secret";
    assert_eq!(redacted(&untrusted, true, comment), comment);
    assert_ne!(redacted(&untrusted, false, comment), comment);
    let variable = vec![("HINAGATA_CONTEXT_SECRET_ALLOW".into(), hash.into())];
    let sources = SettingsSources { environment: variable, ..workspace(ACME) };
    assert_eq!(redacted(&Settings::resolve(&sources, false).expect("is fine"), false, "acme-1"), "acme-1");
}

#[test]
fn an_untrusted_workspace_can_leave_files_with_secrets_out_and_not_the_reverse() {
    let action = |user: &str, own: &str, is_trusted: bool| {
        let sources = SettingsSources { user: file("config.toml", user), ..workspace(own) };
        let settings = Settings::resolve(&sources, is_trusted).expect("is fine");
        (
            redacted(&settings, is_trusted, "postgres://a:kX93-vbQ2@db").starts_with("omitted"),
            messages(&settings),
        )
    };
    let (omit, redact) = ("[context]\nsecrets = 'omit'\n", "[context]\nsecrets = 'redact'\n");
    assert_eq!(action("", "", false), (false, Vec::new()));
    assert_eq!(action("", omit, false), (true, Vec::new()));
    assert_eq!(action(omit, redact, true), (false, Vec::new()));
    let (omits, told) = action(omit, redact, false);
    assert!(omits && told[0].contains("`context.secrets` stays omit"), "{told:?}");
    let (omits, told) = action("", "[context]\ninclude_secrets = true\n", false);
    assert!(!omits && told[0].contains("`context.include_secrets`"), "{told:?}");
}

#[test]
fn an_invalid_rule_or_exception_is_an_error_at_its_place() {
    for (text, line, says) in [
        (
            "[[context.secret_rules]]\nname = 'a'\npattern = 'a('\n",
            3,
            "`context.secret_rules[0].pattern` is not a regular expression: unclosed group",
        ),
        ("[[context.secret_rules]]\nname = 'a'\n", 1, "`context.secret_rules[0].pattern` is missing"),
        (
            "[[context.secret_rules]]\nname = 'a'\npattern = 'a'\n[[context.secret_rules]]\nname = 'A'\npattern = 'a'\n",
            5,
            "`context.secret_rules[1].name` must be",
        ),
        (
            "[[context.secret_rules]]\nname = 'a'\npattern = 'a'\nkeyword = ['a']\n",
            4,
            "`context.secret_rules[0].keyword` is not a known field",
        ),
        ("[context]\nsecret_rules = 'x'\n", 2, "`context.secret_rules[0]` must be a map"),
        ("[context]\nsecret_allow = ['sha256:12']\n", 2, "`context.secret_allow[0]` must be `sha256:`"),
        (
            "[context]\nsecret_allow = [{rule = 'github-token'}]\n",
            2,
            "`context.secret_allow[0].path` is missing",
        ),
    ] {
        let error = Settings::resolve(&workspace(text), true).expect_err("is invalid");
        assert_eq!(
            (error.reason(), error.place().map(|place| place.line)),
            (Some(Reason::Settings), Some(line)),
            "{text}"
        );
        assert!(error.message().contains(says), "{}", error.message());
    }
    let many = "[[context.secret_rules]]\nname = 'a'\npattern = 'a'\n".repeat(150);
    let sources = SettingsSources { user: file("config.toml", &many), ..workspace(&many) };
    let error = Settings::resolve(&sources, false).expect_err("are too many");
    assert!(error.message().contains("at most 200"), "{}", error.message());
    let unknown = trusted(&workspace("[context]\nsecret_allow = [{rule = 'github-tokn', path = '**'}]\n"));
    assert_eq!(messages(&unknown), ["`context.secret_allow` names the unknown rule `github-tokn`"]);
    assert_eq!(unknown.diagnostics()[0].error.near()[0], "github-token");
}

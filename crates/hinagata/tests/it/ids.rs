//! Names of prompts: laws that hold for every text.

use hinagata::{Code, PromptId, normal_form};
use proptest::prelude::*;

#[test]
fn spellings_have_one_normal_form() {
    let cases = [
        ("daily_report", "daily_report"),
        ("DailyReport", "daily_report"),
        ("daily-report", "daily_report"),
        ("Daily Report", "daily_report"),
        ("DAILY_REPORT", "daily_report"),
        ("  daily -_ report ", "daily_report"),
        ("HTTPServerPrompt", "http_server_prompt"),
        ("GPT4Turbo", "gpt4_turbo"),
        ("systemPromptV2", "system_prompt_v2"),
        ("要約", "要約"),
        ("Cafe\u{301}Menu", "café_menu"),
        ("ÄnderungÜbersicht", "änderung_übersicht"),
        ("a\u{3000}b", "a_b"),
    ];
    for (name, normal) in cases {
        assert_eq!(normal_form(name), normal, "{name}");
        assert_eq!(PromptId::new(name).expect(name).as_str(), normal);
    }
}

#[test]
fn ids_have_segments() {
    assert_eq!(PromptId::new("scan-gitrepo.Run").expect("is an id").as_str(), "scan_gitrepo.run");
    assert_eq!(PromptId::new("a.b.c").expect("is an id").as_str(), "a.b.c");
    for name in ["a..b", ".a", "a.", "a.partials", ".", ".."] {
        assert!(PromptId::new(name).is_err(), "{name}");
    }
    assert!(PromptId::from_directory_name("a.b").is_none());
}

#[test]
fn what_is_no_id_is_refused_as_it_was_written() {
    let long = "x".repeat(65);
    for name in [
        "",
        "  ",
        "../secrets",
        "partials",
        "Partials",
        "1st",
        "_x",
        "a/b",
        "a\\b",
        "a\0",
        "a:b",
        "a{b}",
        long.as_str(),
    ] {
        let error = PromptId::new(name).expect_err(name);
        assert_eq!(error.code(), Code::Id);
        assert_eq!(error.details()["prompt_id"], name);
    }
    assert!(PromptId::new(&"x".repeat(64)).is_ok());
    assert!(PromptId::new(&"x".repeat(10_000_000)).is_err());
}

proptest! {
    #[test]
    fn normalising_twice_is_normalising_once(name in "\\PC{0,40}") {
        let once = normal_form(&name);
        prop_assert_eq!(normal_form(&once), once);
    }

    #[test]
    fn normalising_words_twice_is_normalising_once(name in "[a-zA-Z0-9 _.ÄäÉéßİıΣσςǅ要\u{301}\u{308}-]{0,40}") {
        let once = normal_form(&name);
        prop_assert_eq!(normal_form(&once), once);
    }

    #[test]
    fn an_id_is_the_id_of_itself(name in "\\PC{0,70}") {
        if let Ok(id) = PromptId::new(&name) {
            prop_assert_eq!(PromptId::new(id.as_str()).expect("is an id"), id);
        }
    }

    #[test]
    fn no_id_leads_anywhere_as_a_path(name in "[a-z./\\\\:~ \u{0}-\u{1f}-]{0,20}") {
        if let Ok(id) = PromptId::new(&name) {
            let segments = id.as_str().split('.').all(|segment| !segment.is_empty());
            prop_assert!(segments && !id.as_str().contains(['/', '\\', ':', '~', '\0']), "{}", id);
        }
    }
}

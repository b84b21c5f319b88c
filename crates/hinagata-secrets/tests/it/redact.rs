//! Marks, exceptions and rules of one's own.

use hinagata_secrets::{
    Allowance, Marks, OwnRule, Redactor, SecretAction, SecretPolicy, Secrets, hash_value,
};

const ONE: &str = "ghp_iOx9gy1CJdObOIRpFqaDZeV7G5IfQHeVVEqZ";
const OTHER: &str = "ghp_Zk28fLqP0vT3mX7RwY1cB5nD9sJ4hG6tK2uA";

fn redact(marks: &mut Marks, path: &str, text: &str) -> String {
    let found = Secrets::built_in().find_secrets(path, text.as_bytes());
    marks.redact_text(text, &found).map_or_else(|| text.to_owned(), |redacted| redacted.text)
}

fn own_rule(name: &str, pattern: &str, keywords: &[&str]) -> OwnRule {
    let keywords = keywords.iter().map(|word| (*word).to_owned()).collect();
    OwnRule { name: name.to_owned(), pattern: pattern.to_owned(), keywords }
}

fn policy(rules: &[OwnRule], allowed: Vec<Allowance>, comments: bool) -> SecretPolicy {
    SecretPolicy::new(rules, allowed, comments).expect("are valid")
}

fn taken(policy: &SecretPolicy, path: &str, text: &str) -> String {
    let redacted = Redactor::new(policy.clone()).redact_text(path, text.to_owned());
    redacted.unwrap_or_else(|omitted| format!("omitted: {omitted}"))
}

#[test]
fn the_same_value_has_the_same_mark_in_one_output() {
    let mut marks = Marks::default();
    let first = redact(&mut marks, "a.txt", &format!("{ONE} {OTHER} {ONE}"));
    assert_eq!(first, "«redacted:github-token» «redacted:github-token-2» «redacted:github-token»");
    let second = redact(&mut marks, "b.txt", &format!("x {OTHER}\n"));
    assert_eq!(second, "x «redacted:github-token-2»\n");
}

#[test]
fn rule_line_and_hash_of_each_secret_are_reported() {
    let text = format!("a\nb {ONE}\n{ONE} {ONE}\n");
    let found = Secrets::built_in().find_secrets("a.txt", text.as_bytes());
    let places: Vec<(&str, usize)> = found.iter().map(|found| (found.rule, found.line)).collect();
    assert_eq!(places, [("github-token", 2), ("github-token", 3), ("github-token", 3)]);
    let redacted = Marks::default().redact_text(&text, &found).expect("has secrets").secrets;
    let lines: Vec<usize> = redacted.iter().map(|secret| secret.line).collect();
    assert_eq!(lines, [2, 3], "one entry for a line");
    assert!(redacted.iter().all(|secret| secret.hash == hash_value(ONE.as_bytes())));
    assert_eq!(redacted[0].mark, "«redacted:github-token»");
}

#[test]
fn overlapping_matches_have_one_mark() {
    let text = format!("GITHUB_TOKEN={ONE}\nurl = https://x:{OTHER}@github.com/a");
    assert_eq!(
        redact(&mut Marks::default(), "a.sh", &text),
        "GITHUB_TOKEN=«redacted:github-token»\nurl = https://x:«redacted:github-token-2»@github.com/a"
    );
}

#[test]
fn a_private_key_is_one_mark_and_the_lines_behind_it_keep_their_numbers() {
    let line = "ePpX6N1NF2XV54wca+7E56w8ZniqT3Ul4ffqkOkgWrdioyq+KvCiSGuPJ6sG9AHE";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\nAbc=\n-----END RSA PRIVATE KEY-----");
    let mut marks = Marks::default();
    let text = format!("one\n{key}\ntwo {ONE}\n");
    assert_eq!(
        redact(&mut marks, "a.txt", &text),
        "one\n«redacted:private-key»\n\n\n\n\ntwo «redacted:github-token»\n"
    );
    let found = Secrets::built_in().find_secrets("a.txt", text.as_bytes());
    let secrets = Marks::default().redact_text(&text, &found).expect("has secrets").secrets;
    assert_eq!(secrets.iter().map(|secret| secret.line).collect::<Vec<_>>(), [2, 7]);
    // A diff shows some of its lines.
    let diff = format!("@@ -2,3 +2,3 @@\n {line}\n+x\n");
    assert_eq!(redact(&mut marks, "", &diff), "@@ -2,3 +2,3 @@\n «redacted:private-key»\n+x\n");
    let open = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\nand so on");
    assert_eq!(redact(&mut Marks::default(), "a.txt", &open), "«redacted:private-key»\n\n\nand so on");
}

#[test]
fn a_value_is_replaced_in_other_spellings_too() {
    let value = "kX9!vb/Q2zL7";
    // base64 of `app:kX9!vb/Q2zL7`.
    let text = format!(
        "DB_PASSWORD={value}\nlog: {value}\nurl: https://h/?p=kX9%21vb%2FQ2zL7\nbasic: YXBwOmtYOSF2Yi9RMnpMNw==\n"
    );
    let redacted = redact(&mut Marks::default(), "a.env.txt", &text);
    let mark = "«redacted:password»";
    assert_eq!(
        redacted,
        format!("DB_PASSWORD={mark}\nlog: {mark}\nurl: https://h/?p={mark}\nbasic: {mark}\n")
    );
}

#[test]
fn words_are_replaced_only_where_they_are_secrets() {
    let text = "kind: Secret\nstringData:\n  mode: production-like\n---\nmode: production-like\n";
    let redacted = redact(&mut Marks::default(), "a.yaml", text);
    assert!(redacted.contains("  mode: «redacted:kubernetes-secret»\n"), "{redacted}");
    assert!(redacted.ends_with("mode: production-like\n"), "{redacted}");
}

#[test]
fn redacting_twice_changes_nothing() {
    let text = format!("PASSWORD=kX93-vbQ2\ntoken: {ONE}\npostgres://app:vX83-kQw@db/app\n");
    let once = redact(&mut Marks::default(), "a.yaml", &text);
    assert_eq!(redact(&mut Marks::default(), "a.yaml", &once), once);
    let all = Secrets::with_rules(&[own_rule("mark", "redacted:[a-z-]+", &[])]).expect("is valid");
    assert!(all.find_secrets("a.yaml", once.as_bytes()).iter().all(|found| found.rule == "mark"));
}

#[test]
fn characters_stay_whole() {
    let rules = Secrets::with_rules(&[own_rule("half", r"\xC3", &[])]).expect("is valid");
    let text = "aäb";
    let found = rules.find_secrets("", text.as_bytes());
    let redacted = Marks::default().redact_text(text, &found).expect("has secrets");
    assert_eq!(redacted.text, "a«redacted:half»b");
}

#[test]
fn rules_of_ones_own_find_their_group() {
    let rules =
        [own_rule("acme-token", "acme:(?<value>[a-z]{4,})", &["ACME"]), own_rule("ticket", "T-[0-9]+", &[])];
    let policy = policy(&rules, Vec::new(), false);
    assert_eq!(
        taken(&policy, "a.txt", "acme:wxyz T-42 T-43 T-42"),
        "acme:«redacted:acme-token» «redacted:ticket» «redacted:ticket-2» «redacted:ticket»"
    );
    assert!(taken(&policy, "a.txt", ONE).contains("github-token"), "built-in rules stay");
}

#[test]
fn a_rule_cannot_take_the_name_of_a_built_in_one() {
    for name in ["github-token", "environment-file"] {
        let rules = [own_rule("x", "y", &[]), own_rule(name, "y", &[])];
        let (place, problem) = SecretPolicy::new(&rules, Vec::new(), false).expect_err("is taken");
        assert_eq!((place, problem.field.as_str()), (1, "name"));
    }
    let twice = [own_rule("acme", "x", &[]), own_rule("acme", "y", &[])];
    assert_eq!(taken(&policy(&twice, Vec::new(), false), "", "x y"), "«redacted:acme» «redacted:acme-2»");
}

#[test]
fn a_pattern_that_would_take_exponential_time_elsewhere_is_fast() {
    let rules = Secrets::with_rules(&[own_rule("slow", "(a+)+$", &[]), own_rule("slower", "(a|aa)+b", &[])]);
    let text = "a".repeat(200_000) + "!";
    assert!(rules.expect("are valid").find_secrets("", text.as_bytes()).is_empty());
}

#[test]
fn values_rules_and_comments_are_allowed() {
    let text = format!("one {ONE}\ntwo {OTHER}\n");
    let hash = || Allowance::from_hash(&hash_value(ONE.as_bytes())).expect("a hash");
    let start = || Allowance::from_hash(&hash_value(ONE.as_bytes())[..23]).expect("a hash");
    let expected = format!("one {ONE}\ntwo «redacted:github-token»\n");
    assert_eq!(taken(&policy(&[], vec![hash()], false), "a.txt", &text), expected);
    assert_eq!(taken(&policy(&[], vec![start()], false), "a.txt", &text), expected);
    let in_tests =
        policy(&[], vec![Allowance::for_rule("github-token", "tests/**").expect("a pattern")], false);
    assert_eq!(taken(&in_tests, "tests/x/a.txt", &text), text);
    assert!(!taken(&in_tests, "src/a.txt", &text).contains("ghp_"));
    let commented = format!("{ONE} # hina:allow-secret\n{OTHER}\n");
    let expected = format!("{ONE} # hina:allow-secret\n«redacted:github-token»\n");
    assert_eq!(taken(&policy(&[], Vec::new(), true), "a.txt", &commented), expected);
    assert!(!taken(&policy(&[], Vec::new(), false), "a.txt", &commented).contains("ghp_"));
    let file = Allowance::for_rule("environment-file", "fixtures/.env").expect("a pattern");
    let by_name = policy(&[], vec![file], false);
    assert_eq!(by_name.refuses_name("fixtures/.env"), None);
    assert_eq!(by_name.refuses_name(".env"), Some("environment-file"));
}

#[test]
fn an_allowed_place_keeps_a_value_that_is_redacted_elsewhere() {
    let allowance = Allowance::for_rule("github-token", "tests/**").expect("a pattern");
    let redactor = Redactor::new(policy(&[], vec![allowance], false));
    for (path, kept) in [("src/a.txt", false), ("tests/a.txt", true)] {
        let redacted = redactor.redact_text(path, ONE.to_owned()).expect("is taken");
        assert_eq!(redacted == ONE, kept, "{path}");
    }
}

#[test]
fn bad_exceptions_are_errors() {
    for hash in
        ["", "sha256:", "sha256:123", "md5:d41d8cd98f00b204e9800998ecf8427e", "sha256:zz41d8cd98f00b204e"]
    {
        assert!(Allowance::from_hash(hash).is_err(), "{hash}");
    }
    assert!(Allowance::for_rule("github-token", "a[").is_err());
}

#[test]
fn a_text_is_redacted_omitted_or_included() {
    let text = format!("a\n{ONE}\n");
    let policy = SecretPolicy::default();
    assert_eq!(taken(&policy, "a.txt", &text), "a\n«redacted:github-token»\n");
    let omit = policy.clone().with_action(SecretAction::Omit);
    assert_eq!(taken(&omit, "a.txt", &text), "omitted: github-token in line 2");
    let include = policy.clone().with_action(SecretAction::Include);
    assert_eq!(taken(&include, "a.txt", &text), text);
    let names = [&policy, &omit, &include].map(|policy| policy.refuses_name("a/.env").is_some());
    assert_eq!(names, [true, true, false]);
}

#[test]
fn what_is_redacted_in_one_output_is_recorded_once() {
    let redactor = Redactor::new(SecretPolicy::default());
    let same = redactor.clone();
    for (path, text) in [("a.txt", ONE), ("b.txt", "nothing"), ("c.txt", OTHER), ("a.txt", ONE)] {
        same.redact_text(path, text.to_owned()).expect("is taken");
    }
    let files = redactor.take_redacted();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "c.txt"]);
    assert_eq!(files[1].summary(), "github-token in line 1");
    assert_eq!(files[1].secrets[0].mark, "«redacted:github-token-2»");
    let hash = files[0].short_hashes()[0];
    assert!(hash.len() == 23 && hash_value(ONE.as_bytes()).starts_with(hash), "{hash}");
    assert!(redactor.take_redacted().is_empty());
}

#[test]
fn bytes_that_are_not_text_are_refused_if_they_have_a_secret() {
    let redactor = Redactor::new(SecretPolicy::default());
    let binary = |text: &str| [b"\xff\xfe\n", text.as_bytes()].concat();
    let omitted = redactor.redact_bytes("a.bin", binary(ONE)).expect_err("cannot be redacted");
    assert_eq!(omitted.to_string(), "github-token in line 2");
    assert_eq!(redactor.redact_bytes("a.bin", binary("x")).expect("is taken"), binary("x"));
    assert_eq!(redactor.redact_bytes("a.txt", b"x".to_vec()).expect("is taken"), b"x");
}

#[test]
fn marks_show_no_value() {
    let mut marks = Marks::default();
    redact(&mut marks, "a.txt", ONE);
    assert!(!format!("{marks:?}").contains("ghp_"));
}

#[test]
fn texts_and_rules_of_strangers_take_bounded_time() {
    let greedy = [own_rule("all", "a+", &[]), own_rule("words", "[a-z0-9]{8}", &[])];
    let policy = policy(&greedy, Vec::new(), false);
    let words: String = (0..50_000).map(|number| format!("{number:08x} ")).collect();
    for text in [
        "a".repeat(400_000),
        words,
        "password='".repeat(20_000),
        "api_key=".repeat(50_000),
        "x://a:".repeat(50_000),
    ] {
        assert!(!taken(&policy, "a.txt", &text).is_empty());
        assert!(!taken(&policy, "a.py", &text).is_empty());
    }
}

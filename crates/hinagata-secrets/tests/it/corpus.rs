//! The rules against planted secrets and decoys.

use hinagata_secrets::{Marks, Secrets};

use crate::generate::{Case, read_cases};

const PLANTED: &str = include_str!("../corpus/planted.toml");
const HELD_OUT: &str = include_str!("../corpus/held_out.toml");
const DECOYS: &str = include_str!("../corpus/decoys.toml");

/// Values differ from seed to seed; one seed may be lucky.
const SEEDS: std::ops::Range<u64> = 0..20;

/// The case without its secrets; a file that is secret by its name is left out.
fn redact(case: &Case) -> String {
    let rules = Secrets::built_in();
    if rules.in_name(&case.path).is_some() {
        return String::new();
    }
    let found = rules.find_secrets(&case.path, case.text.as_bytes());
    Marks::default()
        .redact_text(&case.text, &found)
        .map_or_else(|| case.text.clone(), |redacted| redacted.text)
}

fn is_found(case: &Case) -> bool {
    let redacted = redact(case);
    !case.secrets.iter().any(|secret| redacted.contains(secret))
}

/// The share of planted secrets that are found, and the names of the others.
fn recall(corpus: &str) -> (f64, Vec<String>) {
    let mut missed = Vec::new();
    let mut count = 0;
    for seed in SEEDS {
        for case in read_cases(corpus, seed) {
            assert!(!case.secrets.is_empty(), "{}", case.name);
            count += 1;
            if !is_found(&case) {
                missed.push(format!("{}: {} -> {}", case.name, case.text.trim(), redact(&case).trim()));
            }
        }
    }
    (1.0 - missed.len() as f64 / f64::from(count), missed)
}

#[test]
fn planted_secrets_are_found() {
    assert_eq!(read_cases(PLANTED, 0).len() + read_cases(HELD_OUT, 0).len(), 120);
    for (name, corpus) in [("planted", PLANTED), ("held out", HELD_OUT)] {
        let (share, missed) = recall(corpus);
        assert!(share >= 0.95, "{name}: {share} {missed:#?}");
    }
}

#[test]
fn decoys_raise_at_most_two_alarms() {
    for seed in SEEDS {
        let decoys = read_cases(DECOYS, seed);
        assert_eq!(decoys.len(), 60);
        let find = |case: &Case| {
            let found = Secrets::built_in().find_secrets(&case.path, case.text.as_bytes());
            found
                .first()
                .map(|found| format!("{}: {} {}", case.name, found.rule, &case.text[found.range.clone()]))
        };
        let alarms: Vec<String> = decoys.iter().filter_map(find).collect();
        assert!(alarms.len() <= 2, "{alarms:#?}");
    }
}

#[test]
fn nothing_but_secrets_is_replaced() {
    for case in read_cases(PLANTED, 1).into_iter().chain(read_cases(HELD_OUT, 1)) {
        let redacted = redact(&case);
        let words = case.text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
        let is_kept =
            |word: &str| case.secrets.iter().any(|secret| secret.contains(word)) || redacted.contains(word);
        let lost: Vec<&str> = words.filter(|word| !is_kept(word)).collect();
        // The lines around a private key belong to it, and a file that is secret by its name is left out.
        let is_whole = redacted.is_empty() || case.text.contains("PRIVATE KEY");
        assert!(lost.is_empty() || is_whole, "{}: {lost:?} {redacted}", case.name);
    }
}

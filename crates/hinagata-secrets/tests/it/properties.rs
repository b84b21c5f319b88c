//! What holds for every text.

use hinagata_secrets::{Redactor, SecretPolicy, Secrets};
use proptest::{collection::vec, prelude::*, sample::select};

/// Pieces from which texts are put together: what the rules look for, cut in every way.
const PIECES: &[&str] = &[
    "password",
    "DB_PASSWORD",
    "api-key",
    "token",
    "Key",
    "secret",
    "pass",
    "=",
    ":",
    " ",
    "\n",
    "\"",
    "'",
    "`",
    "\\",
    "=>",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "</",
    "|",
    "|-\n  ",
    "value",
    "default",
    "://",
    "@",
    "postgres",
    "kind: Secret",
    "\ndata:\n  a: ",
    "\n---\n",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "ä",
    "«redacted:x»",
    "€",
    "kX93vbQ2",
    "8fK29xQpL4mZ7vTn",
    "ghp_iOx9gy1CJdObOIRpFqaDZeV7G5IfQHeVVEqZ",
    "Authorization: Bearer ",
    "export ",
    "--",
    "#",
    "//",
    "%40",
    "ePpX6N1NF2XV54wca+7E56w8ZniqT3Ul4ffqkOkgWrdioyq+KvCiSGuPJ6sG9AHE",
    "AKIAQ3TR5KVXN2PLJ7WD",
    "String::from(",
    "curl -u a:",
];

const PATHS: &[&str] = &["", "a.rs", "a.yaml", "a.md"];

fn text() -> impl Strategy<Value = String> {
    vec(select(PIECES), 0..30).prop_map(|pieces| pieces.concat())
}

fn redact(path: &str, text: &str) -> String {
    let redactor = Redactor::new(SecretPolicy::default());
    redactor.redact_text(path, text.to_owned()).expect("secrets are redacted")
}

proptest! {
    #[test]
    fn found_secrets_are_in_order_and_in_the_text(text in text(), path in select(PATHS)) {
        let found = Secrets::built_in().find_secrets(path, text.as_bytes());
        let mut end = 0;
        for secret in found.iter() {
            prop_assert!(secret.range.start >= end && secret.range.end <= text.len() && !secret.range.is_empty());
            prop_assert_eq!(secret.line, text[..secret.range.start].matches('\n').count() + 1);
            end = secret.range.end;
        }
    }

    #[test]
    fn no_found_value_remains(text in text(), path in select(PATHS)) {
        let redacted = redact(path, &text);
        for secret in Secrets::built_in().find_secrets(path, text.as_bytes()).iter() {
            let value = &text[secret.range.clone()];
            prop_assert!(value.len() < 8 || !redacted.contains(value), "{value:?} remains in {redacted:?}");
        }
    }

    #[test]
    fn any_bytes_can_be_searched(bytes in vec(any::<u8>(), 0..300), path in select(PATHS)) {
        let found = Secrets::built_in().find_secrets(path, &bytes);
        prop_assert!(found.iter().all(|secret| secret.range.end <= bytes.len()));
    }
}

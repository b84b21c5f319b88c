//! The recorded answers of Jinja2 for the front end: what parses, what does not, and on which line it
//! fails.

use std::{fs, path::Path};

use hinagata_jinja::{NameKind, ParseOptions, check_names, parse};
use hinagata_value::{Budget, ErrorKind, Limits};
use serde_json::Value;

/// The filters of Jinja2 3.1.6.
const FILTERS: &str = "abs attr batch capitalize center count d default dictsort e escape filesizeformat first \
    float forceescape format groupby indent int items join last length list lower map max min pprint random reject \
    rejectattr replace reverse round safe select selectattr slice sort string striptags sum title tojson trim \
    truncate unique upper urlencode urlize wordcount wordwrap xmlattr";

/// The tests of Jinja2 3.1.6.
const TESTS: &str = "boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan \
    gt in integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string test true \
    undefined upper";

fn is_known(kind: NameKind, name: &str) -> bool {
    let known = match kind {
        NameKind::Filter => FILTERS,
        NameKind::Test => TESTS,
    };
    known.split_ascii_whitespace().any(|known| known == name)
}

/// Why the front end refuses a template: the kind and the line.
fn refusal(source: &str, options: &ParseOptions) -> Option<(ErrorKind, u32)> {
    let budget = Budget::new(Limits::default());
    match parse("main", source, options, &budget) {
        Ok(template) => {
            check_names(&template, &is_known).map(|unknown| (ErrorKind::Syntax, unknown.span.line))
        }
        Err(error) => {
            let place = error.place().expect("every error of the parser has a place");
            Some((error.kind(), place.line))
        }
    }
}

fn options(case: &Value) -> ParseOptions {
    let options = &case["options"];
    let on = |name: &str| options[name].as_bool().expect("is a flag");
    ParseOptions {
        trim_blocks: on("trim_blocks"),
        lstrip_blocks: on("lstrip_blocks"),
        keep_trailing_newline: on("keep_trailing_newline"),
        generation: options["extensions"]
            .as_array()
            .expect("is a list")
            .iter()
            .any(|name| name == "generation"),
        messages: false,
        ..ParseOptions::default()
    }
}

/// The differences for one case.
fn check(case: &Value) -> Option<String> {
    let error = &case["expect"]["error"];
    let syntax = error["kind"] == "syntax";
    // If Python reports the error instead of Jinja2, the failing template is not recorded; the case then
    // has only one.
    let failing = error["template"].as_str().unwrap_or("main");
    let options = options(case);
    for (name, source) in case["templates"].as_object().expect("is a map") {
        let found = refusal(source.as_str().expect("is a text"), &options);
        let good = match found {
            None => !syntax || name != failing,
            Some((ErrorKind::Limit, _)) => error["kind"] == "limit",
            Some((_, line)) => {
                syntax && name == failing && error["line"].as_u64().is_none_or(|want| want == u64::from(line))
            }
        };
        if !good {
            return Some(format!("{} ({name}): found {found:?}, wanted {error}", case["id"]));
        }
    }
    None
}

#[test]
fn templates_parse_or_fail_as_in_jinja2_and_on_the_same_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/jinja");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the vectors are there").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut cases = 0;
    let mut wrong = Vec::new();
    for file in files {
        let topic: Value =
            serde_json::from_str(&fs::read_to_string(file).expect("is text")).expect("is JSON");
        for case in topic["cases"].as_array().expect("is a list") {
            cases += 1;
            wrong.extend(check(case));
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 1680, "only {cases} cases");
}

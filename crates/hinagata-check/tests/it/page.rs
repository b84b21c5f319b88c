//! The page of the codes is made from the table.

use std::{fmt::Write as _, fs, path::Path};

use hinagata_check::{CODES, codes::ExampleFile};

/// What the generated part starts with.
const START: &str = "<!-- Everything below is made from the table of codes. -->\n";

fn files(text: &mut String, title: &str, files: &[ExampleFile]) {
    let _ = write!(text, "\n{title}:\n");
    for (path, content) in files {
        // Invisible characters are shown by their numbers.
        let shown: String = content
            .chars()
            .map(|c| if (c as u32) < 0xe0000 { c.to_string() } else { format!("\\u{{{:x}}}", c as u32) })
            .collect();
        let _ = write!(text, "\n`{path}`\n\n```text\n{shown}```\n");
    }
}

fn generated() -> String {
    let mut text = START.to_owned();
    text.push_str("\n## Codes\n\n| code | level | what |\n|---|---|---|\n");
    for spec in CODES {
        let anchor = spec.code.replace('.', "");
        let _ = writeln!(text, "| [`{}`](#{anchor}) | {} | {} |", spec.code, spec.level.as_str(), spec.title);
    }
    for spec in CODES {
        let _ = write!(
            text,
            "\n### `{}`\n\n{} ({}). {}\n",
            spec.code,
            spec.title,
            spec.level.as_str(),
            spec.text
        );
        files(&mut text, "Wrong", spec.wrong);
        files(&mut text, "Right", spec.right);
    }
    text
}

#[test]
fn the_page_lists_every_code_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/check.md");
    let page = fs::read_to_string(&path).expect("the page exists");
    let (head, old) = page.split_once(START).expect("the page has the mark");
    let new = generated();
    if std::env::var_os("HINAGATA_UPDATE").is_some() {
        fs::write(&path, format!("{head}{new}")).expect("the page can be written");
        return;
    }
    assert!(format!("{START}{old}") == new, "docs/reference/check.md differs; HINAGATA_UPDATE=1 rewrites it");
}

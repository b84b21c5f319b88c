//! `hina explain --spans` and `--source-map`, as a person and as a tool see them.
#![cfg(unix)]

use serde_json::Value;

use crate::mcp_install::{Home, run_at_terminal, stderr, stdout};

const PROMPT: &str = "---\ninputs:\n  who: string\n  notes: {type: list, default: []}\n---\n\
                      {% message 'system' %}Be kind.{% endmessage %}\n\
                      {% if secret %}{% message 'user' %}Hidden{% endmessage %}{% endif %}\n\
                      {% message 'user' %}Dear {{ who|upper }},{% for note in notes %} {{ note }}{% endfor %}\n\
                      bye{% endmessage %}\n";

fn letter() -> Home {
    let home = Home::new();
    home.write("prompts/user_data/shared/prompts/letter/template.md", PROMPT);
    home
}

const CALL: [&str; 5] = ["explain", "letter", "who=Ada", "--root", "../prompts"];

#[test]
fn a_pipe_gets_a_line_for_each_piece_and_for_what_is_absent() {
    let output = letter().run(&[&CALL[..], &["--spans"]].concat());
    let file = "../prompts/user_data/shared/prompts/letter/template.md";
    let expected = [
        format!("text\t\"Be kind.\"\t{file}:6:23\t\t\t1 system"),
        format!("absent\tcondition\t{file}:7:4\tsecret (undefined)\t\t2 user"),
        format!("text\t\"Dear \"\t{file}:8:21\t\t\t2 user"),
        format!("derived\t\"ADA\"\t{file}:8:26\twho | upper\t\t2 user"),
        format!("text\t\",\"\t{file}:8:41\t\t\t2 user"),
        format!("absent\tempty_loop\t{file}:8:45\tnotes\t\t2 user"),
        format!("text\t\"\\nbye\"\t{file}:8:88\t\t\t2 user"),
    ];
    let found = stdout(&output);
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{}", stderr(&output));
}

#[test]
fn a_terminal_shows_colours_roles_what_is_absent_and_shares() {
    let home = letter();
    let mut command = home.command(&[&CALL[..], &["--spans"]].concat());
    command.env("TERM", "xterm-256color");
    let (code, shown) = run_at_terminal(command, &[]);
    assert_eq!(code, Some(0), "{shown}");
    let shown = shown.replace('\r', "");
    for piece in
        ["\u{1b}[1msystem", "\u{1b}[1muser", "\u{1b}[33mADA", "\nAbsent\n", "\nShares\n", "  all", " bytes"]
    {
        assert!(shown.contains(piece), "{piece:?} is not in {shown}");
    }
    let mut command = home.command(&[&CALL[..], &["--spans"]].concat());
    command.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let (code, shown) = run_at_terminal(command, &[]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        !shown.contains('\u{1b}') && shown.contains("derived"),
        "kinds are words without colours: {shown}"
    );
}

#[test]
fn a_source_map_names_its_sources_from_where_it_is() {
    let home = letter();
    home.write("project/out/readme.md", "");
    let output = home.run(&[&CALL[..], &["--source-map", "out/letter.map"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let map: Value = serde_json::from_str(&home.read("project/out/letter.map")).expect("is JSON");
    let source = map["sources"][0].as_str().expect("a source");
    assert!(home.path("project/out").join(source).exists(), "{source} is found from the map");
    assert_eq!((&map["version"], &map["names"]), (&3.into(), &serde_json::json!([])));
}

//! Prompts of other formats on the command line: imported, read in place, exported.

use std::fs;

use serde_json::Value;

use crate::mcp_install::{Home, stderr, stdout};

/// A directory with prompts of several formats, a broken one, and files that are none.
fn mixed() -> Home {
    let home = Home::new();
    home.write("project/hinagata.toml", "");
    home.write("project/in/greet.prompt", "---\ndescription: d\n---\nHello {{name}}! {{>tail}}");
    home.write("project/in/_tail.prompt", "Bye {{name}}.");
    home.write("project/in/sub/ask.prompty", "---\nname: A\n---\nsystem:\nBe brief.\n\nuser:\n{{ q }}");
    home.write("project/in/.claude/commands/review.md", "Review $ARGUMENTS with !`git diff`.");
    home.write("project/in/broken.prompt", "{{#each x}}\nnever closed");
    home.write("project/in/README.md", "# Read me");
    home
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let output = home.run(arguments);
    serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|_| panic!("{}{}", stdout(&output), stderr(&output)))
}

#[test]
fn a_directory_is_imported_with_a_report_and_one_bad_file_stops_nothing() {
    let home = mixed();
    let trial = home.run(&["import", "in", "--dry-run"]);
    assert_eq!(trial.status.code(), Some(1), "{}", stderr(&trial));
    assert!(!home.path("project/user_data").exists());
    let output = home.run(&["import", "in"]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{err}");
    for line in ["greet", "sub_ask", "review"] {
        assert!(out.lines().any(|shown| shown.contains("imported") && shown.contains(line)), "{out}");
    }
    assert!(err.contains("in/broken.prompt") && err.contains("changed [shell]"), "{err}");
    assert!(err.contains("3 imported, 1 with losses, 1 failed, 1 not recognised"), "{err}");
    let rendered = home.run(&["render", "greet", "name=Ada"]);
    assert_eq!(stdout(&rendered), "Hello Ada! Bye Ada.", "{}", stderr(&rendered));
    let again = home.run(&["import", "in/greet.prompt"]);
    assert_eq!(again.status.code(), Some(4), "{}", stderr(&again));
    let strict = home.run(&["import", "in/.claude", "--strict", "--in", "other"]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(stderr(&strict).contains("nothing was written") && !home.path("project/other").exists());
}

#[test]
fn a_file_is_used_where_it_lies() {
    let home = mixed();
    let rendered = home.run(&["render", "./in/greet.prompt", "name=Ada"]);
    assert_eq!(stdout(&rendered), "Hello Ada! Bye Ada.", "{}", stderr(&rendered));
    let shown = json(&home, &["show", "in/.claude/commands/review.md", "--json"]);
    assert_eq!(shown["losses"][0]["code"], "shell", "{shown}");
    assert!(home.run(&["validate", "in/sub/ask.prompty", "q=x"]).status.success());
    let explained = stdout(&home.run(&["explain", "in/greet.prompt", "name=Ada"]));
    assert!(explained.contains("in/greet.prompt"), "{explained}");
    let unknown = home.run(&["render", "./in/README.md"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("--from"), "{}", stderr(&unknown));
    assert_eq!(home.run(&["render", "./in/missing.prompt"]).status.code(), Some(3));
    assert!(!home.path("project/user_data").exists());
}

#[test]
fn foreign_places_are_part_of_the_catalog() {
    let home = mixed();
    home.write("project/hinagata.toml", "[[catalog.foreign]]\npath = \"in\"\n");
    let list = home.run(&["list"]);
    let listed = stdout(&list);
    assert!(listed.contains("sub.ask") && listed.contains("greet"), "{listed}");
    assert!(stderr(&list).contains("in/broken.prompt"), "{}", stderr(&list));
    let rendered = home.run(&["render", "greet", "name=Ada"]);
    assert_eq!(stdout(&rendered), "Hello Ada! Bye Ada.");
    assert_eq!(stderr(&rendered), "", "other files are not in the way");
    home.write("project/hinagata.toml", "[[catalog.foreign]]\npath = \"/etc\"\n");
    let outside = home.run(&["list"]);
    assert!(stderr(&outside).contains("ignoring its `catalog.foreign`"), "{}", stderr(&outside));
}

#[test]
fn changed_files_are_imported_again_unless_the_prompt_was_edited() {
    let home = mixed();
    home.run(&["import", "in/greet.prompt"]);
    assert!(home.run(&["import", "--check"]).status.success());
    home.write("project/in/greet.prompt", "Good day {{name}}!");
    let check = home.run(&["import", "--check"]);
    assert_eq!((check.status.code(), stdout(&check).contains("changed")), (Some(1), true));
    assert!(home.run(&["import", "--update"]).status.success());
    assert_eq!(stdout(&home.run(&["render", "greet", "name=Ada"])), "Good day Ada!");
    let path = home.path("project/user_data/shared/prompts/greet/template.md");
    let text = fs::read_to_string(&path).expect("is there");
    fs::write(&path, format!("{text} Mine.")).expect("written");
    home.write("project/in/greet.prompt", "Good night {{name}}!");
    let update = home.run(&["import", "--update"]);
    assert_eq!(update.status.code(), Some(4), "{}", stderr(&update));
    assert!(stderr(&update).contains("+Good night"), "{}", stderr(&update));
    assert_eq!(stdout(&home.run(&["render", "greet", "name=Ada"])), "Good day Ada! Mine.");
    assert!(home.run(&["import", "--update", "--force"]).status.success());
    assert_eq!(stdout(&home.run(&["render", "greet", "name=Ada"])), "Good night Ada!");
}

#[test]
fn exports_are_written_unless_they_lose_something() {
    let home = mixed();
    let dotprompt = home.run(&["export", "./in/greet.prompt", "--to", "dotprompt"]);
    assert!(stdout(&dotprompt).ends_with("Hello {{name}}! Bye {{name}}."), "{}", stdout(&dotprompt));
    let github = home.run(&["export", "in/sub/ask.prompty", "--to", "claude", "--out", "out"]);
    assert_eq!(github.status.code(), Some(1));
    assert!(stderr(&github).contains("[role]") && !home.path("project/out").exists());
    let lossy = ["export", "in/sub/ask.prompty", "--to", "claude", "--out", "out", "--lossy"];
    assert!(home.run(&lossy).status.success());
    assert!(home.path("project/out/.claude/commands/ask.md").exists());
    let live = ["export", "in/greet.prompt", "--to", "skill", "--live", "--out", "skills"];
    assert!(home.run(&live).status.success());
    let check = [&live[..], &["--check"]].concat();
    assert!(home.run(&check).status.success());
    home.write("project/skills/greet/SKILL.md", "edited");
    assert_eq!(home.run(&check).status.code(), Some(1));
}

#[test]
fn a_chat_template_writes_what_a_local_model_reads() {
    let home = mixed();
    home.write(
        "project/model/tokenizer_config.json",
        r#"{"bos_token": "<s>", "chat_template": "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"}"#,
    );
    let arguments =
        ["render", "in/sub/ask.prompty", "q=<s>Why?", "--format", "chat-template", "--template", "model"];
    let output = home.run(&arguments);
    assert_eq!(stdout(&output), "<s>[system]Be brief.[user]<s>Why?[assistant]", "{}", stderr(&output));
    let bare = home.run(&[&arguments[..], &["--no-generation"]].concat());
    assert!(stdout(&bare).ends_with("Why?"));
    let missing = home.run(&["render", "in/sub/ask.prompty", "q=x", "--format", "chat-template"]);
    assert!(stderr(&missing).contains("--template"), "{}", stderr(&missing));
}

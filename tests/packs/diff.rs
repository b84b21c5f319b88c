//! `hina diff --pack`: what another version of a pack changes, before anybody approves it.

use std::fs;

use super::{
    servers::HttpServer,
    support::{Home, Repository, archive, failed, sha256, write_pack},
};

/// A pack with two cases, and with a partial that a prompt of the workspace includes.
fn write_letters(place: &std::path::Path, version: &str, greeting: &str) {
    write_pack(place, "p", version, "");
    let prompt = place.join("prompts/greet_p");
    fs::write(prompt.join("template.md"), format!("{greeting} {{{{ who }}}},\nyou are welcome.\n"))
        .expect("written");
    fs::create_dir_all(prompt.join("tests")).expect("made");
    fs::write(
        prompt.join("tests/a.yaml"),
        "tests: [{name: Ada, vars: {who: Ada}}, {name: Bob, vars: {who: Bob}}]",
    )
    .expect("written");
    fs::create_dir_all(place.join("prompts/partials")).expect("made");
    fs::write(place.join("prompts/partials/end.md"), format!("Yours, {greeting}\n")).expect("written");
}

/// A workspace whose pack was version 1.0.0 when it was approved, and is 2.0.0 now.
fn updated() -> Home {
    let home = Home::new();
    home.write("user_data/shared/prompts/letter/template.md", "Text.\n{% include 'partials/end.md' %}");
    write_letters(&home.outside("one"), "1.0.0", "Hello");
    write_letters(&home.outside("two"), "2.0.0", "Good day");
    home.done(&["pack", "install", &home.outside("one").display().to_string()]);
    home.done(&["pack", "approve", "p", "--yes"]);
    home.done(&["pack", "install", "--replace", &home.outside("two").display().to_string()]);
    home
}

#[test]
fn every_case_of_both_versions_is_compared_with_causes() {
    let home = updated();
    for range in ["p", "p@1..2", "p@1.0.0", "p@..v2.0.0"] {
        let ran = home.run(&["diff", "--pack", range]);
        assert_eq!(ran.code, 1, "{range}: {ran:?}");
        for part in [
            "changed greet_p: Ada\n",
            "changed greet_p: Bob\n",
            "  @ line 1\n  - Hello Ada,\n  + Good day Ada,\n",
            "    p@1.0.0: user_data/packs/p/prompts/greet_p/template.md:1 text\n",
            "    p@2.0.0: user_data/packs/p/prompts/greet_p/template.md:1 text\n",
            "changed letter: sample values\n",
            "    p@2.0.0: user_data/packs/p/prompts/partials/end.md:1 text\n",
            "3 of 3 cases differ\n",
        ] {
            assert!(ran.stdout.contains(part), "{range}: {part}: {ran:?}");
        }
    }
    assert_eq!(home.run(&["render", "greet_p", "who=Ada"]).code, 3, "nothing was approved by that");
    let report = home.run(&["diff", "--pack", "p@1..2", "letter", "--json"]).json();
    assert_eq!((&report["old"], &report["new"]), (&"p@1.0.0".into(), &"p@2.0.0".into()), "{report}");
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["changes"][0]["hunks"][0]["new"][0], "Yours, Good day", "{report}");
    let markdown = home.run(&["diff", "--pack", "p@1..2", "greet_p", "--format", "markdown"]).stdout;
    assert!(markdown.contains("### Prompts: `p@1.0.0` to `p@2.0.0`"), "{markdown}");
    assert!(markdown.contains("```diff\n@@ line 1 @@\n- Hello Ada,\n+ Good day Ada,\n```"), "{markdown}");
    // The same version on both sides is no difference, and an approval makes one of both.
    home.done(&["diff", "--pack", "p@2..2.0"]);
    home.done(&["pack", "approve", "p", "--yes"]);
    home.done(&["diff", "--pack", "p"]);
    assert_eq!(home.run(&["diff", "--pack", "p@1"]).code, 1, "what was installed before is kept");
}

#[test]
fn changes_by_hand_are_compared_under_the_same_number() {
    let home = updated();
    home.done(&["pack", "approve", "p", "--yes"]);
    home.write("user_data/packs/p/prompts/partials/end.md", "Yours, me\n");
    let ran = home.run(&["diff", "--pack", "p", "letter"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("    p@2.0.0 (approved): ") && ran.stdout.contains("    p@2.0.0 (installed): "),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("  - Yours, Good day\n  + Yours, me\n"), "{ran:?}");
}

#[test]
fn tags_of_a_repository_on_this_machine_are_versions() {
    let home = Home::new();
    let repository = Repository::with_pack(home.outside("packs"));
    write_pack(&repository.0.join("packs/p"), "p", "2.0.0", "");
    repository.commit("v2.0.0");
    home.done(&["pack", "add", "p", "--git", "../packs", "--tag", "v1.0.0", "--path", "packs/p"]);
    let ran = home.run(&["diff", "--pack", "p@1..2"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("  - greetings of p 1.0.0\n  + greetings of p 2.0.0\n"), "{ran:?}");
    assert!(home.run(&["diff", "--pack", "p@1.1..2"]).stdout.contains("  - greetings of p 1.1.0\n"));
    let told = failed(&home.run(&["diff", "--pack", "p@1..3"]), "not_found", 3);
    assert!(told.contains("no version 3 of the pack `p`") && told.contains("2.0.0 (tag v2.0.0)"), "{told}");
    assert!(told.contains("hina pack add p --git ../packs --tag TAG"), "{told}");
    failed(&home.run(&["diff", "--pack", "q@1..2"]), "not_found", 3);
    failed(&home.run(&["diff", "--pack", "p"]), "not_found", 3);
}

#[test]
fn an_index_on_this_machine_has_versions_and_one_elsewhere_is_not_asked() {
    let home = Home::new();
    let mut rows = Vec::new();
    fs::create_dir_all(home.path("index")).expect("made");
    for version in ["1.0.0", "1.1.0"] {
        write_pack(&home.outside(version), "p", version, "");
        let name = format!("p-{version}.tar.gz");
        let bytes = archive(&home.outside(version), &home.path(&format!("index/{name}")));
        rows.push(serde_json::json!({"version": version, "url": name, "sha256": sha256(&bytes)}));
    }
    let document = serde_json::json!({"format": 1, "packs": {"p": rows}}).to_string();
    home.write("index/index.json", &document);
    home.write("hinagata.toml", "[packs]\np = \"1\"\nindex = \"index/index.json\"\n");
    let ran = home.run(&["diff", "--pack", "p@1.0..1.1"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("  - greetings of p 1.0.0\n  + greetings of p 1.1.0\n"), "{ran:?}");
    fs::write(home.path("index/p-1.1.0.tar.gz"), "other").expect("written");
    failed(&home.run(&["diff", "--pack", "p@1.0..1.1"]), "lock", 6);
    // Elsewhere: nothing is fetched, and the error names the command that does.
    let server = HttpServer::start(home.outside("none"));
    server.put("/index.json", document);
    home.write("hinagata.toml", format!("[packs]\np = \"1\"\nindex = \"{}/index.json\"\n", server.address));
    server.take_asked();
    let told = failed(&home.run(&["diff", "--pack", "p@1.0.0..1.1.0"]), "not_found", 3);
    assert!(told.contains("`hina pack add p@=1.0.0`"), "{told}");
    assert_eq!(server.take_asked(), [] as [&str; 0]);
}

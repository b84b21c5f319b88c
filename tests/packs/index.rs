//! An index over http: versions, requirements, and lies.

use std::fs;

use serde_json::{Value, json};

use super::{
    servers::HttpServer,
    support::{Home, answer, archive, failed, installed, sha256, write_pack},
};

/// A server whose index has these versions: id, version, requirements.
struct Index {
    home: Home,
    server: HttpServer,
    document: Value,
}

impl Index {
    fn new(versions: &[(&str, &str, Value)]) -> Self {
        let home = Home::new();
        let server = HttpServer::start(home.outside("none"));
        let mut index = Self { home, server, document: json!({"format": 1, "packs": {}}) };
        for (id, version, requires) in versions {
            index.publish(id, version, requires);
        }
        index
            .home
            .write("hinagata.toml", format!("[packs]\nindex = \"{}/index.json\"\n", index.server.address));
        index
    }

    fn publish(&mut self, id: &str, version: &str, requires: &Value) {
        let pack = self.home.outside(&format!("packs/{id}-{version}"));
        write_pack(&pack, id, version, &format!(r#", "requires": {requires}"#));
        let name = format!("{id}-{version}.tar.gz");
        let bytes = archive(&pack, &self.home.outside(&name));
        let row = json!({"version": version, "url": name, "sha256": sha256(&bytes), "requires": requires});
        self.server.put(&format!("/{name}"), bytes);
        match self.document["packs"][id].as_array_mut() {
            Some(rows) => rows.push(row),
            None => self.document["packs"][id] = json!([row]),
        }
        self.serve();
    }

    fn serve(&self) {
        self.server.put("/index.json", self.document.to_string());
    }

    /// Changes the first version of a pack in the index.
    fn lie(&mut self, id: &str, field: &str, value: Value) {
        self.document["packs"][id][0][field] = value;
        self.serve();
    }

    fn versions(&self) -> Vec<String> {
        let lock = fs::read_to_string(self.home.path("hinagata.lock")).expect("is there");
        let lines: Vec<&str> = lock.lines().collect();
        let rows = lines.windows(3).filter(|rows| rows[0] == "[[pack]]");
        let value = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        rows.map(|rows| format!("{} {}", value(rows[1]), value(rows[2]))).collect()
    }
}

#[test]
fn versions_and_what_they_require_are_chosen_locked_and_updated() {
    let none = json!({});
    let mut index = Index::new(&[
        ("a", "1.0.0", json!({"b": "1"})),
        ("a", "1.1.0", json!({"b": "1.1"})),
        ("b", "1.1.0", none.clone()),
        ("b", "2.0.0", none.clone()),
    ]);
    let home = &index.home;
    home.done(&["pack", "add", "a@1"]);
    assert_eq!(index.versions(), ["a 1.1.0", "b 1.1.0"]);
    assert_eq!(installed(home), ["a", "b"]);
    home.done(&["pack", "sync", "--frozen", "--approve-locked"]);
    for (id, version) in [("a", "1.1.0"), ("b", "1.1.0")] {
        assert_eq!(home.done(&["render", &format!("greet_{id}"), "--frozen"]).stdout, answer(id, version));
    }
    // A new version does not matter before an update.
    index.publish("b", "1.2.0", &none);
    let home = &index.home;
    index.server.take_asked();
    home.done(&["pack", "sync"]);
    assert_eq!(index.versions(), ["a 1.1.0", "b 1.1.0"]);
    let outdated = home.done(&["pack", "outdated", "--json"]).json();
    let row = &outdated[0];
    assert_eq!(
        (&row["pack_id"], &row["update"], &row["newest"]),
        (&json!("b"), &json!("1.2.0"), &json!("2.0.0")),
        "{outdated}"
    );
    home.done(&["pack", "update", "b"]);
    assert_eq!(index.versions(), ["a 1.1.0", "b 1.2.0"]);
    // What is not wanted any more goes away.
    home.write(
        "hinagata.toml",
        format!("[packs]\nindex = \"{}/index.json\"\nb = \"1\"\n", index.server.address),
    );
    assert!(
        failed(&home.run(&["pack", "sync", "--frozen"]), "lock", 6).contains("neither wanted nor required")
    );
    home.done(&["pack", "sync"]);
    assert_eq!((index.versions(), installed(home)), (vec!["b 1.2.0".to_owned()], vec!["b".to_owned()]));
}

#[test]
fn ranges_that_exclude_each_other_name_both_packs() {
    let index = Index::new(&[
        ("a", "1.0.0", json!({"c": "1"})),
        ("b", "1.0.0", json!({"c": "2"})),
        ("c", "1.0.0", json!({})),
        ("c", "2.0.0", json!({})),
    ]);
    index.home.done(&["pack", "add", "a"]);
    let told = failed(&index.home.run(&["pack", "add", "b"]), "definition", 1);
    assert!(told.contains("`a` 1.0.0 requires 1") && told.contains("`b` 1.0.0 requires 2"), "{told}");
    assert_eq!(index.versions(), ["a 1.0.0", "c 1.0.0"]);
    assert!(!fs::read_to_string(index.home.path("hinagata.toml")).expect("is there").contains("\nb ="));
}

#[test]
fn an_index_that_lies_is_found_out_and_changes_nothing() {
    let lies: [(&str, Value, &str); 6] = [
        ("sha256", json!("0".repeat(64)), "was expected"),
        ("version", json!("1.0.1"), "the archive has the version 1.0.0"),
        ("requires", json!({"b": "1"}), "requires other packs"),
        ("url", json!("file:///etc/passwd"), "not supported"),
        ("url", json!("../other.tar.gz"), "beneath the index"),
        ("url", json!("missing.tar.gz"), "404"),
    ];
    for (field, value, message) in lies {
        let mut index = Index::new(&[("a", "1.0.0", json!({})), ("b", "1.0.0", json!({}))]);
        index.lie("a", field, value);
        let ran = index.home.run(&["pack", "add", "a"]);
        assert_ne!(ran.code, 0, "{field}");
        assert!(ran.stderr.contains(message), "{field}: {ran:?}");
        assert_eq!(installed(&index.home), [] as [&str; 0], "{field}");
        assert!(!index.home.path("hinagata.lock").exists(), "{field}");
    }
    // Another pack under its name.
    let mut index = Index::new(&[("a", "1.0.0", json!({})), ("b", "1.0.0", json!({}))]);
    let other = index.document["packs"]["b"][0].clone();
    index.lie("a", "url", other["url"].clone());
    index.lie("a", "sha256", other["sha256"].clone());
    let told = failed(&index.home.run(&["pack", "add", "a"]), "definition", 1);
    assert!(told.contains("is called `b`, not `a`"), "{told}");
    // Garbage, and a cut file.
    for text in ["<html>", r#"{"format": 1, "packs""#] {
        index.server.put("/index.json", text);
        failed(&index.home.run(&["pack", "add", "a"]), "fetch", 5);
    }
}

#[test]
fn a_published_version_with_other_files_is_not_installed() {
    let mut index = Index::new(&[("a", "1.0.0", json!({}))]);
    index.home.done(&["pack", "add", "a"]);
    let lock = fs::read(index.home.path("hinagata.lock")).expect("is there");
    // The same version again, with other files: the archive itself, then also its hash in the index.
    let pack = index.home.outside("packs/a-1.0.0");
    fs::write(pack.join("prompts/greet_a/template.md"), "EVIL").expect("written");
    let bytes = archive(&pack, &index.home.outside("evil.tar.gz"));
    index.server.put("/a-1.0.0.tar.gz", bytes.clone());
    fs::remove_dir_all(index.home.path("user_data/packs/a")).expect("removed");
    for arguments in [&["pack", "sync"][..], &["pack", "sync", "--frozen"], &["pack", "update"]] {
        failed(&index.home.run(arguments), "lock", 6);
    }
    index.lie("a", "sha256", json!(sha256(&bytes)));
    for arguments in [&["pack", "sync"][..], &["pack", "sync", "--frozen"], &["pack", "update"]] {
        failed(&index.home.run(arguments), "lock", 6);
    }
    assert_eq!(installed(&index.home), [] as [&str; 0]);
    assert_eq!(fs::read(index.home.path("hinagata.lock")).expect("is there"), lock);
}

#[test]
fn a_withdrawn_version_is_reported_and_not_chosen() {
    let mut index = Index::new(&[("a", "1.0.0", json!({})), ("a", "1.1.0", json!({}))]);
    index.document["packs"]["a"][1]["withdrawn"] = json!("leaks the session");
    index.serve();
    index.home.done(&["pack", "add", "a"]);
    assert_eq!(index.versions(), ["a 1.0.0"]);
    index.document["packs"]["a"][1]["withdrawn"] = Value::Null;
    index.document["packs"]["a"][0]["withdrawn"] = json!("is broken");
    index.serve();
    let outdated = index.home.done(&["pack", "outdated", "--json"]).json();
    assert_eq!(outdated[0]["withdrawn"], "is broken", "{outdated}");
    index.home.done(&["pack", "update"]);
    assert_eq!(index.versions(), ["a 1.1.0"]);
}

#[test]
fn an_address_with_a_hash_is_downloaded_once_and_checked() {
    let home = Home::new();
    let server = HttpServer::start(home.outside("none"));
    write_pack(&home.outside("u"), "u", "1.0.0", "");
    let bytes = archive(&home.outside("u"), &home.outside("u.tar.gz"));
    server.put("/u.tar.gz", bytes.clone());
    let url = format!("{}/u.tar.gz", server.address);
    let told = home.done(&["pack", "add", "u", "--url", &url]);
    assert!(told.stderr.contains(&sha256(&bytes)), "{told:?}");
    assert!(fs::read_to_string(home.path("hinagata.toml")).expect("is there").contains(&sha256(&bytes)));
    server.put("/u.tar.gz", "changed");
    fs::remove_dir_all(home.path("user_data/packs/u")).expect("removed");
    failed(&home.run(&["pack", "sync", "--frozen"]), "lock", 6);
    assert_eq!(installed(&home), [] as [&str; 0]);
}

//! Signatures by the real minisign.

use std::{fs, path::Path, process::Command};

use super::support::{Home, failed, run, write_pack};

/// A pair of keys; the public one.
fn new_key(place: &Path, name: &str) -> String {
    let (public, secret) = (place.join(format!("{name}.pub")), place.join(format!("{name}.key")));
    run(Command::new("minisign").args(["-G", "-W", "-f", "-p"]).arg(&public).arg("-s").arg(secret));
    fs::read_to_string(public).expect("is there").lines().nth(1).expect("has a key").to_owned()
}

fn sign(home: &Home, pack: &str, key: &str) {
    let place = home.outside("");
    let statement = home.done(&["pack", "statement", pack]).stdout;
    fs::write(place.join("statement"), statement).expect("written");
    let mut minisign = Command::new("minisign");
    minisign.arg("-S").arg("-s").arg(place.join(format!("{key}.key"))).arg("-m").arg(place.join("statement"));
    run(minisign.arg("-x").arg(Path::new(pack).join("pack.minisig")));
}

/// The user's own settings.
fn settings(home: &Home, mode: &str, keys: &[&str]) {
    home.write_outside(
        "config/hinagata/config.toml",
        format!("[packs]\nsignatures = \"{mode}\"\nkeys = {keys:?}\n"),
    );
}

#[test]
fn packs_are_accepted_as_the_keys_of_the_user_say() {
    let home = Home::new();
    let place = home.outside("");
    let (mine, other) = (new_key(&place, "mine"), new_key(&place, "other"));
    let pack = home.outside("s");
    let shown = pack.display().to_string();
    write_pack(&pack, "s", "1.0.0", "");
    home.write("hinagata.toml", "[packs]\ns = { dir = \"../s\" }\n");
    settings(&home, "required", &[&mine]);
    let told = failed(&home.run(&["pack", "sync"]), "approval", 6);
    assert!(told.contains("is not signed"), "{told}");
    sign(&home, &shown, "other");
    let told = failed(&home.run(&["pack", "sync"]), "approval", 6);
    assert!(told.contains("not one of yours"), "{told}");
    sign(&home, &shown, "mine");
    home.done(&["pack", "sync"]);
    let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    assert!(lock.contains(&format!("key = \"{mine}\"")), "{lock}");
    assert!(!home.path("user_data/packs/s/pack.minisig").exists(), "the signature is no part of the pack");
    // Anything that is signed and changes breaks the signature: a file, the version.
    for (path, text) in
        [("prompts/greet_s/template.md", "EVIL"), ("pack.json", r#"{"pack_id": "s", "version": "1.0.1"}"#)]
    {
        write_pack(&pack, "s", "1.0.0", "");
        sign(&home, &shown, "mine");
        fs::write(pack.join(path), text).expect("written");
        for mode in ["required", "known"] {
            settings(&home, mode, &[&mine]);
            let told = failed(&home.run(&["pack", "sync"]), "approval", 6);
            assert!(told.contains("does not fit its files"), "{path}: {told}");
        }
        let told = failed(&home.run(&["pack", "install", &shown, "--replace"]), "approval", 6);
        assert!(told.contains("does not fit its files"), "{path}: {told}");
    }
    // `known` accepts packs of strangers; `off` asks nothing.
    settings(&home, "known", &[&other]);
    home.done(&["pack", "sync"]);
    settings(&home, "off", &[]);
    home.done(&["pack", "sync"]);
}

#[test]
fn a_workspace_cannot_accept_its_own_packs() {
    let home = Home::new();
    let place = home.outside("");
    let (mine, evil) = (new_key(&place, "mine"), new_key(&place, "evil"));
    let pack = home.outside("s");
    write_pack(&pack, "s", "1.0.0", "");
    sign(&home, &pack.display().to_string(), "evil");
    settings(&home, "required", &[&mine]);
    home.write(
        "hinagata.toml",
        format!("[packs]\nsignatures = \"off\"\nkeys = [\"{evil}\"]\ns = {{ dir = \"../s\" }}\n"),
    );
    failed(&home.run(&["pack", "sync"]), "approval", 6);
    home.done(&["trust", "--yes"]);
    home.write("hinagata.toml", format!("[packs]\nkeys = [\"{evil}\"]\ns = {{ dir = \"../s\" }}\n"));
    home.done(&["trust", "--yes"]);
    let told = home.run(&["pack", "sync"]);
    assert!(told.code == 2 && told.stderr.contains("`packs.keys` of a workspace is not used"), "{told:?}");
    assert!(!home.path("user_data/packs/s").exists());
    // Neither can a lock that names a key which never signed.
    home.write("hinagata.toml", "[packs]\ns = { dir = \"../s\" }\n");
    settings(&home, "off", &[]);
    home.done(&["pack", "sync"]);
    let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    home.write("hinagata.lock", format!("{lock}key = \"{mine}\"\n"));
    settings(&home, "required", &[&mine]);
    failed(&home.run(&["pack", "sync", "--frozen"]), "approval", 6);
}

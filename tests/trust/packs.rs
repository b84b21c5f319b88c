//! Packs for the attacks: everything that an approved one gives says `GOOD`, whatever attacks it says `EVIL`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::support::{Home, Ran};

/// Where the pack `hp` lies in its workspace.
pub(crate) const PACK: &str = "user_data/packs/hp";

/// What a render of `hp` gives: by a module beside it, a file beside it, a provider, its module, and a part.
pub(crate) const ANSWER: &str = "module GOOD, data GOOD, provider GOOD, part GOOD";

/// The files of a pack that uses everything a pack can use.
pub(crate) const FILES: [(&str, &str); 11] = [
    (
        "pack.json",
        r#"{"pack_id": "hp", "version": "1.0.0", "description": "GOOD",
            "variable_providers": [{"file": "variables/side.py", "namespace": "side"}]}"#,
    ),
    (
        "prompts/hp/prompt.py",
        r#"import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import util_y

METADATA = {"version": "1.0.0", "type": "system", "description": "GOOD"}
PERMISSIONS = {"read_file": True}
LIMITS = {"max_execution_time": 120}

def pre_render(variables, context):
    with open(os.path.join(HERE, "data.json")) as file:
        data = json.load(file)["said"]
    return {**variables, "module": util_y.said(), "data": data}
"#,
    ),
    ("prompts/hp/util_y.py", "def said():\n    return 'GOOD'\n"),
    ("prompts/hp/data.json", r#"{"said": "GOOD"}"#),
    (
        "prompts/hp/template.md",
        "module {{ module }}, data {{ data }}, provider {{ side.said }}, {% include \"partials/part.md\" %}",
    ),
    ("prompts/partials/part.md", "part GOOD"),
    (
        "variables/side.py",
        "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nimport helper_y\n\
         def provide(context):\n    return {'said': helper_y.said()}\n",
    ),
    ("variables/helper_y.py", "def said():\n    return 'GOOD'\n"),
    ("vocab.json", r#"{"prompt": {"GOOD": ["good_word"]}}"#),
    ("agents/a/agent.json", r#"{"name": "GOOD", "prompt_id": "hp"}"#),
    ("README.md", "GOOD\n"),
];

/// A home whose workspace has the pack, as it was approved.
pub(crate) fn approved() -> Home {
    let home = Home::new();
    write_pack(&home);
    home.done(&["pack", "approve", "hp", "--yes"]);
    home
}

/// Writes the pack as it is to be.
pub(crate) fn write_pack(home: &Home) {
    for (path, text) in FILES {
        home.write(&format!("{PACK}/{path}"), text);
    }
}

/// Renders the prompt of the pack.
pub(crate) fn render(home: &Home) -> Ran {
    home.run(&["render", "hp"])
}

/// Asserts that a call gave the approved answer.
#[track_caller]
pub(crate) fn assert_good(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.trim()), (0, ANSWER), "{ran:?}");
    assert!(!ran.has("EVIL"), "{ran:?}");
}

/// Asserts that a call gave nothing but an error that tells what to do.
#[track_caller]
pub(crate) fn assert_refused(ran: &Ran, told: &str) {
    assert!(ran.code != 0 && ran.stdout.is_empty(), "{ran:?}");
    assert!(ran.stderr.contains(told) && ran.stderr.contains("hina pack"), "`{told}` is not in {ran:?}");
    assert!(!ran.has("EVIL"), "{ran:?}");
}

/// The state that `hina pack verify` tells.
pub(crate) fn state(home: &Home, pack: &str) -> String {
    let told: Value = home.run(&["pack", "verify", pack, "--json"]).json();
    told[0]["state"].as_str().expect("is told").to_owned()
}

/// The only approved copy of a workspace.
pub(crate) fn copy(home: &Home) -> PathBuf {
    only_kept(home, "copies")
}

/// The file of this name that is remembered about the only pack of a workspace.
pub(crate) fn remembered(home: &Home, name: &str) -> PathBuf {
    only_kept(home, "packs").join(name)
}

/// The only thing of its kind that the user's state keeps of all workspaces.
fn only_kept(home: &Home, kind: &str) -> PathBuf {
    let in_directory = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let workspaces = in_directory(&home.outside("state/workspaces"));
    let mut all: Vec<_> =
        workspaces.iter().flat_map(|workspace| in_directory(&workspace.join(kind))).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Overwrites a file that its owner protected.
pub(crate) fn overwrite(path: &Path, text: &str) {
    fs::remove_file(path).expect("is removed");
    fs::write(path, text).expect("is written");
}

/// Writes the bytecode of `source` to `to`, in the form that claims to need no look at the source.
pub(crate) fn compile_unchecked(source: &str, to: &Path) {
    let place = tempfile::tempdir().expect("a directory");
    let from = place.path().join("source.py");
    fs::write(&from, source).expect("is written");
    fs::create_dir_all(to.parent().expect("has a directory")).expect("a directory");
    let script = "import py_compile, sys\n\
        py_compile.compile(sys.argv[1], sys.argv[2], doraise=True,\n    \
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    let done = Command::new("python3").args(["-c", script]).arg(&from).arg(to).status().expect("runs");
    assert!(done.success());
}

/// The name of the bytecode of the module `name` in `__pycache__`.
pub(crate) fn cached_name(name: &str) -> String {
    let script = "import sys; print(sys.implementation.cache_tag, end='')";
    let output = Command::new("python3").args(["-c", script]).output().expect("runs");
    format!("__pycache__/{name}.{}.pyc", String::from_utf8(output.stdout).expect("is text"))
}

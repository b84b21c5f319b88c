//! Bytecode is never run, whether it is beside a source, without a source, or in an archive.
#![cfg(target_os = "linux")]

use std::{fs, path::Path, process::Command};

use hinagata_python::{HookOptions, HookPool, Isolation};
use serde_json::{Value, json};

use crate::support::{Ask, options};

/// Compiles modules that say `evil` into every place where Python would look for them, in a form that claims to be
/// current. The sources say `good`.
const SCRIPT: &str = r#"
import os, py_compile, sys, zipfile
place = sys.argv[1]
evil, good = os.path.join(place, "evil.src"), "SAID = 'good'\n"
with open(evil, "w") as file:
    file.write("SAID = 'evil'\n")
def compile(to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    py_compile.compile(evil, to, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
def write(name):
    os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
    with open(os.path.join(place, name), "w") as file:
        file.write(good)
write("beside.py")
compile(os.path.join(place, "__pycache__", f"beside.{sys.implementation.cache_tag}.pyc"))
write("package/__init__.py")
compile(os.path.join(place, "package/__pycache__", f"__init__.{sys.implementation.cache_tag}.pyc"))
compile(os.path.join(place, "sourceless.pyc"))
compile(os.path.join(place, "bare/__init__.pyc"))
with zipfile.ZipFile(os.path.join(place, "archive.zip"), "w") as archive:
    archive.write(os.path.join(place, "sourceless.pyc"), "zipped.pyc")
    archive.writestr("zipped.py", good)
    archive.write(os.path.join(place, "sourceless.pyc"), "zipped_bare.pyc")
os.remove(evil)
"#;

const SOURCE: &str = r#"
import importlib, importlib.util, os, subprocess, sys
HERE = os.path.dirname(__file__)
sys.path[:0] = [HERE, os.path.join(HERE, "archive.zip")]

def said(name):
    try:
        return importlib.import_module(name).SAID
    except ImportError as error:
        return type(error).__name__

def loaded(name):
    spec = importlib.util.spec_from_file_location("by_path", os.path.join(HERE, name))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return module.SAID
    except ImportError as error:
        return str(error).partition(":")[0]

def program():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import beside; print(beside.SAID, end='')"
    return subprocess.check_output([sys.executable, "-c", code, HERE], text=True)

def pre_render(variables, context):
    names = ("beside", "package", "sourceless", "bare", "zipped", "zipped_bare")
    return {
        "imported": [said(name) for name in names],
        "loaded": [loaded("beside.py"), loaded("sourceless.pyc")],
        "program": program(),
    }
"#;

fn prepare(place: &Path) {
    let output = Command::new("python3").args(["-c", SCRIPT]).arg(place).output().expect("there is a Python");
    assert!(output.status.success(), "{output:?}");
}

fn run(pool: &HookPool, place: &Path) -> Value {
    let mut ask = Ask::new(SOURCE).permissions(&["subprocess"]);
    ask.own_directory = place.to_owned();
    ask.pre_render(pool).expect("runs")
}

#[test]
fn imports_use_the_source_or_fail() {
    let place = tempfile::tempdir().expect("there is room");
    prepare(place.path());
    for isolation in [Isolation::Call, Isolation::Prompt, Isolation::Spawn] {
        let pool = HookPool::new(HookOptions { isolation, ..options() });
        let expected = json!({
            "imported": ["good", "good", "ImportError", "ImportError", "good", "ModuleNotFoundError"],
            "loaded": ["good", "bytecode is never run"],
            "program": "good",
        });
        assert_eq!(run(&pool, place.path()), expected, "{isolation:?}");
    }
    let written = fs::read_dir(place.path().join("__pycache__")).expect("is there").count();
    assert_eq!(written, 1, "none is written either");
}

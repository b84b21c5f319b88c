//! The order of crates and of modules: what ARCHITECTURE.md says about crates is what Cargo builds, and the modules of a
//! crate use each other in one direction, but for the cycles that `tests/architecture/cycles.toml` lists.

mod cycles;
mod imports;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use serde_json::Value;

use self::{cycles::find_cycles, imports::module_graph};

/// The directory of the whole project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("is there")
}

/// A crate as Cargo knows it.
struct Package {
    name: String,
    sources: PathBuf,
    /// Crates of this workspace that it is built with, for some choice of features.
    uses: BTreeSet<String>,
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(project())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("is a list");
    let text = |value: &Value| value.as_str().expect("is text").to_owned();
    let names: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    let package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("is a list").iter();
        let built = dependencies.filter(|dependency| dependency["kind"] != "dev");
        Package {
            name: text(&package["name"]),
            sources: Path::new(&text(&package["manifest_path"])).with_file_name("src"),
            uses: built.map(|used| text(&used["name"])).filter(|name| names.contains(name)).collect(),
        }
    };
    packages.iter().map(package).collect()
}

/// The rows of the table of crates in ARCHITECTURE.md, in order: the crate, and the crates that it may use.
fn documented() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(project().join("ARCHITECTURE.md")).expect("is there");
    let table = text.split("## Crates").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("is there");
    let rows: Vec<(String, String)> = table
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
            let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
            // What stands in a workspace of its own is not built here.
            (!name.contains('/')).then(|| (name.to_owned(), (*cells.last().unwrap_or(&"")).to_owned()))
        })
        .collect();
    let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    let may_use = |index: usize, cell: &str| match cell {
        "–" => BTreeSet::new(),
        "all below" => names[index + 1..].iter().cloned().collect(),
        list => list.split(", ").map(full_name).collect(),
    };
    rows.iter().enumerate().map(|(index, (name, cell))| (name.clone(), may_use(index, cell))).collect()
}

/// The name of a crate that the table calls by its last part.
fn full_name(short: &str) -> String {
    match short {
        "hinagata" | "fake-provider" | "conformance" => short.to_owned(),
        short => format!("hinagata-{short}"),
    }
}

#[test]
fn every_crate_uses_only_what_the_table_of_the_architecture_allows() {
    let rows: BTreeMap<_, _> = documented().into_iter().collect();
    let mut wrong = Vec::new();
    for package in packages() {
        match rows.get(&package.name) {
            None => wrong.push(format!("`{}` has no row", package.name)),
            Some(may_use) => {
                let more = package.uses.difference(may_use);
                wrong.extend(more.map(|used| format!("`{}` may not use `{used}`", package.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md and Cargo.toml disagree: {wrong:#?}");
}

#[test]
fn every_row_of_the_table_of_crates_names_crates_in_rows_below_it() {
    let known: BTreeSet<String> = packages().into_iter().map(|package| package.name).collect();
    let rows = documented();
    let mut wrong = Vec::new();
    for (index, (name, may_use)) in rows.iter().enumerate() {
        if !known.contains(name) {
            wrong.push(format!("`{name}` is not a crate"));
        }
        let below: BTreeSet<&String> = rows[index + 1..].iter().map(|(name, _)| name).collect();
        let above = may_use.iter().filter(|used| !below.contains(used));
        wrong.extend(above.map(|used| format!("`{name}` may use `{used}`, which is not below it")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Modules of one crate that use each other in a circle.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Cycle {
    #[serde(rename = "crate")]
    package: String,
    modules: BTreeSet<String>,
    reason: String,
}

fn allowed_cycles() -> Vec<Cycle> {
    #[derive(Deserialize)]
    struct Allowed {
        cycle: Vec<Cycle>,
    }
    let text = fs::read_to_string(project().join("tests/architecture/cycles.toml")).expect("is there");
    toml::from_str::<Allowed>(&text).expect("is a list of cycles").cycle
}

#[test]
fn modules_use_each_other_in_one_direction_but_for_the_cycles_that_are_listed() {
    let allowed = allowed_cycles();
    assert!(allowed.iter().all(|cycle| !cycle.reason.is_empty()), "every cycle has a reason");
    let allowed: BTreeSet<(String, BTreeSet<String>)> =
        allowed.into_iter().map(|cycle| (cycle.package, cycle.modules)).collect();
    let found: BTreeSet<(String, BTreeSet<String>)> = packages()
        .into_iter()
        .flat_map(|package| {
            let cycles = find_cycles(&module_graph(&package.sources));
            cycles.into_iter().map(move |cycle| (package.name.clone(), cycle))
        })
        .collect();
    let new: Vec<_> = found.difference(&allowed).collect();
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(new.is_empty(), "cycles that are not in tests/architecture/cycles.toml: {new:#?}");
    assert!(gone.is_empty(), "cycles that no longer exist; remove or shrink their entries: {gone:#?}");
}

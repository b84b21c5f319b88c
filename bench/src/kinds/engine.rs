//! The engine in a workspace with many prompts: opening it, and what rendering one of them costs.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use hinagata::{Catalog, CatalogOptions, Engine, Request};
use hinagata_template::{Language, Options, Render, Template};
use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{ProcessSide, printed};
use crate::row::Goal;
use crate::side::{Entrant, Side};
use crate::tree::{self, TARGET, Workspace};

const KIND: &str = "engine";
/// Prompts in the large workspace.
const MANY: usize = 10_000;
/// Prompts in the small workspace.
const FEW: usize = 10;
const OPENING: Goal = Goal { must: 3.0, stretch: None };
/// The engine beside the bare template.
const RENDER: Goal = Goal { must: 1.5, stretch: None };
/// Among many prompts beside among few: what a render costs must not depend on what it does not use.
const AMONG: Goal = Goal { must: 1.1, stretch: None };
/// A process that renders one prompt, beside one that only gets ready to.
const START: Goal = Goal { must: 0.3, stretch: None };

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let many = Workspace::make(&installer.cache, MANY)?;
    let few = Workspace::make(&installer.cache, FEW)?;
    let mut contests = vec![opening(&many)];
    for files in [2, 40] {
        contests.push(render(&few, files)?);
    }
    contests.push(among(&few, &many));
    contests.push(start(installer, &many)?);
    Ok(contests)
}

/// Opens the workspace and resolves every id, which finds out for each directory whether it holds a prompt.
fn opening(many: &Workspace) -> Contest {
    let (workspace, again) = (many.clone(), many.clone());
    let open = |workspace: &Workspace| -> Result<Catalog> {
        let catalog = Catalog::open(CatalogOptions::new(&workspace.root));
        for name in &workspace.names {
            catalog.resolve_id(name)?;
        }
        Ok(catalog)
    };
    let names = move || -> Result<Vec<u8>> {
        let catalog = open(&again)?;
        let source = |name: &String| -> Result<String> {
            let source = catalog.choose(name)?.entry.name().to_owned();
            Ok(source)
        };
        lines(again.names.iter().map(source).collect::<Result<_>>()?)
    };
    let ours = Entrant::local("", names, move || drop(black_box(open(&workspace))));
    Contest {
        kind: KIND,
        name: format!("open {MANY} prompts"),
        expected: None,
        ours,
        peers: vec![Peer { name: "find", goal: Some(OPENING), entrant: Entrant::new(find(many)) }],
    }
}

/// `find` over the prompts.
fn find(many: &Workspace) -> Result<Box<dyn Side>> {
    let version = printed(Command::new("find").arg("--version"))?;
    let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
    let (prompts, again) = (many.prompts(), many.prompts());
    let everything = move || {
        let mut command = Command::new("find");
        command.arg(&prompts);
        command
    };
    let directories = move || {
        let mut command = Command::new("find");
        command.arg(&again).args(["-mindepth", "1", "-maxdepth", "1", "-type", "d", "-printf", "%f\\n"]);
        let printed = String::from_utf8(printed(&mut command)?).context("names are text")?;
        lines(printed.lines().map(str::to_owned).collect())
    };
    Ok(Box::new(ProcessSide::new(version, everything, directories)))
}

/// The engine with declared variables, beside the bare template with the same values.
fn render(few: &Workspace, files: usize) -> Result<Contest> {
    let variables = tree::target_variables(files);
    let (options, limits) = (Options::default(), Limits::default());
    let template = Template::compile(Language::Jinja, "bare", tree::TARGET_TEMPLATE, &options, &limits)?;
    let mut data = variables.clone();
    for (name, value) in tree::TARGET_DEFAULTS {
        data[name] = (*value).into();
    }
    let bare = move || Render::new().render_text(&template, &data);
    let again = bare.clone();
    let theirs = Entrant::local("", move || Ok(again()?.into_bytes()), move || drop(black_box(bare())));
    Ok(Contest {
        kind: KIND,
        name: format!("render with {files} files"),
        expected: None,
        ours: rendering(few, variables),
        peers: vec![Peer { name: "the bare template", goal: Some(RENDER), entrant: theirs }],
    })
}

/// One prompt in the large workspace, beside the same in the small one.
fn among(few: &Workspace, many: &Workspace) -> Contest {
    let variables = tree::target_variables(8);
    Contest {
        kind: KIND,
        name: format!("render among {MANY}"),
        expected: None,
        ours: rendering(many, variables.clone()),
        peers: vec![Peer { name: "among 10", goal: Some(AMONG), entrant: rendering(few, variables) }],
    }
}

/// Renders the target in a workspace that is open.
fn rendering(workspace: &Workspace, variables: Value) -> Entrant {
    let engine = Engine::open(&workspace.root);
    let render = move || {
        let request = Request::new(TARGET).with_variables(&variables);
        engine.render_blocking(&request).map(hinagata::Rendered::into_text)
    };
    let again = render.clone();
    Entrant::local("", move || Ok(again()?.into_bytes()), move || drop(black_box(render())))
}

/// `hina render` in the large workspace, beside a Python that imports Jinja2.
fn start(installer: &Installer, many: &Workspace) -> Result<Contest> {
    let variables = installer.cache.join("target-variables.json");
    std::fs::write(&variables, tree::target_variables(8).to_string())?;
    Ok(Contest {
        kind: KIND,
        name: format!("`hina render` among {MANY}"),
        expected: None,
        ours: Entrant::new(hina(installer, many, &variables)),
        peers: vec![Peer {
            name: "python -c 'import jinja2'",
            goal: Some(START),
            entrant: Entrant::new(importing(installer, &variables)),
        }],
    })
}

fn hina(installer: &Installer, many: &Workspace, variables: &Path) -> Result<Box<dyn Side>> {
    let (hina, root, variables) = (installer.hina()?, many.root.clone(), variables.to_owned());
    let command = move || {
        let mut command = Command::new(&hina);
        command.arg("--root").arg(&root).args(["render", TARGET, "--vars"]).arg(&variables);
        command
    };
    // Once beforehand: where it cannot render, it is absent.
    let text = without_newline(printed(&mut command())?);
    Ok(Box::new(ProcessSide::new(String::new(), command, move || Ok(text.clone()))))
}

/// A Python that imports Jinja2 and does nothing with it; the text is what it would make of the template.
fn importing(installer: &Installer, variables: &Path) -> Result<Box<dyn Side>> {
    const RENDER: &str = "import json, sys, jinja2; data = json.load(open(sys.argv[2])) | json.loads(sys.argv[3]); \
                          print(jinja2.Template(sys.argv[1]).render(data))";
    const VERSION: &str = "import platform, jinja2; print('Jinja2', jinja2.__version__, 'on', \
                           platform.python_implementation(), platform.python_version())";
    let (python, variables) = (installer.python()?, variables.to_owned());
    let version = printed(Command::new(&python).args(["-c", VERSION]))?;
    let defaults: Map<String, Value> =
        tree::TARGET_DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let mut command = Command::new(&python);
    command
        .args(["-c", RENDER, tree::TARGET_TEMPLATE])
        .arg(variables)
        .arg(Value::Object(defaults).to_string());
    let text = without_newline(printed(&mut command)?);
    let import = move || {
        let mut command = Command::new(&python);
        command.args(["-c", "import jinja2"]);
        command
    };
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    Ok(Box::new(ProcessSide::new(version, import, move || Ok(text.clone()))))
}

/// Without the newline that a command puts behind a text.
fn without_newline(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    text
}

fn lines(names: BTreeSet<String>) -> Result<Vec<u8>> {
    Ok(names.into_iter().collect::<Vec<_>>().join("\n").into_bytes())
}

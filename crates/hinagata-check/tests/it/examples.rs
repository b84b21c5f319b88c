//! The examples of the table: each wrong one gives its finding, and the right one gives none at all.

use std::{fs, path::Path};

use hinagata_catalog::{Catalog, CatalogOptions};
use hinagata_check::{CODES, CheckOptions, Finding, Models, ToolSpec, check_workspace, codes::ExampleFile};
use hinagata_workspace::{
    Settings,
    settings::{SettingsSources, UserConfig},
};
use serde_json::json;

/// A workspace with one tool, and the models of its settings.
fn options(root: &Path) -> CheckOptions {
    let parameters =
        json!({"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]});
    let tool = ToolSpec { parameters: Some(parameters), fails: false };
    let names = ["translator.zh_en", "tools.translator.zh_en"];
    let options = CheckOptions::from_tools(names.map(|name| (name.to_owned(), tool.clone())).into(), None);
    let sources = SettingsSources::read(root, &UserConfig::find(|_| None)).expect("readable settings");
    let settings = Settings::resolve(&sources, true).expect("valid settings");
    let (models, problems) = Models::from_settings(&settings, root);
    assert!(problems.is_empty(), "{problems:?}");
    CheckOptions { models, ..options }
}

fn check_files(files: &[ExampleFile]) -> Vec<Finding> {
    let root = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = root.path().join("user_data/shared/prompts").join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let catalog = Catalog::open(CatalogOptions::new(root.path()));
    let findings = check_workspace(&catalog, &options(root.path()));
    // The pack with the built-in prompts is not part of an example.
    findings.into_iter().filter(|finding| !finding.source.starts_with("ecosystem/default")).collect()
}

fn describe(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        format!(
            "{} {} {:?}",
            finding.code.code,
            finding.error.message(),
            finding.place().map(ToString::to_string)
        )
    };
    findings.iter().map(line).collect()
}

#[test]
fn every_wrong_example_has_its_finding_and_no_right_one_has_any() {
    let mut problems = Vec::new();
    // What a lock says is known to those who read it: the tests of `hina check` have its example.
    for spec in CODES.iter().filter(|spec| spec.group() != "lock") {
        let wrong = check_files(spec.wrong);
        let found = wrong.iter().find(|finding| finding.code == *spec);
        match found {
            None => problems.push(format!("{}: the wrong example gives {:?}", spec.code, describe(&wrong))),
            Some(found) if found.level != spec.level => {
                problems.push(format!("{}: the level is {:?}", spec.code, found.level));
            }
            Some(_) => {}
        }
        let right = check_files(spec.right);
        if right.iter().any(|finding| finding.level != hinagata_check::Level::Hint || finding.code == *spec) {
            problems.push(format!("{}: the right example gives {:?}", spec.code, describe(&right)));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_built_in_prompts_and_the_example_workspace_have_no_errors() {
    let findings = check_files(&[]);
    assert!(findings.is_empty(), "{:#?}", describe(&findings));
    let root = tempfile::tempdir().expect("a directory");
    let catalog = Catalog::open(CatalogOptions::new(root.path()));
    let findings = check_workspace(&catalog, &CheckOptions::default());
    assert!(findings.is_empty(), "{:#?}", describe(&findings));
}

#[test]
fn a_silence_is_for_its_line_the_next_tag_or_the_file() {
    let declared = "---\nparameters:\n  a: string\n---\n";
    let texts = [
        "{{ nmae }}{# hina: allow(variable.undeclared) the host passes it #}\n{{ a }}",
        "{# hina: allow(variable.undeclared) #}\n\n{{ nmae }}{{ a }}",
        "{{ a }}{{ nmae }}\n\n{# hina: allow-file(variable.*) #}",
    ];
    for text in texts {
        let text: &'static str = format!("{declared}{text}\n").leak();
        let findings = check_files(&[("demo/template.md", text)]);
        assert!(findings.is_empty(), "{text}: {:#?}", describe(&findings));
    }
    let front =
        "---\nparameters:\n  a: string\ncheck:\n  allow: [variable.undeclared]\n---\n{{ a }}{{ nmae }}\n";
    let findings = check_files(&[("demo/template.md", front)]);
    assert!(findings.is_empty(), "{:#?}", describe(&findings));
}

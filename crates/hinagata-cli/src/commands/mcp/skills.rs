//! `hina mcp install --skills`: writes each prompt as an Agent Skill.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use hinagata::{
    Digest, StateDir,
    write::{self, Readers},
};
use hinagata_mcp::{Exposure, Skill, SkillSet};
use serde_json::{Value, json};

use super::{
    hosts::{HostSpec, Surroundings},
    install::{Arguments, Consent, ask_consent, print_warnings},
};
use crate::{
    difference::unified_diff_text,
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// The file of a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Maximum bytes of the file of a skill.
const MAX_BYTES: u64 = 16 << 20;

/// A file to write or to remove.
struct FileChange {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

pub(super) fn run(
    arguments: &Arguments,
    host: Option<&'static HostSpec>,
    surroundings: &Surroundings,
    globals: &Globals,
) -> Result<(), Failure> {
    let directory = match (&arguments.out, host) {
        (Some(out), _) => surroundings.current.join(out),
        (None, Some(host)) => {
            surroundings.skill_directory(host, arguments.scope).ok_or_else(|| no_skills(host))?
        }
        (None, None) => return Err(Failure::usage_error("name a host, or a directory with `--out`")),
    };
    let has_arguments = host.and_then(|host| host.skills.as_ref()).is_some_and(|places| places.has_arguments);
    let set = match arguments.remove {
        true => SkillSet::default(),
        false => read_skills(globals, has_arguments)?,
    };
    let mut warnings = skill_warnings(&set);
    let _lock = lock_skills(&directory)?;
    let changes = find_changes(&directory, &set, &mut warnings)?;
    print_warnings(&warnings, globals);
    let difference: String = changes.iter().map(|change| change.difference(surroundings)).collect();
    let consent = match changes.is_empty() {
        true => Consent::NotNeeded,
        false => ask_consent(&difference, &surroundings.display_path(&directory), arguments, globals)?,
    };
    if consent == Consent::Given {
        for change in &changes {
            change.write()?;
        }
    }
    let report = Report { directory, set, changes, warnings };
    report.print(consent, surroundings, globals)?;
    consent.to_result()
}

fn no_skills(host: &HostSpec) -> Failure {
    Failure::usage_error(format!("{} reads no skills from a directory", host.title))
        .with_hint("write them with `--out DIR` and upload them in its settings")
}

fn read_skills(globals: &Globals, has_arguments: bool) -> Result<SkillSet, Failure> {
    let workspace = Workspace::open(globals)?;
    let exposure = Exposure::from_settings(&workspace.host.settings)?;
    Ok(SkillSet::from_engine(&workspace.open_engine()?, exposure, has_arguments))
}

fn skill_warnings(set: &SkillSet) -> Vec<String> {
    let left_out = set.left_out.iter().map(|(id, reason)| format!("`{id}` is not a skill: {reason}"));
    let noted = set.skills.iter().filter(|skill| !skill.notes.is_empty());
    let notes = noted.map(|skill| format!("in the skill `{}`: {}", skill.name, skill.notes.join("; ")));
    left_out.chain(notes).collect()
}

/// Other calls of this program wait until the directory is written.
fn lock_skills(directory: &Path) -> Result<write::DirectoryLock, Failure> {
    let locks = StateDir::of_user()?.path().join("mcp-install");
    let name = Digest::sha256(directory.as_os_str().as_encoded_bytes());
    Ok(write::lock_directory(&locks, &format!("{name}.lock"))?)
}

/// What has to change so that the directory contains exactly these skills, and everything that others wrote.
fn find_changes(
    directory: &Path,
    set: &SkillSet,
    warnings: &mut Vec<String>,
) -> Result<Vec<FileChange>, Failure> {
    let mut changes = Vec::new();
    for skill in &set.skills {
        let path = directory.join(&skill.name).join(SKILL_FILE);
        match write::read_text(&path, MAX_BYTES)? {
            Some(known) if !Skill::is_generated(&known) => {
                warnings.push(format!(
                    "`{}` is not written: {} is not from hina",
                    skill.name,
                    path.display()
                ));
            }
            Some(known) if known == skill.text => {}
            before => changes.push(FileChange { path, before, after: Some(skill.text.clone()) }),
        }
    }
    for (name, text) in generated_skills(directory)? {
        if !set.skills.iter().any(|skill| skill.name == name) {
            let path = directory.join(&name).join(SKILL_FILE);
            changes.push(FileChange { path, before: Some(text), after: None });
        }
    }
    Ok(changes)
}

/// The skills in the directory that this program wrote, by name.
fn generated_skills(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(write::io_error("read", directory, error).into()),
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let text = write::read_text(&entry.path().join(SKILL_FILE), MAX_BYTES).ok().flatten();
        if let (Some(text), Ok(name)) =
            (text.filter(|text| Skill::is_generated(text)), entry.file_name().into_string())
        {
            found.push((name, text));
        }
    }
    found.sort();
    Ok(found)
}

impl FileChange {
    const fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (_, None) => "removed",
            (None, Some(_)) => "added",
            (Some(_), Some(_)) => "replaced",
        }
    }

    fn difference(&self, surroundings: &Surroundings) -> String {
        let shown = surroundings.display_path(&self.path);
        let side =
            |text: &Option<String>| if text.is_some() { shown.clone() } else { "/dev/null".to_owned() };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        unified_diff_text(&side(&self.before), &side(&self.after), &text(&self.before), &text(&self.after))
    }

    fn write(&self) -> hinagata::Result<()> {
        match &self.after {
            Some(text) => write::replace_file(&self.path, text.as_bytes(), Readers::AsUsual),
            None => self.remove().map_err(|error| write::io_error("removed", &self.path, error)),
        }
    }

    fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        // Files that others put beside it stay.
        match self.path.parent().map(fs::remove_dir) {
            Some(Err(error)) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        }
    }
}

/// What a call did.
struct Report {
    directory: PathBuf,
    set: SkillSet,
    changes: Vec<FileChange>,
    warnings: Vec<String>,
}

impl Report {
    fn print(&self, consent: Consent, surroundings: &Surroundings, globals: &Globals) -> Result<(), Failure> {
        let path = surroundings.display_path(&self.directory);
        if Format::from_globals(globals) == Format::Json {
            let changes: Vec<Value> = self
                .changes
                .iter()
                .map(|change| json!({"file": change.path, "change": change.kind()}))
                .collect();
            return output::print_json(&json!({
                "directory": self.directory, "skills": self.set.skills.len(), "changes": changes,
                "written": consent == Consent::Given, "warnings": self.warnings,
            }));
        }
        if self.changes.is_empty() {
            return output::print_text(&format!(
                "{path} is up to date: {} skills of hina\n",
                self.set.skills.len()
            ));
        }
        if consent != Consent::Given {
            return Ok(());
        }
        let count = |kind: &str| self.changes.iter().filter(|change| change.kind() == kind).count();
        output::print_text(&format!(
            "{path}: {} skills added, {} replaced, {} removed\n",
            count("added"),
            count("replaced"),
            count("removed")
        ))
    }
}

//! Several files at once: which of them are prompts, and what each becomes.

use std::collections::{BTreeMap, BTreeSet};

use hinagata_document::Error;

use crate::detect::{Detection, Format, detect_format};
use crate::files::SourceFiles;
use crate::names::{file_name, to_segment};
use crate::prompt::{PortableBody, PortableMessage, PortablePart, PortablePrompt};
use crate::{ImportOptions, ImportedPrompt, import_prompts};

/// Maximum length of an id, in characters.
const LONGEST_ID: usize = 64;

/// What the files of a directory are.
#[derive(Clone, Debug, Default)]
pub struct ImportBatch {
    /// The prompts, by file.
    pub prompts: Vec<ImportedPrompt>,
    /// Files that are not prompts of a known format.
    pub unrecognised: Vec<String>,
    /// Files that look like prompts and cannot be read, each with the reason.
    pub failed: Vec<(String, Error)>,
}

/// Reads every prompt among `files`. Directories between `base` and a file become segments of the id, unless the format
/// decides about the id itself. Shared parts that differ get different names.
#[must_use]
pub fn import_batch(files: &SourceFiles, base: &str, options: &ImportOptions) -> ImportBatch {
    let mut batch = ImportBatch::default();
    let skills: BTreeSet<&str> = files.paths().filter_map(|path| path.strip_suffix("SKILL.md")).collect();
    let belongs_to_skill =
        |path: &str| skills.iter().any(|skill| path.starts_with(skill) && path != format!("{skill}SKILL.md"));
    let parts = match options.format {
        Some(Format::Mustache | Format::Chevron) => find_mustache_parts(files),
        _ => find_configured_files(files),
    };
    for path in files.paths() {
        if belongs_to_skill(path) || is_companion(files, path) || parts.contains(path) {
            continue;
        }
        if options.format.is_none() && detect_format(files, path) == Detection::Unknown {
            batch.unrecognised.push(path.to_owned());
            continue;
        }
        match import_prompts(files, path, options) {
            Ok(prompts) => batch.prompts.extend(prompts),
            Err(error) => batch.failed.push((path.to_owned(), error)),
        }
    }
    for imported in &mut batch.prompts {
        prefix_id(&mut imported.prompt, base);
    }
    shorten_ids(&mut batch.prompts);
    share_partials(&mut batch.prompts, &|_| None);
    batch
}

/// The files that configurations of promptfoo name: they are its prompts, and none of their own.
fn find_configured_files(files: &SourceFiles) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for path in files.paths() {
        if detect_format(files, path) == Detection::Found(Format::Promptfoo) {
            let directory = path.strip_suffix(file_name(path)).unwrap_or_default();
            let names = companion_names(path, files.get(path).unwrap_or_default()).unwrap_or_default();
            named.extend(names.into_iter().map(|name| format!("{directory}{name}")));
        }
    }
    named
}

/// Whether a file is only a part of another one.
fn is_companion(files: &SourceFiles, path: &str) -> bool {
    let name = file_name(path);
    let beside = |other: &str| files.get(&format!("{}{other}", path.strip_suffix(name).unwrap_or_default()));
    match name {
        "user.md" => beside("system.md").is_some(),
        _ => name.starts_with('_') && name.ends_with(".prompt"),
    }
}

/// The files of mustache that others include. Of files that only include each other, the first one is the prompt.
fn find_mustache_parts(files: &SourceFiles) -> BTreeSet<String> {
    let included = |path: &str| -> Vec<String> {
        let directory = path.strip_suffix(file_name(path)).unwrap_or_default();
        let names = companion_names(path, files.get(path).unwrap_or_default()).unwrap_or_default();
        let paths = names.into_iter().map(|name| format!("{directory}{name}"));
        paths.filter(|other| other != path && files.get(other).is_some()).collect()
    };
    let includes: BTreeMap<&str, Vec<String>> = files.paths().map(|path| (path, included(path))).collect();
    let named: BTreeSet<&str> = includes.values().flatten().map(String::as_str).collect();
    let (ring, roots): (Vec<&str>, Vec<&str>) = includes.keys().partition(|path| named.contains(*path));
    let (mut parts, mut prompts) = (BTreeSet::new(), BTreeSet::new());
    for start in roots.into_iter().chain(ring) {
        if parts.contains(start) {
            continue;
        }
        prompts.insert(start);
        let mut open = vec![start];
        while let Some(path) = open.pop() {
            for other in includes.get(path).into_iter().flatten() {
                if !prompts.contains(other.as_str()) && parts.insert(other.clone()) {
                    open.push(other);
                }
            }
        }
    }
    parts
}

/// Adds the directories below `base` to an id.
fn prefix_id(prompt: &mut PortablePrompt, base: &str) {
    let decides_itself = matches!(
        prompt.format,
        Format::Skill
            | Format::Claude
            | Format::ClaudeAgent
            | Format::Gemini
            | Format::Cursor
            | Format::CursorRule
            | Format::Fabric
            | Format::Langfuse
    );
    let inner = prompt.from.strip_prefix(base).unwrap_or(&prompt.from).trim_start_matches('/');
    if let Some((directories, _)) = inner.rsplit_once('/').filter(|_| !decides_itself) {
        let segments = directories.split('/').filter(|part| !part.is_empty() && !part.starts_with('.'));
        let mut segments: Vec<String> = segments.map(to_segment).collect();
        segments.push(prompt.id.clone());
        prompt.id = segments.join(".");
    }
}

/// Leaves directories out of ids that are too long, the outermost first. Ids that become the same are numbered.
fn shorten_ids(prompts: &mut [ImportedPrompt]) {
    let mut taken: BTreeSet<String> = prompts
        .iter()
        .filter(|imported| imported.prompt.id.len() <= LONGEST_ID)
        .map(|imported| imported.prompt.id.clone())
        .collect();
    for ImportedPrompt { prompt, .. } in prompts {
        let mut id = prompt.id.as_str();
        while let (true, Some((_, inner))) = (id.chars().count() > LONGEST_ID, id.split_once('.')) {
            id = inner;
        }
        if id.len() == prompt.id.len() {
            continue;
        }
        let numbered = (2..).map(|number| format!("{id}_{number}"));
        let free = std::iter::once(id.to_owned()).chain(numbered).find(|id| taken.insert(id.clone()));
        prompt.id = free.unwrap_or_default();
    }
}

/// Gives parts of the same name and another text names of their own. `existing` is the text of a part that is there
/// already.
pub fn share_partials(prompts: &mut [ImportedPrompt], existing: &dyn Fn(&str) -> Option<String>) {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for ImportedPrompt { prompt, .. } in prompts {
        let differs = |name: &str, text: &str| {
            let known = taken.get(name).cloned().or_else(|| existing(name));
            known.is_some_and(|known| known != text)
        };
        if prompt.partials.iter().any(|(name, text)| differs(name, text)) {
            // Parts include each other, so all parts of the prompt get another name.
            let prefix = prompt.id.replace('.', "_");
            let mut number = 1;
            let is_free = |prefix: &str| {
                let mut names = prompt.partials.iter().map(|(name, _)| format!("{prefix}_{name}"));
                names.all(|name| !taken.contains_key(&name) && existing(&name).is_none())
            };
            let mut wanted = prefix.clone();
            while !is_free(&wanted) {
                number += 1;
                wanted = format!("{prefix}_{number}");
            }
            rename_partials(prompt, &wanted);
        }
        taken.extend(prompt.partials.iter().cloned());
    }
}

fn rename_partials(prompt: &mut PortablePrompt, prefix: &str) {
    let names: Vec<String> = prompt.partials.iter().map(|(name, _)| name.clone()).collect();
    let renamed = |text: &str| {
        names.iter().fold(text.to_owned(), |text, name| {
            text.replace(
                &format!("include \"partials/{name}\""),
                &format!("include \"partials/{prefix}_{name}\""),
            )
        })
    };
    match &mut prompt.body {
        PortableBody::Text(text) => *text = renamed(text),
        PortableBody::Messages(messages) => {
            for message in messages {
                let PortableMessage::Message { parts, .. } = message else { continue };
                for part in parts {
                    let (PortablePart::Text(text) | PortablePart::Media(text)) = part;
                    *text = renamed(text);
                }
            }
        }
    }
    for (name, text) in &mut prompt.partials {
        *text = renamed(text);
        *name = format!("{prefix}_{name}");
    }
}

/// The names of the files that the file at `path` with this text may read, relative to its directory. Files that do not
/// exist are among them. A skill reads all files of its directory instead, which `None` says.
#[must_use]
pub fn companion_names(path: &str, text: &str) -> Option<Vec<String>> {
    let name = file_name(path);
    let mut names = BTreeSet::new();
    match name {
        "SKILL.md" => return None,
        "system.md" => {
            names.insert("user.md".to_owned());
        }
        _ if name.ends_with(".prompt") => {
            for word in partial_words(text) {
                let (directory, base) = word.rsplit_once('/').unwrap_or(("", word));
                let slash = if directory.is_empty() { "" } else { "/" };
                if !base.is_empty() {
                    names.insert(format!("{directory}{slash}_{base}.prompt"));
                }
            }
        }
        _ if name.ends_with(".mustache") => {
            names.extend(partial_words(text).map(|word| format!("{word}.mustache")));
        }
        _ if text.contains("file://") && text.contains("prompts") => {
            let references = text.split("file://").skip(1);
            let end =
                |rest: &str| rest.find(|letter: char| letter.is_whitespace() || "\"',]}".contains(letter));
            let path =
                |rest: &str| rest[..end(rest).unwrap_or(rest.len())].trim_start_matches("./").to_owned();
            names.extend(references.map(path));
        }
        _ if name.ends_with(".prompty") => {
            let references = text.split("${file:").skip(1).filter_map(|rest| rest.split_once('}'));
            names.extend(references.map(|(name, _)| name.trim().to_owned()));
        }
        _ => {}
    }
    let is_plain =
        |name: &String| !name.contains('\\') && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    Some(names.into_iter().filter(is_plain).take(1_000).collect())
}

/// The words after `>`, which may name partials.
fn partial_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.match_indices('>').map(|(at, _)| {
        let word = text[at + 1..].trim_start();
        let end = word.find(|character: char| !(character.is_alphanumeric() || "_-./".contains(character)));
        &word[..end.unwrap_or(word.len())]
    });
    words.filter(|word| !word.is_empty() && word.len() <= 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_directory_is_a_prompt_a_part_or_neither() {
        let files = SourceFiles::from_iter([
            ("w/prompts/greet.prompt", "Hello {{name}} {{>tail}}"),
            ("w/prompts/_tail.prompt", "bye"),
            ("w/prompts/sub/greet.prompt", "Hi {{>tail}}"),
            ("w/prompts/sub/_tail.prompt", "ciao"),
            ("w/prompts/README.md", "read me"),
            ("w/prompts/bad.prompt", "{{#each x}}"),
            ("w/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: d\n---\nx"),
            ("w/skills/pdf/more.prompt", "not one"),
        ]);
        let batch = import_batch(&files, "w", &ImportOptions::default());
        let ids: Vec<&str> = batch.prompts.iter().map(|imported| imported.prompt.id.as_str()).collect();
        assert_eq!(ids, ["prompts.greet", "prompts.sub.greet", "pdf"]);
        assert_eq!(batch.unrecognised, ["w/prompts/README.md"]);
        assert_eq!(batch.failed[0].0, "w/prompts/bad.prompt");
        let second = &batch.prompts[1].prompt;
        assert_eq!(second.partials, [("prompts_sub_greet_tail.md".to_owned(), "ciao".to_owned())]);
        let PortableBody::Text(text) = &second.body else { panic!("is a text") };
        assert!(text.contains("include \"partials/prompts_sub_greet_tail.md\""), "{text}");
    }

    #[test]
    fn ids_are_never_too_long() {
        let long = "a-directory-with-a-long-name/and-another-one-with-a-longer-name";
        let files = SourceFiles::from_iter([
            (format!("w/one/{long}/greet.prompt"), "a"),
            (format!("w/two/{long}/greet.prompt"), "b"),
            ("w/short/greet.prompt".to_owned(), "c"),
        ]);
        let batch = import_batch(&files, "w", &ImportOptions::default());
        let ids: Vec<&str> = batch.prompts.iter().map(|imported| imported.prompt.id.as_str()).collect();
        let inner = "and_another_one_with_a_longer_name.greet";
        assert_eq!(ids, [inner, "short.greet", &format!("{inner}_2")]);
    }

    #[test]
    fn files_of_mustache_that_others_include_are_parts() {
        let files = SourceFiles::from_iter([
            ("a.mustache", "{{>part}}"),
            ("part.mustache", "x{{>part}}"),
            ("ring1.mustache", "{{#a}}{{>ring2}}{{/a}}"),
            ("ring2.mustache", "{{#a}}{{>ring1}}{{/a}}"),
        ]);
        let batch =
            import_batch(&files, "", &ImportOptions { format: Some(Format::Mustache), ..Default::default() });
        let ids: Vec<&str> = batch.prompts.iter().map(|imported| imported.prompt.id.as_str()).collect();
        assert_eq!((ids, batch.failed.len()), (vec!["a", "ring1"], 0));
    }

    #[test]
    fn companions_never_lead_out_of_the_directory() {
        let names = companion_names("a/x.prompt", "{{>../secret}}{{> ok}}{{#>deep/er}}{{/deep/er}}");
        assert_eq!(names, Some(vec!["_ok.prompt".to_owned(), "deep/_er.prompt".to_owned()]));
        let names = companion_names("a/x.prompty", "${file:/etc/passwd} ${file:a.json} ${file:../b}");
        assert_eq!(names, Some(vec!["a.json".to_owned()]));
        let names = companion_names("a/x.mustache", "<p>{{> ../secret}}</p>{{>own/part}}");
        assert_eq!(names, Some(vec!["own/part.mustache".to_owned()]));
        assert_eq!(companion_names("a/SKILL.md", ""), None);
    }
}

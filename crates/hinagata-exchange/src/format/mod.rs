//! The formats: one file each.

mod aichat;
mod claude;
mod cursor;
mod dotprompt;
mod fabric;
mod gemini;
mod github;
mod kernel;
mod langchain;
mod langfuse;
mod llm;
mod modelfile;
mod mustache;
mod nunjucks;
mod picoschema;
mod promptfoo;
mod prompty;
mod skill;
mod vscode;

use hinagata_document::{Data, LineColumn, Node, Result};

use crate::detect::Format;
use crate::draft::Draft;
use crate::files::SourceFiles;
use crate::names::{file_name, to_segment};
use crate::report::LossCode;
use crate::{ImportedPrompt, yaml};

/// Reads the prompts of a file.
pub(crate) fn read_prompts(
    files: &SourceFiles,
    path: &str,
    text: &str,
    format: Format,
) -> Result<Vec<ImportedPrompt>> {
    match format {
        Format::Langfuse => return langfuse::read_export(files, path, text),
        Format::Promptfoo => return promptfoo::read_config(files, path, text),
        _ => {}
    }
    let stem = file_name(path).split('.').next().unwrap_or_default();
    let mut draft = Draft::new(files, path, text, format, to_segment(stem));
    match format {
        Format::Dotprompt => dotprompt::read_file(&mut draft)?,
        Format::Prompty | Format::Prompty1 => prompty::read_file(&mut draft)?,
        Format::Skill => skill::read_file(&mut draft)?,
        Format::Claude | Format::ClaudeAgent => claude::read_file(&mut draft)?,
        Format::Langchain => langchain::read_file(&mut draft)?,
        Format::Langfuse | Format::Promptfoo => {}
        Format::Github => github::read_file(&mut draft)?,
        Format::Gemini => gemini::read_file(&mut draft)?,
        Format::Llm => llm::read_file(&mut draft)?,
        Format::Fabric => fabric::read_file(&mut draft)?,
        Format::Aichat => aichat::read_file(&mut draft)?,
        Format::Vscode => vscode::read_file(&mut draft)?,
        Format::SemanticKernel => kernel::read_file(&mut draft)?,
        Format::Cursor | Format::CursorRule => cursor::read_file(&mut draft)?,
        Format::Nunjucks => nunjucks::read_file(&mut draft)?,
        Format::Modelfile => modelfile::read_file(&mut draft)?,
        Format::Mustache | Format::Chevron => mustache::read_file(&mut draft)?,
    }
    Ok(vec![finish_draft(draft)])
}

/// The prompt of a draft.
fn finish_draft(mut draft: Draft<'_>) -> ImportedPrompt {
    draft.report_renamed();
    ImportedPrompt { prompt: draft.prompt, report: draft.report }
}

/// The keys of a map with their values.
type Entries = Vec<(String, Node)>;

/// A file with front matter: the keys, the body and the offset of the body.
fn read_matter<'f>(draft: &Draft<'f>) -> Result<(Entries, &'f str, usize)> {
    let text: &'f str = draft.text;
    let Some((matter, body, offset)) = yaml::split_matter(text) else { return Ok((Vec::new(), text, 0)) };
    let node = yaml::parse_plain(draft.path, text, matter, 2)?;
    match node.as_map() {
        Some(entries) => Ok((entries.to_vec(), body, offset)),
        None => Err(draft.invalid(node.at, "the front matter must be a map")),
    }
}

/// The same for programs that also take front matter that is not YAML: each line is a key and a plain text. Whether it
/// was read so comes with it.
fn read_loose_matter<'f>(draft: &Draft<'f>) -> Result<((Entries, &'f str, usize), bool)> {
    let error = match read_matter(draft) {
        Ok(read) => return Ok((read, false)),
        Err(error) => error,
    };
    let text: &'f str = draft.text;
    let Some((matter, body, offset)) = yaml::split_matter(text) else { return Err(error) };
    let mut entries: Entries = Vec::new();
    for (index, line) in matter.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let split = line.split_once(':').filter(|(key, _)| is_loose_key(key));
        match (split, entries.last_mut()) {
            (Some((key, value)), _) => {
                let at = LineColumn { line: u32::try_from(index).unwrap_or_default() + 2, column: 1 };
                let data = match value.trim() {
                    "" => Data::Null,
                    "true" => Data::Bool(true),
                    "false" => Data::Bool(false),
                    text => Data::String(without_quotes(text).to_owned()),
                };
                entries.push((key.to_owned(), Node { at, data }));
            }
            // A line without a key goes on with the text before.
            (None, Some((_, Node { data: Data::String(text), .. }))) => {
                text.push('\n');
                text.push_str(line.trim());
            }
            (None, _) => return Err(error),
        }
    }
    Ok(((entries, body, offset), true))
}

/// Front matter of programs whose users write plain texts with colons into it; it is reported if it is not YAML.
fn read_matter_or_lines<'f>(draft: &mut Draft<'f>) -> Result<(Entries, &'f str, usize)> {
    let (read, is_loose) = read_loose_matter(draft)?;
    if is_loose {
        let at = LineColumn { line: 2, column: 1 };
        let what = "the front matter, which is not valid YAML";
        draft.lose_at(LossCode::Invalid, at, what, "each line is read as a key and a text");
    }
    Ok(read)
}

fn is_loose_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

fn without_quotes(text: &str) -> &str {
    let inner = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

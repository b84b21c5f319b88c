//! Chat templates in the files of models.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use hinagata_catalog::source::Directory;
use hinagata_document::{Error, Reason, Result};
use hinagata_exchange::{ChatTemplate, SourceFiles};

/// Largest file of a model that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// The chat template at `path`: a directory of a model, a file of it, a `.gguf` file, of which only the metadata is read,
/// or a Modelfile. Of several templates, it is the one called `wanted`, else `tool_use` for a call with tools, else
/// `default`.
///
/// # Errors
/// Code `definition` for a file that cannot be read or is invalid; those of [`ChatTemplate::from_files`].
pub fn read_chat_template(path: &Path, wanted: Option<&str>, has_tools: bool) -> Result<ChatTemplate> {
    let shown = path.display().to_string();
    let cannot_read = |error: std::io::Error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("`{shown}` not found"),
            _ => format!("cannot read `{shown}`: {error}"),
        };
        Error::definition(Reason::NoFile, message).with("file", &*shown)
    };
    if path.extension().is_some_and(|ending| ending == "gguf") {
        let mut start = Vec::new();
        File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut start)).map_err(cannot_read)?;
        return ChatTemplate::from_gguf(&shown, &start, wanted, has_tools);
    }
    let is_directory = fs::metadata(path).map_err(cannot_read)?.is_dir();
    let directory = if is_directory { path } else { path.parent().unwrap_or(path) };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let found = Directory::open(directory)?.ok_or_else(|| {
        Error::definition(Reason::NoFile, format!("directory `{shown}` not found")).with("file", &*shown)
    })?;
    let mut files = SourceFiles::default();
    let mut names = vec!["tokenizer_config.json".to_owned(), "chat_template.jinja".to_owned()];
    let entry = match is_directory {
        true => "tokenizer_config.json".to_owned(),
        false => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    names.push(entry.clone());
    if let Some(more) = found.directory("additional_chat_templates")? {
        let listed = more.list()?.into_iter().filter(|listed| !listed.directory);
        names.extend(listed.map(|listed| format!("additional_chat_templates/{}", listed.name)));
    }
    for name in names {
        if let Some(file) = found.read(&name, LARGEST)? {
            files.insert(name, file.text.to_string());
        }
    }
    ChatTemplate::from_files(&files, &entry, wanted, has_tools)
}

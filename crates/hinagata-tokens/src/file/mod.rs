//! Tokenizers in files: which format a file has, and counting with it.

mod json;
mod problem;
mod sentencepiece;
mod tekken;

use std::{
    fs::{File, Metadata},
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use crate::{TokenCount, TokenizerError, openai::BytePairs};
use json::JsonTokenizer;
use problem::{MAX_MIB, Problem};
use sentencepiece::SentencePieces;

/// Files that are kept in memory: reading one takes up to two seconds.
const KEPT: usize = 4;

/// A tokenizer that was read from a file.
#[derive(Debug)]
pub(crate) enum TokenizerFile {
    Json(Box<JsonTokenizer>),
    Tekken(BytePairs),
    SentencePieces(SentencePieces),
}

impl TokenizerFile {
    pub(crate) fn count_tokens(&self, text: &str) -> TokenCount {
        match self {
            Self::Json(tokenizer) => tokenizer.count_tokens(text),
            Self::Tekken(tokenizer) => TokenCount::exact(tokenizer.count_tokens(text)),
            Self::SentencePieces(tokenizer) => TokenCount::exact(tokenizer.count_tokens(text)),
        }
    }

    fn parse(data: &[u8]) -> Result<Self, Problem> {
        let start = data.trim_ascii_start();
        if start.starts_with(b"GGUF") {
            return Err(Problem::Unsupported("GGUF files cannot be read yet"));
        }
        if start.starts_with(b"{") {
            return match tekken::is_tekken(data) {
                true => tekken::read_tekken(data).map(Self::Tekken),
                false => JsonTokenizer::parse(data).map(|tokenizer| Self::Json(Box::new(tokenizer))),
            };
        }
        if tekken::is_rank_list(start) {
            return Err(Problem::Unsupported("it lists tokens without the pattern that splits texts"));
        }
        SentencePieces::parse(data).map(Self::SentencePieces)
    }
}

/// Which file was read, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileVersion {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl FileVersion {
    fn new(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.to_owned(), bytes: metadata.len(), changed: metadata.modified().ok() }
    }
}

/// The files that were read last, the latest at the end.
static FILES: Mutex<Vec<(FileVersion, Arc<TokenizerFile>)>> = Mutex::new(Vec::new());

/// The tokenizer in a file, from memory if the file did not change.
pub(crate) fn open_tokenizer(path: &Path) -> Result<Arc<TokenizerFile>, TokenizerError> {
    let (version, data) = match read_unless_kept(path).map_err(|problem| problem.in_file(path))? {
        Found::Kept(tokenizer) => return Ok(tokenizer),
        Found::Read(version, data) => (version, data),
    };
    let parsed = TokenizerFile::parse(&data).map_err(|problem| problem.in_file(path))?;
    let tokenizer = Arc::new(parsed);
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.retain(|(kept, _)| kept.path != version.path);
    files.push((version, Arc::clone(&tokenizer)));
    let superfluous = files.len().saturating_sub(KEPT);
    files.drain(..superfluous);
    Ok(tokenizer)
}

enum Found {
    Kept(Arc<TokenizerFile>),
    Read(FileVersion, Vec<u8>),
}

fn read_unless_kept(path: &Path) -> Result<Found, Problem> {
    let limit = MAX_MIB << 20;
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(Problem::Unreadable)?.is_file() {
        return Err(Problem::NotAFile);
    }
    let file = File::open(path).map_err(Problem::Unreadable)?;
    let version = FileVersion::new(path, &file.metadata().map_err(Problem::Unreadable)?);
    if version.bytes > limit {
        return Err(Problem::TooLarge);
    }
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, kept)) = files.iter().find(|(kept, _)| *kept == version) {
        return Ok(Found::Kept(Arc::clone(kept)));
    }
    drop(files);
    let mut data = Vec::new();
    file.take(limit + 1).read_to_end(&mut data).map_err(Problem::Unreadable)?;
    match data.len() as u64 > limit {
        true => Err(Problem::TooLarge),
        false => Ok(Found::Read(version, data)),
    }
}

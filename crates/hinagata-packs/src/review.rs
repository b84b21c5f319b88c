//! Everything that a person looks at before approving a pack.
//!
//! The hash that is approved is computed from the very bytes that are shown.

use std::collections::BTreeMap;

use hinagata_catalog::{
    Approval, PackId,
    pack::{PackLimits, Walked, tree_digest},
};
use hinagata_check::{CheckOptions, Finding, Level, hidden_text};
use hinagata_document::{Digest, LineColumn, Result};
use hinagata_secrets::Secrets;
use hinagata_workspace::Directory;
use serde::{Serialize, Serializer};

use super::{PackDetails, Packs, PythonFile, Verification, view::View};

/// Largest file whose text is part of a review, in bytes, and most bytes of all.
const LARGEST: usize = 1 << 20;
const MOST: usize = 16 << 20;

/// A pack for review.
#[derive(Clone, Debug, Serialize)]
pub struct PackReview {
    /// The content.
    #[serde(flatten)]
    pub details: PackDetails,
    /// What its Python may do, in words.
    pub abilities: Vec<PythonAbility>,
    /// Hidden characters and secrets.
    pub notices: Vec<ReviewNotice>,
    /// The findings of a check of its prompts.
    #[serde(serialize_with = "serialize_findings")]
    pub findings: Vec<Finding>,
    /// The differences from what was approved before, if it was.
    pub changes: Option<Verification>,
    /// All files, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Vec<ReviewedFile>>,
}

/// What a Python file may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonAbility {
    /// The file.
    pub file: String,
    /// Sentences.
    pub may: Vec<&'static str>,
}

/// Something in a file that is easily overlooked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewNotice {
    /// `hidden` or `secret`.
    pub kind: &'static str,
    /// The file, as a path from the pack.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is there.
    pub message: String,
}

/// A file of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewedFile {
    /// The path from the pack.
    pub path: String,
    /// The number of bytes.
    pub size: usize,
    /// Its SHA-256; `None` if it cannot be read.
    pub sha256: Option<Digest>,
    /// The text; `None` if it cannot be shown.
    pub text: Option<String>,
    /// Why the text is not shown.
    pub note: Option<&'static str>,
}

fn serialize_findings<S: Serializer>(findings: &[Finding], serializer: S) -> Result<S::Ok, S::Error> {
    hinagata_check::report::to_json(findings)["findings"].serialize(serializer)
}

impl Packs {
    /// Everything that a person looks at before approving a pack; `code` adds all its files. Runs nothing.
    ///
    /// # Errors
    /// Code `not_found`; code `store` if the approval cannot be read.
    pub fn review(&self, pack: &str, code: bool, options: &CheckOptions) -> Result<PackReview> {
        let found = self.pack(pack)?;
        let view = View::from_pack(found);
        let walked = view.files();
        let files = read_files(view.directory(), &walked);
        let details = self.pack_details(&view, &walked, content_of(&files, &walked));
        let changes = self.verify(pack)?;
        let is_changed = details.summary.state != Approval::Approved && changes.approved_at.is_some();
        Ok(PackReview {
            abilities: details.python.iter().map(describe_python).collect(),
            notices: find_notices(&files),
            findings: self.check_pack(found.id.as_str(), options),
            changes: is_changed.then_some(changes),
            code: code.then(|| show_files(files)),
            details,
        })
    }

    /// The findings about a pack, as if it were approved.
    fn check_pack(&self, id: &str, options: &CheckOptions) -> Vec<Finding> {
        let mut findings = hinagata_check::check_pack(&self.catalog, options, &PackId::new(id));
        // What is of interest to the author only is left to `check --hints`; the details have the mistakes of the manifest.
        findings
            .retain(|finding| !matches!(finding.code.code, "pack.manifest" | "pack.listed" | "pack.version"));
        findings.retain(|finding| finding.level != Level::Hint || finding.code.group() == "hook");
        findings
    }
}

/// The files of a pack; `None` for one that cannot be read.
type ReadFiles = BTreeMap<String, Option<Vec<u8>>>;

fn read_files(directory: &Directory, walked: &Walked) -> ReadFiles {
    let read = |path: &String| {
        let bytes = directory.read_with_stamp(path, PackLimits::DEFAULT.file).ok().flatten();
        (path.clone(), bytes.map(|(bytes, _)| bytes))
    };
    walked.files.keys().map(read).collect()
}

fn content_of(files: &ReadFiles, walked: &Walked) -> Option<Digest> {
    let digest =
        |(path, bytes): (&String, &Option<Vec<u8>>)| Some((path.clone(), Digest::sha256(bytes.as_ref()?)));
    let files: Option<BTreeMap<String, Digest>> = files.iter().map(digest).collect();
    files.filter(|_| walked.refused.is_empty()).map(|files| tree_digest(&files))
}

fn show_files(files: ReadFiles) -> Vec<ReviewedFile> {
    let mut room = MOST;
    let show = |(path, bytes): (String, Option<Vec<u8>>)| {
        let sha256 = bytes.as_ref().map(|bytes| Digest::sha256(bytes));
        let size = bytes.as_ref().map_or(0, Vec::len);
        let text = match bytes.map(String::from_utf8).transpose() {
            Ok(None) => Err("it cannot be read"),
            Ok(Some(text)) if text.contains('\0') => Err("it is not a text file"),
            Ok(_) if size > LARGEST => Err("it is too large to show"),
            Ok(_) if size > room => Err("there is too much text to show"),
            Ok(Some(text)) => Ok(text),
            Err(_) => Err("it is not a text file"),
        };
        room -= text.as_ref().map_or(0, String::len);
        ReviewedFile { path, size, sha256, note: text.as_ref().err().copied(), text: text.ok() }
    };
    files.into_iter().map(show).collect()
}

/// Hidden characters and secrets in all files that are text.
fn find_notices(files: &ReadFiles) -> Vec<ReviewNotice> {
    // Comments of a pack that allow secrets do not count in its own review.
    let rules = Secrets::built_in();
    let mut all = Vec::new();
    for (path, bytes) in files {
        let Some(text) = bytes.as_ref().and_then(|bytes| std::str::from_utf8(bytes).ok()) else { continue };
        let notice = |kind: &'static str, offset: usize, message: String| {
            let at = LineColumn::at_offset(text, offset);
            ReviewNotice { kind, file: path.clone(), line: at.line, column: at.column, message }
        };
        all.extend(
            hidden_text(text).into_iter().map(|((start, _), what)| notice("hidden", start as usize, what)),
        );
        if let Some(kind) = rules.in_name(path) {
            all.push(notice("secret", 0, format!("the name is that of a file with secrets ({kind})")));
        }
        let found = rules.find_secrets(path, text.as_bytes());
        all.extend(found.iter().map(|secret| {
            notice("secret", secret.range.start, format!("looks like a secret ({})", secret.rule))
        }));
    }
    all
}

/// What a Python file may do, in words.
fn describe_python(file: &PythonFile) -> PythonAbility {
    let mut may = Vec::new();
    match (&file.permissions, file.role) {
        (_, super::PythonRole::Native) => may.push("is machine code, which cannot be reviewed as text"),
        (None, _) => may.push("computes its permissions at run time, so that they are not known before"),
        (Some(names), _) => may.extend(names.iter().filter_map(|name| permission_sentence(name))),
    }
    if may.is_empty() {
        may.push("may compute with what the render gives it, and read the files of its pack");
    }
    PythonAbility { file: file.file.clone(), may }
}

/// What a permission allows, in words.
fn permission_sentence(name: &str) -> Option<&'static str> {
    Some(match name {
        "read_file" => "may read the files of the workspace",
        "http_request" => {
            "may send requests to the hosts in `hooks.allowed_hosts`, once the workspace is trusted"
        }
        "llm_call" => "may call models at your expense, once the workspace is trusted",
        "subprocess" => "may start programs such as git, confined like itself, once the workspace is trusted",
        "session_state" => "may read the state of the session",
        _ => return None,
    })
}

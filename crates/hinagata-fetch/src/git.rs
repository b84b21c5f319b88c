//! Reads packs of git repositories with the system's `git`, object by object.
//!
//! A commit is fetched into a private repository, whose configuration is ours, and its files are read with `cat-file`.
//! Nothing is checked out, so no filter, hook or attribute of the repository is used, and submodules are not followed.
//! The user's own configuration counts, because it says how to reach private repositories: proxies, credential helpers,
//! keys. git asks no questions: where it would, the command fails.

mod process;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufRead as _, BufReader, Read, Write as _},
    path::Path,
};

use hinagata_document::{Code, Error, Reason, Result};
use hinagata_packs::{GitLocation, GitRevision, PackSink, refused_error};
use tempfile::TempDir;

use self::process::{Git, run_git};

/// Most bytes of a list of references or files.
const LIST_LIMIT: u64 = 64 << 20;

/// Most files of a pack that are listed; the limits of packs are lower.
const MOST_FILES: usize = 100_000;

/// The commit that a revision names now.
pub(crate) fn resolve_revision(location: &GitLocation) -> Result<String> {
    if let Some(commit) = location.revision.commit() {
        return Ok(commit.to_owned());
    }
    let private = private_repository()?;
    let name = location.revision.as_str();
    let reference = match &location.revision {
        GitRevision::Tag(tag) => format!("refs/tags/{tag}"),
        GitRevision::Revision(branch) => format!("refs/heads/{branch}"),
    };
    let peeled = format!("{reference}^{{}}");
    let git = remote_command(private.path(), "ls-remote", location)?;
    let listed =
        run_git(git.args(["--", &location.repository, &reference, &peeled]), private.path(), LIST_LIMIT)
            .map_err(|message| git_error(location, &message))?;
    let found = read_references(&listed);
    let commit =
        |wanted: &str| found.iter().find(|(_, name)| name == wanted).map(|(commit, _)| commit.clone());
    commit(&peeled).or_else(|| commit(&reference)).ok_or_else(|| {
        let kind = match location.revision {
            GitRevision::Tag(_) => "tag",
            GitRevision::Revision(_) => "branch",
        };
        git_error(location, &format!("it has no {kind} `{name}`")).with_reason(Reason::Missing)
    })
}

/// The names of all tags.
pub(crate) fn list_tags(location: &GitLocation) -> Result<Vec<String>> {
    let private = private_repository()?;
    let git = remote_command(private.path(), "ls-remote", location)?;
    let listed = run_git(git.args(["--tags", "--", &location.repository]), private.path(), LIST_LIMIT)
        .map_err(|message| git_error(location, &message))?;
    let names = read_references(&listed)
        .into_iter()
        .filter_map(|(_, name)| Some(name.strip_prefix("refs/tags/")?.trim_end_matches("^{}").to_owned()));
    Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
}

fn read_references(listed: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(listed);
    let line = |line: &str| line.split_once('\t').map(|(commit, name)| (commit.to_owned(), name.to_owned()));
    text.lines().filter_map(line).filter(|(commit, _)| hinagata_packs::is_commit(commit)).collect()
}

/// Passes the files of the pack at `commit` to `sink`.
pub(crate) fn read_commit(location: &GitLocation, commit: &str, sink: &mut dyn PackSink) -> Result<()> {
    let private = private_repository()?;
    fetch_commit(private.path(), location, commit)?;
    let files = list_files(private.path(), location, commit)?;
    read_files(private.path(), location, &files, sink)
}

/// Fetches one commit. Where a server does not give out commits by their hashes, everything that branches and tags
/// reach is fetched.
fn fetch_commit(private: &Path, location: &GitLocation, commit: &str) -> Result<()> {
    let fetch = |arguments: &[&str]| {
        let git = remote_command(private, "fetch", location)?;
        let options =
            ["--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc", "--quiet"];
        let git = git.args(options).args(arguments);
        run_git(git, private, LIST_LIMIT).map_err(|message| git_error(location, &message))
    };
    let wanted = format!("{commit}:refs/hinagata/wanted");
    let alone = fetch(&["--depth=1", "--", &location.repository, &wanted]);
    if alone.is_err() {
        let all = ["--", &location.repository, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        let fetched = fetch(&all);
        // The first error says more where nothing at all can be fetched.
        if fetched.is_err() {
            return alone.map(drop);
        }
    }
    let git = local_command(private, "cat-file").args(["-t", commit]);
    match run_git(git, private, 64).map(|kind| kind.trim_ascii() == b"commit") {
        Ok(true) => Ok(()),
        Ok(false) => Err(git_error(location, &format!("{commit} is not a commit"))),
        Err(_) => {
            Err(git_error(location, &format!("it has no commit {commit}")).with_reason(Reason::Missing))
        }
    }
}

/// A file of a pack.
struct ListedFile {
    path: String,
    object: String,
    size: u64,
}

/// The files of the pack, which must be plain files.
fn list_files(private: &Path, location: &GitLocation, commit: &str) -> Result<Vec<ListedFile>> {
    let tree = match &location.path {
        Some(path) => format!("{commit}:{path}"),
        None => format!("{commit}^{{tree}}"),
    };
    let git = local_command(private, "ls-tree").args(["-r", "-z", "-l", "--full-tree", &tree]);
    let listed = run_git(git, private, LIST_LIMIT).map_err(|message| match &location.path {
        Some(path) if message.contains("Not a valid object") || message.contains("not a tree") => {
            git_error(location, &format!("it has no directory `{path}` at {commit}"))
                .with_reason(Reason::Missing)
        }
        _ => git_error(location, &message),
    })?;
    let mut files = Vec::new();
    for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        files.push(read_entry(location, entry)?);
        if files.len() > MOST_FILES {
            return Err(refused_error(Reason::Count, "", format!("it has more than {MOST_FILES} files")));
        }
    }
    Ok(files)
}

/// Reads a line `MODE TYPE OBJECT SIZE<tab>PATH`.
fn read_entry(location: &GitLocation, entry: &[u8]) -> Result<ListedFile> {
    let unreadable = || git_error(location, "the list of its files cannot be read");
    let tab = entry.iter().position(|byte| *byte == b'\t').ok_or_else(unreadable)?;
    let about = std::str::from_utf8(&entry[..tab]).map_err(|_| unreadable())?;
    let path = String::from_utf8(entry[tab + 1..].to_vec()).map_err(|error| {
        let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
        refused_error(Reason::Name, &shown, format!("the name `{}` is not valid UTF-8", shown.escape_debug()))
    })?;
    let words: Vec<&str> = about.split_whitespace().collect();
    let [mode, kind, object, size] = words.as_slice() else { return Err(unreadable()) };
    let shown = path.escape_debug();
    match (*mode, *kind) {
        ("100644" | "100755" | "100664", "blob") => {}
        ("120000", _) => return Err(refused_error(Reason::Link, &path, format!("`{shown}` is a link"))),
        ("160000", _) => {
            return Err(refused_error(Reason::Special, &path, format!("`{shown}` is a submodule")));
        }
        _ => {
            return Err(refused_error(
                Reason::Special,
                &path,
                format!("`{shown}` is neither a file nor a directory"),
            ));
        }
    }
    let size = size.parse().map_err(|_| unreadable())?;
    Ok(ListedFile { path, object: (*object).to_owned(), size })
}

/// Reads the files one after the other from `cat-file --batch`.
fn read_files(
    private: &Path,
    location: &GitLocation,
    files: &[ListedFile],
    sink: &mut dyn PackSink,
) -> Result<()> {
    let lost = |error: io::Error| git_error(location, &format!("its files cannot be read: {error}"));
    let mut running = local_command(private, "cat-file")
        .args(["--batch"])
        .spawn()
        .map_err(|message| git_error(location, &message))?;
    let (mut input, output) = running.streams().map_err(|message| git_error(location, &message))?;
    let mut output = BufReader::new(output);
    for file in files {
        writeln!(input, "{}", file.object).and_then(|()| input.flush()).map_err(lost)?;
        let mut header = String::new();
        output.by_ref().take(256).read_line(&mut header).map_err(lost)?;
        let size = header.trim_end().strip_prefix(&format!("{} blob ", file.object));
        if size.and_then(|size| size.parse().ok()) != Some(file.size) {
            return Err(git_error(location, &format!("`{}` cannot be read", file.path.escape_debug())));
        }
        let mut content = output.by_ref().take(file.size);
        sink.take_file(&file.path, &mut content)?;
        // A member that is left out was read to its end, too.
        let left = io::copy(&mut content, &mut io::sink()).map_err(lost)?;
        let mut end = [0];
        output.read_exact(&mut end).map_err(lost)?;
        if left != 0 || end != *b"\n" {
            return Err(git_error(location, &format!("`{}` cannot be read", file.path.escape_debug())));
        }
    }
    drop(input);
    running.finish().map_err(|message| git_error(location, &message))
}

/// A command that may reach the repository.
fn remote_command(private: &Path, name: &str, location: &GitLocation) -> Result<Git> {
    let git = Git::new(private, name).map_err(|message| git_error(location, &message))?;
    Ok(git.with_network(&location.repository))
}

/// A command that sees the private repository alone.
fn local_command(private: &Path, name: &str) -> Git {
    Git::without_network(private, name)
}

/// An empty repository: without templates, hooks and configuration of others.
fn private_repository() -> Result<TempDir> {
    let create = || -> io::Result<TempDir> {
        let private = tempfile::Builder::new().prefix("hinagata-fetch").tempdir()?;
        let path = private.path();
        fs::create_dir_all(path.join("objects/pack"))?;
        fs::create_dir(path.join("refs"))?;
        fs::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(path.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
        Ok(private)
    };
    create().map_err(|error| {
        Error::new(Code::Store, format!("cannot make a directory for git: {error}"))
            .with_hint("check that the directory for temporary files is writable")
    })
}

fn git_error(location: &GitLocation, what: &str) -> Error {
    Error::new(Code::Fetch, format!("the repository {} cannot be fetched: {what}", location.repository))
        .with("git", location.repository.as_str())
        .with_hint("check the address, and that `git` can read it without asking questions")
}

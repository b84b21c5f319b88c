//! Compresses the files of the page and writes their table, so that a build needs cargo alone.

use std::{
    env,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

/// What stands in `index.html` for the directory of all other files.
const BASE: &str = "/page/dev/";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=web");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let web = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("web");
    let mut names: Vec<String> = fs::read_dir(&web)
        .expect("the files of the page can be listed")
        .map(|entry| entry.expect("an entry can be read").file_name().into_string().expect("names are ASCII"))
        .collect();
    names.sort();
    let files: Vec<(String, Vec<u8>)> = names
        .into_iter()
        .map(|name| {
            let content = fs::read(web.join(&name)).expect("a file of the page can be read");
            (name, content)
        })
        .collect();
    let mut hasher = Sha256::new();
    for (name, content) in &files {
        hasher.update(name.as_bytes());
        hasher.update(content.len().to_le_bytes());
        hasher.update(content);
    }
    let mut hash = String::new();
    for byte in &hasher.finalize()[..8] {
        let _ = write!(hash, "{byte:02x}");
    }
    let mut table =
        format!("pub(crate) const HASH: &str = \"{hash}\";\npub(crate) const FILES: &[(&str, &[u8])] = &[\n");
    for (name, content) in &files {
        let content = match name == "index.html" {
            true => {
                let text = std::str::from_utf8(content).expect("index.html is UTF-8");
                assert!(text.contains(BASE), "index.html names its files beneath {BASE}");
                text.replace(BASE, &format!("/page/{hash}/")).into_bytes()
            }
            false => content.clone(),
        };
        let target = out.join(format!("{name}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&content).expect("memory can be written");
        fs::write(&target, encoder.finish().expect("memory can be written"))
            .expect("the output can be written");
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", target.display().to_string());
    }
    table.push_str("];\n");
    fs::write(out.join("table.rs"), table).expect("the output can be written");
}

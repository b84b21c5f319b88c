//! Writes OpenAI's vocabularies in the form that they are used in, so that nothing is parsed when a text is counted.

#[cfg(feature = "exact")]
#[path = "src/vocabulary.rs"]
#[expect(dead_code, reason = "the build script writes vocabularies and looks nothing up")]
mod vocabulary;

#[cfg(not(feature = "exact"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

#[cfg(feature = "exact")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/vocabulary.rs");
    write_vocabulary("o200k_base", &tiktoken_rs::o200k_base().expect("the crate holds it"));
    write_vocabulary("cl100k_base", &tiktoken_rs::cl100k_base().expect("the crate holds it"));
}

/// Writes the ordinary tokens, which have the ids from 0 without a gap; special tokens follow after one.
#[cfg(feature = "exact")]
fn write_vocabulary(name: &str, tokenizer: &tiktoken_rs::CoreBPE) {
    let tokens: Vec<Vec<u8>> = (0..).map_while(|id| tokenizer.decode_bytes(&[id]).ok()).collect();
    let directory = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let file = std::path::Path::new(&directory).join(format!("{name}.vocabulary"));
    std::fs::write(file, vocabulary::encode_tokens(&tokens)).expect("the directory of cargo can be written");
}

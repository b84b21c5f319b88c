//! `hina vocab`: the vocabulary.

use hinagata::Catalog;
use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Show the vocabulary, or what one word means
///
/// Words come from vocab.json and vocab.txt: your own first, then those of approved packs, then the built-in ones. A
/// word for a prompt refers to the prompt that a render uses: the first that its aliases lead to.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The namespace, such as prompt or tool
    #[arg(requires = "word")]
    namespace: Option<String>,

    /// The word
    word: Option<String>,
}

const EXAMPLES: &str = "Examples:
  hina vocab
  hina vocab tool readFile";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let catalog = workspace.open_catalog();
    workspace.warn_unread(&catalog);
    for found in catalog.vocabulary_problems() {
        workspace.print_warning(found);
    }
    match (&arguments.namespace, &arguments.word) {
        (Some(namespace), Some(word)) => print_word(&catalog, namespace, word, globals),
        _ => print_all(&catalog, globals),
    }
}

fn print_word(catalog: &Catalog, namespace: &str, word: &str, globals: &Globals) -> Result<(), Failure> {
    let Some(preferred) = catalog.preferred_word(namespace, word) else {
        let near = hinagata_value::near_names(word, catalog.vocabulary().words_in(namespace));
        return Err(Failure::not_found(format!("unknown word `{word}` in `{namespace}`"))
            .with_near(near)
            .with_hint("`hina vocab` lists the words there are"));
    };
    match Format::from_globals(globals) {
        Format::Json => {
            output::print_json(&json!({"namespace": namespace, "word": word, "preferred": preferred}))
        }
        Format::Text => output::print_text(&format!("{}\n", output::sanitize_text(&preferred))),
    }
}

fn print_all(catalog: &Catalog, globals: &Globals) -> Result<(), Failure> {
    let vocabulary = catalog.vocabulary();
    let mut all = Map::new();
    let mut rows = Vec::new();
    for namespace in vocabulary.namespaces() {
        let mut words = Map::new();
        for word in vocabulary.words_in(namespace) {
            let preferred = catalog.preferred_word(namespace, word);
            // A word that expands to itself is not printed.
            if preferred.as_deref() == Some(word) {
                continue;
            }
            rows.push(vec![
                namespace.to_owned(),
                word.to_owned(),
                preferred.clone().unwrap_or_else(|| "(cycle)".to_owned()),
            ]);
            words.insert(word.to_owned(), json!(preferred));
        }
        all.insert(namespace.to_owned(), Value::Object(words));
    }
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&all),
        Format::Text => output::print_text(&output::format_table(&["NAMESPACE", "WORD", "MEANS"], &rows)),
    }
}

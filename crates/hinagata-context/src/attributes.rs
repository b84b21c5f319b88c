//! `.gitattributes`: which files a repository calls generated or vendored.

use std::{io, path::Path, sync::Arc};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::{ignored::read_rules_file, kinds::LinguistMarks};

/// The name of files with attributes.
pub(crate) const ATTRIBUTES_FILE: &str = ".gitattributes";

/// The attributes of a directory and its parents.
#[derive(Debug)]
pub(crate) struct Attributes {
    generated: Gitignore,
    vendored: Gitignore,
    above: Option<Arc<Self>>,
}

impl Attributes {
    /// Adds the attributes in `directory` to those of its parents.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn enter_directory(
        directory: &Path,
        above: Option<&Arc<Self>>,
    ) -> io::Result<Option<Arc<Self>>> {
        let Some(text) = read_rules_file(&directory.join(ATTRIBUTES_FILE))? else {
            return Ok(above.cloned());
        };
        let generated = compile_attribute(directory, &text, "linguist-generated")?;
        let vendored = compile_attribute(directory, &text, "linguist-vendored")?;
        if generated.is_empty() && vendored.is_empty() {
            return Ok(above.cloned());
        }
        Ok(Some(Arc::new(Self { generated, vendored, above: above.cloned() })))
    }

    /// The attributes of the parents of `start`, from `top` on. Both paths have no links. An unreadable file has none.
    pub(crate) fn from_parents(top: &Path, start: &Path) -> Option<Arc<Self>> {
        let between: Vec<&Path> =
            start.ancestors().skip(1).take_while(|path| path.starts_with(top)).collect();
        let enter = |above: Option<Arc<Self>>, directory: &&Path| {
            Self::enter_directory(directory, above.as_ref()).unwrap_or(above)
        };
        between.iter().rev().fold(None, enter)
    }

    /// What the attributes say about the file at `path`.
    pub(crate) fn marks(&self, path: &Path) -> LinguistMarks {
        let mut marks = LinguistMarks::default();
        let mut next = Some(self);
        while let Some(here) = next {
            marks.generated = marks.generated.or_else(|| value(&here.generated, path));
            marks.vendored = marks.vendored.or_else(|| value(&here.vendored, path));
            next = here.above.as_deref();
        }
        marks
    }
}

fn value(rules: &Gitignore, path: &Path) -> Option<bool> {
    let inner = path.strip_prefix(rules.path()).ok()?;
    let found = rules.matched(inner, false);
    (!found.is_none()).then(|| found.is_ignore())
}

/// The patterns of one attribute as rules: a pattern that unsets it is negated, and the last one counts.
fn compile_attribute(directory: &Path, text: &str, attribute: &str) -> io::Result<Gitignore> {
    let mut rules = GitignoreBuilder::new(directory);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|word| !word.starts_with(['#', '!', '['])) else { continue };
        for word in words {
            let set = match word.trim_start_matches(['-', '!']).split_once('=') {
                Some((name, value)) if name == attribute => value != "false",
                None if word == attribute => true,
                None if word.strip_prefix(['-', '!']) == Some(attribute) => false,
                _ => continue,
            };
            // A pattern that git cannot read matches nothing.
            let _ = rules.add_line(None, &if set { pattern.to_owned() } else { format!("!{pattern}") });
        }
    }
    rules.build().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_and_its_last_line_count() {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(place.path().join("src")).expect("made");
        let top = "*.pb.go linguist-generated=true diff=go\nlibs/** linguist-vendored\nlibs/own.c -linguist-vendored\n";
        std::fs::write(place.path().join(ATTRIBUTES_FILE), top).expect("written");
        std::fs::write(place.path().join("src").join(ATTRIBUTES_FILE), "*.pb.go linguist-generated=false\n")
            .expect("written");
        let above = Attributes::enter_directory(place.path(), None).expect("reads").expect("has rules");
        let marks = |attributes: &Attributes, path: &str| attributes.marks(&place.path().join(path));
        assert_eq!(marks(&above, "a/x.pb.go").generated, Some(true));
        assert_eq!(marks(&above, "a/x.go").generated, None);
        assert_eq!(marks(&above, "libs/a/b.c").vendored, Some(true));
        assert_eq!(marks(&above, "libs/own.c").vendored, Some(false));
        let inner = Attributes::enter_directory(&place.path().join("src"), Some(&above)).expect("reads");
        assert_eq!(marks(&inner.expect("has rules"), "src/x.pb.go").generated, Some(false));
    }
}

//! Outlines of files.

mod ctags;
mod fixtures;
mod properties;

use hinagata_context::outline::{Outline, OutlinePart};

/// The numbers of the lines that an outline keeps.
///
/// # Panics
/// If its parts do not cover the text in order, or if a line is not the line of the text with that number.
fn kept_lines(outline: &Outline<'_>, text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut next = 1;
    let mut kept = Vec::new();
    for part in outline.parts() {
        match *part {
            OutlinePart::Lines { first, text } => {
                assert_eq!(first, next);
                for line in text.split_inclusive('\n') {
                    assert_eq!(line, lines[next - 1], "line {next}");
                    kept.push(next);
                    next += 1;
                }
            }
            OutlinePart::Fold { first, count, .. } => {
                assert_eq!(first, next);
                assert!(count > 0);
                next += count;
            }
        }
    }
    assert_eq!(next, lines.len() + 1, "the parts cover the text");
    assert_eq!(kept.len() + outline.folded_lines(), lines.len());
    kept
}

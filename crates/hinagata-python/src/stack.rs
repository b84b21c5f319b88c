//! Finds where Python was when it ended or hung, from what it printed last.
//!
//! A worker prints its stack as one marked line when it is asked to, or when it exits on purpose. The interpreter
//! prints a traceback listing when it crashes, or when it is busy in native code. Both are mixed with what the hook
//! printed, and a hook can forge them: a wrong line only misleads its own author.

use serde::Deserialize;

use crate::message::TraceFrame;

/// Starts a line that a worker writes about itself.
const MARK: char = '\u{1e}';
/// Maximum frames of a stack.
const MAX_FRAMES: usize = 32;

/// The JSON that a worker writes after [`MARK`].
#[derive(Deserialize)]
struct StackReport {
    stack: Vec<TraceFrame>,
}

/// Whether the worker has printed its stack.
pub(crate) fn is_complete(printed: &[u8]) -> bool {
    printed.contains(&(MARK as u8)) && printed.ends_with(b"\n")
}

/// Splits printed text into what the hook printed and the lines of `file` it was in, innermost last.
pub(crate) fn split_printed(printed: &str, file: &str) -> (String, Vec<TraceFrame>) {
    let (mut kept, mut reported, mut listed) = (String::new(), Vec::new(), Vec::new());
    let (mut in_listing, own) = (false, format!("File \"{}\", line ", escaped(file)));
    for line in printed.split_inclusive('\n') {
        if let Some(start) = line.find(MARK) {
            kept.push_str(&line[..start]);
            reported = serde_json::from_str::<StackReport>(&line[start + 1..])
                .map(|reported| reported.stack)
                .unwrap_or_default();
            continue;
        }
        let starts = is_header(line);
        in_listing = starts || in_listing && is_listing(line);
        if starts {
            listed.clear();
        }
        if in_listing {
            listed.extend(frame(line, &own));
        } else {
            kept.push_str(line);
        }
    }
    // The interpreter lists the innermost frame first.
    listed.reverse();
    let mut stack = if reported.is_empty() { listed } else { reported };
    stack.drain(..stack.len().saturating_sub(MAX_FRAMES));
    (kept, stack)
}

fn is_header(line: &str) -> bool {
    let of_stack = ["Stack (", "Current thread 0x", "Thread 0x"].iter().any(|start| line.starts_with(start));
    line.starts_with("Fatal Python error: ")
        || of_stack && line.trim_end().ends_with("(most recent call first):")
}

/// Whether a line continues the interpreter's listing.
fn is_listing(line: &str) -> bool {
    let known = [
        "  File ",
        "  ...",
        "  <",
        "  Binary file",
        "Python runtime state",
        "Extension modules:",
        "Current thread",
    ];
    line.trim().is_empty() || known.iter().any(|start| line.starts_with(start))
}

/// The frame named by a line of the listing, if it belongs to the file.
fn frame(line: &str, own: &str) -> Option<TraceFrame> {
    let (number, function) = line.trim().strip_prefix(own)?.split_once(" in ")?;
    Some(TraceFrame { line: number.parse().ok()?, column: None, function: function.to_owned() })
}

/// A file name as the interpreter writes it in a listing: ASCII only.
fn escaped(file: &str) -> String {
    let one = |char: char| match u32::from(char) {
        0x20..=0x7e => char.to_string(),
        code @ ..=0xff => format!("\\x{code:02x}"),
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    file.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(stack: &[TraceFrame]) -> Vec<(u32, &str)> {
        stack.iter().map(|frame| (frame.line, frame.function.as_str())).collect()
    }

    #[test]
    fn the_stack_line_is_separated_from_printed_text() {
        let printed = "hello\nhalf\u{1e}{\"stack\": [{\"line\": 3, \"function\": \"f\"}]}\nafter\n";
        let (kept, stack) = split_printed(printed, "p/prompt.py");
        assert_eq!(kept, "hello\nhalfafter\n");
        assert_eq!(lines(&stack), [(3, "f")]);
        assert!(is_complete(b"x\x1e{}\n") && !is_complete(b"x\x1e{") && !is_complete(b"x\n"));
    }

    #[test]
    fn a_traceback_listing_yields_the_lines_of_the_file() {
        let printed = "before\nFatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n  \
            File \"/usr/lib/python3.11/ctypes/__init__.py\", line 5 in string_at\n  \
            File \"p/\\u96db/prompt.py\", line 7 in inner\n  File \"p/\\u96db/prompt.py\", line 3 in pre_render\n  \
            File \"<hooks>\", line 200 in result\n\nExtension modules: _x (total: 1)\n";
        let (kept, stack) = split_printed(printed, "p/雛/prompt.py");
        assert_eq!(kept, "before\n");
        assert_eq!(lines(&stack), [(3, "pre_render"), (7, "inner")]);
        let (kept, stack) =
            split_printed("a\nStack (most recent call first):\n  File \"x.py\", line 9 in f\nb\n", "x.py");
        assert_eq!((kept.as_str(), lines(&stack)), ("a\nb\n", vec![(9, "f")]));
    }

    #[test]
    fn other_printed_text_is_kept() {
        for printed in ["", "  File \"x\", line 1 in y\n", "Thread 0x no\n", "a\n\nb"] {
            assert_eq!(split_printed(printed, "x").0, printed);
        }
        assert_eq!(split_printed("\u{1e}no json\n", "x").0, "");
    }
}

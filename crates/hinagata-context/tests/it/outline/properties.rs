//! Laws that outlines of any text obey.

use std::fs;

use hinagata_context::outline::{Language, OutlineKind, outline_source};
use proptest::{prelude::*, sample::select};

use super::{fixtures::fixtures, kept_lines};

/// What lexers look for, in any order.
const PIECES: &[&str] = &[
    "\n",
    "\n",
    "\n    ",
    "\r\n",
    "\t",
    " ",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "#",
    "#!",
    "#if 0\n",
    "#else\n",
    "#endif\n",
    "#define a \\\n",
    "=begin\n",
    "=end\n",
    "--[[",
    "]]",
    "--",
    "<!--",
    "<?php",
    "?>",
    "<<EOF",
    "<<-'A'\n",
    "<<~B\n",
    "<<<C\n",
    "EOF\n",
    "C;\n",
    "r#\"",
    "\"#",
    "R\"x(",
    ")x\"",
    "${",
    "#{",
    "\\(",
    "$(",
    "@\"",
    "$\"",
    "%w[",
    "?x",
    "$'",
    "<a>",
    "</a>",
    "<b/>",
    "<>",
    "</>",
    ";",
    ",",
    ":",
    "::",
    "=",
    "=>",
    "->",
    "|",
    "||",
    "!",
    "?",
    "@a",
    ".",
    "+",
    "-",
    "*",
    "&",
    "$",
    "%",
    "fn ",
    "def ",
    "function ",
    "func ",
    "class ",
    "struct ",
    "enum ",
    "impl ",
    "type ",
    "template<",
    "operator",
    "public:",
    "describe(",
    "if ",
    "else ",
    "end\n",
    "end ",
    "rescue\n",
    "import ",
    "return ",
    "a",
    "b1",
    "é",
    "⋯",
    "'a",
    "1'000",
    "0x1f",
    "__END__\n",
    "---\n",
    "- a\n",
    "a: |\n",
    "[a.b]\n",
    "# A\n",
    "```\n",
    "===\n",
];

fn any_text() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(select(PIECES), 0..120).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => pieces, 1 => any::<String>()]
}

/// A fixture of which a part is missing.
fn damaged_fixture() -> impl Strategy<Value = String> {
    let texts: Vec<String> =
        fixtures().iter().map(|path| fs::read_to_string(path).expect("is text")).collect();
    (select(texts), any::<prop::sample::Index>(), 0..400_usize).prop_map(|(text, start, len)| {
        let start = text.floor_char_boundary(start.index(text.len()));
        let end = text.ceil_char_boundary((start + len).min(text.len()));
        format!("{}{}", &text[..start], &text[end..])
    })
}

fn check_outlines(text: &str) {
    for language in Language::all() {
        let outline = outline_source(language, text);
        kept_lines(&outline, text);
        assert_eq!(outline.language(), Some(language));
        assert_ne!(outline.kind(), OutlineKind::Unknown);
    }
}

proptest! {
    #[test]
    fn outlines_of_any_text_consist_of_its_lines(text in any_text()) {
        check_outlines(&text);
    }

    #[test]
    fn outlines_of_damaged_programs_consist_of_their_lines(text in damaged_fixture()) {
        check_outlines(&text);
    }
}

/// Outlines a large text in every language. If the time grew with the square of the size, one of them would take minutes.
fn outline_in_every_language(text: &str) {
    for language in Language::all() {
        kept_lines(&outline_source(language, text), text);
    }
}

/// The same for repeated pieces.
fn outline_repeated(pieces: &[&str], bytes: usize) {
    for piece in pieces {
        outline_in_every_language(&piece.repeat(bytes / piece.len()));
    }
}

/// Enough to tell linear from quadratic time.
const LARGE: usize = 1 << 17;

#[test]
fn a_megabyte_of_one_sign_takes_linear_time() {
    outline_repeated(&["{", "\"", "\\"], 1 << 20);
}

#[test]
fn deep_nesting_takes_linear_time() {
    let around = |open: &str, inner: &str, close: &str| {
        format!("{}{}{}", open.repeat(LARGE), inner.repeat(LARGE), close.repeat(LARGE))
    };
    outline_in_every_language(&around("{\n", "", "\n}"));
    outline_in_every_language(&around("[", "\n", "]"));
    outline_in_every_language(&around("class A {\n", "", "}\n"));
    outline_in_every_language(&around("(function () {", "a;\n", "})"));
    outline_in_every_language(&around(" ", "a;", ""));
    outline_in_every_language(&around("<a>{", "", "}</a>"));
    outline_repeated(&["}", "(", "'", "\n", "({[", "a{", "fn a() {\n", "{}", "a(){},\n", "[{(\n\n"], LARGE);
}

#[test]
fn literals_take_linear_time() {
    outline_repeated(
        &["`", "\"\\", "\"a\"", "r#", "r\"", "R\"(", "%w", "${", "\"${", "\"#{", "$(", "@\"", "'a"],
        LARGE,
    );
    outline_repeated(
        &[
            "= /",
            "\\/\n",
            "=\\/\\\n",
            "\\\"\\\n",
            "#a \\\"\\\n",
            "/",
            "<<A ",
            "<<A\n",
            "<<<A\n",
            "<",
            "<a ",
            "<a>",
            "</",
            "<?",
            "?>",
        ],
        LARGE,
    );
    let hashes = "#".repeat(999);
    outline_in_every_language(&format!("r#{hashes}\"{}", format!("\"{hashes}").repeat(LARGE / 1000)));
}

#[test]
fn comments_and_lines_take_linear_time() {
    outline_repeated(
        &["/*", "*/", "//\n", "#\n", "# a\n\n", "--[[", "--[=", "=begin\n", "a;", "a\n", "@a ", "a<"],
        LARGE,
    );
    outline_repeated(
        &["#if a\n", "#if 0\n", "#else\n", "#a \\\n", "#a /*\n", "- ", "a:\n ", "[a.b]\n", "```\n", "a\n=\n"],
        LARGE,
    );
}

//! No input panics, and whatever is read becomes files with valid front matter.

use hinagata_exchange::{
    ExportOptions, Format, ImportOptions, SourceFiles, export_names, export_prompt, import_prompts,
};
use proptest::prelude::*;

/// Pieces that the languages and formats give a meaning to.
const PIECES: [&str; 64] = [
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{",
    "}",
    "{%",
    "%}",
    "{#",
    "#}",
    "#if ",
    "/if",
    "else",
    "^",
    "#each ",
    "/each",
    ">p",
    "#>p",
    "#*inline \"p\"",
    "/inline",
    "~",
    "!",
    "--",
    "..",
    "../",
    "@index",
    "@root.a",
    "this",
    "a",
    "b.c",
    "[x y]",
    "as |x i|",
    "(",
    ")",
    "=",
    "\"",
    "'",
    "\\",
    "\n",
    "\r\n",
    " ",
    "---\n",
    "name: x\n",
    "input:\n  schema:\n    a?: string\n",
    "role \"user\"",
    "history",
    "user:\n",
    "system:\n",
    "$a",
    "${input:x}",
    "$ARGUMENTS[1]",
    "!`ls`",
    "@a.md",
    "!{x}",
    "{{args}}",
    "__INPUT__",
    "### INPUT:\n",
    "<message role=\"user\">",
    "</message>",
    "=<% %>=",
    "<%",
    "é🎈",
    "template: ",
    "- ",
];

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_panics_in_any_format(text in any_text(), partial in any_text()) {
        let files = SourceFiles::from_iter([
            ("x/main", text.as_str()),
            ("x/_p.prompt", partial.as_str()),
            ("x/p.mustache", partial.as_str()),
            ("x/user.md", partial.as_str()),
        ]);
        for &format in Format::ALL {
            let options = ImportOptions { format: Some(format), ..ImportOptions::default() };
            for imported in import_prompts(&files, "x/main", &options).into_iter().flatten() {
                prop_assert!(!imported.prompt.to_files().is_empty());
                let targets = export_names();
                let target = Format::from_name(targets[text.len() % targets.len()]);
                let target = target.expect("is a format");
                let _ = export_prompt(&imported.prompt, &|_| None, &ExportOptions::new(target));
            }
        }
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, format) in
        [("{{#if a}}", Format::Dotprompt), ("{{#a}}", Format::Mustache), ("{{(", Format::Dotprompt)]
    {
        let text = open.repeat(100_000);
        let files = SourceFiles::from_iter([("main", text.as_str())]);
        let options = ImportOptions { format: Some(format), ..ImportOptions::default() };
        import_prompts(&files, "main", &options).expect_err("is nested too deeply");
    }
}

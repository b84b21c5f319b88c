//! Any text as a file of every foreign format: it is read or refused, what is read is written as a definition and in
//! every format, and nothing is read but the files of the input.
#![no_main]

use hinagata_exchange::{
    ChatTemplate, ExportOptions, Format, ImportOptions, SourceFiles, detect_format, export_names,
    export_prompt, import_prompts,
};
use libfuzzer_sys::fuzz_target;

/// The longest input that is read.
const LONGEST: usize = 4 << 10;

fuzz_target!(|bytes: &[u8]| {
    let _ = ChatTemplate::from_gguf("m.gguf", bytes, None, false);
    // The first byte chooses the format, so that each is reached.
    let Some((choice, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if text.len() > LONGEST {
        return;
    }
    let (main, partial) = text.split_once('\0').unwrap_or((text, ""));
    let files = SourceFiles::from_iter([
        ("x/main.prompt", main),
        ("x/_p.prompt", partial),
        ("x/p.mustache", partial),
        ("x/user.md", partial),
    ]);
    let _ = detect_format(&files, "x/main.prompt");
    let format = Format::ALL[usize::from(*choice) % Format::ALL.len()];
    let options = ImportOptions { format: Some(format), is_plain: text.len() % 2 == 0 };
    for imported in import_prompts(&files, "x/main.prompt", &options).into_iter().flatten() {
        assert!(!imported.prompt.to_files().is_empty());
        for target in export_names().into_iter().filter_map(Format::from_name) {
            let _ = export_prompt(&imported.prompt, &|_| None, &ExportOptions::new(target));
        }
    }
});

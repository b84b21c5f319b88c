//! Budgets: what is chosen, what is lowered, and what the whole text counts.

use hinagata_context::{ContextOptions, Detail, Error, LeftOutReason, Sections, TextForm, Tokens, pack};

use crate::support::{left_out, options, pairs, states, taken, tree};

fn at_most(tokens: usize) -> Tokens {
    Tokens { max: Some(tokens), ..Tokens::default() }
}

#[test]
fn the_budget_in_tokens_says_what_did_not_fit() {
    let place = tree(&[("a.md", &"a ".repeat(200)), ("b.md", &"b ".repeat(2000)), ("c.md", "c")]);
    let options = ContextOptions { tokens: at_most(300), ..options(&place, &["*.md"]) };
    let packed = pack(&options).expect("packs");
    let paths: Vec<_> = packed.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.md", "c.md"]);
    let report = &packed.report;
    assert!(report.total_tokens.is_some_and(|total| total > 100 && total <= 300), "{report:?}");
    let lowered = report.entries.iter().find(|entry| entry.path == "b.md").expect("is reported");
    assert_eq!(lowered.state.as_str(), "named");
    assert!(matches!(lowered.detail, Some(Detail::Tokens { .. })), "{lowered:?}");
    assert!(
        packed.text.ends_with("// Not shown:\n// b.md\n\n// Missing: 1 file (1 named)"),
        "{}",
        packed.text
    );
}

#[test]
fn focus_and_priorities_decide_on_what_fits_and_not_on_the_order_of_the_text() {
    let place = tree(&[("a.md", "aaaa"), ("src/b.rs", "bbbb"), ("src/auth/c.rs", "cccc"), ("z.rs", "zzzz")]);
    let options = ContextOptions {
        focus: vec!["z.rs".into()],
        priorities: vec![("src/auth/**".into(), 1.0)],
        max_bytes: Some(8),
        tokens: Tokens { max: None, ..Tokens::default() },
        ..options(&place, &["**/*"])
    };
    assert_eq!(taken(&options), ["src/auth/c.rs", "z.rs"]);
    let expected = [("a.md", "named"), ("src/auth/c.rs", "taken"), ("src/b.rs", "named"), ("z.rs", "taken")];
    assert_eq!(states(&options), expected.map(|(path, state)| (path.to_owned(), state)));
}

#[test]
fn a_limit_of_files_counts_files_of_the_project() {
    let place = tree(&[("a.rs", "a"), ("b.rs", "b"), ("c.md", "c")]);
    let options = ContextOptions { max_files: Some(1), ..options(&place, &[]) };
    assert_eq!(taken(&options), ["a.rs"]);
    let compat = ContextOptions { compat: true, ..options };
    assert_eq!(left_out(&compat), pairs(&[("b.rs", LeftOutReason::Budget), ("c.md", LeftOutReason::Budget)]));
}

#[test]
fn a_requested_file_that_does_not_fit_is_cut_and_keeps_its_ends() {
    let long: String = (1..=400).map(|number| format!("item number {number}\n")).collect();
    let place = tree(&[("LICENSE", "free"), ("long.txt", &long)]);
    let options =
        ContextOptions { focus: vec!["long.txt".into()], tokens: at_most(400), ..options(&place, &[]) };
    let packed = pack(&options).expect("packs");
    let cut = packed.files.iter().find(|file| file.path == "long.txt").expect("is in");
    assert!(cut.content.starts_with("item number 1\n") && cut.content.contains("⋯ "), "{}", cut.content);
    assert!(cut.content.ends_with("item number 400\n"), "{}", cut.content);
    assert!(
        packed.report.total_tokens.is_some_and(|total| total <= 400 && total > 250),
        "{:?}",
        packed.report
    );
    assert!(packed.text.contains("// File: long.txt (cut)\n"), "{}", packed.text);
    assert!(
        packed.report.notices.iter().any(|notice| notice.about == "long.txt"),
        "{:?}",
        packed.report.notices
    );
}

#[test]
fn the_whole_text_is_counted_and_never_passes_the_budget() {
    let files: Vec<(String, String)> = (0..200)
        .map(|number| (format!("d{}/f{number}.rs", number % 7), format!("fn f{number}() {{}}\n")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = tree(&files);
    let sections = Sections { header: Some("Read this first.".into()), ..Sections::default() };
    for frame in hinagata_context::Frame::ALL {
        for limit in [200, 777, 1500, 6000] {
            let options = ContextOptions {
                frame,
                tokens: at_most(limit),
                sections: sections.clone(),
                ..options(&place, &[])
            };
            let packed = pack(&options).expect("packs");
            let total = packed.report.total_tokens.expect("is counted");
            assert!(total <= limit, "{frame:?} {limit}: {total}");
            assert!(limit != 777 || total > limit / 2, "{frame:?} {limit}: {total} is little");
            assert_eq!(packed.report.entries.len(), 200);
            let again = pack(&options).expect("packs");
            assert_eq!(again.text, packed.text, "the same every time");
        }
    }
}

#[test]
fn a_larger_budget_never_lowers_the_first_file_that_differs() {
    let files: Vec<(String, String)> =
        (0..40).map(|number| (format!("f{number:02}.txt"), "word ".repeat(number * 37 % 200 + 1))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = tree(&files);
    let chosen = |limit| states(&ContextOptions { tokens: at_most(limit), ..options(&place, &[]) });
    let mut before = chosen(100);
    for limit in (200..4000).step_by(100) {
        let now = chosen(limit);
        let differs = before.iter().zip(&now).find(|(one, other)| one.1 != other.1);
        if let Some((smaller, larger)) = differs {
            let rung = |state: &str| ["budget", "named", "taken"].iter().position(|word| *word == state);
            assert!(rung(larger.1) > rung(smaller.1), "{limit}: {smaller:?} {larger:?}");
        }
        before = now;
    }
}

#[test]
fn a_program_that_does_not_fit_is_outlined_then_named() {
    let body = "    let oil = hours * 7;\n".repeat(60);
    let long = format!("/// Burns oil.\nfn burn(hours: u32) -> u32 {{\n{body}    oil\n}}\n");
    let place = tree(&[("a.rs", "fn a() {}\n"), ("burn.rs", &long)]);
    let packing = |limit| ContextOptions { tokens: at_most(limit), ..options(&place, &[]) };
    let state = |limit| states(&packing(limit))[1].1;
    assert_eq!([state(4000), state(300), state(55)], ["taken", "outlined", "named"]);
    let packed = pack(&packing(300)).expect("packs");
    let expected =
        "// File: burn.rs (outlined)\n/// Burns oil.\nfn burn(hours: u32) -> u32 {\n    ⋯ 61 lines\n}\n";
    assert!(packed.text.contains(expected), "{}", packed.text);
    // A requested file is outlined too, before it is cut.
    let focused = ContextOptions { focus: vec!["burn.rs".into()], ..packing(300) };
    assert_eq!(states(&focused)[1].1, "outlined");
    let notices = pack(&focused).expect("packs").report.notices;
    assert!(notices.iter().any(|notice| notice.about == "burn.rs"), "{notices:?}");
}

#[test]
fn compressed_texts_are_outlines_with_the_numbers_of_the_file() {
    let text = "fn a() {\n    one();\n    two();\n    three();\n}\n\nfn b() {}\n";
    let place = tree(&[("a.rs", text), ("notes.txt", "one\ntwo\n")]);
    let form =
        TextForm { compress: true, line_numbers: true, remove_empty_lines: true, ..TextForm::default() };
    let packed = pack(&ContextOptions { form, ..options(&place, &[]) }).expect("packs");
    assert_eq!(packed.files[0].content, "1: fn a() {\n       ⋯ 3 lines\n5: }\n7: fn b() {}\n");
    assert_eq!(packed.files[1].content, "1: one\n2: two\n", "there is no outline of prose");
    let unclosed = "fn a() {\n".to_owned() + &"    one(\n".repeat(60);
    let place = tree(&[("a.rs", &unclosed)]);
    let form = TextForm { compress: true, ..TextForm::default() };
    let options = ContextOptions { form, ..options(&place, &[]) };
    assert_eq!(states(&options), [("a.rs".to_owned(), "cut")]);
    assert!(pack(&options).expect("packs").text.contains("does not close"));
}

#[test]
fn an_estimate_leaves_room_for_its_error() {
    let files: Vec<(String, String)> =
        (0..60).map(|number| (format!("{number}.md"), "some words ".repeat(30))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = tree(&files);
    let tokens = Tokens { model: Some("claude-opus-4-5".into()), ..at_most(2000) };
    let report = pack(&ContextOptions { tokens, ..options(&place, &[]) }).expect("packs").report;
    let (total, error) = (report.total_tokens.expect("is counted"), report.tokens_error_percent);
    let error = usize::from(error.expect("is an estimate"));
    assert!(total + total * error / 100 <= 2000 && total > 1000, "{total} ± {error} %");
    // Without a limit, the same is counted on the way.
    let tokens = Tokens { max: None, count: true, ..Tokens::default() };
    let options = ContextOptions { tokens, ..options(&place, &[]) };
    let packed = pack(&options).expect("packs");
    let streamed = hinagata_context::Packer::new(&options).write_to(&mut Vec::new()).expect("packs");
    let limited = ContextOptions { tokens: at_most(1 << 20), ..options };
    assert_eq!(packed.report.total_tokens, pack(&limited).expect("packs").report.total_tokens);
    assert_eq!(packed.report.total_tokens, streamed.total_tokens);
}

#[test]
fn all_or_nothing_fails_with_what_is_needed() {
    let place = tree(&[("a.md", &"a ".repeat(500)), ("b.md", "b")]);
    let strict = |max| Tokens { max: Some(max), all_or_nothing: true, ..Tokens::default() };
    let options = |max| ContextOptions { tokens: strict(max), ..options(&place, &[]) };
    let needed = match pack(&options(100)) {
        Err(Error::Budget { needed, allowed: 100 }) => needed,
        other => panic!("{other:?}"),
    };
    let total = pack(&options(needed)).expect("fits").report.total_tokens;
    assert!(total.is_some_and(|total| total <= needed), "{total:?} of {needed}");
    assert!(pack(&options(needed - 1)).is_err());
}

#[test]
fn a_huge_file_that_is_requested_is_cut_without_being_read() {
    let place = tree(&[("a.md", "a")]);
    let file = std::fs::File::create(place.path().join("huge.log")).expect("made");
    std::io::Write::write_all(&mut &file, "a line of a log\n".repeat(1 << 20).as_bytes()).expect("written");
    file.set_len(20 << 30).expect("grown");
    let options =
        ContextOptions { focus: vec!["huge.log".into()], tokens: at_most(1000), ..options(&place, &[]) };
    let packed = pack(&options).expect("packs");
    let cut = packed.files.iter().find(|file| file.path == "huge.log").expect("is in");
    assert!(
        cut.content.starts_with("a line of a log\n") && cut.content.contains("⋯ 214748"),
        "{}",
        cut.content
    );
    assert!(
        packed.report.total_tokens.is_some_and(|total| total <= 1000 && total > 600),
        "{:?}",
        packed.report
    );
}

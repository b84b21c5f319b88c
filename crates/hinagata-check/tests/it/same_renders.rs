//! Formatting and safe fixes leave every render equal to the byte: the recorded templates that print, before and after.

use hinagata_check::{CheckOptions, Fix, Language, apply_fixes, check_text, find_fix};
use hinagata_template::{NoSources, Options, Render, Template, format_source};
use hinagata_value::Limits;
use serde_json::Value;

use crate::vectors::cases;

/// The templates of one source that print with the options of the product, each with its data.
fn printing(kind: &str, language: Language) -> Vec<(String, Value)> {
    let of_case = |case: Value| {
        let text = match language {
            Language::Jinja => {
                let templates = case["templates"].as_object()?;
                let (_, text) = templates.iter().next().filter(|_| templates.len() == 1)?;
                text.as_str()?.to_owned()
            }
            Language::Go => case["template"].as_str()?.to_owned(),
        };
        render(language, &text, &case["data"]).ok()?;
        Some((text, case["data"].clone()))
    };
    cases(kind).into_iter().filter_map(of_case).collect()
}

fn render(language: Language, text: &str, data: &Value) -> Result<String, String> {
    let (options, limits) = (Options::default(), Limits::default());
    let template =
        Template::compile(language, "main", text, &options, &limits).map_err(|error| error.to_string())?;
    let rendered = Render::new().render_text(&template, data);
    rendered.map_err(|error| error.to_string())
}

/// The same with as little space in its tags as possible.
fn squeeze(text: &str) -> String {
    [("{{ ", "{{"), (" }}", "}}"), ("{% ", "{%"), (" %}", "%}"), (" | ", "|"), (", ", ",")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// A comment that silences what does not occur.
fn silence(language: Language) -> &'static str {
    match language {
        Language::Jinja => "{# hina: allow(name.filter) #}",
        Language::Go => "{{/* hina: allow(name.filter) */}}",
    }
}

fn fix_safely(language: Language, text: &str) -> (String, usize) {
    let findings = check_text("main", text, language, &NoSources, &CheckOptions::default());
    let fixes = findings.iter().filter_map(|finding| find_fix(finding, text));
    let safe: Vec<Fix> = fixes.filter(|fix| fix.is_safe).collect();
    apply_fixes(text, &safe)
}

#[test]
fn formatted_templates_print_the_same() {
    for (kind, language) in [("jinja", Language::Jinja), ("gotemplate", Language::Go)] {
        let (mut changed, mut wrong) = (0, Vec::new());
        let all = printing(kind, language);
        for (text, data) in &all {
            for written in [text.clone(), squeeze(text)] {
                let Ok(before) = render(language, &written, data) else { continue };
                let formatted = format_source(language, &written, &Options::default());
                changed += usize::from(formatted != written);
                if render(language, &formatted, data).as_ref() != Ok(&before) {
                    wrong.push(format!("{written:?} -> {formatted:?}"));
                }
            }
        }
        println!("{kind}: {} templates, {changed} texts changed", all.len());
        assert!(changed > 500, "{kind}: {} templates, {changed} texts changed", all.len());
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn safe_fixes_keep_renders() {
    for (kind, language) in [("jinja", Language::Jinja), ("gotemplate", Language::Go)] {
        let (mut fixed, mut wrong) = (0, Vec::new());
        for (text, data) in printing(kind, language) {
            let mark = silence(language);
            for silenced in
                [format!("{mark}{text}"), format!("{text}{mark}"), format!("{mark}\n{text}\n{mark}")]
            {
                let Ok(before) = render(language, &silenced, &data) else { continue };
                let (after, count) = fix_safely(language, &silenced);
                fixed += count;
                if render(language, &after, &data).as_ref() != Ok(&before) {
                    wrong.push(format!("{silenced:?} -> {after:?}"));
                }
            }
        }
        println!("{kind}: {fixed} fixes");
        assert!(fixed > 1_000, "{kind}: {fixed} fixes");
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

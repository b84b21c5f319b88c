//! Plain Jinja in place of exact translations: easier to go on with, and not the same for every value.

use hinagata_document::LineColumn;

use crate::ImportedPrompt;
use crate::language::jinja::{Piece, split_pieces};
use crate::prompt::{PortableBody, PortableMessage, PortablePart};
use crate::report::{Loss, LossCode};

/// What is left out, what differs then, and how that is told.
const RULES: [(&str, LossCode); 5] = [
    ("|js", LossCode::Print),
    ("|html(\"mustache\")", LossCode::Escape),
    ("|html(\"chevron\")", LossCode::Escape),
    ("|each", LossCode::Truth),
    (" is mapping", LossCode::Truth),
];

/// Removes the filters of exact translations, and reports each kind once.
pub(crate) fn simplify(imported: &mut ImportedPrompt) {
    let mut counts = [0_usize; RULES.len()];
    let mut change = |text: &mut String| *text = simplified(text, &mut counts);
    match &mut imported.prompt.body {
        PortableBody::Text(text) => change(text),
        PortableBody::Messages(messages) => {
            for message in messages {
                let PortableMessage::Message { parts, .. } = message else { continue };
                parts.iter_mut().for_each(|part| match part {
                    PortablePart::Text(text) | PortablePart::Media(text) => change(text),
                });
            }
        }
    }
    imported.prompt.partials.iter_mut().for_each(|(_, text)| change(text));
    for code in [LossCode::Print, LossCode::Escape, LossCode::Truth] {
        let count: usize =
            RULES.iter().zip(counts).filter(|((_, own), _)| *own == code).map(|(_, n)| n).sum();
        let what = match code {
            LossCode::Print => "values print as Python prints them",
            LossCode::Escape => "values are not escaped for HTML",
            _ => "other values count as true",
        };
        if count > 0 {
            imported.report.push(Loss {
                code,
                file: imported.prompt.from.clone(),
                at: LineColumn { line: 1, column: 1 },
                excerpt: String::new(),
                what: format!("{what}, in {count} places"),
                instead: "an import without `--plain` is exact".to_owned(),
            });
        }
    }
}

fn simplified(source: &str, counts: &mut [usize; RULES.len()]) -> String {
    let mut text = String::with_capacity(source.len());
    for piece in split_pieces(source) {
        match piece {
            Piece::Tag(tag) if !tag.starts_with("{#") => text.push_str(&simplified_tag(tag, counts)),
            Piece::Tag(other) | Piece::Text(other) => text.push_str(other),
        }
    }
    text
}

fn simplified_tag(tag: &str, counts: &mut [usize; RULES.len()]) -> String {
    let mut written = String::with_capacity(tag.len());
    let (mut rest, mut quoted) = (tag, false);
    while let Some(first) = rest.chars().next() {
        let rule = RULES.iter().position(|(word, _)| {
            let after = rest.strip_prefix(word).map(|rest| rest.chars().next());
            after.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric() && next != '_'))
        });
        match rule.filter(|_| !quoted) {
            Some(rule) => {
                counts[rule] += 1;
                rest = &rest[RULES[rule].0.len()..];
                if RULES[rule].1 == LossCode::Truth && RULES[rule].0.starts_with(' ') {
                    // `x or x is mapping` is `x`.
                    let start = written.rfind(" or ").unwrap_or(written.len());
                    written.truncate(start);
                }
            }
            None => {
                if first == '"' && !written.ends_with('\\') {
                    quoted = !quoted;
                }
                written.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use crate::{ImportOptions, PortableBody, SourceFiles, import_prompts};

    #[test]
    fn plain_jinja_reads_like_jinja_and_tells_what_differs() {
        let files = SourceFiles::from_iter([(
            "x.prompt",
            "{{#each items}}{{#if ok}}{{name}} |js{{/if}}{{/each}}{{#unless x.y}}-{{/unless}}",
        )]);
        let options = ImportOptions { is_plain: true, ..ImportOptions::default() };
        let imported = import_prompts(&files, "x.prompt", &options).expect("imports").remove(0);
        let PortableBody::Text(text) = &imported.prompt.body else { panic!("is a text") };
        assert_eq!(
            text,
            "{% for item in items %}{% if item.ok %}{{ item.name }} |js{% endif %}{% endfor %}{% if not (x.y) %}-{% endif %}"
        );
        assert_eq!(imported.report.codes(), ["print", "truth"]);
        let exact = import_prompts(&files, "x.prompt", &ImportOptions::default()).expect("imports").remove(0);
        assert!(exact.report.codes().is_empty());
    }
}

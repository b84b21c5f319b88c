//! Templates with mistakes, read by the parsers of the languages: a tag that they refuse is set aside, and everything else
//! keeps its place. An editor shows mostly such texts.

use std::sync::Arc;

use hinagata_gotemplate::{Set, syntax};
use hinagata_jinja::{Source, analyze_template, ast};
use hinagata_template::{Analysis, Language, Options};
use hinagata_value::{Budget, Error, Limits};

/// The most tags that are set aside.
const MOST: usize = 40;

/// A template in which no tag is broken any more.
#[derive(Clone, Debug)]
pub struct TolerantSource {
    /// The tree; `None` if no reading was possible.
    pub parsed: Option<Parsed>,
    /// What it reads, uses and defines.
    pub analysis: Analysis,
    /// The tags that were set aside, in the order in which they were found.
    pub broken: Vec<BrokenTag>,
}

/// The tree of a template.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// Of Jinja.
    Jinja(ast::Template),
    /// Of Go.
    Go(Vec<syntax::Define>),
}

/// A tag that the parser refuses.
#[derive(Clone, Debug)]
pub struct BrokenTag {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// What the parser says, in one sentence.
    pub message: String,
    /// What the parser says, with its place.
    pub error: Arc<Error>,
}

/// Reads `text`, the template `name`. Tags that the parser refuses are read as white space, and blocks that stay open end
/// with the text.
#[must_use]
pub fn parse_tolerant(
    language: Language,
    name: &str,
    text: &str,
    options: &Options,
    limits: &Limits,
) -> TolerantSource {
    let parse_once = |text: &str| parse_once(language, name, text, options, limits);
    let mut reading = text.to_owned();
    let mut broken: Vec<BrokenTag> = Vec::new();
    let mut closed = false;
    for _ in 0..MOST {
        let error = match parse_once(&reading) {
            Ok((parsed, analysis)) => return TolerantSource { parsed: Some(parsed), analysis, broken },
            Err(error) => error,
        };
        let at = error_offset(&reading, &error);
        let is_at_end = at.is_none_or(|at| at >= text.trim_end().len());
        if !closed && (is_at_end || is_about_open_blocks(&error)) {
            let closing = closing_tags(language, &reading);
            if !closing.is_empty() {
                closed = true;
                reading.push_str(&closing);
                continue;
            }
        }
        let line = error.place().map_or(1, |place| place.line);
        let parses = |text: &str| parse_once(text).map(drop);
        let Some((start, end)) = tag_to_remove(language, &reading[..text.len()], at, line, &parses) else {
            break;
        };
        blank_out(&mut reading, start, end);
        broken.push(BrokenTag { start, end, message: go_message(error.message()), error: error.into() });
        if closed {
            reading.truncate(text.len());
            closed = false;
        }
    }
    TolerantSource { parsed: None, analysis: Analysis::default(), broken }
}

fn parse_once(
    language: Language,
    name: &str,
    text: &str,
    options: &Options,
    limits: &Limits,
) -> hinagata_value::Result<(Parsed, Analysis)> {
    match language {
        Language::Jinja => {
            let tree = hinagata_jinja::parse(name, text, &options.jinja, &Budget::new(limits.clone()))?;
            let analysis = analyze_template(&tree, &Source::new(name, text));
            Ok((Parsed::Jinja(tree), analysis))
        }
        Language::Go => {
            let mut set = Set::with_names(options.go.clone(), options.function_names());
            set.parse(name, text, &Budget::new(limits.clone()))?;
            let analysis = set.analyze_template(name).unwrap_or_default();
            Ok((Parsed::Go(set.syntax()), analysis))
        }
    }
}

/// The byte that an error is about.
fn error_offset(text: &str, error: &Error) -> Option<usize> {
    let place = error.place()?;
    if let Some((start, _)) = place.span {
        return Some((start as usize).min(text.len()));
    }
    let column = place.column.checked_sub(1)?;
    let start = line_start(text, place.line);
    let line = text[start..].split('\n').next().unwrap_or_default();
    Some(start + line.char_indices().nth(column as usize).map_or(line.len(), |(at, _)| at))
}

fn line_start(text: &str, line: u32) -> usize {
    text.split_inclusive('\n').take(line.max(1) as usize - 1).map(str::len).sum()
}

fn is_about_open_blocks(error: &Error) -> bool {
    let message = error.message();
    message.contains("unexpected EOF") || message.contains("the template ends")
}

/// The tags of a text: where each opens, and where it ends if it is closed before the next one opens.
pub(crate) fn find_tags(text: &str) -> Vec<(usize, usize, bool)> {
    let bytes = text.as_bytes();
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = find_opener(text, at) {
        let closer = match bytes.get(found + 1) {
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => "}}",
        };
        let next = find_opener(text, found + 2).unwrap_or(text.len());
        let end = text[found + 2..].find(closer).map(|end| found + 2 + end + 2);
        match end {
            // A comment may contain what looks like a tag, and a string a brace.
            Some(end) if end <= next || closer == "#}" || has_open_quote(&text[found + 2..next]) => {
                tags.push((found, end, true));
                at = end;
            }
            _ => {
                let line_end = text[found..].find('\n').map_or(text.len(), |end| found + end);
                tags.push((found, line_end.min(next), false));
                at = line_end.min(next).max(found + 2);
            }
        }
    }
    tags
}

fn find_opener(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let starts = rest.match_indices('{').map(|(at, _)| from + at);
    let mut starts = starts.filter(|at| matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')));
    starts.next()
}

fn has_open_quote(text: &str) -> bool {
    let mut open = None;
    for character in text.chars() {
        match open {
            Some(quote) if quote == character => open = None,
            None if matches!(character, '"' | '\'') => open = Some(character),
            _ => {}
        }
    }
    open.is_some()
}

/// The tag that an error is about.
fn tag_to_remove(
    language: Language,
    text: &str,
    at: Option<usize>,
    line: u32,
    parses: &dyn Fn(&str) -> hinagata_value::Result<()>,
) -> Option<(usize, usize)> {
    let tags = find_tags(text);
    let range = |tag: &(usize, usize, bool)| (tag.0, tag.1);
    if let Some(at) = at.filter(|_| language == Language::Jinja) {
        let before = |tag: &&(usize, usize, bool)| tag.0 <= at;
        let found = tags.iter().rfind(before)?;
        // What opens inside of a tag ends it.
        if found.0 == at
            && let Some(open) = tags.iter().rfind(|tag| tag.0 < at && !tag.2)
        {
            return Some(range(open));
        }
        return Some(range(found));
    }
    // Go tells the line alone. The tag is the one without which the error is not there any more.
    let start = line_start(text, line);
    let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
    let near: Vec<_> = tags.iter().filter(|tag| tag.0 <= end && tag.1 >= start).collect();
    // Actions may go on over several lines, so one that is not closed may have started before.
    if let Some(open) = tags.iter().rfind(|tag| tag.0 <= end && !tag.2) {
        return Some(range(open));
    }
    let is_better = |tag: &&&(usize, usize, bool)| {
        let mut without = text.to_owned();
        blank_out(&mut without, tag.0, tag.1);
        match parses(&without) {
            Ok(()) => true,
            Err(error) => error.place().map_or(0, |place| place.line) > line,
        }
    };
    near.iter()
        .find(is_better)
        .or(near.last())
        .map(|tag| range(tag))
        .or_else(|| tags.iter().rfind(|tag| tag.0 <= end).map(range))
}

/// Replaces bytes by spaces, but for ends of lines.
fn blank_out(text: &mut String, start: usize, end: usize) {
    let blank: String = text[start..end]
        .chars()
        .flat_map(|character| match character {
            '\n' => vec!['\n'],
            other => vec![' '; other.len_utf8()],
        })
        .collect();
    text.replace_range(start..end, &blank);
}

/// The tags that close what a text leaves open.
fn closing_tags(language: Language, text: &str) -> String {
    const BLOCKS: [&str; 11] = [
        "if",
        "for",
        "block",
        "macro",
        "call",
        "filter",
        "with",
        "autoescape",
        "generation",
        "message",
        "set",
    ];
    let mut open: Vec<&str> = Vec::new();
    for (start, end, _) in find_tags(text) {
        let tag = &text[start..end];
        let inner = tag.get(2..).unwrap_or_default().trim_start_matches(['-', '+']).trim_start();
        let word: &str = inner.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        match language {
            Language::Jinja if tag.starts_with("{%") => {
                if let Some(name) = word.strip_prefix("end") {
                    if let Some(at) = open.iter().rposition(|known| *known == name) {
                        open.truncate(at);
                    }
                } else if BLOCKS.contains(&word) && (word != "set" || !inner.contains('=')) {
                    open.push(word);
                }
            }
            Language::Go if tag.starts_with("{{") => match word {
                "if" | "range" | "with" | "block" | "define" => open.push(word),
                "end" => drop(open.pop()),
                _ => {}
            },
            _ => {}
        }
    }
    open.iter()
        .rev()
        .map(|word| match language {
            Language::Jinja => format!("{{% end{word} %}}"),
            Language::Go => "{{end}}".to_owned(),
        })
        .collect()
}

/// The message without what Go puts before it.
pub(crate) fn go_message(message: &str) -> String {
    let Some(rest) = message.strip_prefix("template: ") else { return message.to_owned() };
    match rest.split_once(">: ") {
        Some((_, inner)) => inner.to_owned(),
        None => rest.splitn(3, ':').last().unwrap_or(rest).trim_start().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, text: &str) -> (Vec<String>, Vec<String>) {
        let source = parse_tolerant(language, "main", text, &Options::default(), &Limits::default());
        assert!(source.parsed.is_some(), "{text}");
        let variables = source.analysis.variables.iter().map(|used| used.path.to_string()).collect();
        let broken = source.broken.iter().map(|tag| text[tag.start..tag.end].to_owned()).collect();
        (variables, broken)
    }

    #[test]
    fn a_broken_tag_hides_nothing_else() {
        for (text, variables, broken) in [
            ("{{ a. }} {{ b }}", vec!["b"], vec!["{{ a. }}"]),
            ("{{ a.\n{{ b }}", vec!["b"], vec!["{{ a."]),
            ("{{ a | }}{% if b %}{{ c }}", vec!["b", "c"], vec!["{{ a | }}"]),
            ("{% for x in xs %}{{ x.y }}", vec!["xs", "xs[].y"], vec![]),
            ("{% endif %}{{ a }}{% frob %}", vec!["a"], vec!["{% endif %}", "{% frob %}"]),
        ] {
            let found = read(Language::Jinja, text);
            let expected = (
                variables.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
                broken.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>(),
            );
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(read(Language::Go, "{{ .a | }} {{ .b }}{{ if .c }}").0, ["a", "b", "c"]);
        assert_eq!(read(Language::Go, "{{ .a\n{{ .b }}").0, ["b"]);
        assert_eq!(read(Language::Go, "{{ frob }}{{ .b }}").1, ["{{ frob }}"]);
    }

    #[test]
    fn a_correct_template_is_read_as_it_is() {
        let (variables, broken) = read(Language::Jinja, "{% raw %}{{ {% endraw %}{{ a }}{# {{ #}");
        assert_eq!((variables.as_slice(), broken.len()), (["a".to_owned()].as_slice(), 0));
    }
}

//! Messages in the style of a compiler: the error, an excerpt, notes and hints.

mod notes;

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Element, Group, Message, Origin, Renderer, Snippet, normalize_untrusted_str,
};
use hinagata_check::Finding;
use hinagata_value::Place;
use serde_json::{Map, Value as Json, json};

use crate::exit;

/// How serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
    Hint,
}

impl Level {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}

/// The base of the paths of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The current directory: they are as the user wrote them.
    Current,
    /// The workspace root.
    Workspace,
}

/// A report for the user.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    pub(crate) level: Level,
    pub(crate) code: &'static str,
    pub(crate) exit: exit::Code,
    pub(crate) message: String,
    /// The details for scripts, by name.
    pub(crate) details: Map<String, Json>,
    pub(crate) place: Option<Place>,
    pub(crate) base: Base,
    /// The file or directory that it is about, if there is no place.
    pub(crate) about: Option<String>,
    /// The includes, imports and calls around the place, innermost first.
    pub(crate) chain: Vec<Place>,
    /// The error of the system.
    pub(crate) cause: Option<String>,
    /// Names that may have been meant.
    pub(crate) near: Vec<String>,
    /// The hints.
    pub(crate) advice: Vec<String>,
    /// Whether it is a finding of a check, which can be silenced by its code.
    pub(crate) is_finding: bool,
}

impl Diagnostic {
    pub(crate) fn new(code: &'static str, exit: exit::Code, message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            code,
            exit,
            message: message.into(),
            details: Map::new(),
            place: None,
            base: Base::Current,
            about: None,
            chain: Vec::new(),
            cause: None,
            near: Vec::new(),
            advice: Vec::new(),
            is_finding: false,
        }
    }

    /// The report of a finding.
    pub(crate) fn from_finding(finding: &Finding) -> Self {
        let mut diagnostic = Self::from(&finding.error);
        diagnostic.code = finding.code.code;
        diagnostic.is_finding = true;
        diagnostic.level = match finding.level {
            hinagata_check::Level::Error => Level::Error,
            hinagata_check::Level::Warning => Level::Warning,
            hinagata_check::Level::Hint => Level::Hint,
        };
        match &mut diagnostic.place {
            Some(place) => place.span = place.span.or(finding.length.map(|length| (0, length))),
            None => diagnostic.about = Some(finding.source.clone()),
        }
        diagnostic
    }

    /// The same with the paths of its places as the user can open them.
    pub(crate) fn map_paths(mut self, display: impl Fn(&str) -> String) -> Self {
        if self.base == Base::Workspace {
            for place in self.place.iter_mut().chain(&mut self.chain) {
                place.template = display(&place.template);
            }
            self.about = self.about.as_deref().map(&display);
        }
        self
    }

    /// The message with colours. The stream that prints it removes them if necessary.
    pub(crate) fn render_text(&self) -> String {
        let level = match self.level {
            Level::Error => annotate_snippets::Level::ERROR,
            Level::Warning => annotate_snippets::Level::WARNING,
            Level::Hint => annotate_snippets::Level::INFO.with_name("hint"),
        };
        let title = level.primary_title(self.title());
        // Usage errors and warnings are shown without a code.
        let named = (self.level == Level::Error && self.exit != exit::Code::Usage) || self.is_finding;
        let mut group = Group::with_title(if named { title.id(self.code) } else { title });
        if let Some(place) = &self.place {
            group = group.element(excerpt(place));
        } else if let Some(about) = &self.about {
            group = group.element(Origin::path(normalize_untrusted_str(about)));
        }
        let notes = notes::collect_notes(self)
            .into_iter()
            .map(|text| note_message(annotate_snippets::Level::NOTE, &text));
        let help_lines = self.help_lines().map(|text| note_message(annotate_snippets::Level::HELP, &text));
        let group = group.elements(notes).elements(help_lines);
        format!("{}\n", Renderer::styled().render(&[group]))
    }

    /// The message for scripts.
    pub(crate) fn to_json(&self) -> Json {
        let place = self.place.as_ref();
        json!({
            "code": self.code,
            "message": self.message,
            "details": self.details,
            "file": place.map(|place| &place.template).or(self.about.as_ref()),
            "line": place.map(|place| place.line),
            "column": place.and_then(known_column),
            "near": self.near,
            "hint": (!self.advice.is_empty()).then(|| self.advice.join("; ")),
            "chain": self.chain.iter().map(place_json).collect::<Vec<_>>(),
        })
    }

    /// The message without the place that Go puts before it. The excerpt shows the place, with columns counted
    /// from 1.
    fn title(&self) -> &str {
        let rest = self.message.strip_prefix("template: ").filter(|_| self.place.is_some());
        rest.and_then(after_go_place).unwrap_or(&self.message)
    }

    fn help_lines(&self) -> impl Iterator<Item = String> {
        let question = did_you_mean(&self.near);
        // A hint may already contain the same question.
        let repeats = |advice: &&String| !self.near.is_empty() && advice.starts_with("did you mean");
        let advice: Vec<String> = self.advice.iter().filter(|advice| !repeats(advice)).cloned().collect();
        question.into_iter().chain(advice)
    }
}

/// A line below the excerpt. It may contain untrusted names.
fn note_message<'a>(level: annotate_snippets::Level<'a>, text: &str) -> Message<'a> {
    level.message(normalize_untrusted_str(text))
}

fn place_json(place: &Place) -> Json {
    json!({"file": place.template, "line": place.line, "column": known_column(place)})
}

fn known_column(place: &Place) -> Option<u32> {
    (place.column > 0).then_some(place.column)
}

/// The line of the place with a caret below its span, or only the place without a line.
fn excerpt(place: &Place) -> Element<'_> {
    // The renderer cleans the source, but not the path.
    let path = normalize_untrusted_str(&place.template);
    match &place.excerpt {
        Some(line) => Snippet::source(line.as_str())
            .line_start(place.line as usize)
            .path(path)
            .annotation(AnnotationKind::Primary.span(covered_range(line, place)))
            .into(),
        None => {
            let origin = Origin::path(path).line(place.line as usize);
            match known_column(place) {
                Some(column) => origin.char_column(column as usize).into(),
                None => origin.into(),
            }
        }
    }
}

/// The bytes of `line` that `place` covers: as much of its span as is on the line.
fn covered_range(line: &str, place: &Place) -> Range<usize> {
    let text = line.len() - line.trim_start().len()..line.trim_end().len();
    let Some(column) = known_column(place) else { return text.start.min(text.end)..text.end };
    let start = line.char_indices().nth(column as usize - 1).map_or(line.len(), |(at, _)| at);
    let wanted =
        place.span.map_or_else(|| word_length(&line[start..]), |(from, to)| to.saturating_sub(from) as usize);
    let end = line.floor_char_boundary(start.saturating_add(wanted)).min(text.end);
    let next = line[start..].chars().next().map_or(start, |character| start + character.len_utf8());
    start..end.max(next)
}

/// The length in bytes of the first word, quoted text or bracketed text.
fn word_length(text: &str) -> usize {
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote).map(|at| at + 2),
        Some('[' | '{') => find_closing(text),
        _ => text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | ']' | '}')),
    };
    end.unwrap_or(text.len())
}

/// The end of the bracket that `text` starts with. Brackets in quotes are text.
fn find_closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The text after `NAME:LINE: ` or `NAME:LINE:COLUMN: `.
fn after_go_place(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = text[from..].find(": ") {
        let at = from + at;
        let number = text[..at].rsplit(':').next().unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(&text[at + 2..]);
        }
        from = at + 2;
    }
    None
}

/// The question with similar names.
pub(crate) fn did_you_mean(near: &[String]) -> Option<String> {
    let quoted: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    let (last, before) = quoted.split_last()?;
    Some(match before {
        [] => format!("did you mean {last}?"),
        before => format!("did you mean {} or {last}?", before.join(", ")),
    })
}

/// `text` in at most `width` characters.
pub(crate) fn truncate_for_display(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(width - 1).map_or(text.len(), |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(excerpt: &str, line: u32, column: u32, span: Option<(u32, u32)>) -> Place {
        Place { template: "t.md".into(), line, column, span, excerpt: Some(excerpt.into()) }
    }

    fn undefined(message: &str) -> Diagnostic {
        Diagnostic::new("render.undefined", exit::Code::Failed, message)
    }

    fn plain(diagnostic: &Diagnostic) -> String {
        anstream::adapter::strip_str(&diagnostic.render_text()).to_string()
    }

    #[test]
    fn the_caret_covers_the_span_as_far_as_the_line_goes() {
        let cases = [
            ("Hi {{ name }}", 7, Some((6, 10)), "name"),
            ("日本 {{ é }}", 7, Some((10, 12)), "é"),
            ("{{ a", 4, Some((3, 90)), "a"),
            ("{{ a ", 4, None, "a"),
            ("steps = many # no", 9, None, "many"),
            ("a = \"b c\", d", 5, None, "\"b c\""),
            ("a = \"b", 5, None, "\"b"),
            ("[é, x]", 2, None, "é"),
            ("x: {a: [1]}, # end", 4, None, "{a: [1]}"),
            ("[{\"name\": \"a}\"}, {\"name\": \"b\"}]", 2, None, "{\"name\": \"a}\"}"),
            ("a: ['x]', 1], [2]", 4, None, "['x]', 1]"),
            ("[limits]", 1, None, "[limits]"),
            ("{a: 1,", 1, None, "{a: 1,"),
            ("  {{ a }} ", 0, Some((0, 2)), "{{ a }}"),
            ("short", 60, Some((100, 101)), ""),
            ("", 1, Some((0, 0)), ""),
            ("", 0, None, ""),
            ("   ", 0, None, ""),
        ];
        for (line, column, span, covered_text) in cases {
            assert_eq!(
                &line[covered_range(line, &place(line, 1, column, span))],
                covered_text,
                "{line:?} {column}"
            );
        }
    }

    #[test]
    fn a_message_shows_excerpt_way_and_advice() {
        let mut diagnostic = undefined("'nmae' is undefined");
        diagnostic.place = Some(place("Hello {{ nmae }}", 3, 10, Some((20, 24))));
        diagnostic.chain = vec![place("{% include 't.md' %}", 12, 1, None)];
        diagnostic.near = vec!["name".into(), "nme".into()];
        diagnostic.advice = vec!["pass it".into()];
        assert_eq!(
            plain(&diagnostic),
            "\
error[render.undefined]: 'nmae' is undefined
 --> t.md:3:10
  |
3 | Hello {{ nmae }}
  |          ^^^^
  |
  = note: reached from t.md:12:1: {% include 't.md' %}
  = help: did you mean `name` or `nme`?
  = help: pass it
"
        );
    }

    #[test]
    fn a_message_cannot_smuggle_control_characters_to_the_terminal() {
        let mut diagnostic = undefined("a\x1b[31mb");
        diagnostic.place = Some(place("x\x1b[2Jy", 1, 1, None));
        diagnostic.place.as_mut().expect("was set").template = "t\x1b]0;title\x07".into();
        diagnostic.chain = vec![place("z\x1b[2J", 1, 1, None)];
        diagnostic.near = vec!["n\x1b[2J".into()];
        let styled = diagnostic.render_text();
        assert!(!styled.contains("\x1b[31mb"), "{styled:?}");
        assert!(
            !styled.contains("\x1b[2J") && !styled.contains("\x1b]0") && !styled.contains('\x07'),
            "{styled:?}"
        );
    }

    #[test]
    fn the_place_that_go_puts_before_a_message_is_not_shown_twice() {
        let go = "template: a: b.tmpl:1:9: executing \"b\" at <.x>: no";
        let mut diagnostic = undefined(go);
        assert_eq!(diagnostic.title(), go, "without a place it says where");
        diagnostic.place = Some(place("{{.x.y}}", 1, 10, None));
        assert_eq!(diagnostic.title(), "executing \"b\" at <.x>: no");
        diagnostic.message = "template: x.tmpl:1: unexpected EOF".into();
        assert_eq!(diagnostic.title(), "unexpected EOF");
        diagnostic.message = "template: no place here".into();
        assert_eq!(diagnostic.title(), "template: no place here");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(truncate_for_display("日本語", 3), "日本語");
        assert_eq!(truncate_for_display("日本語版", 3), "日本…");
    }

    #[test]
    fn a_script_gets_every_field_and_null_where_nothing_is_known() {
        let mut diagnostic = undefined("no");
        let error = &diagnostic.to_json();
        assert_eq!(
            (&error["code"], &error["line"], &error["hint"]),
            (&json!("render.undefined"), &Json::Null, &Json::Null)
        );
        diagnostic.place = Some(place("x", 4, 0, None));
        diagnostic.advice = vec!["a".into(), "b".into()];
        let error = &diagnostic.to_json();
        assert_eq!(
            (&error["line"], &error["column"], &error["hint"]),
            (&json!(4), &Json::Null, &json!("a; b"))
        );
    }
}

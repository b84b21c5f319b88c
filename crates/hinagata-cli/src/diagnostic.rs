//! Messages that look like a compiler's: what, where with an excerpt, the way there, what to do next.

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Element, Group, Level, Message, Origin, Renderer, Snippet, normalize_untrusted_str,
};
use hinagata_value::Place;
use serde_json::{Value as Json, json};

use crate::failure::Code;

/// Steps of the way to an error that are shown at each of its ends.
const STEPS_SHOWN: usize = 4;
/// Characters of a source line that a note shows.
const NOTE_WIDTH: usize = 60;

/// Something to tell the user about what they wrote.
#[derive(Debug)]
pub(crate) struct Diagnostic {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
    /// The includes, imports and calls around the place, innermost first.
    pub(crate) chain: Vec<Place>,
    /// Names that may have been meant.
    pub(crate) near: Vec<String>,
    /// What to do next.
    pub(crate) advice: Vec<String>,
}

impl Diagnostic {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place: None,
            chain: Vec::new(),
            near: Vec::new(),
            advice: Vec::new(),
        }
    }

    /// The message for people, with colours: to be written to a stream that knows whether to keep them.
    pub(crate) fn text(&self) -> String {
        let title = Level::ERROR.primary_title(self.title());
        // What is wrong with a call of the command needs no name to search for.
        let title = if self.code == Code::Usage { title } else { title.id(self.code.as_str()) };
        let mut group = Group::with_title(title);
        if let Some(place) = &self.place {
            group = group.element(excerpt(place));
        }
        let notes = self.notes().into_iter().map(|text| remark(Level::NOTE, &text));
        let helps = self.helps().map(|text| remark(Level::HELP, &text));
        let group = group.elements(notes).elements(helps);
        format!("{}\n", Renderer::styled().render(&[group]))
    }

    /// The message for scripts.
    pub(crate) fn json(&self) -> Json {
        let place = self.place.as_ref();
        json!({"error": {
            "code": self.code.as_str(),
            "message": self.message,
            "template": place.map(|place| &place.template),
            "line": place.map(|place| place.line),
            "column": place.and_then(known_column),
            "near": self.near,
            "hint": (!self.advice.is_empty()).then(|| self.advice.join("; ")),
            "chain": self.chain.iter().map(place_json).collect::<Vec<_>>(),
        }})
    }

    /// The message without the place that Go puts before it: the excerpt shows it, and counts columns
    /// as everybody else does.
    fn title(&self) -> &str {
        let rest = self.message.strip_prefix("template: ").filter(|_| self.place.is_some());
        rest.and_then(after_go_place).unwrap_or(&self.message)
    }

    /// The way to the place: steps from the same place are one, and of many only the ends are shown.
    fn notes(&self) -> Vec<String> {
        let same = |a: &Place, b: &Place| (&a.template, a.line, a.column) == (&b.template, b.line, b.column);
        let steps: Vec<_> = self.chain.chunk_by(same).map(step).collect();
        let between = steps.len().saturating_sub(2 * STEPS_SHOWN);
        if between < 2 {
            return steps;
        }
        let (inner, outer) = (&steps[..STEPS_SHOWN], &steps[steps.len() - STEPS_SHOWN..]);
        [inner, &[format!("… {between} more …")], outer].concat()
    }

    fn helps(&self) -> impl Iterator<Item = String> {
        did_you_mean(&self.near).into_iter().chain(self.advice.iter().cloned())
    }
}

/// One step of the way to a place, taken as often as it stands in `places`.
fn step(places: &[Place]) -> String {
    let place = &places[0];
    let often = if places.len() > 1 { format!(" ({} times)", places.len()) } else { String::new() };
    match place.excerpt.as_deref().map(|line| around(line, place.column)) {
        Some(line) if !line.is_empty() => format!("reached from {place}{often}: {line}"),
        _ => format!("reached from {place}{often}"),
    }
}

/// The part of `line` around `column` that a note shows.
fn around(line: &str, column: u32) -> String {
    let before = (column as usize).saturating_sub(NOTE_WIDTH / 2);
    match line.char_indices().nth(before) {
        Some((at, _)) if before > 0 && line.chars().count() > NOTE_WIDTH => {
            format!("…{}", shortened(line[at..].trim_end(), NOTE_WIDTH - 1))
        }
        _ => shortened(line.trim(), NOTE_WIDTH),
    }
}

/// A line below the excerpt. Names of templates and the like come from strangers.
fn remark<'a>(level: Level<'a>, text: &str) -> Message<'a> {
    level.message(normalize_untrusted_str(text))
}

fn place_json(place: &Place) -> Json {
    json!({"template": place.template, "line": place.line, "column": known_column(place)})
}

fn known_column(place: &Place) -> Option<u32> {
    (place.column > 0).then_some(place.column)
}

/// The line of the place with a caret under what it covers; the bare place where there is no line.
fn excerpt(place: &Place) -> Element<'_> {
    // The renderer cleans the source, but not the path.
    let path = normalize_untrusted_str(&place.template);
    match &place.excerpt {
        Some(line) => Snippet::source(line.as_str())
            .line_start(place.line as usize)
            .path(path)
            .annotation(AnnotationKind::Primary.span(covered(line, place)))
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
fn covered(line: &str, place: &Place) -> Range<usize> {
    let text = line.len() - line.trim_start().len()..line.trim_end().len();
    let Some(column) = known_column(place) else { return text.start.min(text.end)..text.end };
    let start = line.char_indices().nth(column as usize - 1).map_or(line.len(), |(at, _)| at);
    let wanted = place.span.map_or(0, |(from, to)| to.saturating_sub(from) as usize);
    let end = line.floor_char_boundary(start.saturating_add(wanted)).min(text.end);
    let next = line[start..].chars().next().map_or(start, |character| start + character.len_utf8());
    start..end.max(next)
}

/// What follows `NAME:LINE: ` or `NAME:LINE:COLUMN: `.
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

/// The question behind names that are close to a wrong one.
pub(crate) fn did_you_mean(near: &[String]) -> Option<String> {
    let quoted: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    let (last, before) = quoted.split_last()?;
    Some(match before {
        [] => format!("did you mean {last}?"),
        before => format!("did you mean {} or {last}?", before.join(", ")),
    })
}

/// `text` in at most `width` characters.
pub(crate) fn shortened(text: &str, width: usize) -> String {
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

    fn plain(diagnostic: &Diagnostic) -> String {
        anstream::adapter::strip_str(&diagnostic.text()).to_string()
    }

    #[test]
    fn the_caret_covers_the_span_as_far_as_the_line_goes() {
        let cases = [
            ("Hi {{ name }}", 7, Some((6, 10)), "name"),
            ("日本 {{ é }}", 7, Some((10, 12)), "é"),
            ("{{ a", 4, Some((3, 90)), "a"),
            ("{{ a ", 4, None, "a"),
            ("  {{ a }} ", 0, Some((0, 2)), "{{ a }}"),
            ("short", 60, Some((100, 101)), ""),
            ("", 1, Some((0, 0)), ""),
            ("", 0, None, ""),
            ("   ", 0, None, ""),
        ];
        for (line, column, span, covered_text) in cases {
            assert_eq!(
                &line[covered(line, &place(line, 1, column, span))],
                covered_text,
                "{line:?} {column}"
            );
        }
    }

    #[test]
    fn a_message_shows_excerpt_way_and_advice() {
        let mut diagnostic = Diagnostic::new(Code::Undefined, "'nmae' is undefined");
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
    fn a_long_way_is_shown_at_its_ends() {
        let mut diagnostic = Diagnostic::new(Code::Limit, "too deep");
        diagnostic.chain = (1..=200).map(|line| place("", line, 0, None)).collect();
        let notes = diagnostic.notes();
        assert_eq!(notes.len(), 9);
        assert_eq!((&*notes[0], &*notes[4]), ("reached from t.md:1", "… 192 more …"));
        assert_eq!(notes[8], "reached from t.md:200");
    }

    #[test]
    fn steps_from_one_place_are_counted() {
        let mut diagnostic = Diagnostic::new(Code::Limit, "too deep");
        diagnostic.chain =
            vec![place("{{ f() }}", 1, 4, None), place("{{ f() }}", 1, 4, None), place("x", 2, 1, None)];
        assert_eq!(
            diagnostic.notes(),
            ["reached from t.md:1:4 (2 times): {{ f() }}", "reached from t.md:2:1: x"]
        );
    }

    #[test]
    fn a_note_shows_the_part_of_a_long_line_that_matters() {
        let line = format!("{}{{% include 'x' %}}{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(around(&line, 104), format!("…{}{{% include 'x' %}}{}…", "a".repeat(26), "b".repeat(15)));
        assert_eq!(around("  short  ", 4), "short");
        assert_eq!(around("", 0), "");
    }

    #[test]
    fn a_message_cannot_smuggle_control_characters_to_the_terminal() {
        let mut diagnostic = Diagnostic::new(Code::Runtime, "a\x1b[31mb");
        diagnostic.place = Some(place("x\x1b[2Jy", 1, 1, None));
        diagnostic.place.as_mut().expect("was set").template = "t\x1b]0;title\x07".into();
        diagnostic.chain = vec![place("z\x1b[2J", 1, 1, None)];
        diagnostic.near = vec!["n\x1b[2J".into()];
        let styled = diagnostic.text();
        assert!(!styled.contains("\x1b[31mb"), "{styled:?}");
        assert!(
            !styled.contains("\x1b[2J") && !styled.contains("\x1b]0") && !styled.contains('\x07'),
            "{styled:?}"
        );
    }

    #[test]
    fn the_place_that_go_puts_before_a_message_is_not_shown_twice() {
        let go = "template: a: b.tmpl:1:9: executing \"b\" at <.x>: no";
        let mut diagnostic = Diagnostic::new(Code::Runtime, go);
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
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("日本語版", 3), "日本…");
    }

    #[test]
    fn a_script_gets_every_field_and_null_where_nothing_is_known() {
        let mut diagnostic = Diagnostic::new(Code::Syntax, "no");
        let error = &diagnostic.json()["error"];
        assert_eq!(
            (&error["code"], &error["line"], &error["hint"]),
            (&json!("render.syntax"), &Json::Null, &Json::Null)
        );
        diagnostic.place = Some(place("x", 4, 0, None));
        diagnostic.advice = vec!["a".into(), "b".into()];
        let error = &diagnostic.json()["error"];
        assert_eq!(
            (&error["line"], &error["column"], &error["hint"]),
            (&json!(4), &Json::Null, &json!("a; b"))
        );
    }
}

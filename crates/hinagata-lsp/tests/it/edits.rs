//! Random edits: the text of the server is that of the client, and every place of it has a position and back.

use hinagata_check::editor::{
    Project, call_signature, complete_source, describe_symbol, find_definition, find_references, fold_ranges,
    outline_source, rename_scope, template_links, type_hints,
};
use hinagata_lsp::{Document, Encoding, Position, Range};

/// How many edits each test makes; `HINAGATA_TEST_EDITS` sets another number.
pub(crate) fn edit_count(usual: usize) -> usize {
    std::env::var("HINAGATA_TEST_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// The text as a client keeps it: lines of characters, each line with its end.
struct ClientText(Vec<Vec<char>>);

impl ClientText {
    fn new(text: &str) -> Self {
        let mut lines = vec![Vec::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            lines.last_mut().expect("has a line").push(character);
            let ends = character == '\n' || (character == '\r' && characters.peek() != Some(&'\n'));
            if ends {
                lines.push(Vec::new());
            }
        }
        Self(lines)
    }

    /// A random place: its position, and how many characters are before it.
    fn place(&self, numbers: &mut Numbers, encoding: Encoding) -> (Position, usize) {
        let line = numbers.next(self.0.len());
        let content = self.0[line].iter().filter(|character| !matches!(character, '\n' | '\r')).count();
        let column = numbers.next(content + 1);
        let units: usize = self.0[line][..column].iter().map(|character| encoding.width(*character)).sum();
        let before: usize = self.0[..line].iter().map(Vec::len).sum();
        (Position { line: line as u32, character: units as u32 }, before + column)
    }
}

const PIECES: [&str; 27] = [
    "a",
    "{{ ",
    " }}",
    "{% for x in xs %}",
    "{% endfor %}",
    "{% if a %}",
    "灯",
    "😀",
    "\n",
    "\r\n",
    "\r",
    ".",
    "|upper",
    "\"",
    "'",
    "{#",
    "#}",
    "{% include \"b",
    "x.y",
    "(",
    ")",
    "{{ a.b|",
    "---\n",
    " ",
    "parameters:\n",
    "  b: {type: list}\n",
    "{% set b = ",
];

/// Changes a text as a client does, and returns the change. Texts of more than `most` characters shrink again.
pub(crate) fn random_edit(
    text: &mut String,
    most: usize,
    numbers: &mut Numbers,
    encoding: Encoding,
) -> (Range, &'static str) {
    let client = ClientText::new(text);
    let (one, other) = (client.place(numbers, encoding), client.place(numbers, encoding));
    let (start, end) = if one.1 <= other.1 { (one, other) } else { (other, one) };
    let new = PIECES[numbers.next(PIECES.len())];
    let mut characters: Vec<char> = text.chars().collect();
    let end = if characters.len() > most { end } else { start };
    characters.splice(start.1..end.1, new.chars());
    *text = characters.into_iter().collect();
    (Range { start: start.0, end: end.0 }, new)
}

#[test]
fn texts_stay_those_of_the_client() {
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let mut expected = String::from("start");
        let mut document = Document::new("file:///a", "jinja", 0, &expected);
        for _ in 0..edit_count(120_000) {
            let (range, new) = random_edit(&mut expected, 60, &mut numbers, encoding);
            document.replace_range(Some(range), new, encoding);
            assert_eq!(&*document.text, expected);
        }
        for (offset, _) in expected.char_indices() {
            let position = document.lines.position_at(offset, &expected, encoding);
            let back = document.lines.offset_at(position, &expected, encoding);
            // The place between `\r` and `\n` is the end of the line.
            assert!(back == offset || expected[back..].starts_with("\r\n"), "{offset} {back}");
        }
    }
}

#[test]
fn every_question_about_every_text_has_an_answer() {
    let project = Project::default();
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let mut text = String::new();
    for round in 0..edit_count(4_000) {
        let at = (0..=numbers.next(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(at, PIECES[numbers.next(PIECES.len())]);
        if text.len() > 120 {
            let cut = (0..=60).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.drain(..cut);
        }
        let path = if round % 2 == 0 { "a.jinja" } else { "a.gotmpl" };
        let offset =
            (0..=numbers.next(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let inside = |range: &std::ops::Range<usize>| text.get(range.clone()).is_some();
        assert!(
            complete_source(&project, path, &text, offset).is_none_or(|found| inside(&found.range)),
            "{text:?}"
        );
        assert!(
            describe_symbol(&project, path, &text, offset).is_none_or(|found| inside(&found.range)),
            "{text:?}"
        );
        assert!(
            find_definition(&project, path, &text, offset).iter().all(|found| inside(&found.range)),
            "{text:?}"
        );
        assert!(
            find_references(&project, path, &text, offset).iter().all(|found| inside(&found.range)),
            "{text:?}"
        );
        assert!(outline_source(&project, path, &text).iter().all(|found| inside(&found.range)), "{text:?}");
        assert!(template_links(&project, path, &text).is_empty(), "there are no other templates");
        drop((rename_scope(&project, path, &text, offset), call_signature(&project, path, &text, offset)));
        drop((fold_ranges(&project, path, &text), type_hints(&project, path, &text)));
    }
}
